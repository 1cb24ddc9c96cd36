"""Results that follow from a state, kept beside it: they are no part of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

State = TypeVar("State")
Result = TypeVar("Result")


class Cache:
    """Base of what follows from constants and a state: it is part of neither."""

    __slots__ = ()


class Transient(Cache):
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
