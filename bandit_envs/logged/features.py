"""Features of contexts and items in logs, as regressions take them."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.logged.log import BanditLog, require_numbered_actions
from bandit_envs.nests import Nest, map_structure
from bandit_envs.policies.models.inputs import Contexts, InputReader, Inputs
from bandit_envs.specs import ArraySpec


def has_items(log: BanditLog) -> bool:
    """Returns whether the observation is a dict with features of every action, `per_arm`."""
    return isinstance(log.observation, dict) and "per_arm" in log.observation


def spec_of_rows(observation: Nest) -> Nest:
    """Returns the specs of one row of a nest of arrays [n, ...]."""
    return map_structure(lambda leaf: ArraySpec(leaf.shape[1:], leaf.dtype), observation)


def features_of(log: BanditLog) -> Floats:
    """Returns what models of rewards predict from, as those of policies do.

    Returns:
        The features of every action with those of the context, [n, K, d], if actions have some;
        else the context, [n, d].
    """
    return _inputs_of(log).features()


def flat_features_of(log: BanditLog) -> Floats:
    """Returns the features of the context, and those of all actions if they have some: [n, d]."""
    inputs = _inputs_of(log)
    if isinstance(inputs, Contexts):
        return inputs.context
    return np.concatenate((inputs.context, inputs.actions.reshape(len(log), -1)), axis=1)


def context_of(log: BanditLog) -> Floats:
    """Returns the contexts of a log as policies read them: [n, d].

    Raises:
        ValueError: actions are real numbers or have features, or contexts are not numbers.
    """
    if has_items(require_numbered_actions(log)):
        raise ValueError("log has features of the actions, per_arm; expected contexts alone")
    return features_of(log)


def _inputs_of(log: BanditLog) -> Inputs:
    """Returns what models of rewards are given."""
    reader = InputReader(spec_of_rows(log.observation), log.num_actions)
    return reader.read(log.observation, len(log))
