"""How objects were made: in one line, and as a number that says which constants they have."""

from __future__ import annotations

import functools
import hashlib
import inspect
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bandit_envs.base.state import Transient

LEFT_OUT = ("seed", "observation_spec", "action_spec", "name", "dtype")
"""What a line does not show: it is long, or says nothing of what the object is."""

SIZES = ("num_actions", "batch_size")
"""What it shows of every object that has it."""

PASSED_ON = {"count_pending": True}
"""What constructors pass on, with the defaults: it shows the values that are not these."""

LONGEST = 60
"""Values of more letters are shortened."""

_KNOWN: dict[int, int] = {}
"""The digests of objects that live, by `id`: a class may define when its objects are equal."""


def made_with(instance: Any) -> str:
    """Returns the class of an object with the arguments of its constructor: `UCBPolicy(c=2.0)`.

    It shows those that are not the defaults and that the object keeps, as an attribute of the same
    name or of one with a leading underscore.
    """
    values = [f"{name}={show(value)}" for name, value in _kept(instance)]
    return f"{type(instance).__name__}({', '.join(values)})"


def _kept(instance: Any) -> Iterator[tuple[str, Any]]:
    """Yields the arguments of the constructor that an object keeps, and its sizes."""
    attributes = vars(instance)
    for name, parameter in inspect.signature(type(instance)).parameters.items():
        if name in LEFT_OUT or name in SIZES:
            continue
        value = attributes.get(name, attributes.get(f"_{name}", parameter.default))
        if not _is_default(value, parameter.default):
            yield name, value
    for name in SIZES:
        value = getattr(instance, name, None)
        if value is not None:
            yield name, value
    for name, default in PASSED_ON.items():
        value = attributes.get(f"_{name}", default)
        if value is not default:
            yield name, value


def _is_default(value: Any, default: Any) -> bool:
    """Returns whether a value is the default of its parameter."""
    if value is default:
        return True
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        return type(plain) is type(default) and bool(plain == default)
    except ValueError:  # arrays are neither equal nor unequal
        return False


def show(value: Any) -> str:
    """Returns a value as one writes it; arrays as lists, and what is long shortened."""
    if isinstance(value, (np.ndarray, np.generic)):
        text = str(value.tolist()) if value.size <= LONGEST else f"array of shape {value.shape}"
    elif callable(value) and hasattr(value, "__name__"):
        text = value.__name__
    else:
        text = repr(value)
        if text.startswith("<"):
            text = f"{type(value).__name__}(...)"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def digest_of_constants(instance: Any) -> int:
    """Returns a number that two objects share if all their arrays, except for the state, are equal.

    These are the arrays among the attributes, and among those of its parts that are of this package
    or derive from its classes. They are constant after the constructor, so they are read once.
    """
    key = id(instance)
    if key not in _KNOWN:
        digest = hashlib.blake2b(digest_size=7)
        for array in _arrays(vars(instance), {id(instance)}):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        _KNOWN[key] = int.from_bytes(digest.digest(), "big")
        weakref.finalize(instance, _KNOWN.pop, key, None)
    return _KNOWN[key]


def _arrays(value: Any, seen: set[int]) -> Iterator[np.ndarray[Any, Any]]:
    """Yields the arrays in an attribute, each part once."""
    if isinstance(value, np.ndarray):
        if value.size and value.dtype.kind in "biufc":
            yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            if name != "_state":
                yield from _arrays(part, seen)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _arrays(part, seen)
    elif isinstance(value, functools.partial):
        yield from _arrays((value.func, value.args, value.keywords), seen)
    elif id(value) not in seen and _is_part(value):
        seen.add(id(value))
        yield from _arrays(vars(value), seen)


def _is_part(value: Any) -> bool:
    """Returns whether a value is a part of an object: no cache, and nothing with a state."""
    if isinstance(value, Transient) or not hasattr(value, "__dict__") or hasattr(value, "_state"):
        return False
    return any(kind.__module__.startswith("bandit_envs.") for kind in type(value).__mro__)
