"""Choices of TF-Agents' policies that draw by themselves, from a generator of NumPy."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.draws import TrackableDraws
from bandit_envs.adapters.tf_agents.policies.compiled import (
    CompiledFunction,
    first_time_step,
    initial_state,
)
from bandit_envs.arrays import Array, Rng
from bandit_envs.nests import Nest


class SeededChooser:
    """Lets a policy draw its actions, compiled, from a seed of its own each time.

    The graphs of a SavedModel keep the seeds with which they were saved: it draws as it likes.

    Args:
        policy: a `TFPolicy`.
    """

    def __init__(self, policy: tf_policy.TFPolicy) -> None:
        self._policy = policy
        self._draws = TrackableDraws(seed=0)
        self._compiled = CompiledFunction(self._draws.redirect(self._action), policy)

    def __call__(self, rng: Rng, observation: Nest) -> Array:
        """Returns the actions that the policy chooses, given the observation [n, ...]."""
        self._draws.set_seed(rng)
        return np.asarray(self._compiled(first_time_step(self._policy, observation)))

    def _action(self, time_step: ts.TimeStep) -> tf.Tensor:
        return self._policy.action(time_step, initial_state(self._policy, time_step)).action
