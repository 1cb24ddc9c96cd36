"""Policies as they are evaluated on a log."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

from bandit_envs.base.checks import short_repr
from bandit_envs.evaluations.named import describe_type
from bandit_envs.names.choice import name_choice_in_errors
from bandit_envs.names.notation import parse_choice
from bandit_envs.names.users_code import name_in_errors, users_modules
from bandit_envs.policies import Policy
from bandit_envs.policies.models.value_model import Model
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.policies.registry import POLICIES
from bandit_envs.policies.rules.rule import Rule

LOGGED = "logged"
"""The name of the policy that made the log."""

IF_SAME = "if it has rows of this one, estimates are too high"
"""What may be wrong with a policy that has learned from another log."""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A policy that is evaluated.

    Args:
        choice: names the class of a policy that a text names. It stands first, so that a worker
            finds the user's module of the policy.
        name: of the policy.
        policy: which learns no more.
        start: the first row of the log that the policy has not seen, and is evaluated on.
        is_of_another_log: whether a learner made it from another log.
        is_of_unknown_log: whether a learner made it from a log that its file does not tell.
        remarks: what it makes of names that it does not know, in the log, and what was chosen for
            it. They are sentences without their subject, its name.
    """

    choice: PolicyChoice | None
    name: str
    policy: Policy
    start: int
    is_of_another_log: bool = False
    is_of_unknown_log: bool = False
    remarks: Sequence[str] = ()

    @property
    def doubts(self) -> list[str]:
        """Reasons to distrust all of its estimates."""
        found = []
        if self.is_of_another_log:
            found.append(f"the policy has learned from another log; {IF_SAME}")
        if self.is_of_unknown_log:
            found.append(f"the policy has learned from a log that is not known; {IF_SAME}")
        return found

    @property
    def modules(self) -> Sequence[str]:
        """The user's modules that define it, or that its text names."""
        if self.choice is None:
            return users_modules(*parts_of(self.policy))
        return self.choice.modules


def find_baseline(baseline: str, names: Sequence[str]) -> str:
    """Returns the name of the policy that gains are over.

    Args:
        baseline: its name, or a text that says the same, such as `ucb:c=1.0` of `ucb:c=1`.
        names: of the policies that are evaluated.

    Raises:
        TypeError, ValueError: gains cannot be over it.
    """
    if LOGGED in names:
        problem = f"policy {LOGGED} has the name of the policy that made the log"
        raise ValueError(f"{problem}; give it another one by the keys of a dict")
    if not isinstance(baseline, str):
        raise TypeError(f"baseline is {describe_type(baseline)}; expected the name of a policy")
    known = (LOGGED, *names)
    if baseline in known:
        return baseline
    meant = _parse(baseline)
    for name in known:
        if meant is not None and _parse(name) == meant:
            return name
    raise ValueError(f"baseline is {short_repr(baseline)}; expected one of {', '.join(known)}")


def _parse(text: str) -> tuple[str, dict[str, object]] | None:
    """Returns the name and the parameters of a policy in a text; None if it has none."""
    try:
        return parse_choice("policy", text, POLICIES)
    except ValueError:
        return None


def find_starts(candidates: Sequence[Candidate], all_rows: bool, left_out: int) -> list[int]:
    """Returns the first row that each policy is evaluated on.

    Args:
        candidates: the policies.
        all_rows: whether each has all rows that it has not seen, and not those that none has.
        left_out: how many rows, the first, a user leaves to learning.

    Raises:
        ValueError: the user leaves rows to learning, and no policy has learned from them.
    """
    starts = [candidate.start for candidate in candidates]
    if not all_rows:
        return [max(left_out, *starts)] * len(starts)
    if left_out and not max(starts):
        problem = f"all_rows is True, and no policy learns from the first {left_out} rows"
        raise ValueError(f"{problem}; expected no train or until")
    return starts


@contextlib.contextmanager
def name_candidate(candidate: Candidate) -> Iterator[None]:
    """Names the policy in errors."""
    subject = f"policy {candidate.name}"
    if candidate.choice is None:
        named = name_in_errors(subject, *candidate.modules)
    else:
        named = name_choice_in_errors(subject, candidate.choice)
    with named:
        yield


def parts_of(made: object) -> Iterator[object]:
    """Yields a policy, and the policies, models and rules of which it is made."""
    yield made
    for value in getattr(made, "__dict__", {}).values():
        if isinstance(value, (Policy, Model, Rule)):
            yield from parts_of(value)
