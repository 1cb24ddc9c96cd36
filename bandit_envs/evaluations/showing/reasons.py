"""The reasons to distrust estimates of an evaluation, each once, by numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bandit_envs.evaluations.estimate_rows import EstimateRow
from bandit_envs.showing.merged_texts import merge_texts


class Reasons(NamedTuple):
    """The reasons to distrust estimates. Those that differ in numbers alone are one."""

    of_all: Sequence[str] = ()
    """Those of estimates from all rows, which have the first numbers."""

    of_segments: Sequence[str] = ()
    """Those of estimates in segments."""

    numbers: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {})
    """The number of each warning of a row, from 1: of all rows, and of segments."""

    @classmethod
    def of(
        cls, rows: Iterable[EstimateRow], segments: Mapping[str, Iterable[EstimateRow]]
    ) -> Reasons:
        """Returns the reasons of the rows of an evaluation, and of its segments."""
        first, of_all = _number(rows, start=1)
        members = [row for own in segments.values() for row in own]
        known = {text: number for text, number in first.items() if text in of_all}
        rest = [row for row in members if row.warnings not in known]
        second, of_segments = _number(rest, start=len(of_all) + 1)
        return cls(of_all, of_segments, (first, {**known, **second}))

    def number(self, row: EstimateRow, is_of_segment: bool) -> int | None:
        """Returns the number of the reason to distrust an estimate; None without one."""
        return self.numbers[is_of_segment].get(row.warnings)

    def lines(self) -> list[str]:
        """Returns the reasons with their numbers."""
        texts = [*self.of_all, *self.of_segments]
        return [f"[{number}] {text}" for number, text in enumerate(texts, start=1)]


def _number(rows: Iterable[EstimateRow], start: int) -> tuple[dict[str, int], list[str]]:
    """Returns the numbers of warnings, from a first one, and the reasons."""
    texts = [row.warnings for row in rows]
    merged = merge_texts(texts)
    numbers = {
        texts[place]: number
        for number, each in enumerate(merged, start=start)
        for place in each.places
    }
    return numbers, [each.text for each in merged]
