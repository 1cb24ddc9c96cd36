"""What policies share that stop by Chernoff's rule."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.base.checks import check_number
from bandit_envs.policies.best_arm.best_arm_policy import BestArmPolicy, Pulls, Search, among
from bandit_envs.policies.best_arm.reward_laws import RewardLaw, check_std, law_of
from bandit_envs.policies.best_arm.stopping import StoppingLevel, check_delta
from bandit_envs.policies.draws import rows_of
from bandit_envs.policies.policy import PolicyOptions


class ChernoffPolicy(BestArmPolicy):
    """Stops as soon as the evidence is above a level: Chernoff's rule.

        stop if Z_t > level_t
        Z_t = min_b  N(a) kl(Q(a), m_b) + N(b) kl(Q(b), m_b)

    Here, a is the action with the largest mean reward Q, b any other that counts, and m_b the mean
    of all rewards of a and b. Z is the logarithm of the likelihood ratio of the means found, and of
    any with which b is not worse than a.

    With a tolerance, Z is the logarithm of the ratio to any means with which a is worse than b by
    so much. Then a test of equal actions stops, too.

    A subclass implements `_exploration_scores` or `_select`, and `_follow` if it has a plan.

    Args:
        delta: the largest probability of error, at most 1.
        reward_std: the standard deviation of normal rewards; None for rewards from 0 to 1.
        threshold: level_t. "practical" is ln((ln t + 1) / delta), "chernoff" is the proven one.
        tolerance: by how much the answer may be worse than the best action.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Garivier & Kaufmann, Optimal Best Arm Identification with Fixed Confidence (2016).
    """

    reward_range = 0.0, 1.0

    def __init__(
        self,
        delta: float,
        reward_std: float | None = None,
        threshold: str = "practical",
        tolerance: float = 0.0,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        super().__init__(**options)
        self._delta = check_delta(delta)
        largest = 0.999 if reward_std is None else np.inf
        self._tolerance = check_number("tolerance", tolerance, 0.0, largest)
        self._reward_std = check_std(reward_std)
        self._threshold = threshold
        self._law = law_of(self._reward_std)
        self._level = StoppingLevel(threshold, self._delta)
        self.reward_range = self._law.reward_range

    def _follow(
        self, plan: Any, rows: Indices, pulls: Pulls, leaders: Indices, compared: Mask | None
    ) -> None:
        """Changes the plan after a reward of each of some rows.

        Args:
            plan: of all rows.
            rows: those that had not stopped, [n] with n > 0. Nothing else may change.
            pulls: of these rows.
            leaders: the action of each of these rows with the largest mean reward, [n].
            compared: the actions that count, [n, K]; None if all do.
        """

    def _reward_law(self) -> RewardLaw:
        return self._law

    def _update(self, search: Search, rows: Indices) -> None:
        pulls = search.pulls.take(rows)
        compared = search.compared(rows)
        leaders = pulls.leaders(compared)
        level = self._level.after(pulls.steps, self.num_actions)
        search.stopped[rows] = is_evident(
            self._law, pulls, leaders, compared=compared, level=level, tolerance=self._tolerance
        )
        self._follow(search.plan, rows, pulls, leaders, compared)


def is_evident(
    law: RewardLaw,
    pulls: Pulls,
    leaders: Indices,
    *,
    compared: Mask | None,
    level: Floats,
    tolerance: float,
) -> Mask:
    """Returns whether the evidence that a row's leader is the best is above a level: [n].

    The evidence is that against the action that looks least worse. Most rows already miss the level
    with the action that has the second largest mean, hence all others are looked at in few rows.

    Args:
        law: of the rewards.
        pulls: of n rows.
        leaders: the actions with the largest mean rewards, [n].
        compared: the actions that count, [n, K]; None if all do. A row with one has no evidence.
        level: [n], at least 0.
        tolerance: by how much the leader may be worse.
    """
    rows = np.arange(len(leaders))
    values = among(pulls.values, compared, -np.inf)
    values[rows, leaders] = -np.inf
    second = values.argmax(axis=1)
    has_rival = values[rows, second] > -np.inf
    pair = (
        pulls.counts[rows, leaders],
        pulls.values[rows, leaders],
        pulls.counts[rows, second],
        pulls.values[rows, second],
    )
    if tolerance == 0.0:
        found = law.likelihood_ratio(*pair)
    else:
        found = law.tolerant_bound(*pair, tolerance)
    evident: Mask = (found > level) & has_rival
    likely = np.flatnonzero(evident)
    if likely.size:
        found = evidence(
            law,
            pulls.take(likely),
            leaders[likely],
            compared=rows_of(compared, likely),
            tolerance=tolerance,
        )
        evident[likely] = found > level[likely]
    return evident


def evidence(
    law: RewardLaw, pulls: Pulls, leaders: Indices, *, compared: Mask | None, tolerance: float
) -> Floats:
    """Returns how surely each row's leader is better than any other action: [n].

    It is the smallest likelihood ratio of the leader and another action that counts, and 0 if one
    was never chosen.

    Args:
        law: of the rewards.
        pulls: of n rows.
        leaders: the actions with the largest mean rewards, [n].
        compared: the actions that count, [n, K]; None if all do.
        tolerance: by how much the leader may be worse.
    """
    rows = np.arange(len(leaders))
    pairs = (
        pulls.counts[rows, leaders][:, np.newaxis],
        pulls.values[rows, leaders][:, np.newaxis],
        pulls.counts,
        pulls.values,
    )
    if tolerance == 0.0:
        ratios = law.likelihood_ratio(*pairs)
    else:
        ratios = law.tolerant_ratio(*pairs, tolerance)
    ratios = among(ratios, compared, np.inf)
    ratios[rows, leaders] = np.inf
    return np.asarray(np.maximum(ratios.min(axis=1), 0.0))
