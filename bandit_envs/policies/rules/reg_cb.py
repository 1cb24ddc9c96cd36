"""RegCB: bounds of what models predict that fit well enough, by optimism or by elimination."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np

from bandit_envs.arrays import Floats, Mask
from bandit_envs.base.checks import MAX_PARAMETER, check_number
from bandit_envs.policies.draws import uniform
from bandit_envs.policies.rules.rule import IndexRule, Predictions, Rule


@dataclasses.dataclass(frozen=True)
class RegCB(Rule):
    """A rule by bounds of what models predict that fit well enough: see `OptimisticRegCB`.

    Args:
        mellowness: the factor of beta_n, how far to explore; at least 0.
    """

    mellowness: float = 0.1

    needs: ClassVar[str] = "interval"
    reward_range: ClassVar[tuple[float, float]] = (0.0, 1.0)  # type: ignore[misc]

    def __post_init__(self) -> None:
        check_mellowness(self.mellowness)

    @property
    def counts_rewards(self) -> bool:
        """Whether the bounds widen."""
        return self.mellowness > 0.0


@dataclasses.dataclass(frozen=True)
class OptimisticRegCB(RegCB, IndexRule):
    """Chooses the action with the largest bound of all models that fit the rewards well enough.

        argmax_a  upper(a)
        beta_n = mellowness ln(K max(n, 1))    after n rewards, of K actions

    A model fits well enough if its loss exceeds that of the best model by at most beta_n. The
    bounds are the smallest and the largest prediction of these models:

        theta . x -+ sqrt(beta_n x^T A^-1 x)    for ridge regression, cut off at 0 and 1
        sigma(m . x -+ sqrt(beta_n) s)          for logistic models

    The loss is the squared error with its penalty, or twice the log-loss with its prior. Of
    logistic models, s is the standard deviation of w . x by Laplace's method. With ridge
    regression, the rule is LinUCB with alpha = sqrt(beta_n) and bounds cut off at 1. Ties, which
    are frequent among bounds of 1, are broken at random. The rewards must be from 0 to 1.

    Args:
        mellowness: the factor of beta_n, how far to explore; at least 0.

    Source: Foster, Agarwal, Dudik, Luo & Schapire, Practical Contextual Bandits with Regression
    Oracles (2018), with beta_n of Vowpal Wabbit's `--regcb --regcbopt`.

    >>> OptimisticRegCB()
    OptimisticRegCB(mellowness=0.1)
    """

    def index(self, seen: Predictions) -> Floats:
        _, upper = clipped_bounds(seen, self.mellowness)
        return upper


@dataclasses.dataclass(frozen=True)
class EliminationRegCB(RegCB):
    """Chooses uniformly among the actions whose upper bound is below no lower bound.

        {a : upper(a) >= max_b lower(b)}    among the available actions

    The bounds are those of `OptimisticRegCB`. The rewards must be from 0 to 1.

    Args:
        mellowness: the factor of beta_n, how far to explore; at least 0.

    Source: Foster et al. (2018); Vowpal Wabbit's `--regcb`.

    >>> EliminationRegCB()
    EliminationRegCB(mellowness=0.1)
    """

    def probabilities(self, seen: Predictions, available: Mask | None) -> Floats:
        lower, upper = clipped_bounds(seen, self.mellowness)
        return uniform(plausible_actions(lower, upper, available))


def check_mellowness(mellowness: float) -> float:
    """Returns the factor of beta_n, which is at least 0."""
    return check_number("mellowness", mellowness, 0.0, MAX_PARAMETER)


def clipped_bounds(seen: Predictions, mellowness: float) -> tuple[Floats, Floats]:
    """Returns the bounds after the rewards learned so far, from 0 to 1: two [B, K]."""
    num_actions = seen.shape[1]
    radius: float | Floats
    if isinstance(seen.num_rewards, np.ndarray):
        radius = np.sqrt(mellowness * np.log(num_actions * np.maximum(seen.num_rewards, 1.0)))
    else:
        radius = math.sqrt(mellowness * math.log(num_actions * max(seen.num_rewards, 1.0)))
    lower, upper = seen.interval(radius)
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)


def plausible_actions(lower: Floats, upper: Floats, available: Mask | None) -> Mask:
    """Returns which actions may be best, by bounds [B, K] of their rewards: [B, K]."""
    if available is not None:
        lower = np.where(available, lower, -np.inf)
        upper = np.where(available, upper, -np.inf)
    return np.asarray(upper >= lower.max(axis=1, keepdims=True))
