"""TF-Agents: logs of its drivers, and the probabilities of its policies on logs."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from numpy.typing import NDArray
from tf_agents.bandits.policies import bernoulli_thompson_sampling_policy as bernoulli
from tf_agents.bandits.policies import linear_thompson_sampling_policy as linear
from tf_agents.policies import epsilon_greedy_policy, greedy_policy
from tf_agents.trajectories import time_step as ts

from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.logged import BanditLog, LogRecorder
from bandit_envs.nests import Nest, map_structure
from bandit_envs.trajectories import PolicyInfo, StepType, Trajectory

SAMPLING = bernoulli.BernoulliThompsonSamplingPolicy, linear.LinearThompsonSamplingPolicy
BLOCK = 4096


def log_observer(recorder: LogRecorder, policy: Any) -> Callable[[Any], Any]:
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
    mixed = isinstance(policy, epsilon_greedy_policy.EpsilonGreedyPolicy)
    if isinstance(policy, SAMPLING) or not (mixed or policy.emit_log_probability):
        raise ValueError(
            f"policy is a {type(policy).__name__}; expected one with exact log probabilities"
        )

    def observe(trajectory: Any) -> Any:
        def record(*leaves: Any) -> None:
            step = tf.nest.pack_sequence_as(trajectory, [np.asarray(leaf) for leaf in leaves])
            if np.all(step.next_step_type == StepType.FIRST):
                return
            if mixed:
                table = _table(policy, step.observation)
                chance = np.log(table[np.arange(len(table)), step.action])
            else:
                chance = np.minimum(step.policy_info.log_probability, 0.0)
            recorder(Trajectory(*step)._replace(policy_info=PolicyInfo(chance)))

        return tf.numpy_function(record, tf.nest.flatten(trajectory), [])

    return observe


def probabilities_of(policy: Any, log: BanditLog) -> NDArray[np.float64]:
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
    blocks = (slice(start, start + BLOCK) for start in range(0, len(log), BLOCK))
    nests = (map_structure(operator.itemgetter(rows), log.observation) for rows in blocks)
    return np.concatenate([_table(policy, observation) for observation in nests])


def _table(policy: Any, observation: Nest) -> NDArray[np.float64]:
    """Returns the probabilities of all actions, given the observation [m, ...]: [m, K]."""
    if isinstance(policy, epsilon_greedy_policy.EpsilonGreedyPolicy):
        epsilon, splitter = policy._get_epsilon(), policy.observation_and_action_constraint_splitter
        greedy = _table(greedy_policy.GreedyPolicy(policy.wrapped_policy), observation)
        size = greedy.shape[1]
        found = (
            available_actions(observation, size) if splitter is None else splitter(observation)[1]
        )
        uniform = np.ones_like(greedy) if found is None else np.asarray(found, np.float64)
        uniform /= uniform.sum(axis=1, keepdims=True)
        return np.asarray((1.0 - float(epsilon)) * greedy + float(epsilon) * uniform)
    spec = policy.time_step_spec.observation
    tensors = tf.nest.map_structure(
        lambda leaf_spec, leaf: tf.convert_to_tensor(leaf, leaf_spec.dtype), spec, observation
    )
    size = len(tf.nest.flatten(observation)[0])
    time_step = ts.restart(tensors, batch_size=size)
    chosen = policy.distribution(time_step, policy.get_initial_state(size)).action
    actions = range(int(policy.action_spec.maximum) + 1)
    if isinstance(chosen, tfp.distributions.Deterministic):
        found = [chosen.mode() == action for action in actions]
    else:
        found = [chosen.prob(tf.fill([size], action)) for action in actions]
    table = np.stack(found, axis=1).astype(np.float64)
    return np.asarray(table / table.sum(axis=1, keepdims=True))
