"""Logs in the formats of other libraries: Open Bandit Pipeline, Vowpal Wabbit, Open Bandit Dataset.

What a format cannot hold is refused; `BanditLog.drop` leaves out optional columns.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bandit_envs.base.checks import shown
from bandit_envs.base.saving import atomic_write
from bandit_envs.logged.log import BanditLog
from bandit_envs.specs import Nest

OBP_KEYS = {"n_rounds", "n_actions", "context", "action", "reward", "pscore"}
OBP_OPTIONAL = {"pi_b", "expected_reward", "action_context", "position"}


def to_obp(log: BanditLog) -> dict[str, Any]:
    """Returns the feedback dict of the Open Bandit Pipeline.

    Raises:
        ValueError: the log has `available`, `step` or `row`, or its observation is not [n, d].
    """
    context = _context(log)
    _refuse(log, "available", "step", "row")
    table = log.action_probabilities
    return {
        "n_rounds": len(log),
        "n_actions": log.num_actions,
        "context": context,
        "action_context": None,
        "action": log.action,
        "position": None,
        "reward": log.reward,
        "pscore": log.propensity,
        "pi_b": None if table is None else table[:, :, np.newaxis],
        "expected_reward": log.expected_rewards,
    }


def from_obp(feedback: Mapping[str, Any]) -> BanditLog:
    """Returns the log in a feedback dict of the Open Bandit Pipeline.

    Raises:
        ValueError: a key is missing, or cannot be represented: `position` unless it is all 0, and
            `action_context` unless it is one-hot.
    """
    missing, unknown = OBP_KEYS - feedback.keys(), feedback.keys() - OBP_KEYS - OBP_OPTIONAL
    if missing or unknown:
        raise ValueError(f"feedback has no {sorted(missing)} and unknown {sorted(unknown)}")
    position, arms = feedback.get("position"), feedback.get("action_context")
    if position is not None and np.any(position):
        raise ValueError("position is not 0 everywhere; a log has one action a row")
    if arms is not None and not np.array_equal(arms, np.eye(feedback["n_actions"])):
        raise ValueError("action_context is not one-hot; put it into the observation")
    table = feedback.get("pi_b")
    if table is not None and np.ndim(table) == 3 and np.shape(table)[2] == 1:
        table = np.asarray(table)[:, :, 0]
    return BanditLog(
        feedback["context"],
        *(feedback[key] for key in ("action", "reward", "pscore", "n_actions")),
        action_probabilities=table,
        expected_rewards=feedback.get("expected_reward"),
    )


def write_dsjson(path: str | os.PathLike[str], log: BanditLog) -> None:
    """Writes Vowpal Wabbit's dsjson: one JSON document a decision; costs are negative rewards.

    Raises:
        ValueError: the log has a column that the format cannot hold, or its observation is neither
            [n, d] nor a dict of `global` [n, g] and `per_arm` [n, K, p].
    """
    shared, arms = _vw_features(log)
    _refuse(log, "available", "expected_rewards", "step", "row")

    def lines() -> Iterable[bytes]:
        for row, action in enumerate(log.action.tolist()):
            multi = [{"a": arms(row, k)} for k in range(log.num_actions)]
            document: dict[str, Any] = {
                "_label_cost": -float(log.reward[row]),
                "_label_probability": float(log.propensity[row]),
                "_label_Action": action + 1,
                "_labelIndex": action,
                "c": {"s": shared(row), "_multi": multi},
            }
            if log.action_probabilities is not None:
                order = [action, *(k for k in range(log.num_actions) if k != action)]
                document["a"] = [k + 1 for k in order]
                document["p"] = log.action_probabilities[row, order].tolist()
            yield json.dumps(document).encode() + b"\n"

    atomic_write(Path(path), lines())


def read_dsjson(path: str | os.PathLike[str], dtype: DTypeLike = np.float64) -> BanditLog:
    """Reads Vowpal Wabbit's dsjson, with the same number of actions in every line.

    Features are numbered as they first appear; those with strings become 0 or 1. The observation is
    [n, d], or a dict of `global` and `per_arm` if actions have features beyond their number.

    Args:
        path: the file.
        dtype: of the observation.

    Raises:
        ValueError: it is damaged or cannot be represented; the message names the file and field.
    """

    def decisions(text: str) -> Iterable[Decision]:
        for line in text.splitlines():
            document = json.loads(line)
            context = dict(document["c"])
            arms = [_flattened(arm) for arm in context.pop("_multi")]
            table = None
            if "p" in document:
                table = np.zeros(len(arms))
                table[np.asarray(document["a"]) - 1] = document["p"]
            label = document["_label_cost"], document["_label_probability"]
            yield document["_label_Action"] - 1, *label, _flattened(context), arms, table

    return _read_vw(path, decisions, dtype)


def write_vw(path: str | os.PathLike[str], log: BanditLog) -> None:
    """Writes Vowpal Wabbit's text for `--cb_adf`; raises as `write_dsjson` does."""
    shared, arms = _vw_features(log)
    _refuse(log, "available", "expected_rewards", "step", "row", "action_probabilities")

    def words(features: Mapping[str, float]) -> str:
        return " ".join(f"{name}:{value!r}" for name, value in features.items())

    def examples() -> Iterable[bytes]:
        for row, action in enumerate(log.action.tolist()):
            label = f"0:{-float(log.reward[row])!r}:{float(log.propensity[row])!r} "
            lines = [f"shared |s {words(shared(row))}"]
            for k in range(log.num_actions):
                lines.append(f"{label if k == action else ''}|a {words(arms(row, k))}")
            yield ("\n".join(lines) + "\n\n").encode()

    atomic_write(Path(path), examples())


def read_vw(path: str | os.PathLike[str], dtype: DTypeLike = np.float64) -> BanditLog:
    """Reads Vowpal Wabbit's text for `--cb_adf`; arguments and errors are as for `read_dsjson`."""

    def decisions(text: str) -> Iterable[Decision]:
        for example in filter(None, text.split("\n\n")):
            shared: dict[str, float] = {}
            arms: list[Features] = []
            labels: list[tuple[float, ...]] = []
            for line in example.strip("\n").split("\n"):
                label, features = line.split("|", 1)
                if label.strip() == "shared":
                    shared = _words(features)
                    continue
                if label.strip():
                    labels.append((len(arms), *map(float, label.split(":")[1:])))
                arms.append(_words(features))
            if len(labels) != 1 or len(labels[0]) != 3:
                raise ValueError(f"expected one label action:cost:probability, found {labels}")
            action, cost, chance = labels[0]
            yield int(action), cost, chance, shared, arms, None

    return _read_vw(path, decisions, dtype)


def read_open_bandit_dataset(path: str | os.PathLike[str]) -> BanditLog:
    """Reads a campaign's CSV of the Open Bandit Dataset, such as `random/all/all.csv`.

    The observation is a dict of `user`, the one-hot `user_feature_*`; `affinity`, the
    `user-item_affinity_*` of every item; and `position`, on which the propensities depend.

    Raises:
        ValueError: a column is missing or has a wrong value; the message names the file.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as lines:
            names, *rows = csv.reader(lines, strict=True)
        columns = dict(zip(names, zip(*rows, strict=True)))
        users = [np.asarray(columns[name]) for name in names if name.startswith("user_feature_")]
        one_hot = [column[:, np.newaxis] == np.unique(column) for column in users]
        affinity = [columns[name] for name in names if name.startswith("user-item_affinity_")]
        observation = {
            "user": np.concatenate(one_hot, axis=1).astype(np.float32),
            "affinity": np.array(affinity, np.float64).T,
            "position": np.array(columns["position"], np.int64),
        }
        reward = np.array(columns["click"], np.float64)
        propensity = np.array(columns["propensity_score"], np.float64)
        action = np.array(columns["item_id"], np.int64)
        return BanditLog(observation, action, reward, propensity, len(affinity))
    except (LookupError, ValueError, TypeError, csv.Error) as error:
        detail = f"it has no column {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{path} is not a CSV of the Open Bandit Dataset: {detail}") from error


Features = dict[str, float]
Decision = tuple[int, float, float, Features, list[Features], "NDArray[Any] | None"]
"""An action, its cost and probability, features of the row and of actions, all probabilities."""


def _refuse(log: BanditLog, *names: str) -> None:
    found = [name for name in names if name in log.columns()]
    if found:
        raise ValueError(
            f"the format has no {found[0]}; use log.drop({', '.join(map(repr, found))})"
        )


def _context(log: BanditLog) -> NDArray[Any]:
    context = log.observation
    if not isinstance(context, np.ndarray) or context.ndim != 2 or context.dtype.kind not in "biuf":
        raise ValueError(f"observation is {shown(context)}; expected one array [n, d] of numbers")
    return context


def _vw_features(
    log: BanditLog,
) -> tuple[Callable[[int], Features], Callable[[int, int], Features]]:
    """Returns functions that give the features of a row, and of an action in it."""

    def named(values: NDArray[Any]) -> Features:
        return {f"f{index}": float(value) for index, value in enumerate(values)}

    nest = log.observation
    if (
        isinstance(nest, dict)
        and nest.keys() == {"global", "per_arm"}
        and nest["per_arm"].ndim == 3
    ):
        return lambda row: named(nest["global"][row]), lambda row, k: named(nest["per_arm"][row, k])
    context = _context(log)
    return lambda row: named(context[row]), lambda row, k: {str(k): 1.0}


def _flattened(features: Mapping[str, Any], prefix: str = "") -> Features:
    """Returns VW's JSON features as numbers by name."""
    found: Features = {}
    for key, value in features.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            found.update(_flattened(value, f"{name}^"))
        elif isinstance(value, list):
            found.update(
                _flattened({str(index): item for index, item in enumerate(value)}, f"{name}^")
            )
        elif isinstance(value, str):
            found[f"{name}={value}"] = 1.0
        else:
            found[name] = float(value)
    return found


def _words(text: str) -> Features:
    """Returns the features of VW's text after the first bar."""
    found: Features = {}
    for space in text.split("|"):
        name, *words = space.split(" ")
        for word in filter(None, words):
            feature, _, value = word.partition(":")
            found[f"{name}^{feature}"] = float(value or 1.0)
    return found


def _read_vw(
    path: str | os.PathLike[str], decisions: Callable[[str], Iterable[Decision]], dtype: DTypeLike
) -> BanditLog:
    text = Path(path).read_bytes()
    try:
        rows = list(decisions(text.decode()))
        action, cost, propensity, shared, arms, tables = zip(*rows)
        (num_actions,) = {len(each) for each in arms}
        observation: Nest = _matrix(shared, dtype)
        identity = [{f"a^{k}": 1.0} for k in range(num_actions)]
        if any(each != identity for each in arms):
            items = _matrix([features for each in arms for features in each], dtype)
            per_arm = items.reshape(len(rows), num_actions, -1)
            observation = {"global": observation, "per_arm": per_arm}
        known = None if any(table is None for table in tables) else np.array(tables)
        reward = 0.0 - np.array(cost, np.float64)
        return BanditLog(
            observation, action, reward, propensity, num_actions, action_probabilities=known
        )
    except Exception as error:  # damaged lines make the parsers raise almost anything
        detail = f"a line has no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{path} does not hold a log: {detail}") from error


def _matrix(rows: Iterable[Features], dtype: DTypeLike) -> NDArray[Any]:
    listed = list(rows)
    places = {name: index for index, name in enumerate(dict.fromkeys(n for r in listed for n in r))}
    matrix = np.zeros((len(listed), len(places)), dtype)
    for row, features in zip(matrix, listed):
        row[[places[name] for name in features]] = list(features.values())
    return matrix
