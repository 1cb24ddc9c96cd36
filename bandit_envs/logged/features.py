"""Features of contexts and items in logs, as regressions take them."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.logged.log import BanditLog
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.specs import ArraySpec


def has_items(log: BanditLog) -> bool:
    """Returns whether the observation is a dict with features of every action, `per_arm`."""
    return isinstance(log.observation, dict) and "per_arm" in log.observation


def context_features(log: BanditLog) -> Floats:
    """Returns the observation, flattened: [n, d]."""
    leaves = [leaf.reshape(len(log), -1) for leaf in flatten(log.observation)]
    return np.concatenate(leaves, axis=1, dtype=np.float64)


def spec_of_rows(observation: Nest) -> Nest:
    """Returns the specs of one row of a nest of arrays [n, ...]."""
    return map_structure(lambda leaf: ArraySpec(leaf.shape[1:], leaf.dtype), observation)


def item_features(log: BanditLog) -> Floats:
    """Returns `global` and the action's `per_arm` for every action: [n, K, d]."""
    size = len(log)
    items = log.observation["per_arm"].reshape(size, log.num_actions, -1)
    users = log.observation["global"].reshape(size, 1, -1)
    repeated = np.broadcast_to(users, (size, log.num_actions, users.shape[2]))
    return np.concatenate([repeated, items], axis=2, dtype=np.float64)
