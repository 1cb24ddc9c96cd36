"""What tells objects apart whose constants differ, such as weights drawn from their seeds."""

from __future__ import annotations

import functools
import hashlib
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bandit_envs.base.state import Transient

_KNOWN: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


def digest_of_constants(instance: Any) -> int:
    """Returns a number that two objects share if all their arrays, but for the state, are equal.

    These are the arrays among the attributes, and among those of its parts that are of this package
    or derive from its classes. They are constant after the constructor, so they are read once.
    """
    if instance not in _KNOWN:
        digest = hashlib.blake2b(digest_size=7)
        for array in _arrays(vars(instance), {id(instance)}):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        _KNOWN[instance] = int.from_bytes(digest.digest(), "big")
    return _KNOWN[instance]


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
