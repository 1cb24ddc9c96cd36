"""Values that tables miss, counted by column."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bandit_envs.tables.errors import name_row

SHOWN = 5  # columns that a message has at most
ADVICE = "--drop-missing, drop_missing=True or frame.dropna() leaves these rows out"
OF_DECISIONS = "--drop-missing or drop_missing=True leaves these decisions out, with all candidates"


class Missing(NamedTuple):
    """How many values a column misses, and where the first is missing."""

    number: int
    first: str


@dataclasses.dataclass(frozen=True)
class MissingValues:
    """What a part of a table misses. Those of parts, merged in order, are those of the whole.

    Args:
        size: the number of rows of the part.
        rows: how many of them miss a value.
        columns: what columns miss, by name; those that miss nothing are left out.
        unit: what a row is, in the plural.
    """

    size: int
    rows: int
    columns: Mapping[str, Missing]
    unit: str = "rows"

    @classmethod
    def from_frame(cls, frame: Any, names: Sequence[str], file: str = "") -> MissingValues:
        """Returns what some columns of a data frame miss; the place of the first names `file`."""
        is_missing = frame[list(dict.fromkeys(names))].isna()
        columns = {}
        for name in is_missing:
            number = int(is_missing[name].sum())
            if number:
                place = name_row(frame, int(is_missing[name].to_numpy().argmax()), file)
                columns[name] = Missing(number, place)
        return cls(len(frame), int(is_missing.any(axis=1).sum()), columns)

    def merge(self, later: MissingValues) -> MissingValues:
        """Returns what this part and a later one miss."""
        columns = dict(self.columns)
        for name, missing in later.columns.items():
            known = columns.get(name, missing._replace(number=0))
            columns[name] = known._replace(number=known.number + missing.number)
        return MissingValues(
            size=self.size + later.size,
            rows=self.rows + later.rows,
            columns=columns,
            unit=later.unit,
        )

    def describe_left_out(self) -> str:
        """Returns the line of a report that says how much is left out."""
        return f"{self.rows} of {self.size} {self.unit} miss values, and are left out"

    def check_none(self, advice: str = ADVICE) -> None:
        """Raises ValueError if values are missing; the message ends with what to do."""
        if self.columns:
            found = [
                f"{name!r} {missing.number}, first in {missing.first}"
                for name, missing in self.columns.items()
            ]
            if len(found) > SHOWN:
                found[SHOWN:] = [f"and {len(found) - SHOWN} more columns"]
            rows = f"{self.rows} of {self.size} {self.unit} miss values"
            raise ValueError(f"{rows}: {'; '.join(found)}; {advice}")
