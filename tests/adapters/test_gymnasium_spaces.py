from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("gymnasium", minversion="1.1")

from gymnasium import spaces

from bandit_envs import ArraySpec, BoundedArraySpec
from bandit_envs.adapters.gymnasium.spaces import space_from_spec, stack_rows


class Pair(NamedTuple):
    left: object
    right: object


@pytest.mark.parametrize(
    ("spec", "space"),
    [
        (BoundedArraySpec((), np.int32, 0, 9), spaces.Discrete(10)),
        (BoundedArraySpec((), np.int32, 1, 9), spaces.Discrete(9, start=1)),
        (BoundedArraySpec((), np.int8), spaces.Discrete(256, start=-128)),
        (BoundedArraySpec((2,), np.uint8, 1, [3, 4]), spaces.MultiDiscrete([3, 4], start=[1, 1])),
        (
            BoundedArraySpec((2,), np.float32, 0, [1, 2]),
            spaces.Box(np.float32(0), np.float32([1, 2])),
        ),
        (ArraySpec((2,), np.float32), spaces.Box(-np.inf, np.inf, (2,), np.float32)),
        (ArraySpec((2,), np.float64), spaces.Box(-np.inf, np.inf, (2,), np.float64)),
        (BoundedArraySpec((), np.float32, 0), spaces.Box(0, np.inf, (), np.float32)),
        (ArraySpec((), np.int64), spaces.Box(-(2**63), 2**63 - 1, (), np.int64)),
        (ArraySpec((3,), np.bool_), spaces.Box(0, 1, (3,), np.bool_)),
    ],
)
def test_a_spec_becomes_the_space_of_its_values(spec, space):
    assert space_from_spec(spec) == space


def test_a_nest_of_specs_becomes_a_nest_of_spaces():
    leaf = BoundedArraySpec((), np.int32, 0, 1)
    nest = {"b": [leaf, leaf], "a": Pair(leaf, {"c": leaf})}
    space = spaces.Discrete(2)
    assert space_from_spec(nest) == spaces.Dict(
        {"b": spaces.Tuple((space, space)), "a": spaces.Tuple((space, spaces.Dict(c=space)))}
    )


def test_what_is_no_spec_is_refused():
    with pytest.raises(TypeError, match="spec is 3; expected an ArraySpec"):
        space_from_spec({"a": 3})


def test_elements_of_a_space_become_arrays_of_the_spec():
    leaf = BoundedArraySpec((2,), np.uint8, 0, 9)
    spec = {"a": Pair(leaf, [BoundedArraySpec((), np.float32, 0, 1)])}
    space = space_from_spec(spec)
    space.seed(0)
    element = space.sample()
    arrays = stack_rows(spec, element, batch_size=1)
    assert isinstance(arrays["a"], Pair)
    assert isinstance(arrays["a"].right, list)
    np.testing.assert_array_equal(arrays["a"].left, [element["a"][0]])
    assert arrays["a"].left.dtype == np.uint8
    np.testing.assert_array_equal(arrays["a"].right[0], [element["a"][1][0]])


def test_numbers_of_another_kind_are_not_rounded():
    with pytest.raises(TypeError, match=r"action is float64: 1\.5; expected int32"):
        stack_rows(BoundedArraySpec((), np.int32, 0, 9), 1.5, batch_size=1)
