"""Rules that choose the action of which a model hopes most."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_PARAMETER, check_number, check_positive
from bandit_envs.policies.rules.rule import IndexRule, Predictions


@dataclasses.dataclass(frozen=True)
class UpperBound(IndexRule):
    """Chooses the action with the largest upper confidence bound.

        argmax_a  f(x, a) + alpha * s(x, a)

    where s is the standard deviation of the prediction: with `Ridge`, this is LinUCB.

    Args:
        alpha: how far to explore, in standard deviations of a prediction; at least 0.

    Source: Li et al., A Contextual-Bandit Approach to Personalized News Article Recommendation
    (2010), algorithm 1; TF-Agents' `LinearUCBAgent`.

    >>> UpperBound(2.0)
    UpperBound(alpha=2.0)
    """

    alpha: float = 1.0

    needs: ClassVar[str] = "interval"

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, 0.0, MAX_PARAMETER)

    def index(self, seen: Predictions) -> Floats:
        return seen.interval(self.alpha)[1]


@dataclasses.dataclass(frozen=True)
class UpperQuantile(IndexRule):
    """Chooses the action whose mean reward has the largest quantile.

        argmax_a  q(a),    P(f(x, a) <= q(a)) = percentile / 100

    Args:
        percentile: above 0 and at most 100.

    Source: Cortes, Adapting Multi-Armed Bandits Policies to Contextual Bandits Scenarios (2018),
    there BootstrappedUCB.

    >>> UpperQuantile()
    UpperQuantile(percentile=80.0)
    """

    percentile: float = 80.0

    needs: ClassVar[str] = "quantile"

    def __post_init__(self) -> None:
        check_positive("percentile", self.percentile, maximum=100.0)

    def index(self, seen: Predictions) -> Floats:
        return seen.quantile(self.percentile / 100.0)
