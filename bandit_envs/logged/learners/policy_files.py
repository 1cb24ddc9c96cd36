"""Files of learned policies, without pickle."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.base.archives import CONTENT_ERRORS
from bandit_envs.base.checks import short_repr
from bandit_envs.base.saving import (
    check_format,
    decode_state,
    encode_state,
    load_state,
    save_state,
)
from bandit_envs.logged.features import spec_of_rows
from bandit_envs.logged.learners.applied import Decided, decide
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.summary import LogSummary
from bandit_envs.nests import Nest
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.linear import LinearThompsonSamplingPolicy, LinUCBPolicy
from bandit_envs.policies.models import Model
from bandit_envs.policies.models.feature_readers import shows_items
from bandit_envs.policies.models.inputs import InputReader
from bandit_envs.policies.parts.written_parts import PartReader, WrittenPart, write_part
from bandit_envs.policies.policy import Policy
from bandit_envs.policies.rules import Rule
from bandit_envs.seeding import Seed
from bandit_envs.tables.decisions.new_decisions import CandidateScan, scan_candidates
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.whole_table import AnyTable

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


@dataclasses.dataclass(frozen=True)
class SavedPolicy:
    """What a file says of a policy.

    Args:
        model: of the rewards.
        rule: how to choose.
        sizes: of the policy that was written: of its saved states.
        learned: what it knows; None if that is what the model and the rule say at first.
        is_trained: whether it has learned as a policy does, rather than by a learner.
        rows_learned: from how many rows, the first of a log, it has learned; 0 if it is not known.
        log: identifies these rows; "" if they are not known.
        features: the columns of its features, in their order; () if they have no names.
        encoding: of the table that it has learned from; None if it is not known.
    """

    model: Model
    rule: Rule
    sizes: Mapping[str, Any]
    learned: Any = None
    is_trained: bool = False
    rows_learned: int = 0
    log: str = ""
    features: Sequence[str] = ()
    encoding: TableEncoding | None = None

    def make(self, observation_spec: Nest, batch_size: int = 1, seed: Seed = None) -> Policy:
        """Returns the policy for an environment or a log. It goes on learning if it can.

        If its rows are problems, row i knows what row i modulo B of the written policy knew.

        Raises:
            ValueError: the policy is for other observations, or does not know what its model does.
        """
        self._check_spec(observation_spec)
        try:
            return self._make(observation_spec, batch_size, seed)
        except MemoryError as error:
            problem = f"a policy of the sizes {dict(self.sizes)} takes too much memory"
            raise ValueError(problem) from error

    def choose(
        self,
        table: AnyTable,
        seed: Seed = None,
        *,
        decision: str | None = None,
        item: str | None = None,
        available: str | None = None,
        drop_missing: bool = False,
    ) -> Array:
        """Returns what the policy does in each decision of a table: [n], by name if there is one.

        The policy does not learn. `scan` and `decide` are the same in batches, with probabilities.

        Args:
            table: as for `scan`.
            seed: of a policy that draws its actions.
            decision: as for `scan`.
            item: as for `scan`.
            available: as for `scan`.
            drop_missing: as for `scan`.

        Raises:
            ValueError: as by `scan` and `decide`.

        Warns:
            UserWarning: the table has texts that the policy does not know, whose features are 0; or
                decisions are left out.
        """
        scan = self.scan(
            table,
            decision=decision,
            item=item,
            available=available,
            drop_missing=drop_missing,
        )
        for problem in scan.problems:
            warnings.warn(problem, stacklevel=2)
        chosen = [decided.chosen for decided in self.decide(scan, seed)]
        if not chosen:
            return np.array(self.encoding.actions if self.encoding else ())[:0]
        joined = np.concatenate(chosen)
        return joined.astype(np.str_) if joined.dtype == object else joined

    def scan(
        self,
        table: AnyTable,
        *,
        decision: str | None = None,
        item: str | None = None,
        only: str | None = None,
        available: str | None = None,
        drop_missing: bool = False,
    ) -> CandidateScan:
        """Returns the decisions of a table, which are still to be made, as the policy reads them.

        It finds the columns of its features by their names. The table needs no actions, rewards and
        propensities. `problems` of the result says which texts the policy does not know, whose
        features are 0.

        Args:
            table: a pandas DataFrame; or the path of a CSV or Parquet file, or of a folder of such
                files, which is read in batches. Other columns do not count.
            decision: the column of the names of the decisions. With `item`, the rows of one
                decision are its candidates.
            item: the column of the items, if the policy chooses among items with features.
            only: a pattern of the files of a folder that are read.
            available: the column of the actions that are available in each decision, as lists, if
                the policy chooses no items. By default, all are.
            drop_missing: whether decisions that miss values are left out.

        Raises:
            ValueError: the policy has learned from no table; or this one lacks a column, or has a
                cell that is missing or of another kind.
        """
        if self.encoding is None:
            problem = "the policy has learned from no table, so columns have no names"
            advice = "`read_policy(path).make(observation_spec)` decides by arrays, in Python"
            raise ValueError(f"{problem}; {advice}")
        return scan_candidates(
            table,
            self.encoding,
            decision=decision,
            item=item,
            only=only,
            available=available,
            num_actions=self.sizes["num_actions"],
            drop_missing=drop_missing,
        )

    def decide(self, decisions: CandidateScan, seed: Seed = None) -> Iterator[Decided]:
        """Yields what the policy does in decisions, in batches. It does not learn.

        Args:
            decisions: what `scan` returns.
            seed: of a policy that draws its actions.

        Raises:
            ValueError: a decision misses a value, or has one of another kind.
        """

        def make(observation: Nest, batch_size: int) -> Policy:
            return self.make(spec_of_rows(observation), batch_size, seed)

        actions = () if self.encoding is None else self.encoding.actions
        return decide(make, decisions, actions)

    def _make(self, observation_spec: Nest, batch_size: int, seed: Seed) -> Policy:
        """Returns what `make` does, once the sizes of observations are known to fit."""
        independent_rows = bool(self.sizes["independent_rows"])
        policy = ContextualPolicy(
            self.model,
            self.rule,
            observation_spec=observation_spec,
            num_actions=self._reader(observation_spec).num_actions,
            batch_size=self.sizes["batch_size"] if independent_rows else batch_size,
            seed=seed,
            independent_rows=independent_rows,
        )
        if self.learned is not None:
            state = policy.get_state()
            content = state.content._replace(learned=self.learned, is_trained=self.is_trained)
            policy.set_state(state._replace(content=content))
        policy.encoding = self.encoding
        return policy.replicate(batch_size) if policy.batch_size != batch_size else policy

    def _reader(self, observation_spec: Nest) -> InputReader:
        """Returns what reads observations, of any number of items if actions are items."""
        any_number = shows_items(observation_spec) and not self.model.predictor.has_own_weights
        return InputReader(observation_spec, None if any_number else self.sizes["num_actions"])

    def _check_spec(self, observation_spec: Nest) -> None:
        """Raises ValueError if the policy has learned from observations of other sizes."""
        sizes = self._reader(observation_spec).sizes(num_rows=1)
        found = {"context_dim": sizes.context_dim, "action_dim": sizes.action_dim}
        for name, size in found.items():
            if size != self.sizes[name]:
                expected = f"expected {self.sizes[name]}, as the policy in the file"
                raise ValueError(f"observation_spec has the {name} {size}; {expected}")


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
