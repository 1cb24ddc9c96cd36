"""Policies of this package as policies of TF-Agents."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.policies import tf_policy
from tf_agents.policies import utils as policy_utilities
from tf_agents.trajectories import policy_step, trajectory
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.environment import with_boolean_mask
from bandit_envs.adapters.tf_agents.numpy_calls import as_it_is, numpy_function
from bandit_envs.adapters.tf_agents.policies.compiled import chosen_items
from bandit_envs.adapters.tf_agents.users import kind_of_tf_agents_actions
from bandit_envs.arrays import Array
from bandit_envs.base.checks import short_repr
from bandit_envs.nests import Nest
from bandit_envs.policies import Policy
from bandit_envs.trajectories import StepType, Trajectory

CHOICES = 100
"""After so many choices without learning, a policy that could learn warns."""


class TFPolicyOfPolicy(tf_policy.TFPolicy):
    """A policy of this package as a `TFPolicy`; see `as_tf_policy`.

    Args:
        policy: chooses the actions.
        time_step_spec: of the environment.
        action_spec: of the environment.
        emit_log_probability: whether its info tells the log probability of the action.
    """

    def __init__(
        self,
        policy: Policy,
        time_step_spec: ts.TimeStep,
        action_spec: tf.TensorSpec,
        emit_log_probability: bool = False,
    ) -> None:
        self._policy = policy
        self._num_choices = 0
        info_spec: Nest = ()
        if emit_log_probability:
            info_spec = policy_utilities.PolicyInfo()
        spec = time_step_spec.observation
        has_features = isinstance(spec, dict) and "per_arm" in spec
        self._has_items = has_features and policy.action_kind.is_single
        if self._has_items:
            features = policy_utilities.create_chosen_arm_features_info_spec(spec)
            info_spec = policy_utilities.PerArmPolicyInfo(chosen_arm_features=features)
        super().__init__(
            time_step_spec,
            action_spec,
            info_spec=info_spec,
            emit_log_probability=emit_log_probability,
        )

    def _variables(self) -> list[tf.Variable]:
        return []

    @as_it_is
    def _action(
        self, time_step: ts.TimeStep, policy_state: Nest, seed: int | None
    ) -> policy_step.PolicyStep:
        def choose(*leaves: Array) -> tuple[Array, Array]:
            found = _packed(time_step, leaves)
            action = self._policy.action(found)
            self._warn_if_untrained()
            told = np.zeros(len(action))
            if self.emit_log_probability:
                told = self._policy.info_of(found, action).log_probability
            return action, told.astype(np.float32)

        leaves = tf.nest.flatten(time_step)
        action, log_probability = numpy_function(choose, leaves, [tf.int32, tf.float32])
        action.set_shape([None, *self.action_spec.shape])
        log_probability.set_shape([None])
        action = tf.cast(action, self.action_spec.dtype)
        info = self._info(time_step, action)
        if self.emit_log_probability:
            info = policy_step.set_log_probability(info, log_probability)
        return policy_step.PolicyStep(action, policy_state, info)

    @as_it_is
    def _distribution(self, time_step: ts.TimeStep, policy_state: Nest) -> policy_step.PolicyStep:
        if not _knows_table(self._policy):
            name = type(self._policy).__name__
            raise NotImplementedError(f"{name} does not know the probabilities of its actions")

        def tell(*leaves: Array) -> Array:
            return self._policy.probabilities(_packed(time_step, leaves))

        table = numpy_function(tell, tf.nest.flatten(time_step), tf.float64)
        table.set_shape([None, self._policy.num_actions])
        chosen = tfp.distributions.Categorical(probs=table, dtype=self.action_spec.dtype)
        info = self._info(time_step, chosen.mode())
        return policy_step.PolicyStep(chosen, policy_state, info)

    def _warn_if_untrained(self) -> None:
        """Warns, once, of a policy that could learn and has chosen often without it."""
        self._num_choices += 1
        if self._num_choices == CHOICES and self._policy.is_untrained:
            found = f"{type(self._policy).__name__} has acted {CHOICES} times and learned nothing"
            advice = "put policy_observer(policy) among the observers of the driver"
            warnings.warn(f"{found}; {advice}", stacklevel=2)

    def _info(self, time_step: ts.TimeStep, action: tf.Tensor) -> Nest:
        """Returns what the info tells of actions except for their probabilities."""
        if self._has_items:
            features = chosen_items(time_step.observation, action)
            return policy_utilities.PerArmPolicyInfo(chosen_arm_features=features)
        return policy_utilities.PolicyInfo() if self.emit_log_probability else ()


def as_tf_policy(
    policy: Policy,
    time_step_spec: ts.TimeStep,
    action_spec: tf.TensorSpec,
    emit_log_probability: bool = False,
) -> TFPolicyOfPolicy:
    """Returns a policy of this package as a `TFPolicy`.

    Drivers, metrics and replay buffers of TF-Agents take it; drivers of Python take it in a
    `PyTFEagerPolicy`. Its info is TF-Agents' `PolicyInfo`, or `PerArmPolicyInfo` with the features
    of the item chosen, so that an agent can train on its trajectories. To let it learn, put
    `policy_observer(policy)` among the observers; a policy that has acted 100 times without having
    learned warns.

    It draws by its own generator. Its state is not in checkpoints of TensorFlow, and what a
    `PolicySaver` writes works in this process only, as it calls Python: `save_state` writes it.

    Args:
        policy: a policy with as many rows as the environment.
        time_step_spec: of the environment.
        action_spec: of the environment, integers or slates of them.
        emit_log_probability: whether its info tells the log probability of the action, which the
            policy has to know.

    >>> from bandit_envs import UCBPolicy, KArmedTestbed
    >>> from bandit_envs.adapters.tf_agents import tensor_specs
    >>> env = KArmedTestbed(k=3, batch_size=2, seed=0)
    >>> policy = as_tf_policy(UCBPolicy(2.0, num_actions=3, batch_size=2), *tensor_specs(env))
    >>> policy.action_spec.maximum
    array(2, dtype=int32)
    """
    if not isinstance(policy, Policy):
        raise TypeError(f"policy is {short_repr(policy)}; expected a Policy of bandit_envs")
    kind = kind_of_tf_agents_actions(action_spec)
    count = kind.num_actions
    if not count:
        expected = f"expected integers from 0 on, or slates of them{kind.remedy}"
        raise ValueError(f"action_spec is {short_repr(action_spec)}; {expected}")
    if policy.num_actions != count:
        expected = f"expected {count}, as action_spec"
        raise ValueError(f"policy has num_actions {policy.num_actions}; {expected}")
    if emit_log_probability and not _knows_table(policy):
        name = type(policy).__name__
        raise NotImplementedError(f"{name} does not know the probabilities of single actions")
    return TFPolicyOfPolicy(policy, time_step_spec, action_spec, emit_log_probability)


def _knows_table(policy: Policy) -> bool:
    """Returns whether a policy knows the probabilities of all actions, one by one."""
    return policy.knows_probabilities and policy.action_kind.is_single


def _packed(nest: Nest, leaves: Sequence[Array]) -> Nest:
    """Returns leaves as a time step or trajectory of this package, with a mask of booleans."""
    found = tf.nest.pack_sequence_as(nest, leaves)
    return found._replace(observation=with_boolean_mask(found.observation))


def policy_observer(policy: Policy) -> Callable[[trajectory.Trajectory], tf.Operation]:
    """Returns an observer by which a policy of this package learns in TF-Agents' drivers.

    Steps that only start an episode are left out.

    Args:
        policy: learns from each step.

    Raises:
        TypeError: `policy` is something else, such as what `as_tf_policy` returns.
    """
    if not isinstance(policy, Policy):
        expected = "expected the Policy of bandit_envs that learns, not its TFPolicy"
        raise TypeError(f"policy is {short_repr(policy)}; {expected}")

    @as_it_is
    def observe(step: trajectory.Trajectory) -> tf.Operation:
        def learn(*leaves: Array) -> None:
            found = _packed(step, [np.asarray(leaf) for leaf in leaves])
            if not np.all(found.next_step_type == StepType.FIRST):
                policy.learn(Trajectory(*found))

        return numpy_function(learn, tf.nest.flatten(step), [])

    return observe
