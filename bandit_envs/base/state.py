"""The rule that makes every run savable: all that changes lives in one attribute, `_state`.

A digest of the arrays that are constant tells which object a state belongs to. A `Memo` is kept
beside the state: results that follow from it, and are not part of it.
"""

from __future__ import annotations

import abc
import copy
import dataclasses
import functools
import hashlib
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bandit_envs.base.archives import CONTENT_ERRORS
from bandit_envs.nests import Nest, flatten, map_structure

__all__ = [
    "EncodedModel",
    "ForeignModel",
    "SavedState",
    "Stateful",
]

State = TypeVar("State")
Result = TypeVar("Result")

CONSTANTS = "constants"
"""The size that tells objects with other constants apart."""

_KNOWN: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


class SavedState(NamedTuple):
    """What `get_state` returns. It is opaque: its layout may change between versions."""

    owner: str  # the class of the object that it belongs to
    sizes: dict[str, int | None]  # the numbers that both objects must share
    content: Any


@dataclasses.dataclass(frozen=True)
class EncodedModel:
    """What a file says of a `ForeignModel`, until `set_state` makes a model of it."""

    content: Nest

    trusted: tuple[str, ...] = ()
    """What the reader of the file trusts, beside what the model does. No file says it."""


class ForeignModel(abc.ABC):
    """A model of another library, as a leaf of a state.

    `copy.deepcopy` copies it, and the copy shares nothing that changes. It can be pickled.
    `save_state` writes what `encode` returns. `set_state` takes the leaf in the same place of the
    object's initial state, and calls its `decode`. So this leaf decides what a file may hold.
    """

    @abc.abstractmethod
    def encode(self) -> Nest:
        """Returns the model as a nest of what `save_state` writes, such as arrays.

        Raises:
            TypeError: the model cannot be written.
        """

    def layout(self) -> str:
        """Returns in words what a model must share with another one to stand in its place."""
        return type(self).__name__

    @abc.abstractmethod
    def decode(self, content: Nest, trusted: Sequence[str] = ()) -> ForeignModel:
        """Returns a new model, like this one, of what `encode` of another one returned.

        Args:
            content: may be from a file. It must not say what is called.
            trusted: names of classes and functions that `content` may hold all the same, as the
                user says who reads the file.

        Raises:
            TypeError, ValueError: `content` does not fit.
        """


def decode_models(found: Nest, initial: Nest) -> Nest:
    """Returns a nest with models in place of what a file says of them.

    Args:
        found: of a state that may be from a file.
        initial: a nest of the same structure, with the models that say how to decode others.
    """
    if not any(isinstance(leaf, ForeignModel) for leaf in flatten(initial)):
        return found

    def decode(like: Any, leaf: Any) -> Any:
        is_encoded = isinstance(like, ForeignModel) and isinstance(leaf, EncodedModel)
        return like.decode(leaf.content, leaf.trusted) if is_encoded else leaf

    return map_structure(decode, initial, found)


class Stateful:
    """Base of environments, policies, metrics and drivers: all that changes lives in `_state`.

    `_state` includes the random generator; everything else is constant after `__init__`. So one
    deep copy saves an object, whatever its class, and another restores it.
    """

    _state: Any

    def get_state(self) -> Any:
        """Returns a copy of the state, for `set_state` of any object made with the same arguments.

        It can be pickled, and written with `save_state`.
        """
        return copy.deepcopy(self._shared_state())

    def _shared_state(self) -> SavedState:
        """Returns what `get_state` copies. It shares all arrays with the object."""
        return SavedState(self._state_owner(), self._state_key(), self._state)

    def set_state(self, state: Any) -> None:
        """Returns to a `state` of `get_state`: from there on, everything repeats bit for bit.

        A state of another class, size or spec, or a damaged one, raises TypeError or ValueError
        and changes nothing.
        """
        self._state = self._restored(state)

    def _state_owner(self) -> str:
        """Returns the name of the class that the object and its saved states must share."""
        return type(self).__name__

    def _state_key(self) -> dict[str, int | None]:
        """Returns the numbers that the object and its saved states must share."""
        return {}

    def _restored(self, state: Any) -> Any:
        """Returns a copy of the content of a saved state, or raises and changes nothing."""
        if not isinstance(state, SavedState):
            raise TypeError(f"state is a {type(state).__name__}; expected what get_state() returns")
        expected = self._state_owner(), self._state_key()
        if (state.owner, state.sizes) != expected:
            _check_constants(state, *expected)
            found = f"state belongs to a {state.owner} with {state.sizes}"
            raise ValueError(f"{found}; expected a {expected[0]} with {expected[1]}")
        content = copy.deepcopy(state.content)
        try:
            content = self._decoded(content)
            self._check_content(content)
        except CONTENT_ERRORS as error:
            raise ValueError(f"state does not fit {self._state_owner()}: {error}") from error
        return content

    def _decoded(self, content: Any) -> Any:
        """Returns `content` with models in place of what a file says of them."""
        return content

    def _check_content(self, content: Any) -> None:
        """Raises an exception if `content` does not fit the object."""


def sizes_of(owner: Stateful) -> dict[str, int | None]:
    """Returns the numbers that an object and its saved states share, by their names."""
    return owner._state_key()


def state_to_write(owner: Stateful) -> Any:
    """Returns the state of an object for writing at once: not copied, unless its class does so."""
    if type(owner).get_state is Stateful.get_state:
        return owner._shared_state()
    return owner.get_state()


def _check_constants(state: SavedState, owner: str, sizes: Mapping[str, int | None]) -> None:
    """Raises ValueError if a state differs in nothing but the constants that it belongs to."""
    constants = {CONSTANTS: sizes.get(CONSTANTS)}
    if state.owner == owner and {**state.sizes, **constants} == sizes:
        problem = "whose arrays differ, such as weights that were drawn from its seed"
        expected = "expected one made with the same arguments and the same seed"
        raise ValueError(f"state belongs to another {owner}, {problem}; {expected}")


def check_fields(state: Any, kind: type[Any], **types: type[Any]) -> Any:
    """Returns `state`; TypeError if it is not a `kind`, or a field is not of its type."""
    if type(state) is not kind:
        raise TypeError(f"found a {type(state).__name__}; expected a {kind.__name__}")
    for name, expected in types.items():
        if not isinstance(getattr(state, name), expected):
            raise TypeError(f"{name} is {getattr(state, name)!r}; expected a {expected.__name__}")
    return state


class Transient:
    """Holds a value that is not part of the state: copies and pickles of the holder are empty."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None

    def __reduce__(self) -> tuple[type[Transient], tuple[()]]:
        return type(self), ()


class Memo(Transient):
    """Holds the last result of a pure function of a state."""

    __slots__ = ()

    def of(self, state: State, function: Callable[[State], Result]) -> Result:
        """Returns `function(state)`, computed only if `state` is not the same object as before."""
        if self.value is None or self.value[0] is not state:
            self.value = (state, function(state))
        result: Result = self.value[1]
        return result


def digest_of_constants(instance: Any) -> int:
    """Returns a number that two objects share if all their arrays, except for the state, are equal.

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


def forget_digest(instance: Any) -> None:
    """Lets `digest_of_constants` read an object's arrays anew."""
    _KNOWN.pop(instance, None)


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
