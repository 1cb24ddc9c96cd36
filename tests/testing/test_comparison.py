import copy
import dataclasses
import functools
import pickle
import random
import types
from collections import OrderedDict, deque, namedtuple

import hypothesis
import hypothesis.extra.numpy
import hypothesis.strategies as st
import numpy as np
import pytest

from bandit_envs import ArraySpec, BoundedArraySpec
from bandit_envs.testing import assert_identical
from tests.cases import for_each


@dataclasses.dataclass
class Record:
    count: int
    values: object


class Plain:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


Pair = namedtuple("Pair", ["left", "right"])

rng = np.random.default_rng
ALIKE = {
    "numbers": lambda: (1, 2.5, True, 1j, "text", b"bytes", None, 2**100),
    "nan": lambda: [float("nan"), np.nan, np.array([np.nan, -np.inf])],
    "arrays": lambda: {"a": np.arange(6).reshape(2, 3), "empty": np.zeros((0, 2))},
    "array of objects": lambda: np.array([1, "two", None, [3]], object),
    "array of records": lambda: np.zeros(2, [("x", "i4"), ("y", "f8")]),
    "scalars": lambda: [np.float32(1), np.int8(2), np.bool_(True), np.datetime64("2024-01-01")],
    "sets": lambda: {1, 2, 3},
    "named tuple": lambda: Pair(1, [2]),
    "dataclass": lambda: Record(3, np.ones(2)),
    "object": lambda: Plain(a=1, b=Plain(c=np.zeros(1))),
    "slots": lambda: Slotted([1, 2]),
    "specs": lambda: [ArraySpec((2,), np.int8), BoundedArraySpec((), np.float32, 0, 1)],
    "generator": lambda: rng(5),
    "used generators": lambda: [used(bit_generator) for bit_generator in BIT_GENERATORS],
    "legacy": lambda: np.random.RandomState(5),
    "seed sequence": lambda: np.random.SeedSequence(5),
    "random": lambda: random.Random(5),
    "deque": lambda: deque([1, 2], maxlen=4),
    "ordered": lambda: OrderedDict(a=1, b=2),
    "partial": lambda: functools.partial(max, 1),
    "functions": lambda: [len, copy.deepcopy, Plain, types],
    "a method": lambda: np.random.default_rng(3).normal,
}
BIT_GENERATORS = (
    np.random.MT19937,
    np.random.PCG64,
    np.random.PCG64DXSM,
    np.random.Philox,
    np.random.SFC64,
)


def used(bit_generator):
    generator = np.random.Generator(bit_generator(3))
    generator.random(7)
    return generator


@for_each("name", ALIKE)
def test_equal_things_are_identical(name):
    make = ALIKE[name]
    assert_identical(make(), make())


@for_each("name", sorted({*ALIKE} - {"functions"}))
def test_copies_are_identical(name):
    thing = ALIKE[name]()
    assert_identical(copy.deepcopy(thing), thing)
    assert_identical(pickle.loads(pickle.dumps(thing)), thing)


@for_each(
    ("actual", "expected", "message"),
    [
        (1, 2, "value is 1; expected 2"),
        (1, True, "value is <class 'int'>: 1; expected <class 'bool'>: True"),
        (0.0, -0.0, "value is 0.0; expected -0.0"),
        (1, np.int64(1), "value is <class 'int'>: 1"),
        (np.zeros(2), np.zeros(3), "of shape (2,); expected dtype('float64') of shape (3,)"),
        (
            np.zeros(2),
            np.zeros(2, "f4"),
            "value is dtype('float64') of shape (2,); expected dtype('float32')",
        ),
        (
            np.zeros(2, "<f4"),
            np.zeros(2, ">f4"),
            "value is dtype('float32') of shape (2,); expected dtype('>f4')",
        ),
        (np.eye(2), np.ones((2, 2)), "value[0, 1] is 0.0; expected 1.0"),
        (np.array(1), np.array(2), "value is 1; expected 2"),
        ([1, [2, 3]], [1, [2, 4]], "value[1][1] is 3; expected 4"),
        ((1, 2), (1, 2, 3), "value has other parts: too many: none; missing: [2]"),
        ({"a": 1}, {"b": 1}, "value has other parts: too many: ['a']; missing: ['b']"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "value['a']['b'] is 1; expected 2"),
        (Pair(1, 2), Pair(1, 3), "value.right is 2; expected 3"),
        (Pair(1, 2), (1, 2), "Pair(left=1, right=2); expected <class 'tuple'>: (1, 2)"),
        (Record(1, 2), Record(1, 3), "['values'] is 2; expected 3"),
        (Plain(a=1), Plain(a=1, b=2), "has other parts: too many: none; missing: ['b']"),
        (Slotted(1), Slotted(2), "['value'] is 1; expected 2"),
        (ArraySpec((), "i4"), ArraySpec((), "i8"), "int32"),
        (len, max, "value is 'len'; expected 'max'"),
        (Plain, Slotted, "value is <class"),
        (rng(1), rng(2), "value.state['state']"),
        (np.random.RandomState(1), np.random.RandomState(2), "value["),
        (np.random.PCG64(1), np.random.PCG64(2), "value.state['state']"),
        (random.Random(1), random.Random(2), "value['state']"),
        (np.array([[1], None], object), np.array([[2], None], object), "value[0][0] is 1"),
        (deque([1]), deque([2]), "value['items'][0] is 1; expected 2"),
    ],
)
def test_the_message_names_the_place_of_a_difference(actual, expected, message):
    with pytest.raises(AssertionError) as error:
        assert_identical(actual, expected)
    assert message in str(error.value)


def test_a_generator_one_draw_further_is_another():
    further = rng(1)
    further.random()
    with pytest.raises(AssertionError, match="state"):
        assert_identical(further, rng(1))


def test_things_that_contain_themselves_are_compared_once():
    loops = [[1, 2], [1, 2]]
    for loop in loops:
        loop.append(loop)
    assert_identical(*loops)
    loops[1][0] = 3
    with pytest.raises(AssertionError, match=r"value\[0\] is 1; expected 3"):
        assert_identical(*loops)


def test_what_cannot_be_saved_cannot_be_compared():
    generators = [(number for number in range(3)) for _ in range(2)]
    with pytest.raises(AssertionError, match="value cannot be compared"):
        assert_identical(*generators)


def test_the_name_starts_the_message():
    with pytest.raises(AssertionError, match=r"^the state is 1; expected 2$"):
        assert_identical(1, 2, "the state")


@hypothesis.given(st.data())
def test_one_changed_byte_is_seen(data):
    dtypes = hypothesis.extra.numpy.scalar_dtypes()
    shapes = hypothesis.extra.numpy.array_shapes(min_dims=0, max_side=3)
    array = data.draw(hypothesis.extra.numpy.arrays(data.draw(dtypes), data.draw(shapes)))
    assert_identical(array.copy(), array)
    content = bytearray(array.tobytes())
    if not content:
        return
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    changed = np.frombuffer(bytes(content), array.dtype).reshape(array.shape)
    with pytest.raises(AssertionError):
        assert_identical(changed, array)
