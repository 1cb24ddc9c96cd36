import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs.base.checks import check_integer, check_number, check_positive
from bandit_envs.base.slates import check_distinct


@given(st.integers(-(2**63) + 1, 2**63 - 1), st.integers(-5, 5))
def test_an_integer_is_returned_or_refused_by_its_minimum(value, minimum):
    if value >= minimum:
        assert check_integer("k", value, minimum) == value
    else:
        with pytest.raises(ValueError) as error:
            check_integer("k", value, minimum)
        assert str(error.value) == f"k is {value}; expected at least {minimum}"


@pytest.mark.parametrize("value", [np.int8(3), np.uint64(3), np.array(3)])
def test_an_integer_of_numpy_becomes_an_int(value):
    assert type(check_integer("k", value, minimum=1)) is int


@pytest.mark.parametrize("value", [2.0, np.float32(2), "2", None, True, np.True_, [2]])
def test_what_is_no_integer_is_refused(value):
    with pytest.raises(TypeError) as error:
        check_integer("batch_size", value, minimum=1)
    assert str(error.value) == f"batch_size is {value!r}; expected an integer"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_returned(value):
    assert check_number("mean", value) == value


@pytest.mark.parametrize("value", [3, np.float32(3), np.int8(3), np.array(3.0)])
def test_a_number_becomes_a_float(value):
    assert type(check_number("mean", value)) is float
    assert type(check_positive("std", value)) is float


@pytest.mark.parametrize("value", [None, "1", b"1", True, np.False_, 1j, [1.0, 2.0]])
@pytest.mark.parametrize("check", [check_number, check_positive])
def test_what_is_no_number_is_refused(check, value):
    with pytest.raises(TypeError) as error:
        check("std", value)
    assert str(error.value) == f"std is {value!r}; expected a number"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("check", [check_number, check_positive])
def test_a_number_that_is_not_finite_is_refused(check, value):
    with pytest.raises(ValueError) as error:
        check("std", value)
    assert str(error.value) == f"std is {value}; expected a finite number"


@pytest.mark.parametrize(
    ("value", "bounds", "message"),
    [
        (-1, {"minimum": 0.0}, "epsilon is -1; expected at least 0"),
        (2, {"maximum": 1.0}, "epsilon is 2; expected at most 1"),
        (2, {"minimum": 0.0, "maximum": 1.0}, "epsilon is 2; expected at most 1"),
        (-0.5, {"minimum": 0.0, "maximum": 1.0}, "epsilon is -0.5; expected at least 0"),
    ],
)
def test_a_number_out_of_its_bounds_is_refused(value, bounds, message):
    with pytest.raises(ValueError) as error:
        check_number("epsilon", value, **bounds)
    assert str(error.value) == message


def test_the_bounds_of_a_number_are_inclusive():
    assert check_number("epsilon", 0, 0.0, 1.0) == 0.0
    assert check_number("epsilon", 1, 0.0, 1.0) == 1.0


@pytest.mark.parametrize("value", [0, -0.0, -2.5])
def test_a_positive_number_is_above_0(value):
    with pytest.raises(ValueError) as error:
        check_positive("step_size", value)
    assert str(error.value) == f"step_size is {value:g}; expected more than 0"


@pytest.mark.parametrize("num_items", [40, 1000])
@pytest.mark.parametrize("num_slots", [1, 2, 3, 4, 5, 8, 35])
def test_a_slate_has_distinct_items_in_all_pairs_of_slots(num_slots, num_items):
    rng = np.random.default_rng(0)
    slates = np.array([rng.permutation(num_items)[:num_slots] for _ in range(3)])
    assert check_distinct(slates, num_items) is slates
    for first, second in itertools.combinations(range(num_slots), 2):
        twice = slates.copy()
        twice[1, second] = twice[1, first]
        with pytest.raises(ValueError, match=r"action\[1\]"):
            check_distinct(twice, num_items)
