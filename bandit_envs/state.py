"""The rule that makes every run savable: whatever changes lives in one attribute, `_state`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np


class Stateful:
    """Base of environments, policies, metrics and drivers: all that changes lives in `_state`.

    Everything else is constant after `__init__`. So one deep copy saves an object, whatever its
    class, and another restores it. `_state` includes the random generator.

    The methods take and return *tokens*: pass them back, look inside at your own risk.
    """

    _state: Any

    def get_state(self) -> Any:
        """Returns a token of the present state, which nothing that happens later can change."""
        return copy.deepcopy(self._state)

    def set_state(self, state: Any) -> None:
        """Returns to the state of a token, which may be used again.

        Args:
            state: a token from `get_state` of an object constructed with the same arguments.
        """
        self._state = copy.deepcopy(state)


def check_token(state: Any, kind: type[Any], identity: str | None = None) -> None:
    """Checks that a token is one of an object's own.

    Args:
        state: the token.
        kind: what it has to be an instance of.
        identity: what its `made_by` has to be; None if nothing.

    Raises:
        TypeError: it is no `kind`.
        ValueError: it was made by another object.
    """
    if not isinstance(state, kind):
        raise TypeError(f"state is a {type(state).__name__}; expected what get_state() returns")
    if identity is not None and state.made_by != identity:
        raise ValueError(f"state is of {state.made_by}; expected one of {identity}")


Seed = Any
"""None, an integer, or a sequence of them; a SeedSequence, BitGenerator, Generator or RandomState.
"""


def generator(seed: Seed) -> np.random.Generator:
    """Returns the generator that `seed` stands for.

    Args:
        seed: whatever `numpy.random.default_rng` takes, or a RandomState. A Generator is returned
            as it is, and a RandomState's stream is shared with it.

    Raises:
        TypeError: `seed` is of another type, such as a float.
        ValueError: `seed` is a negative integer.
    """
    if isinstance(seed, np.random.RandomState):
        return np.random.Generator(seed._bit_generator)
    if isinstance(seed, (bool, np.bool_)):
        raise TypeError(f"seed is {seed!r}; expected an integer or a NumPy source of randomness")
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"seed is {seed!r}; expected a non-negative integer or a NumPy source of randomness"
        ) from error
