"""What TF-Agents' policies of bandits tell of their choices: their `emit_policy_info`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import contextlib

import numpy as np
import tensorflow as tf
from tf_agents.policies import epsilon_greedy_policy, greedy_policy, py_policy, tf_policy
from tf_agents.policies import utils as policy_utilities
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.policies.compiled import CompiledFunction, initial_state
from bandit_envs.arrays import Array, Floats, Rng
from bandit_envs.nests import Nest, map_structure

FIELDS = policy_utilities.InfoFields

OF_ACTIONS = (FIELDS.LOG_PROBABILITY, FIELDS.BANDIT_POLICY_TYPE, FIELDS.CHOSEN_ARM_FEATURES)
"""Fields of an info that depend on which action was chosen, or how."""


def told_fields(policy: tf_policy.TFPolicy | py_policy.PyPolicy) -> list[str]:
    """Returns the names of the fields of a policy's info that have arrays."""
    spec = policy.info_spec
    return [name for name in getattr(spec, "_fields", ()) if tf.nest.flatten(getattr(spec, name))]


def emits_info(policy: tf_policy.TFPolicy | py_policy.PyPolicy) -> bool:
    """Whether a policy was asked to tell more than its agent learns from."""
    learned_from = {FIELDS.LOG_PROBABILITY, FIELDS.CHOSEN_ARM_FEATURES}
    return not learned_from.issuperset(told_fields(policy))


def explores(policy: tf_policy.TFPolicy) -> bool:
    """Whether a policy chooses at random with a probability, and greedily otherwise."""
    return isinstance(policy, epsilon_greedy_policy.EpsilonGreedyPolicy)


def without_exploration(policy: tf_policy.TFPolicy) -> tf_policy.TFPolicy:
    """Returns the greedy part of an ε-greedy policy, or the policy, if it is another.

    What an `EpsilonGreedyPolicy` predicts in the rows where it explores is drawn at random.
    """
    return greedy_policy.GreedyPolicy(policy.wrapped_policy) if explores(policy) else policy


def step_without_exploration(
    policy: tf_policy.TFPolicy, time_step: ts.TimeStep
) -> policy_step.PolicyStep:
    """Returns what a policy would do without exploration, in a graph; it draws if it has to."""
    asked = without_exploration(policy)
    state = initial_state(asked, time_step)
    with contextlib.suppress(NotImplementedError):
        step = asked.distribution(time_step, state)
        if explores(policy):
            step = step._replace(action=step.action.mode())
        return step
    return asked.action(time_step, state)


def info_without_noise(
    policy: tf_policy.TFPolicy, time_step: ts.TimeStep, step: policy_step.PolicyStep
) -> Nest:
    """Returns the info of a step, in a graph, with what is predicted in rows that explore, too."""
    predicted = [name for name in told_fields(policy) if name not in OF_ACTIONS]
    if not (explores(policy) and predicted):
        return step.info
    greedy = step_without_exploration(policy, time_step).info
    return step.info._replace(**{name: getattr(greedy, name) for name in predicted})


def fields_without_noise(policy: tf_policy.TFPolicy) -> list[str]:
    """Returns the names of what a policy with `emits_info` tells, but for the probability.

    Features of items are left out if they are all that it tells: the observation has them.
    """
    if not emits_info(policy):
        return []
    told = [name for name in told_fields(policy) if name != FIELDS.LOG_PROBABILITY]
    if not explores(policy):
        return told
    kept = {*OF_ACTIONS, *policy.info_fields_to_inherit_from_greedy}
    return [name for name in told if name in kept]


class ChoiceInfos:
    """What a policy of TF-Agents tells of actions that were drawn from its probabilities.

    Whether an ε-greedy policy explored is drawn, with its probability given the action.

    Args:
        policy: a policy with `emits_info` that knows its probabilities.
    """

    def __init__(self, policy: tf_policy.TFPolicy) -> None:
        self._policy = policy
        self._compiled = CompiledFunction(self._told, policy)

    def __call__(self, rng: Rng, observation: Nest, action: Array, table: Floats) -> Nest:
        """Returns the info of actions [n], given the probabilities of all of them, [n, K]."""
        greedy, told = self._compiled(observation)
        info = tf.nest.map_structure(np.asarray, told)
        rows = np.arange(len(action))
        probability = table[rows, action]
        fields = {FIELDS.LOG_PROBABILITY: np.log(probability)}
        if tf.nest.flatten(getattr(info, FIELDS.CHOSEN_ARM_FEATURES, ())):
            items = observation["per_arm"]
            fields[FIELDS.CHOSEN_ARM_FEATURES] = map_structure(
                lambda leaf: leaf[rows, action], items
            )
        if explores(self._policy) and tf.nest.flatten(info.bandit_policy_type):
            is_greedy = action == np.asarray(greedy)
            greedily = is_greedy * (1.0 - float(self._policy._get_epsilon()))
            has_explored = rng.random(len(action)) * probability >= greedily
            kind = info.bandit_policy_type.copy()
            kind[has_explored] = policy_utilities.BanditPolicyType.UNIFORM
            fields[FIELDS.BANDIT_POLICY_TYPE] = kind
        return info._replace(**fields)

    def _told(self, time_step: ts.TimeStep) -> tuple[Nest, Nest]:
        """Returns the greedy action of an ε-greedy policy, or (), and the info."""
        step = step_without_exploration(self._policy, time_step)
        return (step.action if explores(self._policy) else ()), step.info
