"""A network whose units are dropped at random, also when it is asked for a draw."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any, ClassVar

from bandit_envs.adapters.torch.network import (
    LearnedNetworks,
    Network,
    by_action,
    import_networks,
)
from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import check_positive
from bandit_envs.policies.models.inputs import Inputs, ModelSizes

if typing.TYPE_CHECKING:
    from bandit_envs.adapters.torch.networks import Networks


@dataclasses.dataclass(frozen=True)
class Dropout(Network):
    """A network of which units are dropped at random: in training, and in a draw.

        v(a) = f'(x)[a],    f' = f without the units that were drawn

    In a draw, other units are dropped for each row, and for each action with features of its own.
    Predictions are those of all units.

    Args:
        network: as of `Network`, and so are all but the following. It must have a layer such as
            `torch.nn.Dropout`.
        dropout: the probability that a unit of the perceptron that is made without `network` is
            dropped; above 0 and below 1.

    Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018); Gal & Ghahramani,
    Dropout as a Bayesian Approximation (2016).

    >>> sorted(Dropout(dropout=0.1).abilities())
    ['draw', 'means']
    """

    _: dataclasses.KW_ONLY
    dropout: float = 0.2

    draws_are_scaled: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_positive("dropout", self.dropout, maximum=0.99)
        super().__post_init__()

    def draw(self, rng: Rng, learned: LearnedNetworks, inputs: Inputs, scale: float) -> Floats:
        outputs = learned.networks.predict_with_dropout(rng, inputs.features())
        return by_action(inputs, outputs)

    def _make_network(self, num_inputs: int, num_outputs: int) -> Any:
        make = import_networks().make_perceptron
        return make(num_inputs, num_outputs, self.width, self.depth, self.dropout)

    def _initial_extra(self, networks: Networks, sizes: ModelSizes) -> tuple[()]:
        if not networks.has_dropout():
            raise ValueError("network has no layer such as torch.nn.Dropout; expected one")
        return ()
