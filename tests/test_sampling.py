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

TABLE = np.arange(12.0).reshape(6, 2)


SAMPLERS = [
    Normal(3, loc=1.0, scale=2.0),
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

    def __call__(self, rng, size):
        return self.values


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: type(sampler).__name__)
@pytest.mark.parametrize("size", [(1,), (4,), (4, 5)])
def test_a_draw_is_as_the_spec_says(sampler, size):
    contexts = sampler(np.random.default_rng(0), size)
    assert contexts.shape == size + sampler.spec.shape
    assert contexts.dtype == sampler.spec.dtype


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: type(sampler).__name__)
def test_one_seed_gives_one_draw(sampler):
    first, second = (sampler(np.random.default_rng(3), (4, 5)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_normal_has_its_mean_and_standard_deviation():
    values = Normal(4, loc=3.0, scale=2.0)(np.random.default_rng(1), (50_000,))
    standard_error = 2.0 / np.sqrt(values.size)
    assert abs(values.mean() - 3.0) < 4 * standard_error
    assert abs(values.std() - 2.0) < 4 * standard_error / np.sqrt(2)


def test_uniform_fills_its_interval():
    values = Uniform(4, -3.0, 5.0)(np.random.default_rng(1), (50_000,))
    standard_error = 8.0 / np.sqrt(12 * values.size)
    assert abs(values.mean() - 1.0) < 4 * standard_error
    assert values.min() >= -3.0
    assert values.max() <= 5.0


def test_integers_exclude_the_upper_end_and_are_equally_likely():
    rng, sampler = np.random.default_rng(1), Integers(1, -2, 3)
    values = np.concatenate([sampler(rng, (1000,)) for _ in range(50)])
    numbers, counts = np.unique(values, return_counts=True)
    np.testing.assert_array_equal(numbers, [-2, -1, 0, 1, 2])
    standard_error = np.sqrt(values.size * 0.2 * 0.8)
    assert abs(counts - values.size * 0.2).max() < 4 * standard_error


@pytest.mark.parametrize(("low", "high"), [(-2, 3), (7, 8), (-(2**31), 2**31)])
@pytest.mark.parametrize("size", [(), (0,), (1,), (4, 5), (3000,)])
@pytest.mark.parametrize("dim", [0, 3])
def test_integers_are_int32_within_their_bounds(low, high, size, dim):
    values = Integers(dim, low, high)(np.random.default_rng(2), size)
    assert (values.shape, values.dtype) == ((*size, dim), np.int32)
    assert ((values >= low) & (values < high)).all()


@given(
    items=st.integers(1, 40), count=st.integers(1, 40), rows=st.integers(1, 99), seed=st.integers(0)
)
def test_a_row_of_a_catalog_has_no_item_twice(items, count, rows, seed):
    count = min(count, items)
    catalog = Catalog(np.arange(items)[:, np.newaxis])
    chosen = catalog(np.random.default_rng(seed), (rows, count))[..., 0]
    assert all(len(set(row)) == count for row in chosen.tolist())
    assert set(chosen.ravel()) <= set(range(items))


@pytest.mark.parametrize(("items", "count"), [(6, 2), (6, 3), (4, 3), (3, 3)])
def test_all_orders_of_items_of_a_catalog_are_equally_likely(items, count):
    rows = 60_000
    chosen = Catalog(np.arange(items)[:, np.newaxis])(np.random.default_rng(5), (rows, count))
    codes, counts = np.unique(chosen[..., 0] @ items ** np.arange(count), return_counts=True)
    outcomes = np.prod(np.arange(items - count + 1, items + 1))
    assert len(codes) == outcomes
    expected = rows / outcomes
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    standard_error = np.sqrt(2 * (outcomes - 1))
    assert abs(chi_squared - (outcomes - 1)) < 4 * standard_error


def test_one_item_a_row_may_be_the_same_in_all_rows():
    users = Catalog(np.arange(3)[:, np.newaxis])(np.random.default_rng(0), (100,))
    assert set(users[:, 0]) == {0, 1, 2}


def test_a_catalog_keeps_its_own_table():
    table = TABLE.copy()
    catalog = Catalog(table)
    table[:] = -1.0
    assert catalog(np.random.default_rng(0), (2, 3)).min() >= 0.0


def test_a_catalog_refuses_more_arms_than_it_has_items():
    with pytest.raises(ValueError, match="6 items; expected at least 7"):
        Catalog(TABLE)(np.random.default_rng(0), (2, 7))


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        (np.zeros((2, 3, 4)), ValueError, r"features has shape \(2, 3, 4\)"),
        (np.zeros(3), ValueError, r"features has shape \(3,\)"),
        ([[0.0, 1.0], [0.0, np.nan]], ValueError, "features has NaN for row 1"),
        ([["a"]], TypeError, "features is <U1: .*; expected real numbers"),
        ([[1], [1, 2]], ValueError, "features is "),
    ],
)
def test_a_catalog_refuses_what_is_no_table_of_numbers(features, error, message):
    with pytest.raises(error, match=message):
        Catalog(features)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: type(sampler).__name__)
def test_a_sampler_draws_the_same_checked_or_not(sampler):
    checked = as_sampler("fn", sampler, (1, 5))
    draws = [each(np.random.default_rng(3), (4, 5)) for each in (sampler, checked)]
    np.testing.assert_array_equal(*draws)
    assert checked.spec == sampler.spec


@pytest.mark.parametrize("sampler_class", [Normal, Integers])
def test_a_subclass_of_a_sampler_is_looked_at(sampler_class):
    class Wrong(sampler_class):
        def __call__(self, rng, size):
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


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Normal(-1), ValueError, "dim is -1"),
        (lambda: Normal(2.0), TypeError, "dim is 2.0"),
        (lambda: Normal(2, scale=-1.0), ValueError, "scale is -1"),
        (lambda: Normal(2, loc=np.nan), ValueError, "loc is nan"),
        (lambda: Normal(2, scale=1e38), ValueError, "scale is 1e[+]38"),
        (lambda: Uniform(2, 1.0, 0.0), ValueError, "high is 0"),
        (lambda: Uniform(2, -1e38, 0.0), ValueError, "low is -1e[+]38"),
        (lambda: Integers(2, 3, 3), ValueError, "high is 3; expected at least 4"),
        (lambda: Integers(2, 0, 2**31 + 1), ValueError, "high is 2147483649"),
        (lambda: Integers(2, 0.5, 3), TypeError, "low is 0.5"),
        (lambda: BatchFunction(np.zeros, 2, object), TypeError, "dtype is object"),
    ],
)
def test_wrong_arguments_are_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()
