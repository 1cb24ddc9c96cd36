"""What an evaluation asks of the actions of a log, of the policies and of the estimators.

All else of an evaluation is the same for all kinds of actions: baselines, gains, segments, parts
and workers.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.actions import ActionKind
from bandit_envs.base.checks import short_repr
from bandit_envs.evaluations.candidates import LOGGED, Candidate
from bandit_envs.evaluations.contenders import ChosenPolicy, Contender, GivenPolicy
from bandit_envs.evaluations.kinds.specs_of_log import SpecsOfLog
from bandit_envs.evaluations.logs import OpenLog
from bandit_envs.evaluations.policy_sums import Found, Key, PolicyRows, PolicySums
from bandit_envs.evaluations.training import AUTO
from bandit_envs.logged.estimators.gains import logged_terms
from bandit_envs.logged.estimators.terms import Terms
from bandit_envs.logged.registry import ESTIMATORS
from bandit_envs.names.users_code import name_in_errors
from bandit_envs.policies import Policy

HARMLESS: Mapping[str, Sequence[object]] = {
    "train": (AUTO, None),
    "until": (None,),
    "all_rows": (False,),
    "baseline": (LOGGED,),
    "workers": (1,),
    "backend": ("loky",),
    "address": (None,),
}
"""The values of the arguments of `evaluate` that ask for nothing that a kind may lack."""


@dataclasses.dataclass(frozen=True)
class ShownSums:
    """What is shown of an evaluation.

    Args:
        found: the sums of the estimators that are shown, by their names.
        candidates: the policies, with remarks of what was chosen for them.
        remarks: more reasons to distrust estimates, by segment, policy and estimator.
    """

    found: Found
    candidates: Sequence[Candidate]
    remarks: Mapping[Key, Mapping[str, Sequence[str]]]


@dataclasses.dataclass(frozen=True)
class ExpectedPolicies:
    """Which policies fit a log.

    Args:
        base: the class of those that texts name.
        is_right: returns whether they choose actions of a kind.
        actions: what they choose.
        advice: what a user should give.
    """

    base: type[Policy]
    is_right: Callable[[ActionKind], bool]
    actions: str
    advice: str


class LogKind(abc.ABC):
    """What an evaluation asks of a log whose actions are of one kind, as `ActionKind` says."""

    name: ClassVar[str]
    """The kind in the registry of estimators."""

    estimators: ClassVar[tuple[type, ...]]
    """The classes of the estimators for such actions."""

    learns: ClassVar[bool] = False
    """Whether policies may learn from the log before they are evaluated."""

    lacks: ClassVar[Mapping[str, str]] = {}
    """The arguments of `evaluate` that such actions do not have, and why."""

    @classmethod
    def check_arguments(cls, given: Mapping[str, object]) -> None:
        """Raises ValueError if an argument of `evaluate` asks for what the kind does not have."""
        for name, reason in cls.lacks.items():
            if given[name] not in HARMLESS[name]:
                problem = f"{name} is {short_repr(given[name])}, but {reason}"
                raise ValueError(f"{problem}; leave it out")

    def check_estimators(self, given: Mapping[str, Any]) -> None:
        """Raises ValueError if an estimator is for actions of another kind."""
        for name, estimator in given.items():
            if not isinstance(estimator, self.estimators):
                ids = ", ".join(self.known_estimators())
                problem = f"estimator {name} is not for actions that are {self.name}s"
                raise ValueError(f"{problem}; expected one of {ids}, or your own")

    @classmethod
    def known_estimators(cls) -> list[str]:
        """Returns the ids of the estimators for such actions."""
        return [name for name, entry in ESTIMATORS.items() if entry.actions == cls.name]

    @abc.abstractmethod
    def default_estimators(self, rows: int) -> Sequence[str]:
        """Returns the estimators of a log if a user names none, as texts.

        Args:
            rows: the number of rows that policies are evaluated on.
        """

    def resolve(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the estimators that meet the log, by name, of those that a user asks for."""
        return given

    @abc.abstractmethod
    def title(self, log: OpenLog, estimators: Iterable[str]) -> str:
        """Returns lines that describe a log.

        Args:
            log: the log.
            estimators: the names of the estimators.
        """

    @abc.abstractmethod
    def enter(self, contender: Contender, log: OpenLog, training_rows: int | None) -> Candidate:
        """Returns a policy that meets a log; ValueError if it chooses actions of another kind.

        Args:
            contender: the policy, as a user gives it.
            log: the log.
            training_rows: how many rows it may learn from; None if it does not learn.
        """

    @abc.abstractmethod
    def ask(self, policy: Any, rows: Any, rows_before: int) -> Any:
        """Returns what a policy would do in rows, before which others lie that it has not seen."""

    def needs_predictions(self, estimator: Any) -> bool:
        """Returns whether an estimator needs predicted rewards."""
        return False

    @abc.abstractmethod
    def terms(self, estimator: Any, rows: Any, answer: Any, predicted: Floats | None) -> Terms:
        """Returns the terms of an estimator.

        Args:
            estimator: the estimator.
            rows: the last of the rows that `ask` was given.
            answer: what `ask` returned.
            predicted: rewards of these rows; None if the estimator needs none.
        """

    @abc.abstractmethod
    def weights(self, rows: Any, answer: Any, terms: Mapping[str, Terms]) -> Floats:
        """Returns the weights of rows that are shown: [n].

        Args:
            rows: of the log.
            answer: what `ask` returned of them.
            terms: of these rows, by estimator.
        """

    def table(self, answer: Any) -> Floats | None:
        """Returns the probabilities [n, K] in an answer; None if it has none."""
        return None

    def means(self, rows: Any, answer: Any) -> Floats:
        """Returns the expected rewards of a policy [n]; [0] if the log does not know them.

        Args:
            rows: of the log.
            answer: what `ask` returned; None of the policy that made the log.
        """
        return np.zeros(0)

    def logged(self, rows: Any) -> Terms:
        """Returns what rows add to the mean reward of the policy that made the log."""
        return logged_terms(rows)

    def sums(self, rows: PolicyRows) -> PolicySums:
        """Returns the sums over rows."""
        return rows.sums()

    def show(
        self, given: Mapping[str, Any], found: Found, candidates: Sequence[Candidate]
    ) -> ShownSums:
        """Returns what is shown of an evaluation.

        Args:
            given: the estimators that a user asks for, by name.
            found: the sums of the estimators that met the log.
            candidates: the policies.
        """
        return ShownSums(found, candidates, {})


def enter_as_is(contender: Contender, env: SpecsOfLog, expected: ExpectedPolicies) -> Candidate:
    """Returns a policy that does not learn; ValueError if it chooses actions of another kind.

    Args:
        contender: the policy, as a user gives it.
        env: has the specs of the log.
        expected: says which policies fit.
    """
    choice = contender.choice if isinstance(contender, ChosenPolicy) else None
    policy = contender.policy if isinstance(contender, GivenPolicy) else None
    modules = () if choice is None else choice.modules
    with name_in_errors(f"policy {contender.name}", *modules):
        if choice is not None:
            made = choice.entry.make
            if not isinstance(made, type) or issubclass(made, expected.base):
                policy = choice.make(env, 0)
        if policy is None or not expected.is_right(policy.action_kind):
            raise ValueError(f"it chooses no {expected.actions}; expected {expected.advice}")
    return Candidate(choice, contender.name, policy, start=0)
