"""The reasons to distrust estimates of an evaluation, each once, by numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bandit_envs.evaluations.estimate_rows import EstimateRow
from bandit_envs.showing.merged_texts import merge_texts


class Reasons(NamedTuple):
    """The reasons to distrust estimates. Warnings that differ only in numbers are one reason.

    Fields:
        of_all: reasons to distrust estimates from all rows; they have the first numbers, from 1.
        of_segments: further reasons, to distrust estimates in segments.
        numbers_of_all: the number of the reason, by the warning of an estimate from all rows.
        numbers_of_segments: the same, by the warning of an estimate in a segment.
    """

    of_all: Sequence[str] = ()
    of_segments: Sequence[str] = ()
    numbers_of_all: Mapping[str, int] = {}
    numbers_of_segments: Mapping[str, int] = {}

    @classmethod
    def of(
        cls, rows: Iterable[EstimateRow], segments: Mapping[str, Iterable[EstimateRow]]
    ) -> Reasons:
        """Returns the reasons of the rows of an evaluation, and of its segments."""
        numbers_of_all, of_all = _number(rows, start=1)
        # A warning of a segment has the number of a reason that says the very same.
        known = {text: number for text, number in numbers_of_all.items() if text in of_all}
        in_segments = itertools.chain.from_iterable(segments.values())
        others = [row for row in in_segments if row.warnings not in known]
        numbers, of_segments = _number(others, start=len(of_all) + 1)
        return cls(of_all, of_segments, numbers_of_all, {**known, **numbers})

    def number(self, row: EstimateRow, is_of_segment: bool) -> int | None:
        """Returns the number of the reason to distrust an estimate; None without one."""
        numbers = self.numbers_of_segments if is_of_segment else self.numbers_of_all
        return numbers.get(row.warnings)

    def lines(self) -> list[str]:
        """Returns the reasons with their numbers."""
        texts = [*self.of_all, *self.of_segments]
        return [f"[{number}] {text}" for number, text in enumerate(texts, start=1)]


def _number(rows: Iterable[EstimateRow], start: int) -> tuple[dict[str, int], list[str]]:
    """Returns the reasons of rows, and their numbers by warning; the first one is `start`."""
    texts = [row.warnings for row in rows]
    merged = merge_texts(texts)
    numbers = {
        texts[place]: number
        for number, each in enumerate(merged, start=start)
        for place in each.places
    }
    return numbers, [each.text for each in merged]
