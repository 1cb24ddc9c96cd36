"""Files of learned policies, without pickle."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs.base.archives import CONTENT_ERRORS
from bandit_envs.base.checks import short_repr
from bandit_envs.base.saving import (
    check_format,
    decode_state,
    encode_state,
    load_state,
    save_state,
)
from bandit_envs.logged.learners.saved_policy import SavedPolicy
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.summary import LogSummary
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.linear import LinearThompsonSamplingPolicy, LinUCBPolicy
from bandit_envs.policies.models import Model
from bandit_envs.policies.parts.written_parts import PartReader, WrittenPart, write_part
from bandit_envs.policies.policy import Policy
from bandit_envs.policies.rules import Rule
from bandit_envs.tables.encoding import TableEncoding

SUFFIX = ".npz"
KEY = "bandit_envs.policy"
FORMAT = 1
"""Raised whenever the layout of these files changes."""

CLASSES = (ContextualPolicy, LinUCBPolicy, LinearThompsonSamplingPolicy)
"""What is written: policies that their model, their rule and what they know make again."""

TYPES: dict[str, tuple[type[Any], ...]] = {
    "model": (WrittenPart,),
    "rule": (WrittenPart,),
    "sizes": (dict,),
    "learned": (np.ndarray, type(None)),
    "is_trained": (bool,),
    "rows_learned": (int,),
    "log": (str,),
    "features": (list,),
    "encoding": (dict, type(None)),
}
"""What a file says of a policy: the fields of `SavedPolicy`."""

SIZES = {
    "num_actions": 1,
    "batch_size": 1,
    "context_dim": 0,
    "action_dim": None,
    "independent_rows": 0,
}
"""The sizes of a policy, with the smallest of each; None for one that it may not have."""


def write_policy(
    path: str | os.PathLike[str],
    policy: Policy,
    learned_from: BanditLog | Iterable[BanditLog] | LogSummary = (),
    features: Sequence[str] = (),
) -> None:
    """Writes a contextual policy with what it has learned to a file, without pickle.

    Args:
        path: of the file, which ends in .npz.
        policy: a `ContextualPolicy`, such as a learner returns. Its model and its rule are frozen
            dataclasses, whose fields are plain values, arrays, estimators of scikit-learn, and
            other models and rules.
        learned_from: the log that it has learned from, or its batches in order, or what a
            `LogSummary` says of them. If a longer log begins with these rows, `evaluate` and
            `bandit-envs evaluate` leave them out.
        features: the columns of its features, in their order; by default, those of the table that
            it has learned from, whose names the file keeps.

    Raises:
        TypeError: the policy is of another class, a part of it cannot be written, or a column of
            its features has a name that is not text.
        ValueError: its encoding has names of another number of actions.

    >>> import tempfile
    >>> from bandit_envs.specs import ArraySpec
    >>> from bandit_envs.trajectories import restart
    >>> from bandit_envs.logged import learn_from_log
    >>> log = BanditLog(np.ones((4, 1)), [0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0], [0.5] * 4)
    >>> spec = ArraySpec((1,), np.float64)
    >>> policy = learn_from_log(LinUCBPolicy(observation_spec=spec, num_actions=2), log)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_policy(f"{folder}/policy.npz", policy, learned_from=log)
    ...     again = read_policy(f"{folder}/policy.npz").make(spec)
    >>> again.action(restart(np.ones((1, 1)), 1))
    array([1], dtype=int32)
    """
    if type(policy) not in CLASSES:
        raise TypeError(f"policy is a {type(policy).__name__}; expected a ContextualPolicy")
    if not policy.action_kind.is_single:
        found = f"policy chooses {policy.action_kind}"
        raise TypeError(f"{found}; expected a ContextualPolicy of single actions")
    assert isinstance(policy, ContextualPolicy)
    summary = _summarize(learned_from)
    encoding = policy.encoding
    if encoding is not None and len(encoding.actions) not in (0, policy.num_actions):
        found = f"policy.encoding has the names of {len(encoding.actions)} actions"
        raise ValueError(f"{found}; expected {policy.num_actions}")
    columns = list(features) or ([] if encoding is None else encoding.names)
    for name in columns:
        if not isinstance(name, str):
            problem = f"a column of the features is named {short_repr(name)}"
            raise TypeError(f"{problem}; expected texts, as frame.columns.map(str) makes them")
    state = policy.get_state()
    learned = None
    if not policy.is_as_made:
        learned = np.frombuffer(encode_state(state.content.learned), np.uint8)
    content = {
        "format": FORMAT,
        "model": write_part(policy.model),
        "rule": write_part(policy.rule),
        "sizes": {name: state.sizes[name] for name in SIZES},
        "learned": learned,
        "is_trained": state.content.is_trained,
        "rows_learned": summary.size,
        "log": summary.identify() if summary.size else "",
        "features": columns,
        "encoding": None if encoding is None else encoding.plain(),
    }
    save_state(_check_suffix(Path(path)), {KEY: content})


def read_policy(
    path: str | os.PathLike[str],
    estimator: Any = None,
    trusted: Sequence[str] = (),
    parts: Sequence[type[Model] | type[Rule]] = (),
) -> SavedPolicy:
    """Reads what `write_policy` wrote.

    The file is arrays and plain values, and estimators of scikit-learn as skops writes them.
    Nothing in it is unpickled, evaluated or imported. Models and rules are those of the package,
    and those that you give. Classes and functions of estimators are those that skops trusts, those
    of `policies.scikit_learn.model.TRUSTED`, and those that you give; all else is refused by name.

    Args:
        path: of the file.
        estimator: if the policy's estimators are of a class of your own, one of that class. The
            classes and functions among its parameters may be in the file, too.
        trusted: names of other classes and functions, as in `load_state`: only for a file that you
            wrote yourself.
        parts: if the model or the rule is of a class of yours, these classes.

    Raises:
        ValueError: the file holds something else, or a class that is not trusted.
    """
    content = _check_content(path, load_state(path, trusted))
    reader = PartReader(parts, [] if estimator is None else [estimator])
    try:
        model = reader.read(content["model"], Model)
        rule = reader.read(content["rule"], Rule)
        rule.check(model.predictor)
    except CONTENT_ERRORS as error:
        raise ValueError(f"{path}: {error}") from error
    learned = content["learned"]
    if learned is not None:  # after the modules of the parts have been imported
        learned = decode_state(learned.tobytes(), str(path), trusted)
    known = {"model": model, "rule": rule, "learned": learned}
    return SavedPolicy(**{**content, **known, "encoding": _read_encoding(path, content)})


def _read_encoding(path: str | os.PathLike[str], content: dict[str, Any]) -> TableEncoding | None:
    """Returns the encoding of the table of a policy; ValueError if it does not fit."""
    if content["encoding"] is None:
        return None
    try:
        encoding = TableEncoding.from_plain(content["encoding"])
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    size = content["sizes"]["num_actions"]
    if encoding.actions and len(encoding.actions) != size:
        found = f"{path} holds names of {len(encoding.actions)} actions"
        raise ValueError(f"{found}; expected {size}")
    return encoding


def _check_content(path: str | os.PathLike[str], state: Any) -> dict[str, Any]:
    """Returns what a file says of a policy; ValueError if it holds something else."""
    content = state.get(KEY) if isinstance(state, dict) else None
    if not isinstance(content, dict):
        raise ValueError(f"{path} does not hold a learned policy")
    content = dict(content)
    check_format(str(path), "a learned policy", content.pop("format", None), FORMAT)
    if content.keys() != TYPES.keys():
        raise ValueError(f"{path} does not hold a learned policy")
    for name, expected in TYPES.items():
        if type(content[name]) not in expected:
            found = f"{name} is a {type(content[name]).__name__}"
            problem = f"{path} does not hold a learned policy: {found}"
            raise ValueError(f"{problem}; expected a {expected[0].__name__}")
    if content["rows_learned"] < 0:
        raise ValueError(f"{path} holds a policy that has learned from fewer than 0 rows")
    if not all(isinstance(name, str) for name in content["features"]):
        raise ValueError(f"{path} holds features that are not names")
    sizes = content["sizes"]
    if sizes.keys() != SIZES.keys() or not all(map(_is_size, sizes.values(), SIZES.values())):
        raise ValueError(f"{path} holds a policy of the sizes {sizes}; expected whole numbers")
    return content


def _is_size(found: Any, smallest: int | None) -> bool:
    """Returns whether a size is a whole number, or None if there may be none."""
    if found is None:
        return smallest is None
    return type(found) is int and found >= (smallest or 0)


def _summarize(rows: BanditLog | Iterable[BanditLog] | LogSummary) -> LogSummary:
    """Returns what a log, or its batches, hold."""
    if isinstance(rows, LogSummary):
        return rows
    return LogSummary.from_batches([rows] if isinstance(rows, BanditLog) else rows)


def _check_suffix(file: Path) -> Path:
    if file.suffix != SUFFIX:
        raise ValueError(f"path is {file}; expected a name that ends in {SUFFIX}")
    return file
