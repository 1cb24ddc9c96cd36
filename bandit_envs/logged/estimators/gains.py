"""Gains: how much more a policy would have earned than another one, in the same rows of a log.

What most rows add to both estimates is alike, so the error of their difference is smaller than two
separate intervals suggest. It is that of one estimate, whose rows add what they add to the first
less what they add to the second.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from collections.abc import Callable, Iterable

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.logged.again import Again
from bandit_envs.logged.estimators.estimate import Estimate, merge_sums
from bandit_envs.logged.estimators.terms import Terms, sum_terms
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import check_log, check_repeatable
from bandit_envs.rounding import is_rounding, subtract

SMALLEST_P = 1e-9  # the tails of estimates are not known beyond
SMALLEST_P_OF_FEW = 1e-3  # likewise, if few rows decide
BISECTIONS = 50  # of the logarithm of a p-value, which is right to 13 digits then


def estimate_logged(log: BanditLog | Iterable[BanditLog]) -> Estimate:
    """Estimates what the policy earns that made the log: the mean reward, with its error.

    Args:
        log: a log; or its batches, which can be passed over more than once.

    >>> log = BanditLog(np.ones((900, 1)), [0, 1, 1] * 300, [1, 0, 1] * 300, [0.5] * 900)
    >>> estimate = estimate_logged(log)
    >>> round(estimate.value, 4), round(estimate.standard_error, 4)
    (0.6667, 0.0157)
    """
    batches = [log] if isinstance(log, BanditLog) else check_repeatable(log)
    terms = Again(functools.partial(map, logged_terms, batches))
    return merge_sums(sum_terms(terms)).estimate(terms)


def gain_over(estimate: Estimate, baseline: Estimate) -> Estimate:
    """Estimates how much more a policy earns than another one, from the same rows.

    What an `Estimate` of a value says of its weights, that of a gain says of those of the first
    policy.

    Args:
        estimate: of the policy, as an estimator makes it from a log.
        baseline: the estimate of the other policy from the same log; or, for the policy that made
            the log, what `estimate_logged` returns.

    Raises:
        ValueError: the estimates are of different rows, or sums made one of them without its terms.

    >>> from bandit_envs.logged import InversePropensityScoring
    >>> log = BanditLog(np.ones((900, 1)), [0, 1, 1] * 300, [1, 0, 1] * 300, [0.5] * 900)
    >>> first = InversePropensityScoring().estimate(log, np.tile([0.8, 0.2], (900, 1)))
    >>> gain = gain_over(first, estimate_logged(log))
    >>> round(gain.value, 4), round(gain.standard_error, 4)
    (0.0, 0.0163)
    """
    terms = Again(functools.partial(map, subtract_terms, estimate.terms, baseline.terms))
    parts = list(sum_terms(terms))
    sizes = [estimate.sums.size, baseline.sums.size, sum(each.size for each in parts)]
    if len(set(sizes)) > 1:
        found = f"{sizes[0]} and {sizes[1]} rows, and their terms of {sizes[2]}"
        raise ValueError(f"estimates are of {found}; expected the same rows, with their terms")
    sums = merge_sums(parts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the policy, whose estimate has warned
        return sums.estimate(terms)


def logged_terms(log: BanditLog) -> Terms:
    """Returns what each row adds to the mean reward."""
    terms = mean_terms(check_log(log).reward, log.unit)
    return dataclasses.replace(terms, counts=log.weight)


def mean_terms(rewards: Floats, unit: Indices | None = None) -> Terms:
    """Returns what each row adds to the mean of rewards [n], whose units are [n], or None."""
    return Terms(
        direct=rewards,
        weighted=np.zeros(len(rewards)),
        weights=np.ones((1, len(rewards))),
        estimator="mean reward",
        unit=unit,
    )


def subtract_terms(terms: Terms, others: Terms) -> Terms:
    """Returns what each row adds to the difference of two estimates.

    The difference of two means is a mean. Each ratio remains one, in a slot of its own with the
    sign of its estimate, as the mean by which it is divided has an error, too.

    Args:
        terms: of the policy, whose weights the difference has.
        others: of the policy that is subtracted, of the same rows.

    Raises:
        ValueError: the numbers of rows differ, or one of them alone has units.
    """
    if len(terms) != len(others):
        found = f"{len(terms)} and {len(others)} rows"
        raise ValueError(f"terms are of {found}; expected the same rows")
    if (terms.unit is None) != (others.unit is None):
        raise ValueError("one of two estimates is by units; expected both, or neither")
    if terms.counts is not None:
        once = [dataclasses.replace(each, counts=None) for each in (terms, others)]
        return dataclasses.replace(subtract_terms(*once), counts=terms.counts)
    name = f"{terms.estimator} less {others.estimator}"
    free = None
    if terms.free is not None or others.free is not None:
        free = _subtract_columns(_free_columns(terms), _free_columns(others))
    if terms.normaliser is None and others.normaliser is None:
        direct, weighted = _subtract_parts(terms, others)
        return dataclasses.replace(
            terms,
            direct=direct,
            weighted=weighted,
            left_out=_subtract_left_out(terms, others),
            actions=None,
            free=free,
            compared=None,
            needs_equal_weights=False,
            estimator=name,
        )
    columns = _subtract_columns(terms.columns(), others.columns())
    unchanged = None
    if _changes_weights(terms) or _changes_weights(others):
        unchanged = _subtract_columns(_unchanged_columns(terms), _unchanged_columns(others))
    slots = len(columns) // 2
    return dataclasses.replace(
        terms,
        direct=columns[0],
        weighted=columns[1 : 1 + slots],
        normaliser=columns[1 + slots :],
        left_out=None,
        actions=None,
        free=free,
        compared=None,
        needs_equal_weights=False,
        estimator=name,
        unchanged=unchanged,
    )


def _subtract_parts(terms: Terms, others: Terms) -> Floats:
    """Returns the direct and the weighted parts of the difference of two means: [2, n].

    Both are 0 in rows whose totals differ by rounding alone: the same choices have no gain.
    """
    parts = np.array([terms.direct, terms.weighted])
    other_parts = np.array([others.direct, others.weighted])
    differences = subtract(parts, other_parts)
    sizes = np.maximum(np.abs(parts), np.abs(other_parts)).max(axis=0)
    return np.where(is_rounding(differences.sum(axis=0), sizes), 0.0, differences)


def _subtract_columns(columns: Floats, others: Floats) -> Floats:
    """Returns the columns of a difference [1 + 2 (S + T), n], of those with S and T slots."""
    slots = len(columns) // 2
    other_slots = len(others) // 2
    return np.vstack(
        [
            subtract(columns[:1], others[:1]),
            columns[1 : 1 + slots],
            -others[1 : 1 + other_slots],
            columns[1 + slots :],
            others[1 + other_slots :],
        ]
    )


def _changes_weights(terms: Terms) -> bool:
    return terms.left_out is not None or terms.unchanged is not None


def _unchanged_columns(terms: Terms) -> Floats:
    """Returns the columns of the same estimate without a change of the weights."""
    if terms.unchanged is not None:
        return terms.unchanged
    columns = terms.columns()
    return columns if terms.left_out is None else columns + terms.left_out


def _free_columns(terms: Terms) -> Floats:
    """Returns the columns of an estimate that neither assumes anything nor changes the weights."""
    return _unchanged_columns(terms) if terms.free is None else terms.free


def _subtract_left_out(terms: Terms, others: Terms) -> Floats | None:
    """Returns what a change of the weights takes from the rows of the difference of two means."""
    if terms.left_out is None and others.left_out is None:
        return None
    zeros = np.zeros(len(terms))
    own = zeros if terms.left_out is None else terms.left_out
    return np.asarray(own - (zeros if others.left_out is None else others.left_out))


def p_value_of(gain: Estimate) -> float:
    """Returns the p-value of a gain of 0, at least 1e-9; where few rows decide, at least 0.001.

    It is below 0.05 exactly if `gain.interval(0.95)` leaves out 0, and so on, so that it allows
    for skewed rows and heavy tails as the interval does. Few rows decide if the gain has less than
    40 degrees of freedom: then nothing is known of the tails far out.

    >>> from bandit_envs.logged import InversePropensityScoring
    >>> log = BanditLog(np.ones((900, 1)), [0, 1, 1] * 300, [1, 0, 1] * 300, [0.5] * 900)
    >>> worse = InversePropensityScoring().estimate(log, np.tile([0.4, 0.6], (900, 1)))
    >>> round(p_value_of(gain_over(worse, estimate_logged(log))), 4)
    1.0
    """
    p_value = invert_interval(gain.interval)
    if not math.isfinite(gain.standard_error) or not gain.influence_sums().few_rows_decide:
        return p_value
    return max(p_value, SMALLEST_P_OF_FEW)


def invert_interval(interval: Callable[[float], tuple[float, float]]) -> float:
    """Returns the p-value of 0: the largest that intervals of confidence 1 - p leave 0 out for.

    Args:
        interval: returns the ends for a confidence, for higher ones farther apart.
    """
    lowest = math.log(SMALLEST_P)
    highest = 0.0
    for _ in range(BISECTIONS):
        middle = (lowest + highest) / 2.0
        low, high = interval(-math.expm1(middle))
        if low <= 0.0 <= high:
            lowest = middle
        else:
            highest = middle
    return math.exp(highest)
