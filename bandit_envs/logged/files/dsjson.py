"""Logs in Vowpal Wabbit's dsjson: one JSON document a decision."""

from __future__ import annotations

import itertools
import json
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Floats
from bandit_envs.base.archives import CONTENT_ERRORS
from bandit_envs.base.checks import short_repr
from bandit_envs.base.saving import atomic_write
from bandit_envs.logged.files.dsjson_lines import DsjsonLine, Features, read_lines
from bandit_envs.logged.files.obp import check_feature_array, refuse_columns
from bandit_envs.logged.log import BanditLog
from bandit_envs.nests import Nest
from bandit_envs.tables.encoding import TableEncoding


def write_dsjson(path: str | os.PathLike[str], log: BanditLog) -> None:
    """Writes Vowpal Wabbit's dsjson: one JSON document a decision; costs are negative rewards.

    The observation must be [n, d], or a dict of `global` [n, g] and `per_arm` [n, K, p]. Names of
    actions become `_tag`.

    Raises:
        ValueError: the log has a column that dsjson cannot hold; `BanditLog.drop` leaves it out.
    """
    lines = (json.dumps(document).encode() + b"\n" for document in _make_documents(log))
    atomic_write(Path(path), lines)


def read_dsjson(path: str | os.PathLike[str]) -> BanditLog:
    """Reads Vowpal Wabbit's dsjson, with the same number of actions in every line.

    Features are numbered as they first appear; a text becomes a feature of 0 or 1, each word of
    `_text` a feature. The observation is [n, d], or a dict of `global` and `per_arm` if actions
    have features beyond their number. If every line has the same names of actions in `_tag`, they
    name the actions, in the order of the first line; else actions have numbers by their places.

    Lines keep their order. Those of `_skipLearn`, whose action was never shown, are left out. A
    warning counts them, and the lines without an outcome, whose reward is the default one. With one
    `pdrop` in all lines, each stands for as many decisions; otherwise the log is refused, as rows
    have no weights. `Timestamp`, `Version`, `VWState`, `_ba` and `_original_label_cost`, the cost
    before changes, are not read.

    Raises:
        ValueError: a line is not a decision, has a field of another kind of decision, such as
            `_outcomes` of several slots, or does not fit the others; the message names the file,
            the line and the field.
    """
    content = Path(path).read_bytes()
    try:
        found = list(read_lines(content.decode()))
        decisions = [each for each in found if each is not None]
        log = _join(decisions)
    except CONTENT_ERRORS as error:
        raise ValueError(f"{path} does not hold a log: {error}") from error
    _warn_of(len(found) - len(decisions), "are left out, as _skipLearn says", path)
    default = sum(not each.has_outcome for each in decisions)
    _warn_of(default, "have no outcome in o; their reward is the default one", path)
    return log


def _warn_of(count: int, problem: str, path: str | os.PathLike[str]) -> None:
    """Warns of some lines of a file, if there are any."""
    if count:
        warnings.warn(f"{count} lines of {path} {problem}", stacklevel=3)


def _join(decisions: Sequence[DsjsonLine]) -> BanditLog:
    """Returns the log of the lines of a file; ValueError if they do not fit together."""
    if not decisions:
        raise ValueError("it has no decisions")
    _check_that_lines_fit(decisions)
    ordered, names = _order_by_tags(decisions)
    return BanditLog(
        observation=_join_features(ordered),
        action=np.array([decision.action for decision in ordered]),
        reward=np.array([0.0 - decision.cost for decision in ordered]),
        propensity=np.array([decision.propensity for decision in ordered]),
        num_actions=len(ordered[0].items),
        action_probabilities=_join_probabilities(ordered),
        encoding=TableEncoding(tuple(names)) if names else None,
    )


def _check_that_lines_fit(decisions: Sequence[DsjsonLine]) -> None:
    """Raises ValueError for the first line that does not fit those before it."""
    first = decisions[0]
    lines: dict[str, int] = {}
    for decision in decisions:
        here = f"line {decision.number}"
        if len(decision.items) != len(first.items):
            found = f"line {first.number} has {len(first.items)} actions, {here}"
            raise ValueError(f"{found} {len(decision.items)}; expected one number of actions")
        if decision.dropped != first.dropped:
            found = f"pdrop is {first.dropped:g} in line {first.number}, {decision.dropped:g}"
            problem = "lines stand for different numbers of decisions, and rows have no weights"
            raise ValueError(f"{found} in {here}; {problem}; expected one pdrop in all lines")
        if decision.event is not None:
            line = lines.setdefault(decision.event, decision.number)
            if line != decision.number:
                found = f"{here}: EventId is {short_repr(decision.event)}, as in line {line}"
                raise ValueError(f"{found}; expected another")


def _order_by_tags(
    decisions: Sequence[DsjsonLine],
) -> tuple[Sequence[DsjsonLine], Sequence[str]]:
    """Returns the lines with their actions in one order, and the names of the actions.

    If lines do not have the same names, actions have their places, and there are no names.
    """
    names = decisions[0].tags
    if not names or any({*names} != {*decision.tags} for decision in decisions):
        return decisions, ()
    return [each.reorder([each.tags.index(name) for name in names]) for each in decisions], names


def _make_documents(log: BanditLog) -> Iterator[dict[str, Any]]:
    """Yields the decisions of a log as dsjson has them."""
    refuse_columns(
        log, "available", "expected_rewards", "step", "row", "embedding", "own_propensity"
    )
    observation = log.observation
    per_arm = None
    if isinstance(observation, dict) and observation.keys() == {"global", "per_arm"}:
        per_arm = check_feature_array(observation["per_arm"], ndim=3)
        observation = observation["global"]
    shared = check_feature_array(observation, ndim=2)
    items = [{str(action): 1.0} for action in range(log.num_actions)]
    for row in range(len(log)):
        if per_arm is not None:
            items = [_name_features(values) for values in per_arm[row]]
        candidates: list[dict[str, Any]] = [{"a": item} for item in items]
        for candidate, name in zip(candidates, log.action_names):
            candidate["_tag"] = name
        action = int(log.action[row])
        document: dict[str, Any] = {
            "_label_cost": -float(log.reward[row]),
            "_label_probability": float(log.propensity[row]),
            "_label_Action": action + 1,
            "_labelIndex": action,
            "c": {"s": _name_features(shared[row]), "_multi": candidates},
        }
        if log.action_probabilities is not None:
            order = [action, *(other for other in range(log.num_actions) if other != action)]
            document["a"] = [each + 1 for each in order]
            document["p"] = log.action_probabilities[row, order].tolist()
        yield document


def _name_features(values: Array) -> Features:
    """Returns features by names that say their places."""
    return {f"f{index}": float(value) for index, value in enumerate(values)}


def _join_features(decisions: Sequence[DsjsonLine]) -> Nest:
    """Returns the features as [n, d], or as a dict if actions have any but their number."""
    shared = _as_matrix([decision.shared for decision in decisions])
    num_actions = len(decisions[0].items)
    numbers = [{f"a^{action}": 1.0} for action in range(num_actions)]
    if all(decision.items == numbers for decision in decisions):
        return shared
    items = _as_matrix(list(itertools.chain(*(decision.items for decision in decisions))))
    if not items.shape[1]:
        _refuse_other_tags(decisions)
        return shared
    return {"global": shared, "per_arm": items.reshape(len(decisions), num_actions, -1)}


def _refuse_other_tags(decisions: Sequence[DsjsonLine]) -> None:
    """Raises ValueError if the tags alone say what the actions are, and differ among the lines."""
    tags = decisions[0].tags
    for decision in decisions:
        if {*decision.tags} != {*tags}:
            found = f"line {decision.number} has other names of actions in _tag than line"
            raise ValueError(f"{found} {decisions[0].number}; expected the same, or features")


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
