"""Logs as a policy sees them that has learned from another table.

Each table has an encoding of its own: names of actions and levels of texts. A policy keeps that of
the table that it has learned from. Columns, levels and actions are found in another log by their
names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Mask
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.logged.log import BanditLog
from bandit_envs.nests import Nest
from bandit_envs.policies import Policy
from bandit_envs.policies.models.feature_readers import shows_items
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.errors import name_some
from bandit_envs.wrappers.shared import with_entries


def see_as(encoding: TableEncoding | None, log: BanditLog) -> Nest:
    """Returns the observation of a log for a policy: with `available` as its mask.

    Args:
        encoding: of the policy; None if it has learned from no table.
        log: is shown.

    Raises:
        ValueError: a column is missing, or is of another kind.
    """
    own = log.encoding
    if encoding is None or own is None or encoding == own:
        return log.seen()
    observation = log.observation
    if isinstance(observation, dict) and encoding.actions != own.actions:
        problem = "the observation of log is a dict, which may have features or masks of actions"
        expected = f"expected the actions {name_some(encoding.actions)}, in this order"
        raise ValueError(f"{problem}, and its actions are {name_some(own.actions)}; {expected}")
    observation = _translate(observation, encoding, own)
    if log.available is None or available_actions(log.observation, 1) is not None:
        return observation
    return with_entries(observation, mask=_take_actions(log.available, find_actions(encoding, log)))


def show(policy: Policy, log: BanditLog) -> Nest:
    """Returns the observation of a log for a policy, as `see_as`, with `item` if it reads that.

    Items that the policy does not know by name have the number -1.

    Raises:
        ValueError: it tells items apart, and the log does not number them.
    """
    observation = see_as(policy.encoding, log)
    if not policy.reads_items or not shows_items(log.observation):
        return observation
    if log.item is None:
        problem = "the policy tells items apart, and log has no column item"
        raise ValueError(f"{problem}; expected the numbers of the items")
    own = () if log.encoding is None else log.encoding.items
    known = own if policy.encoding is None else policy.encoding.items
    item = log.item
    if known != own:
        places = {name: place for place, name in enumerate(known)}
        numbers = np.array([*(places.get(name, -1) for name in own), -1])
        item = numbers[item]
    return {**observation, "item": item}


def _translate(observation: Nest, encoding: TableEncoding, own: TableEncoding) -> Nest:
    """Returns the observation of a log in another encoding, of contexts or of items."""
    if bool(encoding.item_features) != bool(own.item_features):
        has = "has" if encoding.item_features else "has no"
        problem = f"the policy {has} features of items, and the log is of other observations"
        raise ValueError(f"{problem}; expected a log of the same kind")
    if encoding.features == own.features and encoding.item_features == own.item_features:
        return observation
    if not encoding.item_features:
        return encoding.translate(observation, own)
    per_arm = observation["per_arm"]
    flat = per_arm.reshape(-1, per_arm.shape[2])
    items = encoding.of_items().translate(flat, own.of_items())
    translated = {
        "global": encoding.translate(observation["global"], own),
        "per_arm": items.reshape(*per_arm.shape[:2], items.shape[1]),
    }
    return {**observation, **translated}


def _take_actions(available: Mask, places: NDArray[np.int64]) -> Mask:
    """Returns which of L actions are available, [n, L], by their places [L] in a mask [n, K].

    An action without a place, -1, is not available.
    """
    found: Mask = np.zeros((len(available), places.size), np.bool_)
    found[:, places >= 0] = available[:, places[places >= 0]]
    return found


def find_actions(encoding: TableEncoding | None, log: BanditLog) -> NDArray[np.int64]:
    """Returns the numbers that the actions of a policy have in a log: [K]; -1 if it lacks them.

    Raises:
        ValueError: the one names its actions, and the other does not.
    """
    names = log.action_names
    if encoding is None or log.encoding is None or encoding.actions == names:
        return np.arange(log.num_actions)
    if not encoding.actions or not names:
        known = name_some(encoding.actions or names)
        which = "the policy has learned from" if encoding.actions else "the log has"
        raise ValueError(f"{which} the actions {known}, and the other has numbers of actions")
    places = {name: place for place, name in enumerate(names)}
    return np.array([places.get(name, -1) for name in encoding.actions])


def translate_log(log: BanditLog, encoding: TableEncoding | None) -> BanditLog:
    """Returns a log in the encoding of a policy that is to learn from it.

    Raises:
        ValueError: a row has an action that the policy does not know.
    """
    if encoding is None or log.encoding is None or encoding == log.encoding:
        return log
    places = find_actions(encoding, log)
    numbers = np.full(log.num_actions, -1)
    numbers[places[places >= 0]] = np.flatnonzero(places >= 0)
    actions = numbers[log.action]
    if (actions < 0).any():
        name = log.action_names[log.action[int(actions.argmin())]]
        raise ValueError(f"the log has the action {name!r}, which the policy does not know")
    available = log.available
    return dataclasses.replace(
        log.drop("action_probabilities", "expected_rewards"),
        observation=see_as(encoding, log.drop("available")),
        action=actions,
        num_actions=len(places),
        available=None if available is None else _take_actions(available, places),
        encoding=dataclasses.replace(encoding, items=log.encoding.items),
    )


def find_new_names(encoding: TableEncoding | None, log: TableEncoding | None) -> list[str]:
    """Returns what names a log has that a policy does not know, and what becomes of them.

    Args:
        encoding: of the policy.
        log: the encoding of the log.
    """
    if encoding is None or log is None:
        return []
    found = []
    levels = [*encoding.find_new(log), *encoding.of_items().find_new(log.of_items())]
    if levels:
        found.append(f"has not learned from {'; '.join(levels)}: features of such texts are 0")
    actions = _missing(log.actions, encoding.actions)
    if actions:
        found.append(f"does not know the actions {name_some(actions)}, and never takes them")
    return found


def find_other_actions(encoding: TableEncoding | None, log: TableEncoding | None) -> list[str]:
    """Returns the names of the actions that a policy knows, and a log lacks."""
    if encoding is None or log is None or not log.actions:
        return []
    return _missing(encoding.actions, log.actions)


def _missing(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Returns the names that are not known."""
    return [name for name in names if name not in {*known}]
