"""Estimators as users give them, and those that are the default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from bandit_envs.evaluations.kinds.log_kind import LogKind
from bandit_envs.evaluations.named import Kind, collect, short_name
from bandit_envs.logged import Estimator, KernelIPS
from bandit_envs.logged.estimators.slate_estimators import SlateEstimator
from bandit_envs.logged.registry import ESTIMATORS, EstimatorEntry
from bandit_envs.names.choice import Choice
from bandit_envs.names.notation import without_quotes
from bandit_envs.names.users_code import name_in_errors

AnyEstimator: TypeAlias = Estimator | KernelIPS | SlateEstimator | str
"""An estimator, or a text as the command takes it."""

ESTIMATORS_GIVEN = Kind(
    one="estimator",
    several="estimators",
    classes=(*EstimatorEntry.kinds, str),
    expected="an Estimator, or a text such as 'dr'",
)
"""What users give as estimators."""


class EstimatorChoice(Choice[EstimatorEntry]):
    """An estimator."""

    entry_class = EstimatorEntry
    table = ESTIMATORS


def expand_estimator(label: str | None, given: AnyEstimator) -> Iterator[tuple[str, Any]]:
    """Yields the estimators that a user gives as one, with their names."""
    if not isinstance(given, str):
        yield label or short_name(given), given
        return
    for choice in EstimatorChoice.expand(given):
        with name_in_errors(f"estimator {choice}", *choice.modules):
            estimator = choice.entry.make(**choice.entry.fixed, **choice.parameters)
        yield label or without_quotes(str(choice)), estimator


def choose_estimators(
    kind: LogKind, named: Mapping[str, Any] | None, rows: int
) -> Mapping[str, Any]:
    """Returns the estimators by name: those that a user names, or the default ones.

    Args:
        kind: of the actions.
        named: by a user; None for none.
        rows: the number of rows that policies are evaluated on.
    """
    if named is None:
        return collect(ESTIMATORS_GIVEN, kind.default_estimators(rows), expand_estimator)
    kind.check_estimators(named)
    return named


def tell_others(kind: LogKind, chosen: Iterable[str]) -> str:
    """Returns a sentence that says which other estimators there are.

    Args:
        kind: of the actions.
        chosen: the names of the default ones.
    """
    used = [name.partition(":")[0] for name in chosen]
    others = [name for name in kind.known_estimators() if name not in used]
    if not others:
        return ""
    default = f"Estimated by {' and '.join(used)}, the default for this log"
    return f"{default}; others, by --estimator or estimators: {', '.join(others)}."


def reads_contexts(estimator: Any) -> bool:
    """Returns whether an estimator may need the features of the log."""
    return isinstance(estimator, Estimator) and estimator.reads_contexts
