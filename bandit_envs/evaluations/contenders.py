"""Policies as users give them, before they meet a log."""

from __future__ import annotations

import abc
import dataclasses
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from bandit_envs import logged
from bandit_envs.base.checks import short_repr
from bandit_envs.evaluations.candidates import Candidate, parts_of
from bandit_envs.evaluations.learning import fit_rows
from bandit_envs.evaluations.logs import OpenLog, require_rows
from bandit_envs.evaluations.named import Kind, collect, short_name
from bandit_envs.logged import BanditLog
from bandit_envs.logged.features import spec_of_rows
from bandit_envs.logged.learners.learner import Learner
from bandit_envs.logged.learners.log_learning import LEARNS_ONCE
from bandit_envs.logged.learners.policy_files import SUFFIX, read_policy
from bandit_envs.logged.learners.saved_policy import SavedPolicy
from bandit_envs.logged.registry import LEARNERS
from bandit_envs.logged.replay import ReplayEnvironment
from bandit_envs.logged.translation import find_new_names, see_as
from bandit_envs.names.choice import name_choice_in_errors
from bandit_envs.names.notation import without_quotes
from bandit_envs.names.users_code import name_in_errors, users_modules
from bandit_envs.policies import Policy
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.policies.registry import POLICIES as KNOWN_POLICIES
from bandit_envs.policies.registry import ignores_contexts
from bandit_envs.policies.scikit_learn.named_estimators import make_estimator
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.errors import name_some

AnyPolicy: TypeAlias = Policy | Learner | SavedPolicy | str | os.PathLike[str]
"""A policy, a learner of one, what `read_policy` returns, or a text as the command takes it."""

POLICIES = Kind(
    one="policy",
    several="policies",
    classes=(Policy, Learner, SavedPolicy, str, os.PathLike),
    expected="a Policy, a Learner, a text such as 'ucb:c=2', or a file of a policy",
)
"""What users give as policies."""


@dataclasses.dataclass(frozen=True)
class Contender(abc.ABC):
    """A policy before it meets a log.

    Args:
        name: of the policy.
    """

    name: str

    @property
    def encoding(self) -> TableEncoding | None:
        """Of the table that it has learned from before; None if it is not known."""
        return None

    @property
    def reads_contexts(self) -> bool:
        """Whether it may need the features of the log. Where that is not known, it does."""
        return True

    @abc.abstractmethod
    def enter(self, log: OpenLog, training_rows: int | None) -> Candidate:
        """Returns the policy with the first row that it has not seen; it learns before if it can.

        Args:
            log: which the policy has to fit.
            training_rows: how many rows, the first of the log, it may learn from; None if it
                does not learn.
        """

    def count_rows_seen(self, log: OpenLog) -> int:
        """Returns from how many of the first rows of a log it has learned before."""
        return 0

    def _train(self, policy: Policy, log: OpenLog, training_rows: int | None) -> Candidate:
        """Returns a policy that has learned from the first rows, if it can."""
        if not policy.can_learn or training_rows is None:
            return Candidate(None, self.name, policy, start=0)
        rows = log.rows(0, require_rows(log, training_rows))
        with log.passes.watch(rows, f"{self.name} learns") as batches, warnings.catch_warnings():
            warnings.filterwarnings("ignore", f".* {LEARNS_ONCE}")  # as is remarked
            learned = logged.learn_from_log(policy, batches)
        remarks = [] if log.summary.weights is None else [LEARNS_ONCE]
        return Candidate(None, self.name, learned, start=training_rows, remarks=remarks)


@dataclasses.dataclass(frozen=True)
class ChosenPolicy(Contender):
    """A policy that a text names, such as `ucb:c=2`."""

    choice: PolicyChoice

    @property
    def reads_contexts(self) -> bool:
        return self.choice.entry.context != "ignored"

    def enter(self, log: OpenLog, training_rows: int | None) -> Candidate:
        with name_choice_in_errors(f"policy {self.name}", self.choice):
            choice = _number_actions(self.choice, log.summary.encoding)
            candidate = self._train(choice.make(_imitate(log), 0), log, training_rows)
        return dataclasses.replace(candidate, choice=choice)


@dataclasses.dataclass(frozen=True)
class GivenPolicy(Contender):
    """A policy. It stays as it is; a copy learns."""

    policy: Policy

    @property
    def encoding(self) -> TableEncoding | None:
        return self.policy.encoding

    @property
    def reads_contexts(self) -> bool:
        learned_from = self.encoding
        names_features = learned_from is not None and learned_from.names_features
        return names_features or not ignores_contexts(self.policy)

    def enter(self, log: OpenLog, training_rows: int | None) -> Candidate:
        modules = users_modules(*parts_of(self.policy))
        with name_in_errors(f"policy {self.name}", *modules):
            candidate = self._train(self.policy, log, training_rows)
        remarks = find_new_names(self.encoding, log.summary.encoding)
        return dataclasses.replace(candidate, remarks=remarks)


@dataclasses.dataclass(frozen=True)
class SavedContender(Contender):
    """A policy that a file holds."""

    saved: SavedPolicy

    @property
    def encoding(self) -> TableEncoding | None:
        return self.saved.encoding

    def enter(self, log: OpenLog, training_rows: int | None) -> Candidate:
        with name_in_errors(f"policy {self.name}"):
            env = _imitate(log)
            spec = env.observation_spec()
            if self.encoding is None or not self.encoding.actions:
                self._check_number(log)
            if self.encoding is not None:
                spec = spec_of_rows(see_as(self.encoding, first_batch(log)))
            policy = self.saved.make(spec, env.batch_size or 1, 0)
            start = self.count_rows_seen(log)
            if start >= log.size:
                raise ValueError(f"it has learned from all {log.size} rows; no row is left")
        return Candidate(
            choice=None,
            name=self.name,
            policy=policy,
            start=start,
            is_of_another_log=self.saved.rows_learned > start,
            is_of_unknown_log=not self.saved.rows_learned,
            remarks=find_new_names(self.encoding, log.summary.encoding),
        )

    def count_rows_seen(self, log: OpenLog) -> int:
        rows = self.saved.rows_learned
        if not 0 < rows <= log.size:
            return 0
        return rows if log.summarize(rows).identify() == self.saved.log else 0

    def _check_number(self, log: OpenLog) -> None:
        """Raises ValueError if actions without names are not as many as those of a log."""
        number = self.saved.sizes["num_actions"]
        if self.saved.sizes["action_dim"] is None and number != log.summary.num_actions:
            expected = f"expected {log.summary.num_actions}, as the log"
            raise ValueError(f"policy has {number} actions; {expected}")


@dataclasses.dataclass(frozen=True)
class LearnerContender(Contender):
    """A policy that a learner makes of the first rows."""

    learner: Learner

    def enter(self, log: OpenLog, training_rows: int | None) -> Candidate:
        if training_rows is None:
            raise ValueError(f"train is None, but {self.name} learns; expected rows for it")
        with name_in_errors(f"policy {self.name}", *users_modules(self.learner)):
            rows = require_rows(log, training_rows)
            policy = fit_rows(self.learner, self.name, log, rows)
        return Candidate(None, self.name, policy, start=training_rows)


def name_policies(
    policies: AnyPolicy | Mapping[str, AnyPolicy] | Iterable[AnyPolicy],
) -> list[Contender]:
    """Returns the policies that a user gives, with their names.

    Raises:
        TypeError: something is not a policy.
        ValueError: there are no policies, two have the same name, or a text names no policy.
    """
    return list(collect(POLICIES, policies, _contenders).values())


def names_of_actions(contenders: Iterable[Contender]) -> set[str]:
    """Returns the names of the actions that policies have learned from tables."""
    known = [contender.encoding for contender in contenders]
    return {name for encoding in known if encoding is not None for name in encoding.actions}


def check_features(contenders: Iterable[Contender], features: Sequence[str]) -> None:
    """Raises ValueError if a policy in a file has learned from other features, or another order.

    A policy that has learned from a table finds its features by their names.

    Args:
        contenders: the policies.
        features: of the log; () if they have no names.
    """
    given = list(features)
    for contender in contenders:
        learned: list[str] = []
        if isinstance(contender, SavedContender) and contender.encoding is None:
            learned = list(contender.saved.features)
        if learned and given and learned != given:
            expected = f"expected {','.join(learned)}, from which {contender.name} has learned"
            raise ValueError(f"features is {','.join(given)}; {expected}")


def _contenders(label: str | None, policy: AnyPolicy) -> Iterator[tuple[str, Contender]]:
    """Yields the policies that a user gives as one, with their names."""
    for contender in _expand(label, policy):
        yield contender.name, contender


def _expand(label: str | None, policy: AnyPolicy) -> Iterator[Contender]:
    """Yields the policies that a user gives as one."""
    if isinstance(policy, Policy):
        yield GivenPolicy(label or short_name(policy), policy)
    elif isinstance(policy, Learner):
        yield LearnerContender(label or type(policy).__name__, policy)
    elif isinstance(policy, SavedPolicy):
        yield SavedContender(label or type(policy).__name__, policy)
    else:
        spec = os.fspath(policy)
        if spec.endswith(SUFFIX) or f"{SUFFIX}:" in spec:
            yield SavedContender(label or spec, _read(spec))
        else:
            _check_no_learner(spec)
            for choice in PolicyChoice.expand(spec):
                yield ChosenPolicy(label or without_quotes(str(choice)), choice)


def _check_no_learner(spec: str) -> None:
    """Raises a ValueError if a text names a learner, whose policy needs a file."""
    name = spec.partition(":")[0]
    if name in LEARNERS and name not in KNOWN_POLICIES:
        expected = f"expected a file of a policy, which `bandit-envs learn --learner {name}` writes"
        raise ValueError(f"policy is {name!r}, a learner; {expected}")


def _read(spec: str) -> SavedPolicy:
    """Returns the policy in a file.

    Args:
        spec: the file; and if its estimators are a user's own, `:` and how to make one.
    """
    path, suffix, estimator = spec.partition(f"{SUFFIX}:")
    given = make_estimator(estimator) if suffix else None
    return read_policy(path + SUFFIX if suffix else path, given)


def _number_actions(choice: PolicyChoice, encoding: TableEncoding | None) -> PolicyChoice:
    """Returns a choice that has the number of an action or an item for its name.

    It is so where a parameter is an integer by default, as in `constant:number=shoes`; and of an
    item, as in `constant:item=offer-17`. Where items have names, an integer is one of them, too,
    as their numbers are shown nowhere.

    Args:
        choice: which may have names.
        encoding: of the log.
    """
    allowed = choice.entry.parameters()
    numbers: dict[str, object] = {}
    for key, value in choice.parameters.items():
        is_item = key == "item"
        is_number = key in allowed and (is_item or type(allowed[key].default) is int)
        names: Sequence[str] = ()
        if encoding is not None and is_number:
            names = encoding.items if is_item else encoding.actions
        if not names or not (is_item or isinstance(value, str)):
            continue
        name = str(value)
        if name not in names:
            what = "the name of an item" if is_item else "the number of an action, or its name"
            raise ValueError(f"{key} is {short_repr(value)}; expected {what}: {name_some(names)}")
        numbers[key] = names.index(name)
    return dataclasses.replace(choice, parameters={**choice.parameters, **numbers})


def _imitate(log: OpenLog) -> ReplayEnvironment:
    """Returns an environment that shows what policies of a log see."""
    env = ReplayEnvironment(first_batch(log).drop("weight"), log.summary.batch_size)
    env.independent_rows = False  # the rows of a log are users of one problem
    return env


def first_batch(log: OpenLog) -> BanditLog:
    """Returns the first rows of a log."""
    return next(iter(log.rows(0, log.size)))
