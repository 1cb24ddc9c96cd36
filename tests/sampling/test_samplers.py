"""Samplers of contexts: their distributions, and what is checked of what they draw."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs.sampling import (
    BatchFunction,
    Catalog,
    ContextSampler,
    Integers,
    Normal,
    RowFunction,
    Uniform,
    as_sampler,
)
from bandit_envs.testing import assert_identical
from tests.cases import for_each
from tests.statistical import has_probabilities, is_near, is_near_std

TABLE = np.arange(12.0).reshape(6, 2)


SAMPLERS = [
    Normal(3, loc=1.0, scale=2.0),
    Normal(3, loc=1.0, scale=2.0, dtype=np.float64),
    Uniform(3, -1.0, 1.0),
    Integers(3, -5, 5),
    Catalog(TABLE),
    BatchFunction(lambda rng, size: rng.random((*size, 3)), 3, np.float64),
    RowFunction(lambda: [1, 2, 3]),
]


class Fixed(ContextSampler):
    """Returns what it is given, whatever the specification says."""

    def __init__(self, values, dim):
        super().__init__(dim, np.float64)
        self.values = values

    def _sample(self, rng, size):
        return self.values


@for_each(("sampler", "size"), itertools.product(SAMPLERS, [(1,), (4,), (4, 5)]))
def test_a_draw_is_as_the_spec_says(sampler, size):
    contexts = sampler.sample(np.random.default_rng(0), size)
    assert contexts.shape == size + sampler.spec.shape
    assert contexts.dtype == sampler.spec.dtype


@for_each("sampler", SAMPLERS)
def test_one_seed_gives_one_draw(sampler):
    first, second = (sampler.sample(np.random.default_rng(3), (4, 5)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_normal_has_its_mean_and_standard_deviation():
    values = Normal(4, loc=3.0, scale=2.0).sample(np.random.default_rng(1), (50_000,))
    assert is_near(values, 3.0, std=2.0)
    assert is_near_std(values, 2.0)


def test_normal_features_are_those_of_the_generator_in_either_dtype():
    for dtype in (np.float32, np.float64):
        drawn = Normal(3, dtype=dtype).sample(np.random.default_rng(1), (4, 5))
        expected = np.random.default_rng(1).standard_normal((4, 5, 3), dtype)
        np.testing.assert_array_equal(drawn, expected, strict=True)


def test_uniform_fills_its_interval():
    values = Uniform(4, -3.0, 5.0).sample(np.random.default_rng(1), (50_000,))
    assert is_near(values, 1.0, std=8.0 / np.sqrt(12))
    assert values.min() >= -3.0
    assert values.max() <= 5.0


def test_integers_exclude_the_upper_end_and_are_equally_likely():
    values = Integers(1, -2, 3).sample(np.random.default_rng(1), (50_000,))
    numbers, counts = np.unique(values, return_counts=True)
    np.testing.assert_array_equal(numbers, [-2, -1, 0, 1, 2])
    assert has_probabilities(counts, [0.2] * 5)


def test_integers_are_those_of_the_generator_whatever_the_size():
    sampler = Integers(2, -2, 3)
    for rows in (1, 7, 5000):
        expected = np.random.default_rng(1).integers(-2, 3, (rows, 2), np.int32)
        assert_identical(sampler.sample(np.random.default_rng(1), (rows,)), expected)


@pytest.mark.parametrize(("low", "high"), [(-2, 3), (7, 8), (-(2**31), 2**31)])
@for_each(("size", "dim"), itertools.product([(), (0,), (1,), (4, 5), (3000,)], [0, 3]))
def test_integers_are_int32_within_their_bounds(low, high, size, dim):
    values = Integers(dim, low, high).sample(np.random.default_rng(2), size)
    assert (values.shape, values.dtype) == ((*size, dim), np.int32)
    assert ((values >= low) & (values < high)).all()


@given(
    items=st.integers(1, 40), count=st.integers(1, 40), rows=st.integers(1, 99), seed=st.integers(0)
)
def test_a_row_of_a_catalog_has_no_item_twice(items, count, rows, seed):
    count = min(count, items)
    catalog = Catalog(np.arange(items)[:, np.newaxis])
    chosen = catalog.sample(np.random.default_rng(seed), (rows, count))[..., 0]
    assert all(len(set(row)) == count for row in chosen.tolist())
    assert set(chosen.ravel()) <= set(range(items))


@pytest.mark.parametrize(("items", "count"), [(6, 2), (6, 3), (4, 3), (3, 3)])
def test_all_orders_of_items_of_a_catalog_are_equally_likely(items, count):
    rows = 60_000
    chosen = Catalog(np.arange(items)[:, np.newaxis]).sample(
        np.random.default_rng(5), (rows, count)
    )
    codes, counts = np.unique(chosen[..., 0] @ items ** np.arange(count), return_counts=True)
    outcomes = np.prod(np.arange(items - count + 1, items + 1))
    assert len(codes) == outcomes
    assert has_probabilities(counts, np.full(outcomes, 1 / outcomes))


def test_one_item_a_row_may_be_the_same_in_all_rows():
    users = Catalog(np.arange(3)[:, np.newaxis]).sample(np.random.default_rng(0), (100,))
    assert set(users[:, 0]) == {0, 1, 2}


def test_a_catalog_keeps_its_own_table():
    table = TABLE.copy()
    catalog = Catalog(table)
    table[:] = -1.0
    assert catalog.sample(np.random.default_rng(0), (2, 3)).min() >= 0.0


@pytest.mark.parametrize("sampler_class", [Normal, Integers])
def test_a_subclass_of_a_sampler_is_looked_at(sampler_class):
    class Wrong(sampler_class):
        def _sample(self, rng, size):
            return np.full((*size, 1), np.nan, np.float32)

    wrong = Wrong(1) if sampler_class is Normal else Wrong(1, 0, 2)
    with pytest.raises((TypeError, ValueError), match="fn returned"):
        as_sampler("fn", wrong, (1,))


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (np.zeros((2, 3)), ValueError, r"sampler returned shape \(2, 3\); expected \(2, 3, 1\)"),
        (np.zeros((2, 3, 1), np.int32), TypeError, "sampler returned int32; expected float64"),
        (
            np.where(np.arange(6) == 4, np.nan, 1.0).reshape(2, 3, 1),
            ValueError,
            r"sampler returned NaN for row 1, entry \[1, 0\]",
        ),
    ],
)
def test_a_draw_that_is_not_as_the_spec_says_is_refused(values, error, message):
    with pytest.raises(error, match=message):
        Fixed(values, dim=1).sample(np.random.default_rng(0), (2, 3))


def test_infinite_features_are_not_nan():
    values = np.array([[np.inf, -np.inf], [1e200, 1.0]])
    drawn = Fixed(values, dim=2).sample(np.random.default_rng(0), (2,))
    np.testing.assert_array_equal(drawn, values)
