"""The probabilities of the actions of TF-Agents' policies."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.bandits.policies import mixture_policy
from tf_agents.policies import epsilon_greedy_policy, greedy_policy, tf_policy
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.policies.compiled import (
    CompiledFunction,
    batch_shape,
    initial_state,
)
from bandit_envs.adapters.tf_agents.users import kind_of_tf_agents_actions
from bandit_envs.arrays import Floats
from bandit_envs.nests import Nest
from bandit_envs.trajectories import Trajectory


class TableFunction(Protocol):
    """The probabilities of all actions under a policy of TF-Agents."""

    def __call__(self, observation: Nest) -> Floats:
        """Returns the probabilities of all actions, given the observation [n, ...]: [n, K]."""

    def tensor(self, time_step: ts.TimeStep) -> tf.Tensor:
        """Returns the probabilities of all actions, given a time step of tensors: [n, K]."""


class ProbabilityTable:
    """The probabilities of all actions under a policy of TF-Agents, compiled.

    An `EpsilonGreedyPolicy` has no distribution: its table is made of that of its greedy part.

    Args:
        policy: a `TFPolicy` with a distribution of actions, each of which is one integer.

    Raises:
        NotImplementedError: it has no distribution.
    """

    def __init__(self, policy: tf_policy.TFPolicy) -> None:
        self._policy = policy
        self._asked = without_exploration(policy)  # for its distribution
        self._explores = explores(policy)
        self._num_actions = kind_of_tf_agents_actions(policy.action_spec).num_actions
        epsilon = tf.TensorSpec([], tf.float64)
        self._compiled = CompiledFunction(self._table, policy, epsilon)

    @property
    def draws(self) -> bool:
        """Whether it is the table of a model that was drawn, as in Thompson sampling."""
        return self._compiled.draws

    def __call__(self, observation: Nest) -> Floats:
        """Returns the probabilities of all actions, given the observation [n, ...]: [n, K]."""
        epsilon = float(self._policy._get_epsilon()) if self._explores else 0.0
        table = self._compiled(observation, tf.constant(epsilon, tf.float64)).numpy()
        return np.asarray(table / table.sum(axis=1, keepdims=True))

    def of_step(self, trajectory: Trajectory) -> tf.Tensor:
        """Returns the probabilities of all actions in a step of a driver: [n, K].

        In a graph they are a part of it, as a call of NumPy must not call what is compiled.
        """
        observation = trajectory.observation
        if tf.executing_eagerly():
            return tf.constant(self(observation))
        size = batch_shape(trajectory.step_type)
        table = self.tensor(ts.restart(observation, size, self._policy.time_step_spec.reward))
        return table / tf.reduce_sum(table, axis=1, keepdims=True)

    def tensor(self, time_step: ts.TimeStep) -> tf.Tensor:
        """Returns the probabilities of all actions, given a time step of tensors: [n, K]."""
        epsilon = self._policy._get_epsilon() if self._explores else 0.0
        return self._table(time_step, tf.cast(epsilon, tf.float64))

    def _table(self, time_step: ts.TimeStep, epsilon: tf.Tensor) -> tf.Tensor:
        """Returns the probabilities of a policy that explores with the probability `epsilon`."""
        table = tf.cast(self._distribution(time_step), tf.float64)
        if not self._explores:
            return table
        explored = self._explored(time_step.observation, tf.shape(table)[0])
        return (1.0 - epsilon) * table + epsilon * explored

    def _distribution(self, time_step: ts.TimeStep) -> tf.Tensor:
        """Returns the distribution of the policy, or of its greedy part: [n, K]."""
        policy = self._asked
        size = tf.shape(time_step.step_type)[0]
        chosen = policy.distribution(time_step, initial_state(policy, time_step)).action
        if isinstance(chosen, tfp.distributions.Deterministic):
            return tf.one_hot(chosen.mode(), self._num_actions)
        actions = tf.range(self._num_actions, dtype=chosen.dtype)
        samples = tf.repeat(actions[:, tf.newaxis], size, axis=1)
        return tf.transpose(chosen.prob(samples))

    def _explored(self, observation: Nest, size: tf.Tensor) -> tf.Tensor:
        """Returns the probabilities of all actions when an ε-greedy policy explores: [n, K]."""
        uniform = tf.ones([size, self._num_actions], tf.float64)
        for mask in (self._available(observation), self._policy._exploration_mask):
            if mask is not None:
                uniform *= tf.cast(mask, tf.float64)
        return uniform / tf.reduce_sum(uniform, axis=1, keepdims=True)

    def _available(self, observation: Nest) -> tf.Tensor | None:
        """Returns which actions are available: [n, K]; None if all are."""
        splitter = self._policy.observation_and_action_constraint_splitter
        if splitter is not None:
            return splitter(observation)[1]
        if not isinstance(observation, dict):
            return None
        if "num_actions" in observation:
            return tf.sequence_mask(observation["num_actions"], self._num_actions)
        return observation.get("mask")


class OneHotTable:
    """The probabilities of all actions under a policy of TF-Agents that draws nothing.

    Args:
        policy: a `TFPolicy`, each of whose actions is one integer.
    """

    def __init__(self, policy: tf_policy.TFPolicy) -> None:
        self._policy = policy
        self._num_actions = kind_of_tf_agents_actions(policy.action_spec).num_actions
        self._compiled = CompiledFunction(self._action, policy)

    @property
    def draws(self) -> bool:
        """Whether the policy draws."""
        return self._compiled.draws

    def __call__(self, observation: Nest) -> Floats:
        """Returns the probabilities of all actions, given the observation [n, ...]: [n, K]."""
        chosen = self._compiled(observation).numpy()
        return np.asarray(np.eye(self._num_actions)[chosen])

    def tensor(self, time_step: ts.TimeStep) -> tf.Tensor:
        """Returns the probabilities of all actions, given a time step of tensors: [n, K]."""
        return tf.one_hot(self._action(time_step), self._num_actions, dtype=tf.float64)

    def _action(self, time_step: ts.TimeStep) -> tf.Tensor:
        return self._policy.action(time_step, initial_state(self._policy, time_step)).action


class MixtureTable:
    """The probabilities of all actions under a mixture of policies of TF-Agents.

    Args:
        policy: chooses by one of its policies, each time.
        tables: the probabilities of these policies.
    """

    def __init__(
        self, policy: mixture_policy.MixturePolicy, tables: Sequence[TableFunction]
    ) -> None:
        self._policy = policy
        self._tables = tables

    def __call__(self, observation: Nest) -> Floats:
        """Returns the probabilities of all actions, given the observation [n, ...]: [n, K]."""
        weights = self._policy._mixture_distribution.probs_parameter().numpy()
        tables = [table(observation) for table in self._tables]
        return np.average(tables, axis=0, weights=weights.astype(np.float64))

    def tensor(self, time_step: ts.TimeStep) -> tf.Tensor:
        """Returns the probabilities of all actions, given a time step of tensors: [n, K]."""
        weights = tf.cast(self._policy._mixture_distribution.probs_parameter(), tf.float64)
        tables = tf.stack([table.tensor(time_step) for table in self._tables], axis=-1)
        return tf.linalg.matvec(tables, weights)


def explores(policy: tf_policy.TFPolicy) -> bool:
    """Whether a policy chooses at random with a probability, and greedily otherwise."""
    return isinstance(policy, epsilon_greedy_policy.EpsilonGreedyPolicy)


def without_exploration(policy: tf_policy.TFPolicy) -> tf_policy.TFPolicy:
    """Returns the greedy part of an ε-greedy policy; any other policy is returned as it is.

    What an `EpsilonGreedyPolicy` predicts in the rows where it explores is drawn at random.
    """
    return greedy_policy.GreedyPolicy(policy.wrapped_policy) if explores(policy) else policy


def find_table(policy: tf_policy.TFPolicy) -> TableFunction | None:
    """Returns the probabilities of a policy; None if it draws by itself, or shows slates."""
    if not kind_of_tf_agents_actions(policy.action_spec).is_single:
        return None
    if isinstance(policy, mixture_policy.MixturePolicy):
        tables = [find_table(part) for part in policy._policies]
        known = [table for table in tables if table is not None]
        return MixtureTable(policy, known) if len(known) == len(tables) else None
    with contextlib.suppress(NotImplementedError):
        table = ProbabilityTable(policy)
        return None if table.draws else table
    chosen = OneHotTable(policy)
    return None if chosen.draws else chosen
