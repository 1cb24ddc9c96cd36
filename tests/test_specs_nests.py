"""Nests of specs and of arrays."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs.nests import map_structure
from bandit_envs.specs import (
    ArraySpec,
    BoundedArraySpec,
    add_outer_dims_nest,
    assert_arrays_nest,
    check_arrays_nest,
    sample_spec_nest,
)
from bandit_envs.testing import assert_identical
from tests.strategies import bounded_specs


class Pair(NamedTuple):
    left: object
    right: object


FLOAT, INDEX = ArraySpec((2,), np.float32), BoundedArraySpec((), np.int32, 0, 4)
NEST = {"a": FLOAT, "b": [INDEX, (FLOAT,)], "c": Pair(INDEX, {})}


def arrays(batch=()):
    return map_structure(lambda spec: np.zeros(batch + spec.shape, spec.dtype), NEST)


def test_map_structure_keeps_containers_and_order():
    one, other = {"b": [1], "a": Pair(2, (3,))}, {"a": Pair(20, (30,)), "b": [10]}
    total = map_structure(lambda *leaves: sum(leaves), one, other)
    assert_identical(total, {"b": [11], "a": Pair(22, (33,))})
    assert list(total) == ["b", "a"]
    assert map_structure(str, 5) == "5"


@pytest.mark.parametrize(
    ("nest", "other", "error_type", "message"),
    [
        ({"a": 1}, {"b": 1}, ValueError, "keys are ['b']; expected ['a']"),
        ([1], [1, 2], ValueError, "length is 2; expected 1"),
        ({"a": 1}, [1], TypeError, "found a list; expected a dict"),
        ([1], (1,), TypeError, "found a tuple; expected a list"),
        ((1,), [1], TypeError, "found a list; expected a tuple"),
        ((1,), 1, TypeError, "found a int; expected a tuple"),
        ({"a": (1,)}, {"a": {}}, TypeError, "found a dict; expected a tuple"),
    ],
)
def test_nests_of_other_structures_are_refused(nest, other, error_type, message):
    with pytest.raises(error_type) as error:
        map_structure(max, nest, other)
    assert str(error.value) == message


def test_a_named_tuple_is_a_tuple():
    assert map_structure(max, Pair(1, 2), (3, 0)) == Pair(3, 2)


def test_arrays_are_checked_leaf_by_leaf():
    assert check_arrays_nest(arrays(), NEST)
    wrong = arrays()
    wrong["b"][0] = np.array(5, np.int32)
    assert not check_arrays_nest(wrong, NEST)
    with pytest.raises(ValueError) as error:
        assert_arrays_nest(wrong, NEST)
    assert str(error.value) == f"found int32 array of shape (): 5; expected {INDEX}"


@pytest.mark.parametrize("leaf", [None, "text", [0.0, 0.0]])
def test_a_leaf_that_is_no_array_is_shown(leaf):
    with pytest.raises((TypeError, ValueError), match="expected"):
        assert_arrays_nest({"a": leaf}, {"a": FLOAT})


def test_a_nest_that_is_not_of_specs_is_refused():
    with pytest.raises(TypeError) as error:
        assert_arrays_nest({"a": 1}, {"a": "spec"})
    assert str(error.value) == "spec is 'spec'; expected an ArraySpec"
    assert not check_arrays_nest({"a": 1}, {"b": FLOAT})


@given(bounded_specs(), st.lists(st.integers(0, 3), max_size=2), st.integers(0, 2**32))
def test_outer_dimensions_come_before_the_shape(spec, outer_dims, seed):
    outer = add_outer_dims_nest({"x": [spec]}, outer_dims)
    assert outer["x"][0].shape == (*outer_dims, *spec.shape)
    samples = sample_spec_nest(np.random.default_rng(seed), {"x": [spec]}, outer_dims)
    assert check_arrays_nest(samples, outer)


def test_a_nest_gets_a_batch_dimension_everywhere():
    assert check_arrays_nest(arrays((7,)), add_outer_dims_nest(NEST, (7,)))
    assert not check_arrays_nest(arrays((7,)), NEST)


def test_samples_are_uniform_within_the_bounds():
    rng = np.random.default_rng(0)
    faces = sample_spec_nest(rng, BoundedArraySpec((), np.int8, 1, 6), (60_000,))
    counts = np.bincount(faces, minlength=7)[1:]
    chi_square = np.sum((counts - 10_000) ** 2 / 10_000)
    # Five degrees of freedom: 6 standard deviations above the mean.
    assert chi_square < 5 + 6 * math.sqrt(10)
    floats = sample_spec_nest(rng, BoundedArraySpec((2,), np.float64, [0, -4], [1, 4]), (10_000,))
    standard_errors = np.array([1, 8]) / math.sqrt(12 * 10_000)
    assert np.all(np.abs(floats.mean(axis=0) - [0.5, 0]) < 6 * standard_errors)


@pytest.mark.parametrize("dtype", [">i4", "<u2", ">f4"])
def test_a_sample_has_the_byte_order_of_its_spec(dtype):
    spec = BoundedArraySpec((3,), dtype, 0, 5)
    sample = sample_spec_nest(np.random.default_rng(0), spec)
    assert sample.dtype == np.dtype(dtype)
    assert spec.check_array(sample)


def test_a_sample_is_drawn_from_the_generator_alone():
    nests = [sample_spec_nest(np.random.default_rng(3), NEST, (4,)) for _ in range(2)]
    assert_identical(*nests)
    assert np.abs(nests[0]["a"]).max() > 1e30
