"""Features of contexts and items in logs, as regressions take them."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_numbered_actions
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.policies import FirstPolicy, Policy, RandomPolicy
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models.feature_readers import shows_items
from bandit_envs.policies.models.inputs import Contexts, InputReader, Inputs
from bandit_envs.policies.registry import ignores_contexts
from bandit_envs.specs import ArraySpec

NO_NAMES = (
    "the features of the actions of log change from row to row, so that a number may be of another "
    "item in each row; if each number is one item, give log an encoding with the names of actions"
)
"""What is wrong where the number of an action is taken for an item."""


def has_items(log: BanditLog) -> bool:
    """Returns whether the observation has features of each action, `per_arm`."""
    return shows_items(log.observation)


def have_no_names(log: BanditLog) -> bool:
    """Returns whether actions are items that may change from row to row, and have no names.

    Then the number of an action is a place among the items that were offered, not an item.
    """
    if log.action_names or not has_items(log):
        return False
    if log.item is not None:
        return True
    return any((leaf != leaf[:1]).any() for leaf in flatten(log.observation["per_arm"]))


def tells_by_number(policy: Policy) -> bool:
    """Returns whether a policy tells actions apart by their numbers, not by features alone."""
    if isinstance(policy, ContextualPolicy):
        return policy.model.predictor.has_own_weights
    return ignores_contexts(policy) and not isinstance(policy, (RandomPolicy, FirstPolicy))


def fit_items(policy: Policy, log: BanditLog) -> Policy:
    """Returns a policy for as many items as a row of a log has; itself if actions are no items.

    Raises:
        ValueError: the policy has another number of actions, and what it knows depends on that; or
            it takes the place of an item for the item.
    """
    fitted = policy.for_items(log.num_actions) if has_items(log) else policy
    if fitted.num_actions != log.num_actions:
        expected = f"expected {log.num_actions}"
        raise ValueError(f"policy has {fitted.num_actions} actions; {expected}")
    if tells_by_number(fitted) and not fitted.reads_items and have_no_names(log):
        raise ValueError(f"policy tells actions apart by their numbers; {NO_NAMES}")
    return fitted


def spec_of_rows(observation: Nest) -> Nest:
    """Returns the specs of one row of a nest of arrays [n, ...]."""
    return map_structure(lambda leaf: ArraySpec(leaf.shape[1:], leaf.dtype), observation)


def features_of(log: BanditLog) -> Floats:
    """Returns what models of rewards predict from, as those of policies do.

    Returns:
        The features of every action with those of the context, [n, K, d], if actions have some;
        else the context, [n, d].
    """
    return _inputs_of(log).features()


def flat_features_of(log: BanditLog) -> Floats:
    """Returns the features of the context, and those of all actions if they have some: [n, d].

    Raises:
        ValueError: actions are items that may change from row to row.
    """
    if have_no_names(log):
        raise ValueError(NO_NAMES)
    inputs = _inputs_of(log)
    if isinstance(inputs, Contexts):
        return inputs.context
    return np.concatenate((inputs.context, inputs.actions.reshape(len(log), -1)), axis=1)


def context_of(log: BanditLog) -> Floats:
    """Returns the contexts of a log as policies read them: [n, d].

    Raises:
        ValueError: actions are real numbers or have features, or contexts are not numbers.
    """
    if has_items(require_numbered_actions(log)):
        raise ValueError("log has features of the actions, per_arm; expected contexts alone")
    return features_of(log)


def _inputs_of(log: BanditLog) -> Inputs:
    """Returns what models of rewards are given."""
    reader = InputReader(spec_of_rows(log.observation), log.num_actions)
    return reader.read(log.observation, len(log))
