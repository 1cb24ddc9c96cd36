"""Choices of TF-Agents' policies that draw by themselves, from a generator of NumPy."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import tensorflow as tf
from tf_agents.policies import tf_policy
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.policies.compiled import CompiledFunction, initial_state
from bandit_envs.adapters.tf_agents.policies.infos import emits_info, info_without_noise
from bandit_envs.adapters.tf_agents.trackable_draws import TrackableDraws
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

    def __call__(self, rng: Rng, observation: Nest) -> tuple[Array, Nest]:
        """Returns actions that the policy chooses, and its info, given the observation [n, ...].

        Raises:
            ValueError: the policy allows no action in a row. TF-Agents' policies with constraints,
                which draw what is allowed, then choose the action -1.
        """
        self._draws.restart(rng)
        chosen, info = self._compiled(observation)
        action: Array = chosen.numpy()
        is_missing = (action < 0).reshape(len(action), -1).any(axis=1)
        if is_missing.any():
            name = type(self._policy).__name__
            found = f"{name} allows no action in row {is_missing.argmax()}"
            raise ValueError(f"{found}; expected constraints that always allow one")
        return action, info

    def _action(self, time_step: ts.TimeStep) -> tuple[tf.Tensor, Nest]:
        step = self._policy.action(time_step, initial_state(self._policy, time_step))
        if not emits_info(self._policy):
            return step.action, ()
        return step.action, info_without_noise(self._policy, time_step, step)
