"""The layout of what policies have learned: classes, dtypes and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bandit_envs.base.checks import short_repr
from bandit_envs.base.saving import ForeignModel
from bandit_envs.nests import Nest, map_structure


def check_layout(what: str, found: Nest, initial: Nest) -> None:
    """Checks that `found` is of the class, dtypes and shapes of what `_initial` returned.

    Args:
        what: the beginning of a message, such as "_learn returned".
        found: what may have been learned.
        initial: what a policy knows at first.

    Raises:
        TypeError, ValueError: it is not.
    """
    expected = layout(initial)
    if type(found) is not type(initial):
        name = type(initial).__name__
        raise TypeError(f"{what} {short_repr(found)}; expected a {name} as of _initial, {expected}")
    if layout(found) != expected:
        problem = f"{what} {layout(found)}"
        raise ValueError(f"{problem}; expected arrays as those of _initial, {expected}")


def layout(nest: Nest) -> Nest:
    """Returns the dtype and the shape of each leaf, in words."""
    return map_structure(_layout, nest)


def _layout(leaf: Any) -> str:
    """Returns the dtype and the shape of a leaf; the class of one that is not a number."""
    if isinstance(leaf, ForeignModel):
        return leaf.layout()
    if not isinstance(leaf, (np.ndarray, np.generic, int, float)):
        return type(leaf).__name__
    kind = "array" if isinstance(leaf, np.ndarray) else "number"
    return f"{kind} {np.asarray(leaf).dtype}{list(np.shape(leaf))}"
