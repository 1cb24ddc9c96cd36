"""The largest values of rows, and how ties are broken."""

import numpy as np
import pytest

from bandit_envs.policies import argmax_random_ties
from bandit_envs.policies.draws import (
    draw_indices,
    index_probabilities,
    largest_random_ties,
    largest_values,
)
from tests.cases import for_each


def test_ties_are_broken_uniformly_at_random(chi_square):
    values = np.tile([1.0, 3.0, 3.0, -2.0, 3.0], (30_000, 1))
    best = argmax_random_ties(np.random.default_rng(0), values)
    counts = np.bincount(best, minlength=5)
    assert counts[0] == counts[3] == 0
    # Two degrees of freedom: 6 standard deviations above the mean.
    assert chi_square(counts[[1, 2, 4]], np.full(3, 1 / 3)) < 14


def test_each_row_has_ties_and_available_values_of_its_own():
    values = np.array([[0.0, 0.0, -1.0], [2.0, 1.0, 2.0], [0.0, 7.0, 1.0], [np.inf, np.inf, 0.0]])
    available = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1], [1, 1, 1]], bool)
    rng = np.random.default_rng(0)
    found = np.array([argmax_random_ties(rng, values) for _ in range(200)])
    assert [set(column) for column in found.T] == [{0, 1}, {0, 2}, {1}, {0, 1}]
    found = np.array([argmax_random_ties(rng, values, available) for _ in range(200)])
    assert [set(column) for column in found.T] == [{0, 1}, {0}, {2}, {0, 1}]


def test_without_ties_nothing_is_drawn():
    rng = np.random.default_rng(0)
    values = np.random.default_rng(1).normal(size=(50, 6))
    before = rng.bit_generator.state
    np.testing.assert_array_equal(argmax_random_ties(rng, values), values.argmax(axis=1))
    assert rng.bit_generator.state == before


@pytest.mark.parametrize("num_values", [3, 10, 63, 64, 500])
@pytest.mark.parametrize("distinct", [1, 2, 7, 10_000])
def test_the_largest_values_stand_in_their_order_and_equal_ones_by_chance(num_values, distinct):
    values = np.random.default_rng(0).integers(0, distinct, (40, num_values)) - 3.0
    values[0, ::2] = np.inf
    for size in (1, 3, num_values // 2, num_values):
        found = largest_random_ties(np.random.default_rng(1), values, size)
        ties = np.random.default_rng(1).random(values.shape)
        for row in range(40):
            order = sorted(range(num_values), key=lambda k: (-values[row, k], ties[row, k]))
            assert found[row].tolist() == order[:size]


def test_one_row_is_drawn_and_weighed_as_each_of_many():
    weights = np.random.default_rng(0).random((300, 7))
    weights *= weights > 0.3
    weights[:, 3] = 0.5
    scores = np.round(4.0 * weights)
    together = index_probabilities(scores, 0.1, weights > 0.0)
    best, largest = largest_values(scores)
    for row in range(len(weights)):
        one = slice(row, row + 1)
        rng = np.random.default_rng(row)
        twice = np.repeat(weights[one], 2, axis=0)
        first = draw_indices(np.random.default_rng(row), twice)[0]
        assert draw_indices(rng, weights[one]).tolist() == [first]
        alone = index_probabilities(scores[one], 0.1, weights[one] > 0.0)
        np.testing.assert_array_equal(alone, together[one])
        found = largest_values(scores[one])
        assert (found[0].tolist(), found[1].tolist()) == ([best[row]], largest[one].tolist())


@for_each("num_rows", [1, 2])
def test_scores_have_no_nan(num_rows):
    values = np.array([[0.0, 1.0], [np.nan, 2.0]])[-num_rows:]
    with pytest.raises(ValueError, match=f"scores of row {num_rows - 1} have NaN"):
        largest_values(values)
