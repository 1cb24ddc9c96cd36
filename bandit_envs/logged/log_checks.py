"""Checks that logs have what a function needs, such as rows or propensities."""

from __future__ import annotations

from collections.abc import Iterable

from bandit_envs.logged.columns import has_own_kind
from bandit_envs.logged.log import BanditLog


def check_log(log: BanditLog) -> BanditLog:
    """Returns a log; TypeError if it is something else, such as a scan."""
    if not isinstance(log, BanditLog):
        found = type(log).__name__
        raise TypeError(f"log is of type {found}; expected a BanditLog, such as one of its batches")
    return log


def require_rows(log: BanditLog) -> BanditLog:
    """Returns a log; ValueError if it has no rows."""
    if not len(check_log(log)):
        raise ValueError("log has 0 rows; expected at least one")
    return log


def require_numbered_actions(log: BanditLog) -> BanditLog:
    """Returns a log; ValueError if its actions are real numbers, or something else."""
    kind = check_log(log).action_kind
    if not kind.is_single:
        hint = "; KernelIPS and KernelDR estimate from such a log" if kind.is_number else ""
        raise ValueError(f"the actions of log are {kind}; expected integers from 0{hint}")
    return log


def require_plain_actions(log: BanditLog) -> BanditLog:
    """Returns a log; ValueError if its actions are neither integers from 0 nor real numbers."""
    if has_own_kind(check_log(log).action_kind):
        found = f"the actions of log are {log.action_kind}"
        raise ValueError(f"{found}; expected integers from 0, or real numbers")
    return log


def require_propensities(log: BanditLog) -> BanditLog:
    """Returns a log; ValueError if its propensities are not known."""
    if not check_log(log).has_propensities:
        raise ValueError("log has no propensities; estimate_propensities(log) estimates them")
    return log


def require_equal_rows(log: BanditLog, what: str) -> BanditLog:
    """Returns a log; ValueError if its rows have weights, which something does not take."""
    if check_log(log).weight is not None:
        problem = f"rows of log have weights, which {what} does not take"
        raise ValueError(f"{problem}; expected a log without, such as log.drop('weight')")
    return log


def check_batches(batches: Iterable[BanditLog]) -> Iterable[BanditLog]:
    """Returns the batches of a log; TypeError if they are a log itself."""
    if isinstance(batches, BanditLog):
        raise TypeError("batches is one BanditLog; expected a list of logs, or scan_log(...)")
    return batches


def check_repeatable(batches: Iterable[BanditLog]) -> Iterable[BanditLog]:
    """Returns the batches of a log; TypeError if they can be passed over once only."""
    check_batches(batches)
    if iter(batches) is batches:
        raise TypeError("batches can be passed over once only; expected a list, or scan_log(...)")
    return batches
