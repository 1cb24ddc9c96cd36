"""Ridge regressions of the rewards of actions, from sums of parts of a log."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.logged.learners.fits.pairs import (
    Pairs,
    all_pairs,
    count_models,
    find_logged,
    logged_pairs,
)
from bandit_envs.logged.learners.fits.policies import (
    policy_of_regressions,
)
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_propensities
from bandit_envs.logged.moments import Moments, merge_tables
from bandit_envs.logged.reward_models.reward_sums import NumberedBatches
from bandit_envs.logged.reward_models.ridge_regression import RidgeRegression
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models.value_model import NEVER
from bandit_envs.seeding import Seed


@dataclasses.dataclass(frozen=True)
class RegressionSums:
    """What a part of a log says of its actions, or of all its items. Those of parts merge.

    Args:
        moments: of the features and, last, the rewards that each regression learns.
        logged: the regressions of actions that were taken.
        sample: a row, which shows how many actions and features there are; None without rows.
    """

    moments: Mapping[int, Moments] = dataclasses.field(default_factory=dict)
    logged: frozenset[int] = frozenset()
    sample: BanditLog | None = None

    @classmethod
    def of_batch(cls, batch: BanditLog, pairs: Iterable[Pairs]) -> RegressionSums:
        """Returns the sums of pairs of the rows of a batch and of actions."""
        moments = {each.model: each.moments() for each in pairs if len(each.rewards)}
        return cls(moments, find_logged(batch), batch[:1])

    def merge(self, other: RegressionSums) -> RegressionSums:
        """Returns the sums of the rows of both."""
        moments = merge_tables(self.moments, other.moments)
        sample = other.sample if self.sample is None else self.sample
        return RegressionSums(moments, self.logged | other.logged, sample)


def sum_logged_rewards(part: NumberedBatches) -> RegressionSums:
    """Returns the sums of the rewards of the actions that were taken, in a part of a log."""
    found = (RegressionSums.of_batch(batch, logged_pairs(batch)) for _, batch in part)
    return functools.reduce(RegressionSums.merge, found, RegressionSums())


def sum_all_rewards(
    predict: Callable[[BanditLog, int], Floats], part: NumberedBatches
) -> RegressionSums:
    """Returns the sums of the corrected rewards of all actions, in a part of a log.

    Args:
        predict: returns the rewards [n, K] that are corrected, of rows from a number on.
        part: of the log.
    """
    found = RegressionSums()
    for first_row, batch in part:
        rewards = correct_rewards(predict(batch, first_row), batch)
        found = found.merge(RegressionSums.of_batch(batch, all_pairs(batch, rewards)))
    return found


def correct_rewards(predicted: Floats, log: BanditLog) -> Floats:
    """Corrects predicted rewards [n, K] by propensities, in their place, and returns them."""
    rows = np.arange(len(log))
    error = log.reward - predicted[rows, log.action]
    predicted[rows, log.action] += error / require_propensities(log).propensity
    return predicted


def ridge_policy(parts: Iterable[RegressionSums], batch_size: int, seed: Seed) -> ContextualPolicy:
    """Returns a policy that chooses the action with the largest prediction.

    Args:
        parts: of the log. Actions that were never taken are chosen last.
        batch_size: the number of rows of the policy.
        seed: of its draws.
    """
    sums = functools.reduce(RegressionSums.merge, parts, RegressionSums())
    if sums.sample is None or not sums.logged:
        raise ValueError("the log has 0 rows; expected at least one")
    of_all = [
        RidgeRegression().fit_moments(sums.moments[action]) if action in sums.logged else NEVER
        for action in range(count_models(sums.sample))
    ]
    return policy_of_regressions(of_all, sums.sample, batch_size, seed)
