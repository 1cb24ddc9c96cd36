"""How far the reading of results is, for who waits for tables and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult

Track: TypeAlias = "Callable[[str, Sequence[PairResult]], Iterable[PairResult]]"
"""Yields the results that it is given, and shows below a text how many it has yielded."""


def track_nothing(text: str, pairs: Sequence[PairResult]) -> Iterable[PairResult]:
    """Shows nothing."""
    return pairs
