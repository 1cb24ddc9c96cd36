"""Logs of several logging policies, evaluated together."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats
from bandit_envs.logged.columns import as_column, check_each
from bandit_envs.logged.estimators.estimate import Estimate
from bandit_envs.logged.intervals.influence import normal_interval
from bandit_envs.logged.joining import concatenate
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_equal_rows
from bandit_envs.metrics.statistics import exceed_chi_squared
from bandit_envs.rounding import is_rounding

__all__ = [
    "balance_loggers",
    "combine_estimates",
    "stratify_estimates",
]

HETEROGENEOUS = 1e-3  # the p-value of Cochran's test, below which estimates are of other values


def balance_loggers(logs: Sequence[BanditLog], propensities: Sequence[ArrayLike]) -> BanditLog:
    """Returns one log whose propensities are those of the mixture of its logging policies.

        p(a_i | x_i) = sum_k (n_k / n) p_k(a_i | x_i)

    An estimator of the result is the balanced one: its weights vary less than those of the separate
    propensities, and are bounded wherever one logging policy tries what the policy does.

    It is right if all logging policies meet the same contexts at the same times. If one followed
    another, or each serves other users, it takes a difference of times or users for one of actions.
    Estimates test that by the separate propensities, which the result keeps as `own_propensity`.
    Without this assumption, estimate `concatenate(logs)`, or each log alone: `stratify_estimates`.

    Args:
        logs: of each logging policy, n_k rows.
        propensities: for each log, the probabilities [n_k, L] with which each of the L logging
            policies takes its actions, in the order of `logs`.

    Source: Agarwal et al., Effective evaluation using logged bandit feedback from multiple loggers
    (2017).
    """
    log = require_equal_rows(concatenate(logs), "a mixture of loggers")
    shares = np.array([len(each) for each in logs]) / len(log)
    tables = [as_column("propensities", table) for table in propensities]
    table = np.concatenate(tables)
    if table.shape != (len(log), len(logs)):
        expected = f"{(len(log), len(logs))}, a column for each log"
        raise ValueError(f"propensities have shape {table.shape}; expected {expected}")
    check_each("propensities", table, (table >= 0.0) & (table <= 1.0), "0 to 1")
    return dataclasses.replace(
        log,
        propensity=table @ shares,
        own_propensity=log.propensity,
        action_probabilities=None,
    )


@dataclasses.dataclass(frozen=True)
class CombinedEstimate:
    """A weighted mean of independent estimates, with its uncertainty."""

    value: float
    standard_error: float
    shares: tuple[float, ...]  #: of the estimates in the value; their sum is 1
    estimates: Sequence[Estimate] = dataclasses.field(default=(), repr=False, compare=False)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the ends of a confidence interval that allows for skewed rows and heavy tails.

        How far the intervals of the estimates reach below and above them is added up as standard
        errors are: the root of the sum of squares.

        Source: Zou & Donner, Construction of confidence limits about effect measures (2008).
        """
        reach = np.zeros((len(self.shares), 2))
        for place, (share, estimate) in enumerate(zip(self.shares, self.estimates)):
            low, high = estimate.interval(confidence)
            reach[place] = share * (estimate.value - low), share * (high - estimate.value)
        below, above = np.sqrt((reach**2).sum(axis=0))
        return self.value - float(below), self.value + float(above)

    def normal_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the ends of a confidence interval, if estimates are normally distributed."""
        return normal_interval(self.value, self.standard_error, confidence)


def stratify_estimates(estimates: Sequence[Estimate]) -> CombinedEstimate:
    """Returns the mean of estimates of one policy on the logs of several logging policies.

    Each counts in proportion to the number of its rows, or of the decisions for which they stand if
    they have weights, so that the result is right whatever times and contexts each logging policy
    meets.

    Args:
        estimates: of the logs, by one estimator.
    """
    sizes = np.array([estimate.sums.decisions for estimate in estimates])
    return _combine(estimates, sizes)


def combine_estimates(estimates: Sequence[Estimate]) -> CombinedEstimate:
    """Returns the mean of estimates of one policy, weighted by their precision.

    Each counts in proportion to the number of its rows over the variance of what a row adds, so
    that the logs of bad logging policies do little harm. The variances are those of the same rows,
    so the result is biased where logs are small. It is right if each log alone tells the value of
    the policy: if all logging policies meet the same contexts at the same times.

    Args:
        estimates: of the logs, by one estimator.

    Raises:
        ValueError: an estimate has no variance.

    Warns:
        UserWarning: the estimates differ by more than noise: Cochran's test of homogeneity has a
            p-value below 0.001. The result is then that of `stratify_estimates`.

    Source: Agarwal et al. (2017), the weighted estimator; Cochran, The combination of estimates
    from different experiments (1954).
    """
    precisions = []
    for index, estimate in enumerate(estimates):
        size = estimate.sums.size
        variance = estimate.standard_error**2 * (size - 1)
        if is_rounding(math.sqrt(variance), estimate.value):
            raise ValueError(f"estimate {index} has no variance; expected rows that differ")
        precisions.append(size / variance)
    statistic, p_value = cochran_test(estimates)
    if p_value < HETEROGENEOUS:
        found = f"the estimates differ by more than noise (Q = {statistic:.4g})"
        advice = "the logging policies seem to have met other contexts, or other times"
        warnings.warn(f"{found}: {advice}; each counts by its number of rows", stacklevel=2)
        return stratify_estimates(estimates)
    return _combine(estimates, np.array(precisions))


def cochran_test(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """Returns Cochran's Q of estimates of one value, and its p-value.

    Q is the sum of the squared deviations from their mean by precision, over the squared standard
    errors. If all are of one value, it has about a chi-squared distribution.
    """
    values = np.array([estimate.value for estimate in estimates])
    errors = np.array([estimate.standard_error for estimate in estimates])
    precisions = errors**-2.0
    mean = float(precisions @ values / precisions.sum())
    statistic = float(precisions @ (values - mean) ** 2)
    return statistic, exceed_chi_squared(statistic, len(values) - 1)


def _combine(estimates: Sequence[Estimate], weights: Floats) -> CombinedEstimate:
    """Returns the mean of independent estimates with weights, which need not sum to 1."""
    shares = weights / weights.sum()
    values = np.array([estimate.value for estimate in estimates])
    errors = np.array([estimate.standard_error for estimate in estimates])
    return CombinedEstimate(
        value=float(shares @ values),
        standard_error=math.sqrt(float(shares**2 @ errors**2)),
        shares=tuple(shares.tolist()),
        estimates=tuple(estimates),
    )
