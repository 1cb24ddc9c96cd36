"""Statistical tests: is what was drawn as its law says?

A seed is fixed, so a test that passes once passes always. The default bound of five standard errors
is exceeded by chance once in two million tests of a correct law.
"""

import numpy as np

ROUNDING = 1e-6  # of an expected value, or of 1 if that is larger


def within_standard_errors(found, expected, standard_error, number=5.0) -> bool:
    """Returns whether each value is within some standard errors of what is expected.

    Args:
        found: a value or an array of values.
        expected: what they estimate, of a shape that broadcasts.
        standard_error: of the values, of a shape that broadcasts.
        number: how many standard errors a value may be off.
    """
    found = np.asarray(found, np.float64)
    expected = np.asarray(expected, np.float64)
    rounding = ROUNDING * np.maximum(1.0, np.abs(expected))
    bound = number * np.asarray(standard_error, np.float64) + rounding
    return bool((np.abs(found - expected) <= bound).all())


def is_near(values, mean, std=None, number=5.0) -> bool:
    """Returns whether the mean of independent draws is within standard errors of what is expected.

    Args:
        values: draws, [n] or [n, ...]; means are over the first axis. Booleans are shares of True.
        mean: the expected mean, or one for each column.
        std: the standard deviation of one draw. By default, for booleans that of the expected
            share, and for numbers that of the values.
        number: how many standard errors the mean may be off.
    """
    values = np.asarray(values)
    mean = np.asarray(mean, np.float64)
    if std is None and values.dtype == bool:
        std = np.sqrt(mean * (1.0 - mean))
    values = values.astype(np.float64)
    if std is None:
        std = values.std(axis=0)
    standard_error = np.asarray(std) / np.sqrt(len(values))
    return within_standard_errors(values.mean(axis=0), mean, standard_error, number)


def is_near_std(values, std, number=5.0) -> bool:
    """Returns whether normal draws [n] or [n, ...] have a standard deviation, as `is_near`."""
    values = np.asarray(values, np.float64)
    standard_error = np.asarray(std) / np.sqrt(2 * len(values))
    return within_standard_errors(values.std(axis=0), std, standard_error, number)


def chi_square(counts, probabilities) -> float:
    """Returns the chi-square statistic of counts [k] against probabilities [k]."""
    counts = np.asarray(counts)
    expected = counts.sum() * np.asarray(probabilities)
    return float((np.square(counts - expected) / expected).sum())


def has_probabilities(counts, probabilities, number=5.0) -> bool:
    """Returns whether counts [k] of independent draws fit positive probabilities [k].

    The chi-square statistic has mean k - 1 and standard deviation sqrt(2 (k - 1)).
    """
    freedom = len(counts) - 1
    return chi_square(counts, probabilities) < freedom + number * np.sqrt(2 * freedom)
