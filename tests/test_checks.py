import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs.base.checks import checked_integer, checked_mask, checked_number, checked_positive


@given(st.integers(-(2**70), 2**70), st.integers(-5, 5))
def test_an_integer_is_returned_or_refused_by_its_minimum(value, minimum):
    if value >= minimum:
        assert checked_integer("k", value, minimum) == value
    else:
        with pytest.raises(ValueError) as error:
            checked_integer("k", value, minimum)
        assert str(error.value) == f"k is {value}; expected at least {minimum}"


@pytest.mark.parametrize("value", [np.int8(3), np.uint64(3), np.array(3)])
def test_an_integer_of_numpy_becomes_an_int(value):
    assert type(checked_integer("k", value, minimum=1)) is int


@pytest.mark.parametrize("value", [2.0, np.float32(2), "2", None, True, np.True_, [2]])
def test_what_is_no_integer_is_refused(value):
    with pytest.raises(TypeError) as error:
        checked_integer("batch_size", value, minimum=1)
    assert str(error.value) == f"batch_size is {value!r}; expected an integer"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_returned(value):
    assert checked_number("mean", value) == value


@pytest.mark.parametrize("value", [3, np.float32(3), np.int8(3), np.array(3.0)])
def test_a_number_becomes_a_float(value):
    assert type(checked_number("mean", value)) is float
    assert type(checked_positive("std", value)) is float


@pytest.mark.parametrize("value", [None, "1", b"1", True, np.False_, 1j, [1.0, 2.0]])
@pytest.mark.parametrize("check", [checked_number, checked_positive])
def test_what_is_no_number_is_refused(check, value):
    with pytest.raises(TypeError) as error:
        check("std", value)
    assert str(error.value) == f"std is {value!r}; expected a number"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("check", [checked_number, checked_positive])
def test_a_number_that_is_not_finite_is_refused(check, value):
    with pytest.raises(ValueError) as error:
        check("std", value)
    assert str(error.value) == f"std is {value}; expected a finite number"


@pytest.mark.parametrize(
    ("value", "bounds", "message"),
    [
        (-1, {"minimum": 0.0}, "epsilon is -1; expected at least 0"),
        (2, {"maximum": 1.0}, "epsilon is 2; expected at most 1"),
        (2, {"minimum": 0.0, "maximum": 1.0}, "epsilon is 2; expected a number from 0 to 1"),
        (-0.5, {"minimum": 0.0, "maximum": 1.0}, "epsilon is -0.5; expected a number from 0 to 1"),
    ],
)
def test_a_number_out_of_its_bounds_is_refused(value, bounds, message):
    with pytest.raises(ValueError) as error:
        checked_number("epsilon", value, **bounds)
    assert str(error.value) == message


def test_the_bounds_of_a_number_are_inclusive():
    assert checked_number("epsilon", 0, 0.0, 1.0) == 0.0
    assert checked_number("epsilon", 1, 0.0, 1.0) == 1.0


@pytest.mark.parametrize("value", [0, -0.0, -2.5])
def test_a_positive_number_is_above_0(value):
    with pytest.raises(ValueError) as error:
        checked_positive("step_size", value)
    assert str(error.value) == f"step_size is {value:g}; expected more than 0"


def test_a_mask_is_returned_as_an_array():
    assert checked_mask("rows", [True, False], (2,)).dtype == np.bool_


@pytest.mark.parametrize(
    ("value", "error_type", "message"),
    [
        ([0.0, 1.0], TypeError, "rows is float64: [0.0, 1.0]; expected booleans"),
        (None, TypeError, "rows is object: None; expected booleans"),
        ([True], ValueError, "rows has shape (1,); expected (2,)"),
        (True, ValueError, "rows has shape (); expected (2,)"),
    ],
)
def test_what_is_no_mask_is_refused(value, error_type, message):
    with pytest.raises(error_type) as error:
        checked_mask("rows", value, (2,))
    assert str(error.value) == message
