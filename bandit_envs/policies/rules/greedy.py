"""Rules that choose what is predicted best, now and then any action."""

from __future__ import annotations

import dataclasses

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_number, check_positive
from bandit_envs.policies.rules.rule import IndexRule, Predictions


@dataclasses.dataclass(frozen=True)
class Greedy(IndexRule):
    """Chooses the action that is predicted best.

        argmax_a  f(x, a)

    It explores nothing. Give the model an `initial_value` at the upper end of the rewards, or put
    the rule into `FirstPulls`.

    >>> Greedy()
    Greedy()
    """

    def index(self, seen: Predictions) -> Floats:
        return seen.scores()


@dataclasses.dataclass(frozen=True)
class EpsilonGreedy(IndexRule):
    """Chooses the action that is predicted best, or with probability epsilon any action.

        argmax_a  f(x, a)    with probability 1 - epsilon_n
        epsilon_n = max(smallest_epsilon, epsilon * decay^n)    after n rewards

    Args:
        epsilon: the probability of choosing any action, all equally likely; from 0 to 1.
        decay: by how much each reward multiplies it, above 0 and at most 1.
        smallest_epsilon: below which it does not fall, from 0 to 1; of no use without `decay`.

    Source: Sutton & Barto, 2nd ed., section 2.2.

    >>> EpsilonGreedy(0.1)
    EpsilonGreedy(epsilon=0.1, decay=1.0, smallest_epsilon=0.0)
    """

    epsilon: float
    decay: float = 1.0
    smallest_epsilon: float = 0.0

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, 0.0, 1.0)
        check_positive("decay", self.decay, maximum=1.0)
        check_number("smallest_epsilon", self.smallest_epsilon, 0.0, 1.0)

    @property
    def counts_rewards(self) -> bool:
        """Whether epsilon decays."""
        return self.decay < 1.0

    def index(self, seen: Predictions) -> Floats:
        return seen.scores()

    def exploration(self, seen: Predictions) -> float | Floats:
        if self.decay == 1.0:
            return float(self.epsilon)
        decayed = self.epsilon * self.decay**seen.num_rewards
        if isinstance(decayed, np.ndarray):
            return np.asarray(np.maximum(decayed, self.smallest_epsilon))
        return float(max(decayed, self.smallest_epsilon))
