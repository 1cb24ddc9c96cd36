"""The probabilities of the actions of TF-Agents' policies."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import contextlib

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.policies import epsilon_greedy_policy, greedy_policy, tf_policy
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.policies.compiled import (
    CompiledFunction,
    first_time_step,
    initial_state,
    without_compilation,
)
from bandit_envs.arrays import Array, Floats
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.nests import Nest


class ProbabilityTable:
    """The probabilities of all actions under a policy of TF-Agents, compiled once if it can be.

    An `EpsilonGreedyPolicy` has no distribution: its table is made of that of its greedy part.

    Args:
        policy: a `TFPolicy` with a distribution of actions, each of which is one integer.

    Raises:
        NotImplementedError: it has no distribution.
    """

    def __init__(self, policy: tf_policy.TFPolicy) -> None:
        self._policy = policy
        self._chooser = policy
        self._is_mixture = isinstance(policy, epsilon_greedy_policy.EpsilonGreedyPolicy)
        if self._is_mixture:
            self._chooser = greedy_policy.GreedyPolicy(policy.wrapped_policy)
        self._num_actions = int(policy.action_spec.maximum) + 1
        self._compiled = CompiledFunction(self._table, policy)
        #: Whether it is the table of a model that was drawn, as in Thompson sampling.
        self.draws = self._compiled.draws

    def __call__(self, observation: Nest) -> Floats:
        """Returns the probabilities of all actions, given the observation [n, ...]: [n, K]."""
        time_step = first_time_step(self._policy, observation)
        if self.draws:
            with without_compilation():
                tensor = self._table(time_step)
        else:
            tensor = self._compiled(time_step)
        table = tensor.numpy().astype(np.float64)
        table /= table.sum(axis=1, keepdims=True)
        if not self._is_mixture:
            return np.asarray(table)
        epsilon = float(self._policy._get_epsilon())
        explored = self._explored(time_step.observation, len(table))
        return np.asarray((1.0 - epsilon) * table + epsilon * explored)

    def _table(self, time_step: ts.TimeStep) -> tf.Tensor:
        """Returns the distribution of the policy, or of its greedy part: [n, K]."""
        policy = self._chooser
        size = tf.shape(time_step.step_type)[0]
        chosen = policy.distribution(time_step, initial_state(policy, time_step)).action
        if isinstance(chosen, tfp.distributions.Deterministic):
            return tf.one_hot(chosen.mode(), self._num_actions)
        actions = range(self._num_actions)
        return tf.stack([chosen.prob(tf.fill([size], action)) for action in actions], axis=1)

    def _explored(self, observation: Nest, size: int) -> Floats:
        """Returns the probabilities of all actions when an ε-greedy policy explores: [n, K]."""
        splitter = self._policy.observation_and_action_constraint_splitter
        if splitter is None:
            available: Array | None = available_actions(observation, self._num_actions)
        else:
            available = splitter(observation)[1]
        uniform = np.ones((size, self._num_actions))
        if available is not None:
            uniform *= np.asarray(available)
        if self._policy._exploration_mask is not None:
            uniform *= np.asarray(self._policy._exploration_mask)
        return np.asarray(uniform / uniform.sum(axis=1, keepdims=True))


class OneHotTable:
    """The probabilities of all actions under a policy of TF-Agents that draws nothing.

    Args:
        policy: a `TFPolicy`, each of whose actions is one integer.
    """

    def __init__(self, policy: tf_policy.TFPolicy) -> None:
        self._policy = policy
        self._num_actions = int(policy.action_spec.maximum) + 1
        self._compiled = CompiledFunction(self._action, policy)

    @property
    def draws(self) -> bool:
        """Whether the policy draws."""
        return self._compiled.draws

    def __call__(self, observation: Nest) -> Floats:
        """Returns the probabilities of all actions, given the observation [n, ...]: [n, K]."""
        chosen = self._compiled(first_time_step(self._policy, observation))
        return np.asarray(np.eye(self._num_actions)[chosen.numpy()])

    def _action(self, time_step: ts.TimeStep) -> tf.Tensor:
        return self._policy.action(time_step, initial_state(self._policy, time_step)).action


def find_table(policy: tf_policy.TFPolicy) -> ProbabilityTable | OneHotTable | None:
    """Returns the probabilities of a policy; None if it draws by itself, or shows slates."""
    if policy.action_spec.shape.rank > 0:
        return None
    with contextlib.suppress(NotImplementedError):
        table = ProbabilityTable(policy)
        return None if table.draws else table
    chosen = OneHotTable(policy)
    return None if chosen.draws else chosen
