"""Rows of a log with the weights of a policy, from which estimators of single actions begin."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Floats, as_numbers
from bandit_envs.logged.columns import check_distributions, check_reward_range
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_numbered_actions, require_propensities

ROWS_IN_CACHE = 8192  # whose tables stay in the processor's cache


class WeighedRows(NamedTuple):
    """What estimators know of n rows: arrays [n]."""

    probability: Floats  # of the logged action under the policy
    weights: Floats  # that probability / propensity
    direct: Floats  # sum_a pi(a | x) q(x, a)
    residual: Floats  # r - q(x, a), for the logged action


def weigh_rows(
    log: BanditLog, probabilities: ArrayLike, predicted_rewards: ArrayLike | None = None
) -> WeighedRows:
    """Returns what estimators know of the rows, from tables [n, K]; without predictions, q is 0."""
    table = _as_table("probabilities", probabilities, log)
    predicted = None
    if predicted_rewards is not None:
        predicted = _as_table("predicted_rewards", predicted_rewards, log)
    size = len(log)
    probability = np.empty(size)
    direct = np.zeros(size)
    residual = log.reward
    if predicted is not None:
        residual = residual.copy()
    for start in range(0, size, ROWS_IN_CACHE):
        rows = slice(start, start + ROWS_IN_CACHE)
        chances = np.ascontiguousarray(table[rows], np.float64)
        logged = (np.arange(len(chances)), log.action[rows])
        check_distributions("probabilities", chances, start)
        probability[rows] = chances[logged]
        if predicted is not None:
            means = np.ascontiguousarray(predicted[rows], np.float64)
            direct[rows] = np.einsum("nk,nk->n", chances, means)
            check_reward_range("the mean of predicted_rewards", direct[rows], start)
            residual[rows] -= means[logged]
    return WeighedRows(
        probability, probability / require_propensities(log).propensity, direct, residual
    )


def expect_squares(log: BanditLog, table: Array) -> Floats | None:
    """Returns sum_a pi(a | x)^2 / pi_b(a | x) of the rows [n]; None if the log has no pi_b."""
    logged = log.action_probabilities
    if logged is None:
        return None
    found = np.empty(len(log))
    for start in range(0, len(log), ROWS_IN_CACHE):
        rows = slice(start, start + ROWS_IN_CACHE)
        chances = np.ascontiguousarray(table[rows], np.float64)
        with np.errstate(divide="ignore", over="ignore"):
            ratios = np.divide(chances, logged[rows], out=np.zeros_like(chances), where=chances > 0)
            found[rows] = np.einsum("nk,nk->n", ratios, chances)
    return found


def _as_table(name: str, value: ArrayLike, log: BanditLog) -> Array:
    """Returns an array of numbers [n, K]."""
    table = as_numbers(f"{name} is", value)
    num_actions = require_numbered_actions(log).num_actions
    shape = (len(log), num_actions)
    if table.shape != shape:
        raise ValueError(f"{name} has shape {table.shape}; expected {shape}")
    return table
