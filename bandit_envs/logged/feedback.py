"""Logs in the formats of other libraries: Open Bandit Pipeline and Vowpal Wabbit.

What a format cannot hold is refused by name; `BanditLog.drop` leaves out optional columns.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.checks import short_repr
from bandit_envs.base.saving import atomic_write
from bandit_envs.logged.log import BanditLog
from bandit_envs.nests import Nest

OBP_KEYS = {"n_rounds", "n_actions", "context", "action", "reward", "pscore"}
OBP_OPTIONAL = {"pi_b", "expected_reward", "action_context", "position"}

Features = dict[str, float]
Document = dict[str, Any]  # a decision as dsjson has it


def to_obp(log: BanditLog) -> dict[str, Any]:
    """Returns the feedback dict of the Open Bandit Pipeline; the observation must be [n, d]."""
    _refuse(log, "available", "step", "row")
    table = log.action_probabilities
    return {
        "n_rounds": len(log),
        "n_actions": log.num_actions,
        "context": _features(log.observation, 2),
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

    A log holds no `position` other than 0, and no `action_context` that is not one-hot.
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
    return BanditLog(
        *(feedback[key] for key in ("context", "action", "reward", "pscore", "n_actions")),
        action_probabilities=None if table is None else np.squeeze(table, axis=2),
        expected_rewards=feedback.get("expected_reward"),
    )


def write_dsjson(path: str | os.PathLike[str], log: BanditLog) -> None:
    """Writes Vowpal Wabbit's dsjson: one JSON document a decision; costs are negative rewards.

    The observation must be [n, d], or a dict of `global` [n, g] and `per_arm` [n, K, p].
    """
    atomic_write(Path(path), (json.dumps(each).encode() + b"\n" for each in _documents(log)))


def write_vw(path: str | os.PathLike[str], log: BanditLog) -> None:
    """Writes Vowpal Wabbit's text for `--cb_adf`; the rest is as for `write_dsjson`."""
    documents = _documents(log, "action_probabilities")
    atomic_write(Path(path), (_text_of(each).encode() for each in documents))


def read_dsjson(path: str | os.PathLike[str]) -> BanditLog:
    """Reads Vowpal Wabbit's dsjson, with the same number of actions in every line.

    Features are numbered as they first appear; those with strings become 0 or 1. The observation is
    [n, d], or a dict of `global` and `per_arm` if actions have features beyond their number.
    """
    return _read_vw(path, lambda text: map(json.loads, filter(str.strip, text.split("\n"))))


def read_vw(path: str | os.PathLike[str]) -> BanditLog:
    """Reads Vowpal Wabbit's text for `--cb_adf`; the rest is as for `read_dsjson`."""
    return _read_vw(path, _documents_of)


def _refuse(log: BanditLog, *names: str) -> None:
    found = [name for name in names if name in log.columns()]
    if found:
        raise ValueError(f"the format has no {found[0]}; use log.drop(*{found})")


def _features(array: Any, ndim: int) -> NDArray[Any]:
    if isinstance(array, np.ndarray) and array.ndim == ndim and array.dtype.kind in "biuf":
        return array
    raise ValueError(
        f"observation has {short_repr(array)}; expected numbers with {ndim} dimensions"
    )


def _documents(log: BanditLog, *refused: str) -> Iterator[Document]:
    """Yields the decisions of a log as dsjson has them."""
    _refuse(log, "available", "expected_rewards", "step", "row", *refused)

    def named(values: NDArray[Any]) -> Features:
        return {f"f{index}": float(value) for index, value in enumerate(values)}

    nest, table, items = log.observation, log.action_probabilities, None
    if isinstance(nest, dict) and nest.keys() == {"global", "per_arm"}:
        nest, items = nest["global"], _features(nest["per_arm"], 3)
    shared, arms = _features(nest, 2), [{str(k): 1.0} for k in range(log.num_actions)]
    label = log.action.tolist(), (-log.reward).tolist(), log.propensity.tolist()
    for row, (action, cost, chance) in enumerate(zip(*label)):
        document: Document = {"_label_cost": cost, "_label_probability": chance}
        document |= {"_label_Action": action + 1, "_labelIndex": action}
        arms = arms if items is None else [named(item) for item in items[row]]
        document["c"] = {"s": named(shared[row]), "_multi": [{"a": arm} for arm in arms]}
        if table is not None:
            order = [action, *(k for k in range(len(arms)) if k != action)]
            document |= {"a": [k + 1 for k in order], "p": table[row, order].tolist()}
        yield document


def _flattened(features: Mapping[Any, Any], prefix: str = "") -> Features:
    """Returns VW's JSON features as numbers by name."""
    found: Features = {}
    for key, value in features.items():
        name = f"{prefix}{key}"
        if isinstance(value, list):
            found |= _flattened(dict(enumerate(value)), f"{name}^")
        elif isinstance(value, dict):
            found |= _flattened(value, f"{name}^")
        elif isinstance(value, str):
            found[f"{name}={value}"] = 1.0
        else:
            found[name] = float(value)
    return found


def _text_of(document: Document) -> str:
    """Returns a document as Vowpal Wabbit's text."""
    context, chosen = document["c"], document["_labelIndex"]
    arms = [arm["a"] for arm in context["_multi"]]
    labels = ["shared", *[""] * len(arms)]
    labels[chosen + 1] = f"0:{document['_label_cost']!r}:{document['_label_probability']!r}"
    lines = []
    for label, features in zip(labels, [context["s"], *arms]):
        words = (f"{name}:{value!r}" for name, value in features.items())
        lines.append(f"{label} |a {' '.join(words)}\n")
    return "".join([*lines, "\n"])


def _documents_of(text: str) -> Iterable[Document]:
    """Returns the examples of Vowpal Wabbit's text as documents."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and "|" not in line:
            raise ValueError(f"line {number} has no bar, |, before its features")
    return map(_document_of, filter(str.strip, text.split("\n\n")))


def _document_of(text: str) -> Document:
    """Returns an example of Vowpal Wabbit's text as a document."""
    shared: Features = {}
    arms: list[Features] = []
    labels: list[tuple[Any, ...]] = []
    for line in text.strip().split("\n"):
        label, *spaces = line.split("|")
        features: Features = {}
        for name, *words in (space.split(" ") for space in spaces):
            pairs = (word.partition(":") for word in words if word)
            features |= {f"{name}^{feature}": float(value or 1.0) for feature, _, value in pairs}
        if label.strip() == "shared":
            shared = features
            continue
        arms.append(features)
        if label.strip():
            labels.append((len(arms), *map(float, label.split(":")[1:])))
    ((action, cost, chance),) = labels
    found = {"_label_cost": cost, "_label_probability": chance, "_label_Action": action}
    return {**found, "c": {**shared, "_multi": arms}}


def _read_vw(path: str | os.PathLike[str], read: Callable[[str], Iterable[Document]]) -> BanditLog:
    content = Path(path).read_bytes()
    try:
        documents = list(read(content.decode().replace("\r\n", "\n")))
        arms = [list(map(_flattened, document["c"].pop("_multi"))) for document in documents]
        (num_actions,) = {len(each) for each in arms}
        observation: Nest = _matrix([_flattened(document["c"]) for document in documents])
        identity = [{f"a^{k}": 1.0} for k in range(num_actions)]
        if any(each != identity for each in arms):
            items = _matrix(list(itertools.chain(*arms))).reshape(len(arms), num_actions, -1)
            observation = {"global": observation, "per_arm": items}
        known = None
        if all("p" in document for document in documents):
            known = np.zeros((len(documents), num_actions))
            for row, document in zip(known, documents):
                row[np.asarray(document["a"]) - 1] = document["p"]
        names = "_label_Action", "_label_cost", "_label_probability"
        action, cost, chance = (np.array([each[name] for each in documents]) for name in names)
        columns = observation, action - 1, 0.0 - cost, chance, num_actions
        return BanditLog(*columns, action_probabilities=known)
    except Exception as error:  # damaged lines make the parsers raise almost anything
        detail = f"a line has no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{path} does not hold a log: {detail}") from error


def _matrix(rows: Sequence[Features]) -> NDArray[np.float64]:
    places = {name: place for place, name in enumerate(dict.fromkeys(n for r in rows for n in r))}
    matrix = np.zeros((len(rows), len(places)))
    for row, features in zip(matrix, rows):
        row[[places[name] for name in features]] = list(features.values())
    return matrix
