"""When there is enough evidence to stop: thresholds, and Chernoff's rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.checks import check_number, short_repr
from bandit_envs.policies.best_arm import Pulls, Search
from bandit_envs.policies.optimal_proportions import optimal_weights
from bandit_envs.policies.reward_laws import RewardLaw, law_of

TOLERANCE = 1e-3
"""Of the logarithms of proportions: Newton's last step is exact to about its square."""

Threshold = Callable[[Floats, int, float], Floats]
"""Returns a level [n] for the steps t [n], the number of actions and delta."""


def _practical(steps: Floats, num_actions: int, delta: float) -> Floats:
    return np.log((np.log(steps) + 1.0) / delta)


def _chernoff(steps: Floats, num_actions: int, delta: float) -> Floats:
    return np.log(2.0 * steps * (num_actions - 1.0) / delta)


def _kl_lucb(steps: Floats, num_actions: int, delta: float) -> Floats:
    level = np.log(405.5 * num_actions * steps**1.1 / delta)
    return level + np.log(level)


THRESHOLDS: dict[str, Threshold] = {
    "practical": _practical,
    "chernoff": _chernoff,
    "kl_lucb": _kl_lucb,
}
"""How much evidence it takes after t steps.

- "practical", log((log t + 1) / delta): what the papers' experiments take. It is not proven, but
  errors are far fewer than delta allows.
- "chernoff", log(2 t (K - 1) / delta): proven for Chernoff's rule and rewards of 1 or 0, by
  Garivier & Kaufmann (2016), theorem 10.
- "kl_lucb", b + log b with b = log(405.5 K t^1.1 / delta): proven for KL-LUCB, by Kaufmann &
  Kalyanakrishnan (2013).
"""


class StoppingLevel:
    """A threshold with its arguments.

    Args:
        threshold: a name in `THRESHOLDS`.
        delta: the largest probability of error.
        num_actions: K.
    """

    def __init__(self, threshold: str, delta: float, num_actions: int) -> None:
        if threshold not in THRESHOLDS:
            expected = ", ".join(THRESHOLDS)
            raise ValueError(f"threshold is {short_repr(threshold)}; expected one of {expected}")
        self._threshold = THRESHOLDS[threshold]
        self._delta = check_delta(delta)
        self._num_actions = num_actions

    def after(self, steps: Indices) -> Floats:
        """Returns the level after so many steps [n]: [n]."""
        return self._threshold(steps.astype(np.float64), self._num_actions, self._delta)


def check_delta(delta: object) -> float:
    """Returns a probability of error, from 1e-100 to 1."""
    return check_number("delta", delta, 1e-100, 1.0)


def evidence(law: RewardLaw, pulls: Pulls, leaders: Indices) -> Floats:
    """Returns how surely each row's leader is better than any other action: [n].

        Z = min_b  N(a) kl(Q(a), m_b) + N(b) kl(Q(b), m_b)

    Here, a is the leader, and m_b the mean of all rewards of a and b. This is the logarithm of the
    likelihood ratio of the means found, and of any with which b is not worse. It is 0 if an action
    was never chosen.

    Args:
        law: of the rewards.
        pulls: of n rows.
        leaders: the actions with the largest mean rewards, [n].
    """
    rows = np.arange(len(leaders))
    alone = pulls.counts * law.potential(pulls.values)
    counts = pulls.counts + pulls.counts[rows, leaders][:, np.newaxis]
    sums = pulls.sums + pulls.sums[rows, leaders][:, np.newaxis]
    ratios: Floats = alone + alone[rows, leaders][:, np.newaxis]
    ratios -= counts * law.potential(sums / np.maximum(counts, 1.0))
    ratios[rows, leaders] = np.inf
    return np.asarray(np.maximum(ratios.min(axis=1), 0.0))


class ChernoffRule:
    """Stops a row when the evidence for its leader is above a level.

    Args:
        reward_std: the standard deviation of normal rewards; None for rewards from 0 to 1.
        level: of the evidence.
    """

    def __init__(self, reward_std: float | None, level: StoppingLevel) -> None:
        self.law = law_of(reward_std)
        self._level = level

    def apply(self, search: Search, rows: Indices) -> tuple[Pulls, Indices]:
        """Says which of some rows [n] stop, and returns their pulls and their leaders [n]."""
        pulls = search.pulls.take(rows)
        leaders = pulls.leaders()
        found = evidence(self.law, pulls, leaders)
        search.stopped[rows] = found > self._level.after(pulls.steps)
        return pulls, leaders

    def proportions(self, means: Floats, leaders: Indices, start: Floats) -> Floats:
        """Returns the optimal proportions of some rows, near the last ones: [n, K].

        Args:
            means: [n, K].
            leaders: the best actions, [n].
            start: the last proportions, [n, K]; 0 if there are none.
        """
        return optimal_weights(self.law, means, leaders, TOLERANCE, start)[0]
