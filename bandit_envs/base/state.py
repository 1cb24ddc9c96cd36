"""The rule that makes every run savable: all that changes lives in one attribute, `_state`.

A state says by its sizes, one of which is a digest of constants, which object it belongs to.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

from bandit_envs.base.archives import CONTENT_ERRORS
from bandit_envs.base.made_with import arguments_of, digest_of_constants

__all__ = [
    "SavedState",
    "Stateful",
]

CONSTANTS = "constants"
"""The name, among the sizes, of a digest that tells objects with other constants apart."""


class SavedState(NamedTuple):
    """What `get_state` returns. It is opaque: its layout may change between versions."""

    owner: str  # the class of the object that it belongs to
    sizes: dict[str, int | None]  # the numbers that both objects must share
    content: Any


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
        shared = self._shared_state()
        return shared._replace(content=copy.deepcopy(shared.content))

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
        return {CONSTANTS: digest_of_constants(self, self._constants)}

    def _constants(self) -> Mapping[str, Any]:
        """Returns the constants that the object and its saved states must share, by their names.

        By default, these are the arguments of the constructor that are attributes of their name.
        """
        return arguments_of(self)

    def _restored(self, state: Any) -> Any:
        """Returns a copy of the content of a saved state, or raises and changes nothing."""
        if not isinstance(state, SavedState):
            raise TypeError(f"state is a {type(state).__name__}; expected what get_state() returns")
        _check_key(state, self._state_owner(), self._state_key())
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


def content_of(owner: Stateful) -> Any:
    """Returns all that changes in an object: its own, not a copy, for tests that look at it."""
    return owner._state


def put_content(owner: Stateful, content: Any) -> None:
    """Puts what `content_of` returned into an object, as it is and unchecked."""
    owner._state = content


def check_saved(owner: Stateful, state: Any) -> None:
    """Raises TypeError or ValueError if `set_state` of an object would refuse a state."""
    owner._restored(state)


def sizes_of(owner: Stateful) -> dict[str, int | None]:
    """Returns the numbers that an object and its saved states share, by their names."""
    return owner._state_key()


def state_to_write(owner: Stateful) -> Any:
    """Returns the state of an object for writing at once: not copied, unless its class does so."""
    if type(owner).get_state is Stateful.get_state:
        return owner._shared_state()
    return owner.get_state()


def _check_key(state: SavedState, owner: str, key: Mapping[str, int | None]) -> None:
    """Raises ValueError if a state is of another class, other sizes or other constants."""
    if state.owner == owner and state.sizes == key:
        return
    found = {name: size for name, size in state.sizes.items() if name != CONSTANTS}
    expected = {name: size for name, size in key.items() if name != CONSTANTS}
    if state.owner == owner and found == expected:
        problem = "with other arguments, or constants such as weights that were drawn from its seed"
        advice = "expected one made with the same arguments and the same seed"
        raise ValueError(f"state belongs to another {owner}, {problem}; {advice}")
    problem = f"state belongs to a {state.owner} with {found}"
    raise ValueError(f"{problem}; expected a {owner} with {expected}")
