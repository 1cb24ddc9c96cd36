"""Choices of TF-Agents' policies that draw by themselves, from a generator of NumPy."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import contextlib
import copy
from typing import Protocol

import numpy as np
import tensorflow as tf
from tf_agents.bandits.policies import constraints, linear_bandit_policy
from tf_agents.policies import tf_policy
from tf_agents.policies import utils as policy_utilities
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.policies.compiled import (
    CompiledFunction,
    first_time_step,
    initial_state,
    without_compilation,
)
from bandit_envs.adapters.tf_agents.policies.saved_models import SavedModelPolicy
from bandit_envs.arrays import Array, Rng
from bandit_envs.nests import Nest

SEEDS = 2**31
"""Seeds of TensorFlow are below."""


class Chooser(Protocol):
    """Chooses actions by a policy of TF-Agents."""

    def __call__(self, rng: Rng, observation: Nest) -> Array:
        """Returns the actions that the policy chooses, given the observation [n, ...]."""


def make_chooser(policy: tf_policy.TFPolicy) -> Chooser:
    """Returns the fastest chooser that follows a generator of NumPy, if there is one."""
    optimistic = linear_bandit_policy.ExplorationStrategy.optimistic
    is_linear = isinstance(policy, linear_bandit_policy.LinearBanditPolicy)
    if is_linear and policy._exploration_strategy != optimistic:
        return LinearThompsonChooser(policy)
    with contextlib.suppress(NotImplementedError):
        seeded = SeededChooser(policy)
        if not seeded.draws:
            return seeded
    return (
        SavedModelChooser(policy)
        if isinstance(policy, SavedModelPolicy)
        else TensorFlowChooser(policy)
    )


class SeededChooser:
    """Samples from the distribution of a policy, compiled, with a seed of its own each time.

    Args:
        policy: a `TFPolicy`.

    Raises:
        NotImplementedError: it has no distribution.
    """

    def __init__(self, policy: tf_policy.TFPolicy) -> None:
        self._policy = policy
        self._compiled = CompiledFunction(self._sample, policy, tf.TensorSpec([2], tf.int32))

    @property
    def draws(self) -> bool:
        """Whether it also draws from TensorFlow's own generator."""
        return self._compiled.draws

    def __call__(self, rng: Rng, observation: Nest) -> Array:
        """Returns the actions that the policy chooses, given the observation [n, ...]."""
        seed = tf.convert_to_tensor(rng.integers(SEEDS, size=2), tf.int32)
        chosen = self._compiled(first_time_step(self._policy, observation), seed)
        return np.asarray(chosen)

    def _sample(self, time_step: ts.TimeStep, seed: tf.Tensor) -> tf.Tensor:
        state = initial_state(self._policy, time_step)
        return self._policy.distribution(time_step, state).action.sample(seed=seed)


class LinearThompsonChooser:
    """Draws the value of each action of a `LinearBanditPolicy`, and chooses the largest.

        value of a ~ N(theta . x_a, alpha^2 x_a^T A^-1 x_a)

    Means and deviations come from the policy: it is asked to be optimistic.

    Args:
        policy: the policy of a `LinearThompsonSamplingAgent`.
    """

    def __init__(self, policy: linear_bandit_policy.LinearBanditPolicy) -> None:
        fields = policy_utilities.InfoFields
        optimist = copy.copy(policy)
        optimist._exploration_strategy = linear_bandit_policy.ExplorationStrategy.optimistic
        optimist._emit_policy_info = (
            fields.PREDICTED_REWARDS_MEAN,
            fields.PREDICTED_REWARDS_OPTIMISTIC,
        )
        self._policy = policy
        self._optimist = optimist
        self._compiled = CompiledFunction(self._means_and_bounds, policy)

    def __call__(self, rng: Rng, observation: Nest) -> Array:
        """Returns the actions that the policy chooses, given the observation [n, ...]."""
        tensors = self._compiled(first_time_step(self._policy, observation))
        means, bounds, available = (tensor.numpy() for tensor in tensors)
        values = means + (bounds - means) * rng.standard_normal(means.shape)
        values[~available] = -np.inf
        return np.asarray(values.argmax(axis=1))

    def _means_and_bounds(self, time_step: ts.TimeStep) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Returns the means, the upper bounds and which actions are available: [n, K] each."""
        info = self._optimist._distribution(time_step, ()).info
        means = info.predicted_rewards_mean
        mask = constraints.construct_mask_from_multiple_sources(
            time_step.observation,
            self._policy.observation_and_action_constraint_splitter,
            (),
            self._policy._num_actions,
        )
        available = tf.ones_like(means, tf.bool) if mask is None else tf.cast(mask, tf.bool)
        return means, info.predicted_rewards_optimistic, available


class SavedModelChooser:
    """Lets a SavedModel draw as it likes.

    Its graphs have the seeds with which they were saved. So it would draw the same numbers after
    each call of `tf.random.set_seed`.

    Args:
        policy: a policy that a `PolicySaver` has saved.
    """

    def __init__(self, policy: SavedModelPolicy) -> None:
        self._policy = policy
        self._compiled = CompiledFunction(self._action, policy)

    def __call__(self, rng: Rng, observation: Nest) -> Array:
        """Returns the actions that the policy chooses, given the observation [n, ...]."""
        return np.asarray(self._compiled(first_time_step(self._policy, observation)))

    def _action(self, time_step: ts.TimeStep) -> tf.Tensor:
        return self._policy.action(time_step, initial_state(self._policy, time_step)).action


class TensorFlowChooser:
    """Lets the policy draw by TensorFlow's generator, whose seed is set ahead of each action.

    Nothing is compiled, as graphs keep the seed with which they were made. So it is slow.

    Args:
        policy: a `TFPolicy`.
    """

    def __init__(self, policy: tf_policy.TFPolicy) -> None:
        self._policy = policy

    def __call__(self, rng: Rng, observation: Nest) -> Array:
        """Returns the actions that the policy chooses, given the observation [n, ...]."""
        with without_compilation():
            tf.random.set_seed(int(rng.integers(SEEDS)))
            time_step = first_time_step(self._policy, observation)
            step = self._policy.action(time_step, initial_state(self._policy, time_step))
        return np.asarray(step.action)
