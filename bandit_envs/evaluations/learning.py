"""Policies that learners make of logs of any size."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple

from bandit_envs.evaluations.logs import (
    AnyLog,
    OpenLog,
    as_source,
    note_what_is_kept,
    open_log,
    require_rows,
)
from bandit_envs.evaluations.named import describe_type
from bandit_envs.evaluations.passes import LogObserver, check_readers, needs_workers, start_passes
from bandit_envs.evaluations.training import AUTO, Training
from bandit_envs.logged import write_policy
from bandit_envs.logged.learners.learner import Learner
from bandit_envs.logged.registry import LEARNERS, LearnerEntry
from bandit_envs.logged.summary import LogSummary
from bandit_envs.logged.translation import see_as
from bandit_envs.names.choice import Choice
from bandit_envs.names.users_code import name_in_errors, users_modules
from bandit_envs.policies.contextual import ContextualPolicy, class_names, lacks_constant
from bandit_envs.policies.models.constant_feature import LACKS_CONSTANT


class LearnerChoice(Choice[LearnerEntry]):
    """A learner."""

    entry_class = LearnerEntry
    table = LEARNERS


@dataclasses.dataclass(frozen=True, repr=False)
class Learned:
    """A policy that was learned from a log; `learn` returns one.

    Args:
        policy: which learns no more.
        learner: names the learner.
        learned_from: what the rows hold that it has learned from, the first of the log.
        summary: what the log holds.
        title: describes the log, with what is left out of it.
        features: the columns of its features, in their order; () if they have no names.
    """

    policy: ContextualPolicy
    learner: str
    learned_from: LogSummary
    summary: LogSummary
    title: str
    features: Sequence[str] = ()

    def __repr__(self) -> str:
        rows = f"{self.learned_from.size} of {self.summary.size} rows"
        return f"Learned({class_names(self.policy)}, learner={self.learner!r}, {rows})"

    def write(self, file: str | os.PathLike[str]) -> None:
        """Writes the policy to a file that ends in .npz, as the command does.

        `evaluate` takes the file, and leaves out the rows that the policy has learned from.
        """
        write_policy(file, self.policy, self.learned_from, self.features)


def learn(
    log: AnyLog,
    learner: Learner | str = "doubly_robust",
    *,
    train: float | Literal["auto"] = AUTO,
    until: str | None = None,
    workers: int = 1,
    backend: str = "loky",
    address: str | None = None,
    observer: LogObserver | None = None,
) -> Learned:
    """Learns a policy from the first rows of a log, as `bandit-envs learn` does.

    Args:
        log: a `BanditLog`; its batches, of any size, which can be read more than once; what
            `scan_log` returns; or the path of a log that `write_log` wrote.
        learner: a learner, or a text as the command takes it, such as "direct_method".
        train: the share of the rows, from the first, that it learns from; 1 for the whole log,
            "auto" for half of it. If the log has units, it is of the units, each with all rows.
        until: in place of a share, the column and the value of a time, as "day=2024-12-31": it
            learns from the rows below.
        workers: processes or threads, which share the files of a log, or the batches of a list.
            Only learners whose sums merge take more than this process.
        backend: "loky", "threading", "dask" or "ray".
        address: of a running Dask or Ray cluster.
        observer: sees how the log is read.

    Raises:
        TypeError: the log or the learner is something else.
        ValueError: the learner keeps all rows in memory, and is given workers; or there are too few
            rows.

    Warns:
        UserWarning: its model is linear, and the features lack a constant.

    >>> import numpy as np
    >>> from bandit_envs.logged import BanditLog
    >>> log = BanditLog(np.ones((8, 1)), [0, 1] * 4, [1.0, 2.0] * 4, [0.5] * 8)
    >>> found = learn(log, "direct_method")
    >>> found.policy.num_actions, found.learned_from.size
    (2, 4)
    """
    check_readers(workers, backend, address, observer)
    named = _name_learner(learner)
    if needs_workers(workers, backend, address):
        with named.named_in_errors():
            named.learner.require_merging("workers")
    if train is None:
        raise ValueError("train is None; expected a share, as the learner needs rows")
    training = Training(train, until)
    source = as_source(log, training.time)
    with start_passes(workers, backend, address, observer) as passes:
        opened = open_log(source, passes)
        if opened.summary.num_actions == 0:
            problem = f"the actions of {source.scan.name} are real numbers"
            raise ValueError(f"{problem}; expected actions that can be counted, to learn from")
        opened = training.arrange(opened)
        rows = require_rows(opened, training.count(opened))
        with named.named_in_errors():
            policy = fit_rows(named.learner, named.name, opened, rows)
            first = next(iter(opened.rows(0, rows)))
            if lacks_constant(policy, see_as(policy.encoding, first)):
                warnings.warn(f"what {named.name} learns {LACKS_CONSTANT}", stacklevel=2)
        learned_from = opened.summarize(rows)
    return Learned(
        policy=policy,
        learner=named.name,
        learned_from=learned_from,
        summary=opened.summary,
        title=opened.title,
        features=source.scan.features,
    )


def fit_rows(learner: Learner, name: str, log: OpenLog, stop: int) -> ContextualPolicy:
    """Returns what a learner makes of the rows of a log before a row.

    Args:
        learner: whose sums are added by workers, if it has some that merge.
        name: of the learner.
        log: the log.
        stop: the first row that is left out.
    """
    text = f"{name} learns"
    balanced = log.balance(0, stop)
    if learner.streams:
        parts = balanced.first_parts(stop)
        return learner.fit_parts(lambda visit: log.passes.over(parts, visit, text))
    rows = balanced.rows(0, stop)
    if learner.keeps_rows:
        note_what_is_kept(name, rows, log.passes.observer)
    with log.passes.watch(rows, text) as batches:
        return learner.fit_batches(batches)


class NamedLearner(NamedTuple):
    """A learner with its name, and the user's modules that define it, or that its text names."""

    learner: Learner
    name: str
    modules: Sequence[str] = ()

    def named_in_errors(self) -> AbstractContextManager[None]:
        """Names the learner in errors."""
        return name_in_errors(f"learner {self.name}", *self.modules)


def _name_learner(learner: Learner | str) -> NamedLearner:
    """Returns a learner with its name."""
    if isinstance(learner, Learner):
        return NamedLearner(learner, type(learner).__name__, users_modules(learner))
    if not isinstance(learner, str):
        expected = "a Learner, or a text such as 'doubly_robust'"
        raise TypeError(f"learner is {describe_type(learner)}; expected {expected}")
    (choice,) = LearnerChoice.expand(learner)
    with name_in_errors(f"learner {choice}", *choice.modules):
        return NamedLearner(choice.entry.make(**choice.parameters), str(choice), choice.modules)
