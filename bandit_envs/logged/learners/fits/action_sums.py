"""Ridge regressions of the rewards of actions, from sums of parts of a log."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.logged.learners.fits.pairs import all_pairs, count_models, logged_pairs
from bandit_envs.logged.learners.fits.policies import (
    policy_of_regressions,
)
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_propensities
from bandit_envs.logged.reward_models.reward_sums import NumberedBatches
from bandit_envs.logged.reward_models.ridge_regression import RidgeSums
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models.value_model import NEVER
from bandit_envs.seeding import Seed


@dataclasses.dataclass(frozen=True)
class RegressionSums:
    """What a part of a log says of its actions, or of all its items. Those of parts merge.

    Args:
        ridge: the sums of the regressions of actions.
        logged: the regressions of actions that were taken.
        sample: a row, which shows how many actions and features there are; None without rows.
    """

    ridge: RidgeSums = dataclasses.field(default_factory=RidgeSums)
    logged: frozenset[int] = frozenset()
    sample: BanditLog | None = None

    def merge(self, other: RegressionSums) -> RegressionSums:
        """Returns the sums of the rows of both."""
        sample = other.sample if self.sample is None else self.sample
        return RegressionSums(self.ridge.merge(other.ridge), self.logged | other.logged, sample)


def sum_logged_rewards(part: NumberedBatches) -> RegressionSums:
    """Returns the sums of the rewards of the actions that were taken, in a part of a log."""
    found = RegressionSums()
    for _, batch in part:
        ridge = RidgeSums()
        logged = [pairs for pairs in logged_pairs(batch) if len(pairs.rewards)]
        for pairs in logged:
            ridge.add(*pairs)
        models = frozenset(pairs.model for pairs in logged)
        found = found.merge(RegressionSums(ridge, models, batch[:1]))
    return found


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
        ridge = RidgeSums()
        rewards = correct_rewards(predict(batch, first_row), batch)
        for pairs in all_pairs(batch, rewards):
            ridge.add(*pairs)
        logged = frozenset(pairs.model for pairs in logged_pairs(batch) if len(pairs.rewards))
        found = found.merge(RegressionSums(ridge, logged, batch[:1]))
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
    models = sums.ridge.fit()
    of_all = [
        models[action] if action in sums.logged else NEVER
        for action in range(count_models(sums.sample))
    ]
    return policy_of_regressions(of_all, sums.sample, batch_size, seed)
