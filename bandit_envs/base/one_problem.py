"""States of users of one problem, in environments whose rows are problems of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

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
