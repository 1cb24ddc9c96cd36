"""TF-Agents: logs of its drivers, and the probabilities of its policies on logs."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.bandits.policies import bernoulli_thompson_sampling_policy as bernoulli
from tf_agents.bandits.policies import linear_thompson_sampling_policy as linear
from tf_agents.policies import epsilon_greedy_policy, greedy_policy, tf_policy
from tf_agents.trajectories import time_step as ts

from bandit_envs.arrays import Array, Floats
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.logged import BanditLog, LogRecorder
from bandit_envs.nests import Nest, map_structure
from bandit_envs.trajectories import PolicyInfo, StepType, Trajectory

SAMPLING = (
    bernoulli.BernoulliThompsonSamplingPolicy,
    linear.LinearThompsonSamplingPolicy,
)
"""The policies that sample their models before they choose."""

ROWS_AT_ONCE = 4096
"""The decisions of a log that a policy sees in one call."""


def log_observer(
    recorder: LogRecorder, policy: tf_policy.TFPolicy
) -> Callable[[Nest], tf.Operation]:
    """Returns an observer that shows the steps of TF-Agents' drivers to `recorder`.

    Propensities come from `policy_info.log_probability`; those of an `EpsilonGreedyPolicy` come
    from its distribution, because it emits the probability given that it explored or did not. Steps
    that only start an episode are left out.

    Args:
        recorder: records the steps.
        policy: the `TFPolicy` of the driver, on which a `PyTFEagerPolicy` may be based.

    Raises:
        ValueError: `policy` emits no log probabilities, or samples its models before it chooses, as
            Thompson sampling does: it emits the probability given the sample.
    """
    is_mixture = isinstance(policy, epsilon_greedy_policy.EpsilonGreedyPolicy)
    if isinstance(policy, SAMPLING) or not (is_mixture or policy.emit_log_probability):
        raise ValueError(
            f"policy is a {type(policy).__name__}; expected one with exact log probabilities"
        )

    def observe(trajectory: Nest) -> tf.Operation:
        def record(*leaves: Array) -> None:
            step = tf.nest.pack_sequence_as(trajectory, [np.asarray(leaf) for leaf in leaves])
            if np.all(step.next_step_type == StepType.FIRST):
                return
            if is_mixture:
                table = probability_table(policy, step.observation)
                log_probability = np.log(table[np.arange(len(table)), step.action])
            else:
                log_probability = np.minimum(step.policy_info.log_probability, 0.0)
            recorder(Trajectory(*step)._replace(policy_info=PolicyInfo(log_probability)))

        return tf.numpy_function(record, tf.nest.flatten(trajectory), [])

    return observe


def probabilities_of(policy: tf_policy.TFPolicy, log: BanditLog) -> Floats:
    """Returns the probabilities with which a policy of TF-Agents would have chosen: [n, K].

    A policy that samples its models, such as Thompson sampling, samples them once: the mean of many
    calls estimates its probabilities.

    Args:
        policy: a `TFPolicy` with a distribution over the log's actions, or an
            `EpsilonGreedyPolicy`. It does not learn.
        log: n decisions, with observations as the policy takes them.
    """
    count = int(policy.action_spec.maximum) + 1
    if count != log.num_actions:
        raise ValueError(f"policy has {count} actions; expected {log.num_actions}")
    tables = []
    for start in range(0, len(log), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        observation = map_structure(operator.itemgetter(rows), log.observation)
        tables.append(probability_table(policy, observation))
    return np.concatenate(tables)


def probability_table(policy: tf_policy.TFPolicy, observation: Nest) -> Floats:
    """Returns the probabilities of all actions, given the observation [m, ...]: [m, K]."""
    if isinstance(policy, epsilon_greedy_policy.EpsilonGreedyPolicy):
        return _table_of_mixture(policy, observation)
    size = len(tf.nest.flatten(observation)[0])
    time_step = ts.restart(_to_tensors(policy, observation), batch_size=size)
    chosen = policy.distribution(time_step, policy.get_initial_state(size)).action
    actions = range(int(policy.action_spec.maximum) + 1)
    if isinstance(chosen, tfp.distributions.Deterministic):
        columns = [chosen.mode() == action for action in actions]
    else:
        columns = [chosen.prob(tf.fill([size], action)) for action in actions]
    table = np.stack(columns, axis=1).astype(np.float64)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _table_of_mixture(
    policy: epsilon_greedy_policy.EpsilonGreedyPolicy, observation: Nest
) -> Floats:
    """Returns the table of an ε-greedy policy: of its greedy and its uniform part."""
    epsilon = float(policy._get_epsilon())
    greedy = probability_table(greedy_policy.GreedyPolicy(policy.wrapped_policy), observation)
    splitter = policy.observation_and_action_constraint_splitter
    if splitter is None:
        available = available_actions(observation, greedy.shape[1])
    else:
        available = splitter(observation)[1]
    uniform = np.ones_like(greedy) if available is None else np.asarray(available, np.float64)
    uniform = uniform / uniform.sum(axis=1, keepdims=True)
    return np.asarray((1.0 - epsilon) * greedy + epsilon * uniform)


def _to_tensors(policy: tf_policy.TFPolicy, observation: Nest) -> Nest:
    """Returns an observation as the policy takes it."""
    return tf.nest.map_structure(
        lambda spec, leaf: tf.convert_to_tensor(leaf, spec.dtype),
        policy.time_step_spec.observation,
        observation,
    )
