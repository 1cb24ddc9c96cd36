"""What TF-Agents' policies of bandits tell of their choices: their `emit_policy_info`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import collections
import contextlib
from typing import Any

import numpy as np
import tensorflow as tf
from tf_agents.policies import py_policy, tf_policy
from tf_agents.policies import utils as policy_utilities
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.policies.compiled import CompiledFunction, initial_state
from bandit_envs.adapters.tf_agents.policies.probability_tables import (
    explores,
    without_exploration,
)
from bandit_envs.adapters.tf_agents.policies.saved_models import SavedModelPolicy
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


def step_without_exploration(
    policy: tf_policy.TFPolicy, time_step: ts.TimeStep
) -> policy_step.PolicyStep:
    """Returns what a policy would do without exploration, in a graph.

    It draws only if the policy has no distribution. A SavedModel draws in any case: to ask one that
    has no distribution for it would put operations that fail into the graph.
    """
    asked = without_exploration(policy)
    state = initial_state(asked, time_step)
    if isinstance(policy, SavedModelPolicy):
        return asked.action(time_step, state)
    with contextlib.suppress(NotImplementedError):
        step = asked.distribution(time_step, state)
        if explores(policy):
            step = step._replace(action=step.action.mode())
        return step
    return asked.action(time_step, state)


def info_without_noise(
    policy: tf_policy.TFPolicy, time_step: ts.TimeStep, step: policy_step.PolicyStep
) -> Nest:
    """Returns the info of a step, in a graph; where it explores, with greedy predictions."""
    predicted = [name for name in told_fields(policy) if name not in OF_ACTIONS]
    if not (explores(policy) and predicted):
        return step.info
    greedy = step_without_exploration(policy, time_step).info
    return step.info._replace(**{name: getattr(greedy, name) for name in predicted})


def info_class(policy: tf_policy.TFPolicy) -> Any:
    """Returns a class of named tuples: the part of a policy's info that logs keep.

    The log probability is the first field. Features of items are left out if nothing else is told
    beside it, as the observation has them. What is drawn at random is left out, too.
    """
    told = [name for name in told_fields(policy) if name != FIELDS.LOG_PROBABILITY]
    if not emits_info(policy):
        told = []
    elif explores(policy):
        kept = {*OF_ACTIONS, *policy.info_fields_to_inherit_from_greedy}
        told = [name for name in told if name in kept]
    return collections.namedtuple("PolicyInfo", [FIELDS.LOG_PROBABILITY, *told])


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
        fields: dict[str, Nest] = {FIELDS.LOG_PROBABILITY: np.log(probability)}
        told_names = told_fields(self._policy)
        if FIELDS.CHOSEN_ARM_FEATURES in told_names:
            fields[FIELDS.CHOSEN_ARM_FEATURES] = map_structure(
                lambda leaf: leaf[rows, action], observation["per_arm"]
            )
        if FIELDS.BANDIT_POLICY_TYPE in told_names and explores(self._policy):
            is_greedy = action == np.asarray(greedy)
            greedily = is_greedy * (1.0 - float(self._policy._get_epsilon()))
            has_explored = rng.random(len(action)) * probability >= greedily
            kind = info.bandit_policy_type.copy()
            kind[has_explored] = policy_utilities.BanditPolicyType.UNIFORM
            fields[FIELDS.BANDIT_POLICY_TYPE] = kind
        known = {name: value for name, value in fields.items() if name in info._fields}
        return info._replace(**known)

    def _told(self, time_step: ts.TimeStep) -> tuple[Nest, Nest]:
        """Returns the greedy action of an ε-greedy policy, or (), and the info."""
        step = step_without_exploration(self._policy, time_step)
        return (step.action if explores(self._policy) else ()), step.info
