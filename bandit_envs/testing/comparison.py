"""Comparison bit for bit, of anything that can be copied."""

import types
from collections.abc import Iterator
from typing import Any

import numpy as np

EXACT = (
    *(int, str, bytes, type(None), type(Ellipsis), slice, range, set, frozenset, np.dtype),
    *(type, types.FunctionType, types.ModuleType),
)
"""Types whose `==` is exact."""


def require(condition: object, message: str) -> None:
    """Raises AssertionError if `condition` does not hold, also under `python -O`."""
    if not condition:
        raise AssertionError(message)


def assert_identical(actual: Any, expected: Any, name: str = "value") -> None:
    """Checks that two objects are equal bit for bit.

    Types and dtypes count, 0.0 is not -0.0, and NaN is NaN. Arrays are compared by their bytes,
    containers item by item, and other objects by what pickle would save of them. The message names
    the place, such as `name.reward[1]`.

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
    seen[id(actual), id(expected)] = actual, expected  # kept alive, so that no id is used again
    if type(actual) is not type(expected):
        kinds = f"{type(actual)}: {actual!r}; expected {type(expected)}: {expected!r}"
        raise AssertionError(f"{name} is {kinds}")
    if isinstance(actual, (np.ndarray, np.generic, float, complex)):
        left, right = np.asarray(actual), np.asarray(expected)
        if (left.dtype, left.shape) != (right.dtype, right.shape):
            found, wanted = (f"{array.dtype!r} of shape {array.shape}" for array in (left, right))
            raise AssertionError(f"{name} is {found}; expected {wanted}")
        if left.dtype.hasobject:
            _compare(left.tolist(), right.tolist(), name, seen)
        elif left.tobytes() != right.tobytes():
            differ = left[..., None].view("u1") != right[..., None].view("u1")
            index = np.argwhere(differ)[0, :-1].tolist()
            found, wanted = left[(*index,)], right[(*index,)]
            raise AssertionError(f"{name}{index or ''} is {found}; expected {wanted}")
    elif isinstance(actual, EXACT):
        if actual != expected:
            raise AssertionError(f"{name} is {actual!r}; expected {expected!r}")
    else:
        parts, others = _parts(actual, name), _parts(expected, name)
        if parts.keys() != others.keys():
            places = f"{', '.join(parts)}; expected {', '.join(others)}"
            raise AssertionError(f"{name} has the parts {places}")
        for place, part in parts.items():
            _compare(part, others[place], name + place, seen)


def _parts(value: Any, name: str) -> dict[str, Any]:
    """Returns the items of a container, or what pickle would save of another object."""
    if isinstance(value, dict):
        return {f"[{key!r}]": item for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {f".{field}": item for field, item in zip(value._fields, value)}
    if isinstance(value, np.random.Generator):
        return _parts(value.bit_generator, name)
    if isinstance(value, np.random.BitGenerator):
        return {".state": value.state}
    if isinstance(value, (list, tuple)):
        return {f"[{index}]": item for index, item in enumerate(value)}
    try:
        reduced = value.__reduce_ex__(4)
    except TypeError as error:
        raise AssertionError(f"{name} cannot be compared: {error}") from error
    if isinstance(reduced, str):
        return {"": reduced}
    found = zip(("made_by", "arguments", "state", "items", "pairs"), reduced)
    return {f"[{key!r}]": list(x) if isinstance(x, Iterator) else x for key, x in found}
