"""Which actions are available to each row: how observations say it, and how it is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.specs import Nest


def available_actions(observation: Nest, num_actions: int) -> NDArray[np.bool_] | None:
    """Returns which actions an observation makes available: [B, K], or None for all of them.

    Args:
        observation: a dict with `num_actions` [B], of which the first so many are available, or
            with `mask` [B, K]; any other observation leaves all actions available.
        num_actions: K.
    """
    if isinstance(observation, Mapping):
        if "num_actions" in observation:
            count: NDArray[Any] = np.asarray(observation["num_actions"])
            return np.asarray(np.arange(num_actions) < count[..., np.newaxis])
        if "mask" in observation:
            return np.asarray(observation["mask"], np.bool_)
    return None


def check_available(action: NDArray[np.intp], available: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Returns `action` [B, ...].

    Raises:
        ValueError: an action is not available in its row of `available` [B, K].
    """
    rows, num_actions = available.shape
    offsets = (np.arange(rows) * num_actions).reshape(-1, *(1,) * (action.ndim - 1))
    allowed = available.take(offsets + action)
    if not allowed.all():
        index = tuple(map(int, np.argwhere(~allowed)[0]))
        place = ", ".join(map(str, index))
        raise ValueError(
            f"action[{place}] is {action[index]}, which is not available in row {index[0]}; "
            f"expected one of its {np.count_nonzero(available[index[0]])} available actions"
        )
    return action
