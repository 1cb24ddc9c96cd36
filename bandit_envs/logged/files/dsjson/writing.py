"""Logs are written as Vowpal Wabbit's dsjson: one JSON document a decision."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Floats
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.saving import atomic_write
from bandit_envs.logged.features import has_items
from bandit_envs.logged.files.dsjson.json_features import WORDS
from bandit_envs.logged.files.obp import check_feature_array, refuse_columns
from bandit_envs.logged.log import BanditLog
from bandit_envs.tables.encoding import TableColumn, TableEncoding, TextColumn


def write_dsjson(path: str | os.PathLike[str], log: BanditLog) -> None:
    """Writes Vowpal Wabbit's dsjson: one JSON document a decision; costs are negative rewards.

    The observation must be [n, d], or a dict of `global` [n, g] and `per_arm` [n, K, p], perhaps
    with `mask`. Names of actions or items become `_tag`, and actions that a row lacks are left out.
    Columns of an encoding become features by their paths: "user^age" is `age` in an object `user`.
    Weights become `pdrop`, of which only ratios count: the smallest weight has 0.

    Raises:
        ValueError: the log has a column that dsjson cannot hold; `BanditLog.drop` leaves it out.
    """
    lines = (json.dumps(document).encode() + b"\n" for document in _make_documents(log))
    atomic_write(Path(path), lines)


def _make_documents(log: BanditLog) -> Iterator[dict[str, Any]]:
    """Yields the decisions of a log as dsjson has them."""
    refuse_columns(log, "expected_rewards", "step", "row", "embedding", "own_propensity", "info")
    observation = log.observation
    encoding = TableEncoding() if log.encoding is None else log.encoding
    per_arm = None
    if has_items(log):
        per_arm = FeaturesAsJson(encoding.item_features, "a")
        items = check_feature_array(observation["per_arm"], ndim=3)
        observation = observation["global"]
    context = FeaturesAsJson(encoding.features, "s")
    shared = check_feature_array(observation, ndim=2)
    offered = available_actions(log.seen(), log.num_actions)
    smallest = 1.0 if log.weight is None else log.weight.min(initial=np.inf)
    for row in range(len(log)):
        every = np.ones(log.num_actions) if offered is None else offered[row]
        places: list[int] = np.flatnonzero(every).tolist()
        order = [int(log.action[row]), *(place for place in places if place != log.action[row])]
        ids = {place: number for number, place in enumerate(places, start=1)}
        candidates = []
        for place in places:
            features = (
                {"a": {str(place): 1.0}} if per_arm is None else per_arm.of(items[row, place])
            )
            names = encoding.actions
            number = place
            if log.item is not None:
                names = encoding.items
                number = log.item[row, place]
            candidates.append({"_tag": names[number], **features} if names else features)
        document: dict[str, Any] = {
            "_label_cost": 0.0 - float(log.reward[row]),
            "_label_probability": float(log.propensity[row]),
            "_label_Action": ids[order[0]],
            "_labelIndex": ids[order[0]] - 1,
            "c": {**context.of(shared[row]), "_multi": candidates},
        }
        if log.weight is not None:
            document["pdrop"] = 1.0 - float(smallest / log.weight[row])
        if log.action_probabilities is not None:
            document["a"] = [ids[place] for place in order]
            document["p"] = log.action_probabilities[row][order].tolist()
        yield document


class FeaturesAsJson:
    """Makes JSON objects of features.

    Args:
        columns: of the features; () if they have no names.
        key: of the object of features without names.
    """

    def __init__(self, columns: Sequence[TableColumn], key: str) -> None:
        self._columns = columns
        self._key = key
        for column in columns:
            keys = column.name.split("^")
            if any(each.startswith("_") for each in keys if not each.startswith(f"{WORDS}=")):
                problem = f"column {column.name!r} has a name that dsjson does not read"
                raise ValueError(f"{problem}; expected no part that begins with _")

    def of(self, values: Array) -> dict[str, Any]:
        """Returns the object of the features [d] of a row."""
        if not self._columns:
            return {self._key: {f"f{index}": float(value) for index, value in enumerate(values)}}
        found: dict[str, Any] = {}
        start = 0
        for column in self._columns:
            labels = column.labels()
            own = values[start : start + len(labels)]
            start += len(labels)
            if isinstance(column, TextColumn):
                if own.any():
                    _set_at(found, column.name, column.levels[int(own.argmax())])
            else:
                _set_numbers(found, labels, own)
        return found


def _set_numbers(found: dict[str, Any], names: Sequence[str], values: Floats) -> None:
    """Adds numbers to an object, by their paths; those of words become a text again."""
    for name, value in zip(names, values.tolist()):
        prefix, mark, word = name.rpartition(f"{WORDS}=")
        if not mark:
            _set_at(found, name, value)
        elif value:
            text = " ".join([word] * int(value))
            _set_at(found, f"{prefix}{WORDS}", text, joins=True)


def _set_at(found: dict[str, Any], path: str, value: Any, joins: bool = False) -> None:
    """Sets a value of an object by its path, or adds it to the text that stands there."""
    *keys, last = path.split("^")
    for key in keys:
        found = found.setdefault(key, {})
    found[last] = f"{found[last]} {value}" if joins and last in found else value
