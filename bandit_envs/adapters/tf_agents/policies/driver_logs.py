"""TF-Agents: logs of its drivers."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tf_agents.policies import epsilon_greedy_policy, tf_policy
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.environment import with_boolean_mask
from bandit_envs.adapters.tf_agents.numpy_calls import as_it_is, numpy_function
from bandit_envs.adapters.tf_agents.policies.compiled import CompiledFunction, initial_state
from bandit_envs.adapters.tf_agents.policies.infos import info_class
from bandit_envs.adapters.tf_agents.policies.probability_tables import ProbabilityTable
from bandit_envs.arrays import Array
from bandit_envs.base.checks import short_repr
from bandit_envs.logged import LogRecorder
from bandit_envs.nests import Nest
from bandit_envs.trajectories import StepType, Trajectory


def log_observer(
    recorder: LogRecorder, policy: tf_policy.TFPolicy
) -> Callable[[Nest], tf.Operation]:
    """Returns an observer that shows the steps of TF-Agents' drivers to `recorder`.

    Propensities come from `policy_info.log_probability`; those of an `EpsilonGreedyPolicy` come
    from its distribution, because it emits the probability given that it explored or did not. Steps
    that only start an episode are left out. What else the policy emits becomes the log's `info`,
    except for what an `EpsilonGreedyPolicy` draws at random in rows where it explores, as it does
    with all predictions that are not in its `info_fields_to_inherit_from_greedy`.

    Args:
        recorder: records the steps.
        policy: the `TFPolicy` of the driver, on which a `PyTFEagerPolicy` may be based.

    Raises:
        TypeError: `policy` is something else.
        ValueError: `policy` emits no log probabilities, or draws a model before it chooses, as
            Thompson sampling does: it emits the probability given the model.
    """
    if not isinstance(policy, tf_policy.TFPolicy):
        expected = "expected a TFPolicy, such as agent.collect_policy"
        raise TypeError(f"policy is {short_repr(policy)}; {expected}")
    table_of = None
    if isinstance(policy, epsilon_greedy_policy.EpsilonGreedyPolicy):
        table_of = ProbabilityTable(policy)
    _check_probabilities(policy, table_of)
    make_info = info_class(policy)

    @as_it_is
    def observe(trajectory: Nest) -> tf.Operation:
        shown = (trajectory, () if table_of is None else table_of.of_step(trajectory))

        def record(*leaves: Array) -> None:
            arrays = [np.asarray(leaf) for leaf in leaves]
            step, table = tf.nest.pack_sequence_as(shown, arrays)
            if np.all(step.next_step_type == StepType.FIRST):
                return
            if table_of is not None:
                log_probability = np.log(table[np.arange(len(table)), step.action])
            else:
                log_probability = np.minimum(step.policy_info.log_probability, 0.0)
            told = {name: getattr(step.policy_info, name) for name in make_info._fields[1:]}
            recorder(
                Trajectory(*step)._replace(
                    observation=with_boolean_mask(step.observation),
                    policy_info=make_info(log_probability, **told),
                )
            )

        return numpy_function(record, tf.nest.flatten(shown), [])

    return observe


def _check_probabilities(policy: tf_policy.TFPolicy, table: ProbabilityTable | None) -> None:
    """Raises ValueError if the probabilities that a policy tells are not those of its actions.

    Args:
        policy: the policy.
        table: its probabilities, if they do not come from what it emits.
    """
    name = type(policy).__name__
    if table is None and not policy.emit_log_probability:
        expected = "expected one that emits its log probabilities"
        raise ValueError(f"policy {name} tells no probabilities; {expected}")
    draws = _told_after_a_draw(policy) if table is None else table.draws
    if draws:
        found = f"policy {name} draws a model and tells probabilities given the model"
        raise ValueError(f"{found}; expected one that tells those of its actions")


def _told_after_a_draw(policy: tf_policy.TFPolicy) -> bool:
    """Whether what a policy tells of the probability of an action depends on a draw.

    It is asked for its distribution. One without a distribution, such as a `RandomTFPolicy`, is
    asked for what it emits, given its action.
    """

    def by_distribution(time_step: ts.TimeStep) -> tf.Tensor:
        size = tf.shape(time_step.step_type)[0]
        action = tf.zeros([size, *policy.action_spec.shape], policy.action_spec.dtype)
        state = initial_state(policy, time_step)
        return policy.distribution(time_step, state).action.log_prob(action)

    def emitted(time_step: ts.TimeStep) -> tuple[tf.Tensor, tf.Tensor]:
        # Not by `action`, which clips what was drawn.
        step = policy._action(time_step, initial_state(policy, time_step), seed=None)
        return step.action, step.info.log_probability

    with contextlib.suppress(NotImplementedError):
        return CompiledFunction(by_distribution, policy).draws
    return CompiledFunction(emitted, policy).draws_last_apart_from_first
