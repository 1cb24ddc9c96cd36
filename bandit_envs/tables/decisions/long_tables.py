"""Tables with one row for each candidate of a decision, whose rows are adjacent."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bandit_envs.base.extras import import_extra
from bandit_envs.names.visible import visible
from bandit_envs.tables.decisions.candidate_rows import (
    CandidateRows,
    check_same,
    codes_of,
    find_changes,
)
from bandit_envs.tables.errors import check_column, name_row
from bandit_envs.tables.parts import FramePart, Part, Parts

if TYPE_CHECKING:
    from pandas import DataFrame, Series

TABLE_ROWS = 65_536
"""How many rows of a table are read at a time."""


@dataclasses.dataclass(frozen=True)
class LongTable:
    """A table with one row a candidate, which is cut where the name of the decision changes.

    Args:
        parts: of the table, in order. A decision may go on in the next part.
        decision: the column of the names of the decisions.
        item: the column of the names of the items.
        context: columns that are the same in all rows of a decision.
        ends: the name of the last decision in each part and those before it; () before it is known.
    """

    parts: Parts[Part]
    decision: str
    item: str
    context: Sequence[str] = ()
    ends: tuple[Any, ...] = ()

    def scan(
        self, names: Sequence[str], texts: Sequence[str], first: int = 0
    ) -> Iterator[tuple[int, CandidateRows]]:
        """Yields the decisions, and the number of the part in which they begin.

        Args:
            names: of the columns to read.
            texts: columns whose cells are texts, even where they look like numbers, as those
                of decisions and items always are.
            first: the number of the first part that is read. Rows of a decision that begins in an
                earlier one are left out.

        Raises:
            ValueError: a row names no decision, or a column of the context changes in one.
        """
        last = self.ends[first - 1] if first else None
        carried: DataFrame | None = None  # the rows of a decision that perhaps goes on
        number = first
        for later in range(first, len(self.parts.found)):
            part = self.parts.found[later]
            for frame in self._frames(part, names, texts):
                rest = frame
                if last is not None:
                    head = _count_leading(frame[self.decision], last)
                    rest = frame.iloc[head:]
                    if carried is not None and head:
                        both = [(number, carried), (later, frame.iloc[:head])]
                        carried = _join_parts([(self.parts.found[n], each) for n, each in both])
                    if not len(rest):
                        continue
                    if carried is not None:
                        yield number, self._rows(number, carried)
                    carried = None
                    last = None
                elif carried is not None:
                    rest = _join([carried, frame])
                number = later
                if not len(rest):
                    continue
                starts = np.flatnonzero(find_changes(rest[self.decision]))
                carried = rest.iloc[starts[-1] :]
                if len(starts) > 1:
                    yield number, self._rows(number, rest.iloc[: starts[-1]])
            if carried is not None:
                last = carried[self.decision].iloc[0]
        if carried is not None:
            yield number, self._rows(number, carried)

    def scan_part(
        self, number: int, names: Sequence[str], texts: Sequence[str]
    ) -> Iterator[CandidateRows]:
        """Yields the decisions that begin in a part, by its number; see `scan`."""
        for first, rows in self.scan(names, texts, first=number):
            if first > number:
                return
            yield rows

    def find_known_numbers(self, names: Sequence[str]) -> list[str]:
        """Returns which columns are known to be of numbers in all parts, before they are read."""
        known = list(names)
        for part in self.parts.found:
            known = part.find_numbers(known)
        return known

    def refuse_return(self) -> None:
        """Raises ValueError for the first decision that begins again after another one."""
        known: dict[Any, str] = {}
        for number, rows in self.scan([self.decision], []):
            for name, start in zip(rows.candidates[self.decision].iloc[rows.starts], rows.starts):
                part = self.parts.found[number].name
                place = name_row(rows.candidates, int(start))
                place = place if " of " in place or not part else f"{place} of {visible(part)}"
                if name in known:
                    problem = f"decision {visible(repr(name))} begins again in {place}"
                    advice = "sort the rows by decision, or pass gather=True"
                    raise ValueError(f"{problem} (first in {known[name]}); {advice}")
                known[name] = place

    def gather(self, names: Sequence[str]) -> LongTable:
        """Returns the same table in memory, with the rows of each decision side by side.

        Decisions, and the candidates of each, keep their order.
        """
        frames = [(p, each) for p in self.parts.found for each in self._frames(p, names, ())]
        are_files = all(part.name for part in self.parts.found)
        whole = _join_parts(frames) if are_files else _join([each for _, each in frames])
        order = np.argsort(codes_of(whole[self.decision])[0], kind="stable")
        gathered = dataclasses.replace(self.parts, found=[FramePart(whole.iloc[order])])
        return dataclasses.replace(self, parts=gathered)

    def _frames(
        self, part: Part, names: Sequence[str], texts: Sequence[str]
    ) -> Iterator[DataFrame]:
        """Yields some columns of the rows of a part, all of which name a decision."""
        with part.reading():
            for frame in part.frames(names, TABLE_ROWS, [self.decision, self.item, *texts]):
                is_known = frame[self.decision].notna().to_numpy(np.bool_)
                check_column(frame, self.decision, is_known, "the name of a decision")
                yield frame

    def _rows(self, number: int, frame: DataFrame) -> CandidateRows:
        """Returns the decisions of rows, which have all rows of each, and begin in a part."""
        is_first = find_changes(frame[self.decision])
        starts = np.flatnonzero(is_first)
        context = [name for name in self.context if name in frame]
        with self.parts.found[number].reading():
            check_same(frame, context, is_first, self.decision, "decision")
        return CandidateRows(
            decisions=frame.iloc[starts],
            candidates=frame,
            starts=starts,
            decision=self.decision,
        )


def _count_leading(column: Series, name: Any) -> int:
    """Returns how many of the first cells of a column are a name."""
    is_other = (column != name).to_numpy(np.bool_)
    return int(is_other.argmax()) if is_other.any() else len(column)


def _join(frames: Sequence[DataFrame]) -> DataFrame:
    """Returns the rows of several data frames with the same columns."""
    pandas = import_extra("pandas", "logged")
    filled = [frame for frame in frames if len(frame)]
    joined: DataFrame = pandas.concat(filled or frames[:1])
    return joined


def _join_parts(frames: Sequence[tuple[Part, DataFrame]]) -> DataFrame:
    """Returns the rows of several parts, whose index then names the parts."""
    pandas = import_extra("pandas", "logged")
    named = []
    for part, frame in frames:
        if frame.index.nlevels == 1:
            files = [part.name] * len(frame)
            named.append(frame.set_axis(pandas.MultiIndex.from_arrays([files, frame.index])))
        else:
            named.append(frame)
    return _join(named)
