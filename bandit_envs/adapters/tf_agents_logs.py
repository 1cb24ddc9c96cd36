"""TF-Agents: logs of its drivers, and the probabilities of its policies on logs."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tf_agents.bandits.policies import bernoulli_thompson_sampling_policy as bernoulli
from tf_agents.bandits.policies import linear_thompson_sampling_policy as linear
from tf_agents.policies import epsilon_greedy_policy, tf_policy

from bandit_envs.adapters.tf_agents_probabilities import ProbabilityTable
from bandit_envs.arrays import Array, Floats
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

    table_of = ProbabilityTable(policy) if is_mixture else None

    def observe(trajectory: Nest) -> tf.Operation:
        def record(*leaves: Array) -> None:
            step = tf.nest.pack_sequence_as(trajectory, [np.asarray(leaf) for leaf in leaves])
            if np.all(step.next_step_type == StepType.FIRST):
                return
            if table_of is not None:
                table = table_of(step.observation)
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
    table_of = ProbabilityTable(policy)
    tables = []
    for start in range(0, len(log), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        observation = map_structure(operator.itemgetter(rows), log.observation)
        tables.append(table_of(observation))
    return np.concatenate(tables)
