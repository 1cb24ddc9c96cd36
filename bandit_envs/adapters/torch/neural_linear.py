"""Bayesian linear models of the last hidden layer of a network."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

import numpy as np

from bandit_envs.adapters.torch.network import LearnedNetworks, Network
from bandit_envs.arrays import Array, Floats, Indices, Rng
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_positive
from bandit_envs.policies.models.bayesian_ridge import LinearPosteriors
from bandit_envs.policies.models.inputs import Contexts, Inputs, Items, ModelSizes, TrainingRows

if typing.TYPE_CHECKING:
    from bandit_envs.adapters.torch.networks import Networks


@dataclasses.dataclass(frozen=True)
class NeuralLinear(Network):
    """Bayesian linear models of a network's last hidden layer, with an unknown variance.

        r ~ N(beta[a] . z(x), sigma^2[a]),    z(x) = what the last linear layer of f gets

        sigma^2[a] ~ InvGamma(a0 + n / 2, b0 + loss / 2),    beta[a] ~ N(mu, sigma^2[a] A^-1)

        A = sum z z^T + tikhonov_weight I,    mu = A^-1 sum r z
        loss = sum (r - mu . z)^2 + tikhonov_weight |mu|^2

    with the sums over the n rows of the action. It predicts mu . z(x), not what the network does.
    In a draw, every row and action has a beta of its own. If actions have features, there is one
    model, beta . z(x_a), and a draw for every row. After each training of the network, the sums
    start anew from all rows in the memory.

    Args:
        network: as of `Network`, and so are all but the following. It must end in a
            `torch.nn.Linear`.
        a0: the shape of the variance's prior, above 0.
        b0: its scale, above 0.
        tikhonov_weight: the precision of the coefficients' prior, in units of 1 / sigma^2.
        train_every: trajectories from one training to the next.
        train_steps: steps of the optimizer in a training.

    Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018), NeuralLinear.

    >>> sorted(NeuralLinear(width=20).abilities())
    ['draw', 'interval', 'means']
    """

    _: dataclasses.KW_ONLY
    a0: float = 6.0
    b0: float = 6.0
    tikhonov_weight: float = 0.25
    train_every: int = 50
    train_steps: int = 50

    def __post_init__(self) -> None:
        check_positive("a0", self.a0, MIN_STD, MAX_PARAMETER)
        check_positive("b0", self.b0, MIN_STD, MAX_PARAMETER)
        check_positive("tikhonov_weight", self.tikhonov_weight, MIN_STD, MAX_PARAMETER)
        super().__post_init__()

    def means(self, learned: LearnedNetworks, inputs: Inputs) -> Floats:
        return _hidden(learned.networks, inputs).products(learned.extra.theta)

    def interval(
        self, learned: LearnedNetworks, inputs: Inputs, radius: Any
    ) -> tuple[Floats, Floats]:
        hidden = _hidden(learned.networks, inputs)
        means = hidden.products(learned.extra.theta)
        widths = radius * learned.extra.deviations(hidden, self.a0, self.b0)
        return means - widths, means + widths

    def draw(self, rng: Rng, learned: LearnedNetworks, inputs: Inputs, scale: float) -> Floats:
        hidden = _hidden(learned.networks, inputs)
        posteriors: LinearPosteriors = learned.extra
        return posteriors.draw(rng, hidden, self.a0, self.b0, scale)

    def _initial_extra(self, networks: Networks, sizes: ModelSizes) -> LinearPosteriors:
        dim = networks.represent(np.zeros((1, sizes.num_features))).shape[1]
        return LinearPosteriors.initial(1, sizes.num_outputs, dim, self.tikhonov_weight)

    def _extra_after_rows(self, learned: LearnedNetworks, rows: TrainingRows) -> LinearPosteriors:
        return self._added(learned.extra, learned.networks, rows.features, rows.output, rows.reward)

    def _extra_after_training(self, learned: LearnedNetworks) -> LinearPosteriors:
        memory = learned.memory
        rows = memory.take(np.arange(memory.size))
        _, num_outputs, dim = learned.extra.theta.shape
        return self._added(
            posteriors=LinearPosteriors.initial(1, num_outputs, dim, self.tikhonov_weight),
            networks=learned.networks,
            features=rows.inputs,
            output=rows.output.astype(np.intp),
            reward=rows.reward,
        )

    def _added(
        self,
        posteriors: LinearPosteriors,
        networks: Networks,
        features: Array,
        output: Indices,
        reward: Array,
    ) -> LinearPosteriors:
        """Returns posteriors after n more rows: features [n, D], outputs [n] and rewards [n]."""
        return posteriors.learn(
            model=output,
            features=networks.represent(features),
            rewards=reward.astype(np.float64),
            tikhonov_weight=self.tikhonov_weight,
        )


def _hidden(networks: Networks, inputs: Inputs) -> Inputs:
    """Returns what the last layer gets, as inputs of linear models."""
    hidden = networks.represent(inputs.features())
    if isinstance(inputs, Items):
        return Items(np.zeros((len(hidden), 0)), hidden, are_problems=False)
    return Contexts(hidden, are_problems=False)
