"""Tables with one row for each candidate of a decision, whose rows are adjacent."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bandit_envs.base.extras import import_extra
from bandit_envs.tables.decisions import candidate_table
from bandit_envs.tables.decisions.candidate_rows import (
    CandidateRows,
    check_same,
    codes_of,
    find_changes,
)
from bandit_envs.tables.decisions.candidate_table import CandidateTable
from bandit_envs.tables.errors import check_column
from bandit_envs.tables.parts import FramePart, Part

if TYPE_CHECKING:
    from pandas import DataFrame, Series


@dataclasses.dataclass(frozen=True)
class LongTable(CandidateTable):
    """A table with one row a candidate, which is cut where the name of the decision changes.

    A decision may go on in the next part. All columns of its context are the same in its rows.
    """

    def scan(
        self, names: Sequence[str], texts: Sequence[str], first: int = 0
    ) -> Iterator[tuple[int, CandidateRows]]:
        decision = self._decision
        last = self.ends[first - 1] if first else None
        carried: DataFrame | None = None  # the rows of a decision that perhaps goes on
        number = first
        for later in range(first, len(self.parts.found)):
            part = self.parts.found[later]
            for frame in self._frames(part, names, texts):
                rest = frame
                if last is not None:
                    head = _count_leading(frame[decision], last)
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
                starts = np.flatnonzero(find_changes(rest[decision]))
                carried = rest.iloc[starts[-1] :]
                if len(starts) > 1:
                    yield number, self._rows(number, rest.iloc[: starts[-1]])
            if carried is not None:
                last = carried[decision].iloc[0]
        if carried is not None:
            yield number, self._rows(number, carried)

    def gather(self, names: Sequence[str]) -> LongTable:
        """Returns the same table in memory, with the rows of each decision side by side.

        Decisions, and the candidates of each, keep their order.
        """
        frames = [(p, each) for p in self.parts.found for each in self._frames(p, names, ())]
        are_files = all(part.name for part in self.parts.found)
        whole = _join_parts(frames) if are_files else _join([each for _, each in frames])
        order = np.argsort(codes_of(whole[self._decision])[0], kind="stable")
        gathered = dataclasses.replace(self.parts, found=[FramePart(whole.iloc[order])])
        return dataclasses.replace(self, parts=gathered)

    @property
    def _decision(self) -> str:
        """The column of the names of the decisions."""
        return self.names_of_rows()[0]

    def _frames(
        self, part: Part, names: Sequence[str], texts: Sequence[str]
    ) -> Iterator[DataFrame]:
        """Yields some columns of the rows of a part, all of which name a decision."""
        own = self.names_of_rows()
        read = list(dict.fromkeys([*own, *names]))
        with part.reading():
            for frame in part.frames(read, candidate_table.TABLE_ROWS, [*own, *texts]):
                is_known = frame[self._decision].notna().to_numpy(np.bool_)
                check_column(frame, self._decision, is_known, "the name of a decision")
                yield frame

    def _rows(self, number: int, frame: DataFrame) -> CandidateRows:
        """Returns the decisions of rows, which have all rows of each, and begin in a part."""
        is_first = find_changes(frame[self._decision])
        starts = np.flatnonzero(is_first)
        context = [name for name in self.context if name in frame]
        with self.parts.found[number].reading():
            check_same(frame, context, is_first, self._decision, "decision")
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
