"""Comparison bit for bit, of anything that can be copied."""

import types
from collections.abc import Iterator
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from bandit_envs.arrays import Array

EXACT = (
    int,
    str,
    bytes,
    type(None),
    type(Ellipsis),
    slice,
    range,
    set,
    frozenset,
    np.dtype,
    type,
    types.FunctionType,
    types.ModuleType,
)
"""Types whose `==` is exact."""


Seen: TypeAlias = dict[tuple[int, int], tuple[object, object]]
"""Pairs of objects that were compared, by their ids."""


def require(condition: object, message: str) -> None:
    """Raises AssertionError if `condition` does not hold, also under `python -O`."""
    __tracebackhide__ = True  # pytest shows the test, not this function
    if not condition:
        raise AssertionError(message)


def assert_identical(actual: object, expected: object, name: str = "value") -> None:
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
    __tracebackhide__ = True
    _compare(actual, expected, name, {})


def _compare(actual: object, expected: object, name: str, seen: Seen) -> None:
    """Compares two objects, unless they are among the pairs that were `seen` before."""
    __tracebackhide__ = True
    pair = (id(actual), id(expected))
    if actual is expected or pair in seen:
        return
    seen[pair] = (actual, expected)  # kept alive, so that no id is used again
    if type(actual) is not type(expected):
        kinds = f"{type(actual)}: {actual!r}; expected {type(expected)}: {expected!r}"
        raise AssertionError(f"{name} is {kinds}")
    if isinstance(actual, (np.ndarray, np.generic, float, complex)):
        _compare_arrays(np.asarray(actual), np.asarray(expected), name, seen)
    elif isinstance(actual, EXACT):
        if actual != expected:
            raise AssertionError(f"{name} is {actual!r}; expected {expected!r}")
    else:
        _compare_parts(_parts(actual, name), _parts(expected, name), name, seen)


def _compare_arrays(actual: Array, expected: Array, name: str, seen: Seen) -> None:
    """Compares the bytes of arrays, or the objects in them."""
    __tracebackhide__ = True
    if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        found = f"{actual.dtype!r} of shape {actual.shape}"
        wanted = f"{expected.dtype!r} of shape {expected.shape}"
        raise AssertionError(f"{name} is {found}; expected {wanted}")
    if actual.dtype.names:  # what is between the fields is not content
        for field in actual.dtype.names:
            _compare_arrays(actual[field], expected[field], f"{name}[{field!r}]", seen)
    elif actual.dtype.hasobject:
        _compare(actual.tolist(), expected.tolist(), name, seen)
    elif actual.tobytes() != expected.tobytes():
        differ = actual[..., None].view("u1") != expected[..., None].view("u1")
        index = np.argwhere(differ)[0, :-1].tolist()
        place = (*index,)
        raise AssertionError(f"{name}{index or ''} is {actual[place]}; expected {expected[place]}")


def _compare_parts(
    actual: dict[str, object], expected: dict[str, object], name: str, seen: Seen
) -> None:
    """Compares the parts of two objects, by their places."""
    __tracebackhide__ = True
    if actual.keys() != expected.keys():
        more = ", ".join(place for place in actual if place not in expected) or "none"
        lacking = ", ".join(place for place in expected if place not in actual) or "none"
        raise AssertionError(f"{name} has other parts: too many: {more}; missing: {lacking}")
    for place, part in actual.items():
        _compare(part, expected[place], name + place, seen)


def _parts(value: object, name: str) -> dict[str, object]:
    """Returns the items of a container, or what pickle would save of another object."""
    if isinstance(value, dict):
        return dict(_items(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {f".{field}": item for field, item in zip(value._fields, value)}
    if isinstance(value, np.random.Generator):
        return _parts(value.bit_generator, name)
    if isinstance(value, np.random.BitGenerator):
        return {".state": value.state}
    if isinstance(value, (list, tuple)):
        return {f"[{index}]": item for index, item in enumerate(value)}
    if _is_tensor(value):  # PyTorch would save an address, too
        return {".numpy()": value.detach().cpu().numpy()}
    try:
        reduced = value.__reduce_ex__(4)
    except TypeError as error:
        raise AssertionError(f"{name} cannot be compared: {error}") from error
    if isinstance(reduced, str):
        return {"": reduced}
    found = zip(("made_by", "arguments", "state", "items", "pairs"), reduced)
    return {f"[{key!r}]": list(x) if isinstance(x, Iterator) else x for key, x in found}


def _items(value: dict[Any, object]) -> Iterator[tuple[str, object]]:
    """Yields the items of a dict by name; if keys are tensors, as in optimizers, the keys, too.

    A tensor has no name: its text takes long to write, and leaves out numbers.
    """
    for number, (key, item) in enumerate(value.items()):
        if _is_tensor(key):
            yield f".keys()[{number}]", key
            yield f".values()[{number}]", item
        else:
            yield f"[{key!r}]", item


def _is_tensor(value: object) -> TypeGuard[Any]:
    """Returns whether an object is a tensor of PyTorch, which need not be installed."""
    return hasattr(value, "detach") and hasattr(value, "numpy")
