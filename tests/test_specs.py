import copy
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs.specs import (
    ArraySpec,
    BoundedArraySpec,
    is_continuous,
    is_discrete,
    sample_spec_nest,
    value_range,
)
from bandit_envs.testing import assert_identical
from tests.strategies import bounded_specs, dtypes, shapes, texts


@given(shapes, dtypes, st.none() | texts)
def test_a_spec_says_what_it_was_made_with(shape, dtype, name):
    for spec in (ArraySpec(shape, dtype, name), BoundedArraySpec(shape, dtype, name=name)):
        assert (spec.shape, spec.dtype, spec.name) == (shape, dtype, name)


def test_the_name_does_not_count_in_a_comparison():
    assert ArraySpec((2,), np.int8, "one") == ArraySpec([2], "int8", "other")
    assert BoundedArraySpec((), "f4", 0, 1, "one") == BoundedArraySpec((), "f4", 0, 1)


@pytest.mark.parametrize(
    "other",
    [
        ArraySpec((3,), np.int8),
        ArraySpec((2, 1), np.int8),
        ArraySpec((2,), np.uint8),
        BoundedArraySpec((2,), np.int8, 0),
        "spec",
        None,
    ],
)
def test_specs_of_other_shapes_dtypes_or_bounds_differ(other):
    assert BoundedArraySpec((2,), np.int8) != other


def test_a_bounded_and_an_unbounded_spec_differ_if_asked_from_the_bounded_one():
    assert BoundedArraySpec((), np.int8) != ArraySpec((), np.int8)


def test_bounds_are_compared_element_by_element():
    assert BoundedArraySpec((2,), "i4", [0, 0], 3) == BoundedArraySpec((2,), "i4", 0, [3, 3])
    assert BoundedArraySpec((2,), "i4", [0, 1], 3) != BoundedArraySpec((2,), "i4", 0, 3)


def test_specs_cannot_be_hashed_for_they_are_equal_whatever_their_names():
    for spec in (ArraySpec((), np.int8), BoundedArraySpec((), np.int8)):
        with pytest.raises(TypeError, match="unhashable"):
            hash(spec)


@given(bounded_specs())
def test_copies_of_a_spec_are_the_same(spec):
    for duplicate in (copy.deepcopy(spec), pickle.loads(pickle.dumps(spec)), spec.replace()):
        assert_identical(duplicate, spec)
    unbounded = ArraySpec.from_spec(spec)
    assert_identical(pickle.loads(pickle.dumps(unbounded)), unbounded)


def test_a_spec_shows_what_it_is():
    assert repr(ArraySpec((2,), np.float32, "x")) == (
        "ArraySpec(shape=(2,), dtype=dtype('float32'), name='x')"
    )
    assert repr(BoundedArraySpec((), np.int32, 0, 4)) == (
        "BoundedArraySpec(shape=(), dtype=dtype('int32'), name=None, minimum=0, maximum=4)"
    )


def test_replace_exchanges_what_is_given():
    spec = BoundedArraySpec((2,), np.int32, 0, 4, "a")
    assert spec.replace(shape=(3,)).shape == (3,)
    assert spec.replace(dtype=np.int8).dtype == np.int8
    assert spec.replace(minimum=1).minimum == 1
    assert spec.replace(maximum=[1, 2]).maximum.tolist() == [1, 2]
    assert spec.replace(name="b").name == "b"
    assert ArraySpec((2,), np.int32, "a").replace(dtype=bool, name="b") == ArraySpec((2,), bool)


def test_a_spec_is_made_from_an_array_or_a_number():
    assert ArraySpec.from_array(np.zeros((2, 3), np.int8), "x") == ArraySpec((2, 3), np.int8)
    assert ArraySpec.from_array(1.5) == ArraySpec((), np.float64)
    assert ArraySpec.from_array(np.float32(1)) == ArraySpec((), np.float32)
    whole = BoundedArraySpec.from_array(np.zeros(2, np.int8), "x")
    assert_identical(whole, BoundedArraySpec((2,), np.int8, -128, 127, "x"))


@pytest.mark.parametrize("array", [[1, 2], None, "1"])
def test_a_spec_is_not_made_from_anything_else(array):
    with pytest.raises(ValueError, match="array"):
        ArraySpec.from_array(array)


def test_from_spec_adds_or_drops_the_bounds():
    bounded = BoundedArraySpec((2,), np.int8, 0, 4, "x")
    unbounded = ArraySpec.from_spec(bounded)
    assert type(unbounded) is ArraySpec
    assert unbounded.name == "x"
    assert_identical(BoundedArraySpec.from_spec(bounded), bounded)
    whole = BoundedArraySpec.from_spec(unbounded)
    assert_identical(whole, BoundedArraySpec((2,), np.int8, -128, 127, "x"))


@pytest.mark.parametrize("shape", [(2.5,), 3, "ab", (None,)])
def test_a_shape_is_an_iterable_of_integers(shape):
    with pytest.raises(TypeError):
        ArraySpec(shape, np.int8)


@given(bounded_specs(), st.integers(0, 2**32))
def test_a_sample_is_within_its_spec(spec, seed):
    sample = sample_spec_nest(np.random.default_rng(seed), spec)
    assert spec.check_array(sample)
    assert ArraySpec.from_spec(spec).check_array(sample)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(3, np.float32),
        np.zeros((1, 2), np.float32),
        np.zeros(2, np.float64),
        np.zeros(2, np.int32),
        [0.0, 0.0],
        (0.0, 0.0),
        None,
        0.0,
    ],
)
def test_another_shape_or_dtype_or_container_is_not_allowed(array):
    assert not ArraySpec((2,), np.float32).check_array(array)
    assert not BoundedArraySpec((2,), np.float32, -1, 1).check_array(array)


def test_a_number_is_an_array_without_dimensions():
    assert ArraySpec((), np.float64).check_array(1.0)
    assert ArraySpec((), np.int64).check_array(np.int64(1))
    assert not ArraySpec((), np.float64).check_array(1)
    assert not ArraySpec((1,), np.float64).check_array(1.0)


def test_bounds_are_inclusive_and_hold_for_every_element():
    spec = BoundedArraySpec((2,), np.float64, [0.0, -1.0], [1.0, 1.0])
    assert spec.check_array(np.array([0.0, -1.0]))
    assert spec.check_array(np.array([1.0, 1.0]))
    for wrong in ([-0.1, 0.0], [0.0, 1.1], [np.nan, 0.0], [0.0, np.inf], [0.0, -np.inf]):
        assert not spec.check_array(np.array(wrong))


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f2", "f4", "f8"])
def test_the_bounds_of_a_dtype_are_its_range(dtype):
    spec = BoundedArraySpec((2,), dtype)
    limits = (np.finfo if spec.dtype.kind == "f" else np.iinfo)(dtype)
    assert (spec.minimum, spec.maximum) == (limits.min, limits.max)


def test_infinite_bounds_stand_for_the_largest_finite_values():
    spec = BoundedArraySpec((2,), np.float32, [-np.inf, 0], np.inf)
    largest = np.finfo(np.float32).max
    assert spec.minimum.tolist() == [-largest, 0]
    assert spec.maximum == largest


def test_bounds_cannot_be_written():
    bound = np.zeros(2)
    spec = BoundedArraySpec((2,), np.float64, bound, 1)
    bound[0] = 5
    assert spec.minimum.tolist() == [0, 0]
    for array in (spec.minimum, spec.maximum):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 5


def test_an_unknown_dtype_is_refused():
    with pytest.raises(TypeError, match="dtype is 'nonsense'; expected a dtype of NumPy"):
        ArraySpec((), "nonsense")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (((), "i4", 3, 2), "minimum"),
        (((2,), "i4", [0, 5], 4), "minimum"),
        (((), "i1", 0, 128), "maximum"),
        (((), "i8", 0, 2.0**63), "maximum"),
        (((), "i4", 0, np.float32(2**31)), "maximum"),
        (((), "i4", 0, 2.5), "maximum"),
        (((), "u1", -1), "minimum"),
        (((2,), "i4", [0, 0, 0]), "minimum"),
        (((), "f4", math.nan), "minimum"),
        (((), "f2", 0, 1e6), "maximum"),
    ],
)
def test_impossible_bounds_are_refused(arguments, named):
    with pytest.raises(ValueError, match=named):
        BoundedArraySpec(*arguments)


@pytest.mark.parametrize("dtype", ["U3", "O", "M8[s]", "c8"])
def test_a_dtype_without_order_has_no_bounds(dtype):
    with pytest.raises(TypeError, match="expected an integer, floating or boolean dtype"):
        BoundedArraySpec((), dtype)


def test_the_kind_of_a_spec():
    bounded = BoundedArraySpec((), np.int32)
    assert is_discrete(bounded)
    assert not is_continuous(bounded)
    unbounded = ArraySpec((), np.float32)
    assert not is_discrete(unbounded)
    assert is_continuous(unbounded)
    assert not is_discrete(ArraySpec((), bool))


def test_a_bound_at_the_end_of_a_floating_dtype_is_none():
    assert value_range(ArraySpec((), np.int8)) == (-math.inf, math.inf)
    assert value_range(BoundedArraySpec((), np.int8)) == (-128, 127)
    assert value_range(BoundedArraySpec((2,), np.float32, [0, -1])) == (-1, math.inf)
    assert value_range(BoundedArraySpec((), np.float64, maximum=3)) == (-math.inf, 3)


def test_bounds_cannot_be_changed_from_outside():
    spec = BoundedArraySpec((), np.float32, 0.0, 1.0)
    for bound in (spec.minimum, spec.maximum):
        with pytest.raises(ValueError, match="read-only"):
            bound[...] = 7.0
        with pytest.raises(ValueError, match="WRITEABLE"):
            bound.setflags(write=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # in newer NumPy, it is deprecated
            bound.shape = (1,)
    assert spec.minimum.shape == spec.maximum.shape == ()
    with pytest.raises(AttributeError):
        spec.shape = (2,)
