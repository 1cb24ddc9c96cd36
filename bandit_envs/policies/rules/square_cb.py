"""SquareCB: inverse gap weighting of predictions, of all actions or of the plausible ones."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from bandit_envs.arrays import Floats, Mask
from bandit_envs.base.checks import MAX_PARAMETER, check_number
from bandit_envs.policies.rules.inverse_gap import inverse_gap_probabilities
from bandit_envs.policies.rules.reg_cb import check_mellowness, clipped_bounds, plausible_actions
from bandit_envs.policies.rules.rule import Predictions, Rule


@dataclasses.dataclass(frozen=True)
class SquareCB(Rule):
    """Chooses an action the less often, the further its prediction is below the largest one.

        p(a) = 1 / (K + gamma_n (max_b f(b) - f(a)))    of an action that is not the best
        gamma_n = gamma_scale n^gamma_exponent          after n rewards

    The best action gets the rest; several of them share it. K counts the available actions of the
    row. A `gamma_exponent` of 0 keeps gamma_n constant.

    Falcon is the same rule. With TF-Agents' schedule, gamma_n = c sqrt(K n / P) for a network of P
    weights: `gamma_exponent` is 0.5 and `gamma_scale` is c sqrt(K / P). There, K is the number of
    available actions of each row; here, `gamma_scale` is the same for all rows.

    With a large gamma, the rule hardly explores. Give the model an `initial_value` then, or put the
    rule into `FirstPulls`.

    Args:
        gamma_scale: gamma_1, how much gaps count, from 0 to 1e37; 0 is uniform choice.
        gamma_exponent: how fast gamma_n grows, from 0 to 1.

    Source: Foster & Rakhlin, Beyond UCB: Optimal and Efficient Contextual Bandits with Regression
    Oracles (2020), with the schedule of Vowpal Wabbit's `--squarecb`; Simchi-Levi & Xu, Bypassing
    the Monster (2020), for Falcon.

    >>> SquareCB(gamma_scale=100.0)
    SquareCB(gamma_scale=100.0, gamma_exponent=0.5)
    """

    gamma_scale: float = 10.0
    gamma_exponent: float = 0.5

    def __post_init__(self) -> None:
        check_number("gamma_scale", self.gamma_scale, 0.0, MAX_PARAMETER)
        check_number("gamma_exponent", self.gamma_exponent, 0.0, 1.0)

    @property
    def counts_rewards(self) -> bool:
        """Whether gamma grows."""
        return self.gamma_exponent > 0.0

    def probabilities(self, seen: Predictions, available: Mask | None) -> Floats:
        return inverse_gap_probabilities(seen.means(), self._gamma(seen), available)

    def _gamma(self, seen: Predictions) -> float | Floats:
        """Returns gamma_n: a number, or one for each row, [B]."""
        return self.gamma_scale * seen.num_rewards**self.gamma_exponent


@dataclasses.dataclass(frozen=True)
class EliminationSquareCB(SquareCB):
    """SquareCB among the actions that may still be best, which are those of `EliminationRegCB`.

        S = {a : upper(a) >= max_b lower(b)},    m = |S|
        p(a) = 1 / (m + gamma_n (max_b f(b) - f(a)))    of an action in S that is not the best

    The best action gets the rest, and actions outside of S get 0. Available actions only count.
    Vowpal Wabbit's `--squarecb --elim` counts other actions, by their order; this does not.

    Args:
        gamma_scale: gamma_1, how much gaps count, from 0 to 1e37.
        gamma_exponent: how fast gamma_n grows, from 0 to 1.
        mellowness: the factor of beta_n, the squared radius of the bounds; at least 0.

    Source: Foster & Rakhlin (2020); Foster et al., Practical Contextual Bandits with Regression
    Oracles (2018), for the elimination.

    >>> EliminationSquareCB(mellowness=0.5)
    EliminationSquareCB(gamma_scale=10.0, gamma_exponent=0.5, mellowness=0.5)
    """

    mellowness: float = 0.1

    needs: ClassVar[str] = "interval"
    reward_range: ClassVar[tuple[float, float]] = (0.0, 1.0)  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_mellowness(self.mellowness)

    def probabilities(self, seen: Predictions, available: Mask | None) -> Floats:
        lower, upper = clipped_bounds(seen, self.mellowness)
        survives = plausible_actions(lower, upper, available)
        means = np.where(survives, seen.means(), -np.inf)
        return inverse_gap_probabilities(means, self._gamma(seen), survives)
