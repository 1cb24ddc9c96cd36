"""Pairs of a row and an action, with what the action paid: what regressions of rewards learn.

Each action has a regression of contexts; but items with features share one, of [context, item] and,
if these are columns of a table, of their products.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Mask
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.logged.features import features_of, has_items, spec_of_rows
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_numbered_actions
from bandit_envs.logged.moments import Moments
from bandit_envs.names.visible import visible
from bandit_envs.policies.models import Interactions, Model
from bandit_envs.policies.models.inputs import InputReader
from bandit_envs.policies.parts.registry import Columns


class Pairs(NamedTuple):
    """What one regression learns.

    Fields:
        model: the number of the regression: of an action, or 0 of all items.
        features: [m, d].
        rewards: [m].
        weights: [m], by which they count; None if they count alike.
    """

    model: int
    features: Floats
    rewards: Floats
    weights: Floats | None

    def moments(self) -> Moments:
        """Returns the moments of the features and, last, of the rewards."""
        columns = np.column_stack([self.features, self.rewards]).T
        return Moments.from_columns(columns, self.weights)


def count_models(log: BanditLog) -> int:
    """Returns how many regressions there are: one for each action, or one for all items."""
    return 1 if has_items(log) else log.num_actions


def name_model(log: BanditLog, model: int) -> str:
    """Returns what a regression is of, for messages: an action, or the items."""
    if has_items(log):
        return "items"
    return visible(log.action_names[model]) if log.action_names else f"action {model}"


def find_logged(log: BanditLog) -> frozenset[int]:
    """Returns the numbers of the regressions of actions that were taken."""
    models = np.zeros(len(log), np.int64) if has_items(log) else log.action
    return frozenset(np.unique(models).tolist())


def logged_pairs(log: BanditLog) -> Iterator[Pairs]:
    """Yields the actions that were taken, with their rewards, for each regression."""
    features = model_features(log)
    if has_items(log):
        yield Pairs(0, features[np.arange(len(log)), log.action], log.reward, log.weight)
        return
    for action in range(log.num_actions):
        rows = np.flatnonzero(log.action == action)
        weights = None if log.weight is None else log.weight[rows]
        yield Pairs(action, features[rows], log.reward[rows], weights)


def all_pairs(log: BanditLog, rewards: Floats) -> Iterator[Pairs]:
    """Yields all actions that were offered, for each regression.

    Args:
        log: n decisions.
        rewards: of all actions, [n, K].
    """
    features = model_features(log)
    if has_items(log):
        offered = offered_actions(log)
        weights = None
        if log.weight is not None:
            weights = np.repeat(log.weight, offered.sum(axis=1))
        yield Pairs(0, features[offered], rewards[offered], weights)
        return
    for action in range(log.num_actions):
        yield Pairs(action, features, rewards[:, action], log.weight)


def offered_actions(log: BanditLog) -> Mask:
    """Returns which actions were available: [n, K]."""
    offered = available_actions(log.seen(), log.num_actions)
    return np.ones((len(log), log.num_actions), np.bool_) if offered is None else offered


def model_features(log: BanditLog) -> Floats:
    """Returns what regressions predict from: contexts [n, d], or of all items, [n, K, d]."""
    require_numbered_actions(log)
    if not _needs_products(log):
        return features_of(log)
    reader = InputReader(spec_of_rows(log.observation), log.num_actions)
    inputs = reader.read(log.observation, len(log))
    return Interactions().map_inputs(inputs).features()


def of_features(model: Model, log: BanditLog) -> Model:
    """Returns a model that predicts from `model_features` as one of observations."""
    return Interactions(model) if _needs_products(log) else model


def _needs_products(log: BanditLog) -> bool:
    """Returns whether regressions learn from products, too."""
    spec = spec_of_rows(log.observation)
    return Columns.of(spec, log.names_features).need_products
