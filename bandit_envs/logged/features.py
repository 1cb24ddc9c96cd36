"""Features of contexts and items in logs, as regressions take them."""

from __future__ import annotations

import math

import numpy as np

from bandit_envs.arrays import Array, Floats
from bandit_envs.logged.log import BanditLog, require_numbered_actions
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.policies.models.features import ContextReader
from bandit_envs.specs import ArraySpec


def has_items(log: BanditLog) -> bool:
    """Returns whether the observation is a dict with features of every action, `per_arm`."""
    return isinstance(log.observation, dict) and "per_arm" in log.observation


def context_features(log: BanditLog) -> Floats:
    """Returns the observation, flattened: [n, d]."""
    leaves = [_flatten_rows(leaf, 1) for leaf in flatten(log.observation)]
    return np.concatenate(leaves, axis=1, dtype=np.float64)


def spec_of_rows(observation: Nest) -> Nest:
    """Returns the specs of one row of a nest of arrays [n, ...]."""
    return map_structure(lambda leaf: ArraySpec(leaf.shape[1:], leaf.dtype), observation)


def item_features(log: BanditLog) -> Floats:
    """Returns `global` and the action's `per_arm` for every action: [n, K, d]."""
    size = len(log)
    items = _flatten_rows(log.observation["per_arm"], 2)
    users = _flatten_rows(log.observation["global"], 1)[:, np.newaxis]
    repeated = np.broadcast_to(users, (size, log.num_actions, users.shape[2]))
    return np.concatenate([repeated, items], axis=2, dtype=np.float64)


def context_of(log: BanditLog) -> Floats:
    """Returns the contexts of a log as policies read them: [n, d].

    Raises:
        ValueError: actions are real numbers or have features, or contexts are no numbers.
    """
    if has_items(require_numbered_actions(log)):
        raise ValueError("log has features of the actions, per_arm; expected contexts alone")
    return ContextReader(spec_of_rows(log.observation)).read(log.observation, len(log))


def _flatten_rows(leaf: Array, axes: int) -> Array:
    """Returns an array with its first axes as they are, and all others as one."""
    return leaf.reshape(*leaf.shape[:axes], math.prod(leaf.shape[axes:]))
