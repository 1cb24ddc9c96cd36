"""Decisions of a table, and their candidates."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats, Mask
from bandit_envs.base.extras import import_extra
from bandit_envs.names.visible import visible
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.errors import bad_value, name_row
from bandit_envs.tables.missing import Missing, MissingValues

if TYPE_CHECKING:
    from pandas import DataFrame, Series


BATCH_NUMBERS = 2**22
"""The most numbers of the items of a batch, padded: 32 MiB."""


@dataclasses.dataclass(frozen=True)
class CandidateRows:
    """Some decisions of a table: a row for each, and one for each of its candidates, in order.

    Args:
        decisions: [n], the columns of the context.
        candidates: [N], all other columns. The index says where the rows are in a file.
        starts: [n], the row of the first candidate of each decision.
        decision: the column of the names of decisions; None if they have none.
    """

    decisions: DataFrame
    candidates: DataFrame
    starts: NDArray[np.intp]
    decision: str | None = None

    @property
    def sizes(self) -> NDArray[np.intp]:
        """How many candidates each decision has: [n]."""
        return np.diff(self.starts, append=len(self.candidates))

    @property
    def groups(self) -> NDArray[np.intp]:
        """The number of the decision of each candidate: [N]."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def places(self) -> NDArray[np.intp]:
        """The place of each candidate in its decision, from 0: [N]."""
        return np.arange(len(self.candidates)) - np.repeat(self.starts, self.sizes)

    def __len__(self) -> int:
        return len(self.decisions)

    def cut(self, size: int) -> Iterable[CandidateRows]:
        """Yields the same decisions, at most `size` at a time."""
        if len(self) <= size:
            yield self
            return
        limits = np.append(self.starts, len(self.candidates))
        for first in range(0, len(self), size):
            last = min(first + size, len(self))
            yield dataclasses.replace(
                self,
                decisions=self.decisions.iloc[first:last],
                candidates=self.candidates.iloc[limits[first] : limits[last]],
                starts=self.starts[first:last] - limits[first],
            )

    def keep(self, is_kept: Mask) -> CandidateRows:
        """Returns some of the decisions, [n], with all of their candidates."""
        sizes = self.sizes
        kept = sizes[is_kept]
        return dataclasses.replace(
            self,
            decisions=self.decisions[is_kept],
            candidates=self.candidates[np.repeat(is_kept, sizes)],
            starts=np.cumsum(kept) - kept,
        )

    def any_of(self, is_true: Mask) -> Mask:
        """Returns for which decisions something is true of any candidate, [N]: [n]."""
        return np.logical_or.reduceat(is_true, self.starts) if len(self) else np.zeros(0, np.bool_)

    def sum_of(self, values: Array) -> Array:
        """Returns the sums over the candidates of each decision of values [N]: [n]."""
        return np.add.reduceat(values, self.starts) if len(self) else np.zeros(0, values.dtype)

    def pad(self, values: Array, width: int) -> Array:
        """Returns values of candidates [N, ...] by decision, with zeros behind: [n, width, ...]."""
        padded = np.zeros((len(self) * width, *values.shape[1:]), values.dtype)
        padded[self.groups * width + self.places] = values
        return padded.reshape((len(self), width, *values.shape[1:]))

    def frame_of(self, name: str) -> DataFrame:
        """Returns the data frame that has a column: of the candidates, or of the decisions."""
        return self.candidates if name in self.candidates else self.decisions

    def names(self) -> list[Any]:
        """Returns the names of the decisions; none if they have none."""
        if self.decision is None:
            return []
        names: list[Any] = self.candidates[self.decision].iloc[self.starts].tolist()
        return names

    def is_missing(self, name: str) -> Mask:
        """Returns for which candidates a column misses its value, or that of the decision: [N]."""
        is_missing = self.frame_of(name)[name].isna().to_numpy(np.bool_)
        return is_missing if name in self.candidates else np.repeat(is_missing, self.sizes)

    def is_incomplete(self, is_missing: Mapping[str, Mask]) -> Mask:
        """Returns which decisions have a candidate that misses a value: [n].

        Args:
            is_missing: for each column, which candidates miss its value, [N].
        """
        nothing = np.zeros(len(self.candidates), np.bool_)
        return self.any_of(np.logical_or.reduce([nothing, *is_missing.values()]))

    def count_missing(self, is_missing: Mapping[str, Mask], file: str) -> MissingValues:
        """Returns what decisions miss.

        Args:
            is_missing: as for `is_incomplete`.
            file: that the rows are of; "" if it needs no name.
        """
        columns = {}
        for name, each in is_missing.items():
            if each.any():
                row = int(each.argmax())
                place = name_row(self.candidates, row, file)
                whole = self.name_of(int(self.groups[row]))
                found = place if self.decision is None else f"{place}, of {whole}"
                columns[name] = Missing(int(self.any_of(each).sum()), found)
        incomplete = int(self.is_incomplete(is_missing).sum())
        return MissingValues(len(self), incomplete, columns, unit="decisions")

    def name_of(self, number: int) -> str:
        """Returns how messages call a decision, by its number."""
        if self.decision is None:
            return "the decision"
        (name,) = self.candidates[self.decision].iloc[[int(self.starts[number])]].tolist()
        return f"decision {visible(repr(name))}"

    def check_candidates(self, name: str, is_good: Mask, expected: str) -> None:
        """Raises ValueError for the first candidate, [N], whose cell is not good.

        Args:
            name: of the column.
            is_good: of each candidate.
            expected: what its cell should be.
        """
        if not is_good.all():
            row = int(is_good.argmin())
            whole = self.name_of(int(self.groups[row]))
            raise bad_value(self.candidates, name, row, expected, whole)

    def check(self, is_good: Mask, problem: str, expected: str) -> None:
        """Raises ValueError for the first decision, [n], that is not good.

        Args:
            is_good: of each decision.
            problem: what it has, in the message.
            expected: what it should have.
        """
        if not is_good.all():
            number = int(is_good.argmin())
            place = name_row(self.candidates, int(self.starts[number]))
            found = f"{self.name_of(number)}, which begins in {place}, has {problem}"
            raise ValueError(f"{found}; expected {expected}")


def codes_of(column: Series) -> tuple[NDArray[np.intp], list[object]]:
    """Returns the cells of a column as numbers, [n], and what each number stands for.

    A missing cell is -1.
    """
    pandas = import_extra("pandas", "logged")
    codes, found = pandas.factorize(column)
    return codes, found.tolist()


def find_changes(column: Series) -> Mask:
    """Returns in which rows a column is not as in the row before, [n], and True in the first.

    A missing cell is no change, nor is what comes after it.
    """
    cells = column.to_numpy() if column.dtype.kind in "biufM" else codes_of(column)[0]
    is_present = column.notna().to_numpy(np.bool_)
    changes = np.ones(len(cells), np.bool_)
    changes[1:] = (cells[1:] != cells[:-1]) & is_present[1:] & is_present[:-1]
    return changes


def check_same(
    frame: DataFrame, names: Iterable[str], is_first: Mask, column: str, unit: str
) -> None:
    """Raises ValueError if a column changes within rows that belong together, and are adjacent.

    Args:
        frame: of the rows.
        names: of the columns.
        is_first: [n], whether a row is the first of those that belong together.
        column: says which rows belong together.
        unit: what such rows are, for the message, such as "slate".
    """
    for name in names:
        is_same = is_first | ~find_changes(frame[name])
        if not is_same.all():
            row = int(is_same.argmin())
            (name_of_unit,) = frame[column].iloc[[row]].tolist()
            whole = f"{unit} {visible(repr(name_of_unit))}"
            expected = f"the same value in all rows of a {unit}"
            raise bad_value(frame, name, row, expected, whole)


def read_candidates(
    rows: CandidateRows, encoding: TableEncoding, width: int
) -> dict[str, Floats | Mask]:
    """Returns the observation of decisions among items: `global`, `per_arm` and `mask`.

    Args:
        rows: the decisions, which miss no feature.
        encoding: of their columns.
        width: the number of items that the observation has room for.
    """
    items = encoding.of_items().read(rows.candidates)
    return {
        "global": encoding.read(rows.decisions),
        "per_arm": rows.pad(items, width),
        "mask": np.arange(width) < rows.sizes[:, np.newaxis],
    }


def size_of_batches(encoding: TableEncoding, width: int, most: int) -> int:
    """Returns how many decisions a batch may have, so that its padded numbers are not too many.

    Args:
        encoding: of the columns.
        width: the number of items that the observation has room for.
        most: decisions at most.
    """
    numbers = max(1, width * len(encoding.of_items().labels()))
    return max(1, min(most, BATCH_NUMBERS // numbers))
