"""When there is enough evidence to stop: thresholds, and Chernoff's rule."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.base.checks import check_number, short_repr
from bandit_envs.policies.best_arm.best_arm_policy import BestArmPolicy, Pulls, Search
from bandit_envs.policies.best_arm.reward_laws import RewardLaw, law_of
from bandit_envs.policies.policy import PolicyOptions

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

- "practical", log((log t + 1) / delta): what the papers' experiments take. It is not proven. Where
  the best two actions are nearly equal, errors reach delta: with means of 0.5 and 0.4995 and delta
  0.05, 5.06% of 10,000 tests erred (standard error 0.22%). Where they are not, errors are fewer.
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


class ChernoffPolicy(BestArmPolicy):
    """Stops as soon as the evidence is above a level: Chernoff's rule.

        stop if Z_t > level_t
        Z_t = min_b  N(a) kl(Q(a), m_b) + N(b) kl(Q(b), m_b)

    Here, a is the action with the largest mean reward Q, and m_b the mean of all rewards of a and
    b. Z is the logarithm of the likelihood ratio of the means found, and of any with which b is
    not worse than a.

    A subclass implements `_exploration_scores` or `_select`, and `_follow` if it has a plan.

    Args:
        delta: the largest probability of error, at most 1.
        reward_std: the standard deviation of normal rewards; None for rewards from 0 to 1.
        threshold: level_t. "practical" is ln((ln t + 1) / delta), "chernoff" is the proven one.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Garivier & Kaufmann, Optimal Best Arm Identification with Fixed Confidence (2016).
    """

    reward_range = 0.0, 1.0

    def __init__(
        self,
        delta: float,
        reward_std: float | None = None,
        threshold: str = "practical",
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        super().__init__(**options)
        self._law = law_of(reward_std)
        self._level = StoppingLevel(threshold, delta, self.num_actions)
        self.reward_range = self._law.reward_range

    def _follow(self, plan: Any, rows: Indices, pulls: Pulls, leaders: Indices) -> None:
        """Changes the plan after a reward of each of some rows.

        Args:
            plan: of all rows.
            rows: those that had not stopped, [n] with n > 0. Nothing else may change.
            pulls: of these rows.
            leaders: the action of each of these rows with the largest mean reward, [n].
        """

    def _update(self, search: Search, rows: Indices) -> None:
        pulls = search.pulls.take(rows)
        leaders = pulls.leaders()
        search.stopped[rows] = is_evident(self._law, pulls, leaders, self._level.after(pulls.steps))
        self._follow(search.plan, rows, pulls, leaders)


def is_evident(law: RewardLaw, pulls: Pulls, leaders: Indices, level: Floats) -> Mask:
    """Returns whether the evidence that a row's leader is the best is above a level: [n].

    The evidence is that against the action that looks least worse. Most rows already miss the level
    with the action that has the second largest mean, hence all others are looked at in few rows.

    Args:
        law: of the rewards.
        pulls: of n rows.
        leaders: the actions with the largest mean rewards, [n].
        level: [n], at least 0.
    """
    rows = np.arange(len(leaders))
    values = pulls.values.copy()
    values[rows, leaders] = -np.inf
    second = values.argmax(axis=1)
    found = law.likelihood_ratio(
        pulls.counts[rows, leaders],
        pulls.values[rows, leaders],
        pulls.counts[rows, second],
        pulls.values[rows, second],
    )
    evident: Mask = found > level
    likely = np.flatnonzero(evident)
    if likely.size:
        evident[likely] = evidence(law, pulls.take(likely), leaders[likely]) > level[likely]
    return evident


def evidence(law: RewardLaw, pulls: Pulls, leaders: Indices) -> Floats:
    """Returns how surely each row's leader is better than any other action: [n].

    It is the smallest likelihood ratio of the leader and another action, and 0 if an action was
    never chosen.

    Args:
        law: of the rewards.
        pulls: of n rows.
        leaders: the actions with the largest mean rewards, [n].
    """
    rows = np.arange(len(leaders))
    ratios = law.likelihood_ratio(
        pulls.counts[rows, leaders][:, np.newaxis],
        pulls.values[rows, leaders][:, np.newaxis],
        pulls.counts,
        pulls.values,
    )
    ratios[rows, leaders] = np.inf
    return np.asarray(np.maximum(ratios.min(axis=1), 0.0))
