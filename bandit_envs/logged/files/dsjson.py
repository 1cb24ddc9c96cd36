"""Logs in Vowpal Wabbit's dsjson: one JSON document a decision."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats
from bandit_envs.base.archives import CONTENT_ERRORS
from bandit_envs.base.checks import check_integer, check_number
from bandit_envs.base.saving import atomic_write
from bandit_envs.logged.files.obp import check_features, refuse_columns
from bandit_envs.logged.log import BanditLog
from bandit_envs.nests import Nest

PRECISION = 1e-4  # relative, of probabilities that were printed with few digits

Features = dict[str, float]


class DsjsonLine(NamedTuple):
    """One line of a file."""

    shared: Features
    items: list[Features]  # of every action
    action: int  # from 0
    cost: float
    propensity: float
    probabilities: list[float] | None  # of every action


def write_dsjson(path: str | os.PathLike[str], log: BanditLog) -> None:
    """Writes Vowpal Wabbit's dsjson: one JSON document a decision; costs are negative rewards.

    The observation must be [n, d], or a dict of `global` [n, g] and `per_arm` [n, K, p].

    Raises:
        ValueError: the log has a column that dsjson cannot hold; `BanditLog.drop` leaves it out.
    """
    lines = (json.dumps(document).encode() + b"\n" for document in _make_documents(log))
    atomic_write(Path(path), lines)


def read_dsjson(path: str | os.PathLike[str]) -> BanditLog:
    """Reads Vowpal Wabbit's dsjson, with the same number of actions in every line.

    Features are numbered as they first appear; those with strings become 0 or 1. The observation is
    [n, d], or a dict of `global` and `per_arm` if actions have features beyond their number.

    Raises:
        ValueError: a line is not a decision; the message names the file and the line.
    """
    content = Path(path).read_bytes()
    try:
        decisions = list(_read_decisions(content.decode()))
        counts = sorted({len(decision.items) for decision in decisions})
        if len(counts) != 1:
            raise ValueError(f"lines have {counts} actions; expected one number")
        return BanditLog(
            observation=_join_features(decisions),
            action=np.array([decision.action for decision in decisions]),
            reward=np.array([0.0 - decision.cost for decision in decisions]),
            propensity=np.array([decision.propensity for decision in decisions]),
            num_actions=counts[0],
            action_probabilities=_join_probabilities(decisions),
        )
    except CONTENT_ERRORS as error:
        raise ValueError(f"{path} does not hold a log: {error}") from error


def _make_documents(log: BanditLog) -> Iterator[dict[str, Any]]:
    """Yields the decisions of a log as dsjson has them."""
    refuse_columns(
        log, "available", "expected_rewards", "step", "row", "embedding", "own_propensity"
    )
    observation = log.observation
    per_arm = None
    if isinstance(observation, dict) and observation.keys() == {"global", "per_arm"}:
        per_arm = check_features(observation["per_arm"], ndim=3)
        observation = observation["global"]
    shared = check_features(observation, ndim=2)
    items = [{str(action): 1.0} for action in range(log.num_actions)]
    for row in range(len(log)):
        if per_arm is not None:
            items = [_name_features(values) for values in per_arm[row]]
        action = int(log.action[row])
        document: dict[str, Any] = {
            "_label_cost": -float(log.reward[row]),
            "_label_probability": float(log.propensity[row]),
            "_label_Action": action + 1,
            "_labelIndex": action,
            "c": {"s": _name_features(shared[row]), "_multi": [{"a": item} for item in items]},
        }
        if log.action_probabilities is not None:
            order = [action, *(other for other in range(log.num_actions) if other != action)]
            document["a"] = [each + 1 for each in order]
            document["p"] = log.action_probabilities[row, order].tolist()
        yield document


def _name_features(values: Array) -> Features:
    """Returns features by names that say their places."""
    return {f"f{index}": float(value) for index, value in enumerate(values)}


def _read_decisions(text: str) -> Iterator[DsjsonLine]:
    """Yields the decisions in the lines of a file; ValueError for a line that holds no decision."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield _read_decision(json.loads(line))
        except KeyError as error:
            raise ValueError(f"line {number} has no {error}") from error
        except CONTENT_ERRORS as error:
            raise ValueError(f"line {number}: {error}") from error


def _read_decision(document: Any) -> DsjsonLine:
    """Returns a decision; TypeError or ValueError names a value that is wrong."""
    context = dict(document["c"])
    items = [_flatten_features(item) for item in context.pop("_multi")]
    action = check_integer("_label_Action", document["_label_Action"], 1, len(items)) - 1
    propensity = _read_number("_label_probability", document["_label_probability"])
    probabilities = None
    if "p" in document:
        probabilities = _read_probabilities(document, len(items))
        if not math.isclose(probabilities[action], propensity, rel_tol=PRECISION):
            found = f"_label_probability is {propensity:g}, and p has {probabilities[action]:g}"
            raise ValueError(f"{found} for this action; expected the same")
    return DsjsonLine(
        shared=_flatten_features(context),
        items=items,
        action=action,
        cost=_read_number("_label_cost", document["_label_cost"]),
        propensity=propensity,
        probabilities=probabilities,
    )


def _read_probabilities(document: dict[str, Any], num_actions: int) -> list[float]:
    """Returns the probability of every action, of which `a` has the ids and `p` the values."""
    ids = [check_integer("an id in a", each, 1, num_actions) for each in document["a"]]
    values = [_read_number("a probability in p", each) for each in document["p"]]
    if len(ids) != len(values) or len(ids) != len(set(ids)):
        raise ValueError(f"a is {ids} and p {values}; expected different ids, and as many values")
    by_id = dict(zip(ids, values))
    return [by_id.get(action + 1, 0.0) for action in range(num_actions)]


def _read_number(name: str, value: Any) -> float:
    """Returns a finite number, which must not be a bool."""
    if isinstance(value, bool):
        raise TypeError(f"{name} is {value}; expected a number")
    return check_number(name, value)


def _flatten_features(features: Mapping[Any, Any], prefix: str = "") -> Features:
    """Returns Vowpal Wabbit's JSON features as numbers by name."""
    found: Features = {}
    for key, value in features.items():
        name = f"{prefix}{key}"
        if isinstance(value, list):
            found |= _flatten_features(dict(enumerate(value)), f"{name}^")
        elif isinstance(value, dict):
            found |= _flatten_features(value, f"{name}^")
        elif isinstance(value, str):
            found[f"{name}={value}"] = 1.0
        else:
            found[name] = float(value)
    return found


def _join_features(decisions: Sequence[DsjsonLine]) -> Nest:
    """Returns the features as [n, d], or as a dict if actions have any but their number."""
    shared = _as_matrix([decision.shared for decision in decisions])
    num_actions = len(decisions[0].items)
    numbers = [{f"a^{action}": 1.0} for action in range(num_actions)]
    if all(decision.items == numbers for decision in decisions):
        return shared
    items = _as_matrix(list(itertools.chain(*(decision.items for decision in decisions))))
    return {"global": shared, "per_arm": items.reshape(len(decisions), num_actions, -1)}


def _as_matrix(rows: Sequence[Features]) -> Floats:
    """Returns features as an array [n, d], numbered as they first appear."""
    places: dict[str, int] = {}
    for features in rows:
        for name in features:
            places.setdefault(name, len(places))
    matrix = np.zeros((len(rows), len(places)))
    for row, features in zip(matrix, rows):
        for name, value in features.items():
            row[places[name]] = value
    return matrix


def _join_probabilities(decisions: Sequence[DsjsonLine]) -> Floats | None:
    """Returns the probabilities of all actions, if every line has them."""
    known = [decision.probabilities for decision in decisions]
    if any(each is None for each in known):
        return None
    return np.array(known, np.float64)
