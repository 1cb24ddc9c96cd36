"""Several networks, which learn from different samples of the rows."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from bandit_envs.adapters.torch.network import LearnedNetworks, Network, by_action
from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import check_integer, check_positive
from bandit_envs.policies.models.inputs import Inputs


@dataclasses.dataclass(frozen=True)
class Ensemble(Network):
    """Several networks, each of which learns from a sample of its own.

        f(x)[a] = mean over i of f_i(x)[a],    i in 1..num_networks

    A network learns from a row with probability `row_probability`. A draw is what a network
    predicts that is drawn for each row. A bound is `radius` standard deviations of these
    predictions from their mean, and a quantile is theirs: with few networks, both are rough, and
    all networks may agree and be wrong.

    Args:
        network: as of `Network`, and so are all but the following. It must be a function that
            returns modules, as the networks must differ.
        num_networks: how many networks.
        row_probability: the probability that a network learns from a row, above 0 and at most 1.

    Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018), BootRMS; Osband et al.,
    Deep Exploration via Bootstrapped DQN (2016); Chen et al., UCB Exploration via Q-Ensembles
    (2017), for the bounds.

    >>> sorted(Ensemble(num_networks=5).abilities())
    ['draw', 'interval', 'means', 'members', 'quantile']
    """

    _: dataclasses.KW_ONLY
    num_networks: int = 3
    row_probability: float = 0.95

    draws_are_scaled: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_integer("num_networks", self.num_networks, 1)
        check_positive("row_probability", self.row_probability, maximum=1.0)
        super().__post_init__()

    def means(self, learned: LearnedNetworks, inputs: Inputs) -> Floats:
        return np.asarray(self.members(learned, inputs).mean(axis=0))

    def interval(
        self, learned: LearnedNetworks, inputs: Inputs, radius: Any
    ) -> tuple[Floats, Floats]:
        members = self.members(learned, inputs)
        means = members.mean(axis=0)
        widths = radius * members.std(axis=0)
        return means - widths, means + widths

    def quantile(self, learned: LearnedNetworks, inputs: Inputs, level: float) -> Floats:
        return np.asarray(np.quantile(self.members(learned, inputs), level, axis=0))

    def draw(self, rng: Rng, learned: LearnedNetworks, inputs: Inputs, scale: float) -> Floats:
        members = self.members(learned, inputs)
        size = members.shape[1]
        drawn = rng.integers(len(members), size=size)
        return np.asarray(members[drawn, np.arange(size)])

    def members(self, learned: LearnedNetworks, inputs: Inputs) -> Floats:
        features = inputs.features()
        networks = range(self.num_networks)
        found = [learned.networks.predict(features, network) for network in networks]
        return np.stack([by_action(inputs, outputs) for outputs in found])

    def _draw_weights(self, rng: Rng, size: int) -> Floats:
        drawn = rng.random((size, self.num_networks))
        return (drawn < self.row_probability).astype(np.float64)
