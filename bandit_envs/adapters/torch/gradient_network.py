"""A network whose gradients tell how uncertain its predictions are."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

import numpy as np

from bandit_envs.adapters.torch.network import LearnedNetworks, Network, by_action
from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_positive
from bandit_envs.policies.draws import draw_normal
from bandit_envs.policies.learned import add_actions
from bandit_envs.policies.models.inputs import Inputs, ModelSizes, TrainingRows

if typing.TYPE_CHECKING:
    from bandit_envs.adapters.torch.networks import Networks


@dataclasses.dataclass(frozen=True)
class GradientNetwork(Network):
    """A network that knows how uncertain predictions are, by its gradients.

        variance(a) = sum_p g_p(a)^2 / u_p,    g(a) = gradient of f(x)[a] by the parameters

        u_p = tikhonov_weight + sum over learned rows of g_p(A)^2

    That is the variance of LinUCB with gradients as features, and only the diagonal of its matrix.
    The gradient of a row is the one when it is learned; what is trained later does not change u. A
    bound is `radius` standard deviations from the prediction, and a draw is normal around it.

    With `UpperBound(alpha)`, this is NeuralUCB. In the paper's notation, alpha is gamma and
    tikhonov_weight is lambda times the width m. In that of the authors' code, alpha is
    sqrt(lambda * nu) and tikhonov_weight is lambda. With `ThompsonSampling(alpha)`, it is neural
    Thompson sampling. Both begin with an alpha of 0.1 here.

    Args:
        network: as of `Network`, and so are all but the following.
        tikhonov_weight: the weight of the regularisation, from 1e-37 to 1e37.

    Source: Zhou, Li & Gu, Neural Contextual Bandits with UCB-based Exploration (2020), algorithm 1;
    Zhang, Zhou, Li & Gu, Neural Thompson Sampling (2021), algorithm 1; both with a diagonal matrix,
    as in the authors' code.

    >>> sorted(GradientNetwork(width=20).abilities())
    ['draw', 'interval', 'means']
    """

    _: dataclasses.KW_ONLY
    tikhonov_weight: float = 0.01

    def __post_init__(self) -> None:
        check_positive("tikhonov_weight", self.tikhonov_weight, MIN_STD, MAX_PARAMETER)
        super().__post_init__()

    def interval(
        self, learned: LearnedNetworks, inputs: Inputs, radius: Any
    ) -> tuple[Floats, Floats]:
        means = self.means(learned, inputs)
        widths = radius * self._deviations(learned, inputs)
        return means - widths, means + widths

    def draw(self, rng: Rng, learned: LearnedNetworks, inputs: Inputs, scale: float) -> Floats:
        means = self.means(learned, inputs)
        return draw_normal(rng, means, scale * self._deviations(learned, inputs))

    def _deviations(self, learned: LearnedNetworks, inputs: Inputs) -> Floats:
        """Returns the standard deviation of the prediction of every action: [B, K]."""
        variances = learned.networks.variances(inputs.features(), learned.extra)
        return np.sqrt(by_action(inputs, variances))

    def _initial_extra(self, networks: Networks, sizes: ModelSizes) -> Floats:
        """Returns u: [P]."""
        return np.full(networks.num_parameters(), self.tikhonov_weight)

    def _extra_of_more(
        self, learned: LearnedNetworks, initial: LearnedNetworks, known: int, num_actions: int
    ) -> Floats:
        before = learned.networks.by_parameter(learned.extra)
        after = initial.networks.by_parameter(initial.extra)
        grown = add_actions(before, after, known, num_actions)
        return np.concatenate([each.reshape(-1) for each in grown])

    def _extra_after_rows(self, learned: LearnedNetworks, rows: TrainingRows) -> Floats:
        found = learned.networks.squared_gradients(rows.features, rows.output)
        return np.add(learned.extra, found)
