"""Tables with one row a decision, whose columns have lists with an entry for each candidate."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Mask
from bandit_envs.base.extras import import_extra
from bandit_envs.tables.decisions import candidate_table
from bandit_envs.tables.decisions.candidate_rows import CandidateRows
from bandit_envs.tables.decisions.candidate_table import CandidateTable
from bandit_envs.tables.decisions.lists import are_lists, fill_lists, flatten
from bandit_envs.tables.errors import check_column
from bandit_envs.tables.parts import Part, Parts

if TYPE_CHECKING:
    from pandas import DataFrame

FIRST_ROWS = 100
"""How many rows say which columns have lists."""

ROWS_AS_LONG = 16
"""How many rows of a long table one decision counts as, where rows are read a few at a time."""


@dataclasses.dataclass(frozen=True)
class ListColumns:
    """Which columns of a table have lists.

    Args:
        plain: the columns of lists of numbers or texts.
        fields: of lists of records: the column, by the name of each field.
        found: the names of all columns of the table, with fields in place of their columns.
    """

    plain: tuple[str, ...] = ()
    fields: Mapping[str, str] = dataclasses.field(default_factory=dict)
    found: tuple[str, ...] = ()

    @classmethod
    def find(cls, parts: Parts[Part]) -> ListColumns:
        """Returns which columns of a table have lists, as its first rows say."""
        first = parts.found[0]
        names = first.column_names()
        for part in parts.found:
            with part.reading():
                for frame in part.frames(names, FIRST_ROWS):
                    if len(frame):
                        return cls._of(frame.iloc[:FIRST_ROWS], names)
        return cls((), {}, tuple(names))

    @classmethod
    def _of(cls, frame: DataFrame, names: Sequence[str]) -> ListColumns:
        """Returns which columns of rows have lists; ValueError if two fields have one name."""
        plain = []
        fields: dict[str, str] = {}
        found = []
        for place, name in enumerate(names):
            if not are_lists(frame.iloc[:, place]):
                found.append(name)
                continue
            _, values = flatten(frame, name)
            if not isinstance(values, Mapping):
                plain.append(name)
                found.append(name)
                continue
            for field in values:
                if field in fields or field in names:
                    problem = f"{field!r} is both a field of {name!r} and another column"
                    raise ValueError(f"{problem}; rename one of them")
                fields[field] = name
                found.append(field)
        return cls(tuple(plain), fields, tuple(found))

    def __contains__(self, name: object) -> bool:
        return name in self.plain or name in self.fields

    def read_of(self, names: Sequence[str]) -> list[str]:
        """Returns the columns of the table in which some columns or fields are, each once."""
        return list(dict.fromkeys(self.fields.get(name, name) for name in names))


@dataclasses.dataclass(frozen=True)
class ListTable(CandidateTable):
    """A table with one row a decision, whose lists have an entry for each candidate.

    Its decisions look as those of a table with one row a candidate, so that all else is the same.

    Args:
        parts: of the table. The base class explains this and all that is not named here.
        lists: the columns of lists.
        chosen: the column of the names of the chosen items; "" if the table has no such column.
        of_chosen: columns of what is known of the chosen items alone, such as the reward.
    """

    lists: ListColumns = dataclasses.field(default_factory=ListColumns)
    chosen: str = ""
    of_chosen: Sequence[str] = ()

    def scan(
        self, names: Sequence[str], texts: Sequence[str], first: int = 0
    ) -> Iterator[tuple[int, CandidateRows]]:
        wanted = list(dict.fromkeys([*self.names_of_rows(), *names]))
        read = self.lists.read_of(wanted)
        as_texts = [each for each in [*self.names_of_rows(), *texts] if each in read]
        if self.chosen in read:
            as_texts.append(self.chosen)
        size = max(1, candidate_table.TABLE_ROWS // ROWS_AS_LONG)
        for number, part in enumerate(self.parts.found[first:], start=first):
            with part.reading():
                for frame in part.frames(read, size, as_texts):
                    for start in range(0, len(frame), size):
                        yield number, self._rows(frame.iloc[start : start + size], wanted)

    def _rows(self, frame: DataFrame, names: Sequence[str]) -> CandidateRows:
        """Returns the decisions of some rows, with a row for each of their candidates."""
        pandas = import_extra("pandas", "logged")
        sizes, columns = self._flatten_all(frame, names)
        rows = np.repeat(np.arange(len(frame)), sizes)
        candidates = pandas.DataFrame(columns, index=frame.index[rows])
        starts = np.cumsum(sizes) - sizes
        if self.decision is not None:
            candidates[self.decision] = frame[self.decision].to_numpy()[rows]
        if self.chosen in names:
            is_chosen = self._find_chosen(frame, candidates, rows)
            for name in [
                each for each in self.of_chosen if each in names and each not in candidates
            ]:
                cells = frame[name].iloc[rows].set_axis(candidates.index)
                candidates[name] = cells.where(is_chosen)
            chosen = frame[self.chosen].notna().to_numpy(np.bool_)[rows]
            candidates[self.chosen] = np.where(chosen, is_chosen.astype(np.float64), np.nan)
        return CandidateRows(frame, candidates, starts, self.decision)

    def _find_chosen(self, frame: DataFrame, candidates: DataFrame, rows: NDArray[np.intp]) -> Mask:
        """Returns which candidates were chosen, [N]; ValueError if a name is of no candidate."""
        is_known = frame[self.chosen].notna().to_numpy(np.bool_)
        chosen = frame[self.chosen].astype(str).to_numpy(object)
        items = candidates[self.item].astype(str).to_numpy(object)
        is_chosen: Mask = np.asarray(items == chosen[rows], np.bool_) & is_known[rows]
        is_missing = candidates[self.item].isna().to_numpy(np.bool_)
        counts = np.bincount(rows, is_chosen | is_missing, minlength=len(frame))
        expected = f"the name of an item in {self.item!r}"
        check_column(frame, self.chosen, ~is_known | (counts > 0), expected)
        return is_chosen

    def _flatten_all(
        self, frame: DataFrame, names: Sequence[str]
    ) -> tuple[NDArray[np.intp], dict[str, Any]]:
        """Returns how many candidates decisions have, [n], and the entries of lists, by column.

        A missing list becomes missing entries.

        Raises:
            ValueError: lists of a row differ in their lengths, or are empty.
        """
        found = {
            name: flatten(frame, name)
            for name in self.lists.read_of([name for name in names if name in self.lists])
        }
        sizes = np.maximum.reduce([np.ones(len(frame), np.intp), *(n for n, _ in found.values())])
        columns: dict[str, Any] = {}
        for name, (own, values) in found.items():
            is_good = (own == sizes) | (own < 0)
            expected = "a list that is not empty, and as long as the others of its row"
            check_column(frame, name, is_good, expected)
            entries = values if isinstance(values, Mapping) else {name: values}
            for field, cells in entries.items():
                columns[field] = cells if (own >= 0).all() else fill_lists(cells, own, sizes)
        return sizes, {name: columns[name] for name in names if name in columns}
