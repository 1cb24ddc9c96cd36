"""States of users of one problem, in environments whose rows are problems of their own."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from bandit_envs.arrays import Rng
from bandit_envs.nests import Nest, flatten, map_structure


def share_first_row(owner: str, nest: Nest, batch_size: int) -> Nest:
    """Returns a nest in which all rows of each array have what the first row has.

    A number that all rows share, or None, stays as it is.

    Args:
        owner: the name of the environment, for messages.
        nest: a state or an action: arrays [B, ...].
        batch_size: B.

    Raises:
        NotImplementedError: an array has another shape, or a leaf is another object.
    """

    def share(leaf: Any) -> Any:
        if leaf is None or np.isscalar(leaf):
            return leaf
        if isinstance(leaf, np.ndarray) and leaf.shape[:1] == (batch_size,):
            return np.repeat(leaf[:1], batch_size, axis=0)
        found = f"the state of {owner} has {_describe(leaf)}"
        expected = f"expected an array [{batch_size}, ...], or a _share that says what users share"
        raise NotImplementedError(f"{found}; {expected}")

    return map_structure(share, nest)


def _describe(leaf: object) -> str:
    """Returns what an error says of a leaf of a state."""
    if isinstance(leaf, np.ndarray):
        return f"an array of shape {leaf.shape}"
    return f"a {type(leaf).__name__}"


def same_leaves(nest: Nest, other: Nest) -> bool:
    """Returns whether two nests of one structure have equal leaves."""
    return all(map(np.array_equal, flatten(nest), flatten(other)))


def next_of_one_problem(env: Any, rng: Rng, state: Any, action: Nest, *, keeps_own: bool) -> Any:
    """Returns the state that follows `action`, for users of one problem.

    Args:
        env: a bandit.
        rng: draws.
        state: of all rows.
        action: of each row.
        keeps_own: whether the bandit has a `_share` of its own.

    Raises:
        NotImplementedError: actions change the state, and `_share` does not say whose it is.
    """
    twin = copy.deepcopy(rng)
    next_state = env._next_state(rng, state, action)
    if next_state is state:
        return state
    shared = env._share(next_state)
    if not keeps_own:
        of_first = share_first_row(env.name, action, env.batch_size)
        if not same_leaves(next_state, env._next_state(twin, state, of_first)):
            expected = "expected a _share that says what of the state is a user's own"
            raise NotImplementedError(f"actions change the state of {env.name}; {expected}")
    return shared
