"""The statistical helpers accept what a law says, and refuse what is a little off."""

import numpy as np

from tests.statistical import has_probabilities, is_near, is_near_std, within_standard_errors

DRAWS = np.random.default_rng(0).normal([1.0, -3.0], [2.0, 0.5], (10_000, 2))


def test_values_within_five_standard_errors_are_accepted():
    assert within_standard_errors([1.4, 0.6], 1.0, 0.1)
    assert not within_standard_errors([1.0, 0.4], 1.0, 0.1)
    assert not within_standard_errors(np.nan, 1.0, 0.1)


def test_rounding_is_accepted_where_nothing_is_drawn():
    assert within_standard_errors(1e6 + 0.5, 1e6, 0.0)
    assert is_near(np.full(3, np.float32(0.1)), 0.1)
    assert not is_near(np.full(3, 0.11), 0.1)


def test_means_are_compared_column_by_column():
    assert is_near(DRAWS, [1.0, -3.0])
    assert is_near(DRAWS, [1.0, -3.0], std=[2.0, 0.5])
    assert not is_near(DRAWS, [1.0, -2.9])


def test_shares_have_the_error_of_the_share_that_is_expected():
    heads = np.arange(400) < 230
    assert is_near(heads, 0.5)
    assert not is_near(heads, 0.4)
    assert not is_near(np.zeros(400, bool), 0.5)


def test_standard_deviations_are_compared_column_by_column():
    assert is_near_std(DRAWS, [2.0, 0.5])
    assert not is_near_std(DRAWS, [2.0, 0.53])


def test_counts_are_compared_with_probabilities():
    assert has_probabilities([260, 240, 500], [0.25, 0.25, 0.5])
    assert not has_probabilities([330, 170, 500], [0.25, 0.25, 0.5])
