"""Comparison bit for bit: of states, time steps and whatever else can be copied."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Types whose `==` is exact, and those of which there is one object only.
EXACT = (int, str, bytes, type(None), type(Ellipsis), slice, range, set, frozenset, np.dtype)
UNIQUE = (type, types.FunctionType, types.ModuleType)


def require(condition: object, message: str) -> None:
    """Fails a test, also where Python runs without assertions.

    Raises:
        AssertionError: `condition` does not hold.
    """
    if not condition:
        raise AssertionError(message)


def assert_identical(actual: Any, expected: Any, name: str = "value") -> None:
    """Checks that two things are equal bit for bit, all the way down.

    Types and dtypes count, 0.0 is not -0.0, and NaN is NaN. Arrays are compared by their bytes,
    random generators by their position, dicts, lists, tuples and named tuples item by item, and
    other objects by what pickle would save of them; functions and classes have to be the same one.

    Args:
        actual: what was found.
        expected: what it should be.
        name: what it is, for the message.

    Raises:
        AssertionError: they differ; the message names the place, as in `state.rng.state`.

    >>> assert_identical({"reward": np.zeros(2)}, {"reward": np.zeros(2)})
    >>> assert_identical({"reward": np.zeros(2)}, {"reward": np.array([0.0, -0.0])})
    Traceback (most recent call last):
        ...
    AssertionError: value['reward'][1] is 0.0; expected -0.0
    """
    _compare(actual, expected, name, {})


def _compare(actual: Any, expected: Any, name: str, seen: dict[tuple[int, int], Any]) -> None:
    if actual is expected or (id(actual), id(expected)) in seen:
        return
    seen[id(actual), id(expected)] = actual, expected  # kept alive, so that no id comes twice
    require(
        type(actual) is type(expected),
        f"{name} is a {type(actual).__name__}: {actual!r}; "
        f"expected a {type(expected).__name__}: {expected!r}",
    )
    if isinstance(actual, (np.ndarray, np.generic, float, complex)):
        _compare_arrays(np.asarray(actual), np.asarray(expected), name, seen)
    elif isinstance(actual, EXACT):
        require(actual == expected, f"{name} is {actual!r}; expected {expected!r}")
    elif isinstance(actual, UNIQUE):
        raise AssertionError(f"{name} is {actual!r}; expected {expected!r}")
    elif isinstance(actual, dict):
        require(
            actual.keys() == expected.keys(),
            f"{name} has the keys {list(actual)}; expected {list(expected)}",
        )
        for key in actual:
            _compare(actual[key], expected[key], f"{name}[{key!r}]", seen)
    elif isinstance(actual, (list, tuple)):
        require(
            len(actual) == len(expected),
            f"{name} has {len(actual)} items; expected {len(expected)}",
        )
        fields = getattr(actual, "_fields", None)
        for index, pair in enumerate(zip(actual, expected)):
            _compare(*pair, f"{name}.{fields[index]}" if fields else f"{name}[{index}]", seen)
    elif isinstance(actual, np.random.Generator):
        _compare(actual.bit_generator.state, expected.bit_generator.state, f"{name}.state", seen)
    elif isinstance(actual, np.random.BitGenerator):
        _compare(actual.state, expected.state, f"{name}.state", seen)
    else:
        _compare(_saved(actual, name), _saved(expected, name), name, seen)


def _compare_arrays(
    actual: NDArray[Any], expected: NDArray[Any], name: str, seen: dict[tuple[int, int], Any]
) -> None:
    found, wanted = (f"{array.dtype} of shape {array.shape}" for array in (actual, expected))
    require(found == wanted and actual.dtype == expected.dtype, f"{name} is {found}; not {wanted}")
    if actual.dtype.hasobject:
        _compare(actual.tolist(), expected.tolist(), name, seen)
    elif actual.tobytes() != expected.tobytes():
        found_bytes, wanted_bytes = (
            np.frombuffer(array.tobytes(), np.uint8) for array in (actual, expected)
        )
        first = int(np.flatnonzero(found_bytes != wanted_bytes)[0]) // actual.itemsize
        index = np.unravel_index(first, actual.shape)
        place = f"[{', '.join(map(str, index))}]" if index else ""
        raise AssertionError(f"{name}{place} is {actual[index]}; expected {expected[index]}")


def _saved(value: Any, name: str) -> Any:
    """Returns what pickle would save of an object: the name of a global, or a dict of parts."""
    try:
        reduced = value.__reduce_ex__(4)
    except TypeError as error:
        raise AssertionError(f"{name} cannot be compared: {error}") from error
    if isinstance(reduced, str):
        return reduced
    parts = dict(zip(("made_by", "arguments", "state", "items", "pairs"), reduced))
    return {key: list(part) if isinstance(part, Iterator) else part for key, part in parts.items()}
