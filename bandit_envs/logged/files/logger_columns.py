"""Tables of several logging policies: the propensities of their mixture."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import short_repr
from bandit_envs.logged.columns import MIN_PROPENSITY
from bandit_envs.names.visible import visible
from bandit_envs.tables.cells import cells_of, read_numbers
from bandit_envs.tables.errors import check_column, name_row, name_some

if TYPE_CHECKING:
    from pandas import DataFrame

Propensity: TypeAlias = str | Mapping[str, str] | None
"""The column of the propensities; or for several logging policies, by name, a column of each."""


@dataclasses.dataclass(frozen=True)
class LoggerColumns:
    """Which columns of a table say what its logging policies do.

    Args:
        logger: says which logging policy a row is of.
        propensity: for each logging policy, by its name, the probabilities with which it takes the
            logged actions, its own and those of the others.
        rows: how many rows each has; none before they are counted.
        are_all_counted: whether these are all rows of the table.
    """

    logger: str
    propensity: Mapping[str, str]
    rows: Mapping[str, int] = dataclasses.field(default_factory=dict)
    are_all_counted: bool = True

    @classmethod
    def of(cls, logger: str | None, propensity: Propensity) -> LoggerColumns | None:
        """Returns the columns of several logging policies; None for one.

        Raises:
            ValueError: there is a column of logging policies, and no dict of their propensities, or
                the other way round.
        """
        if logger is None:
            if not isinstance(propensity, Mapping):
                return None
            expected = "logger, the column that says which logging policy a row is of"
            raise ValueError(f"propensity is {short_repr(propensity)}; expected {expected}")
        if not isinstance(propensity, Mapping) or not propensity:
            expected = f"a dict: for each name in column {logger!r} the column of its probabilities"
            raise ValueError(f"propensity is {short_repr(propensity)}; expected {expected}")
        return cls(logger, dict(propensity))

    def __str__(self) -> str:
        rows = {name: self.rows.get(name, 0) for name in self.propensity}
        return ", ".join(f"{visible(name)} ({number} rows)" for name, number in rows.items())

    def count(self, frame: DataFrame) -> dict[str, int]:
        """Returns how many rows of a data frame, none of which misses a value, each has.

        Raises:
            ValueError: a row is of another one.
        """
        found = [str(cell) for cell in cells_of(frame, self.logger).tolist()]
        is_known = np.array([name in self.propensity for name in found], np.bool_)
        expected = f"one of {name_some(sorted(self.propensity))}, as propensity says"
        check_column(frame, self.logger, is_known, expected)
        names, counts = np.unique(np.array(found, np.str_), return_counts=True)
        return dict(zip(names.tolist(), counts.tolist()))

    def with_all_rows(self, rows: Mapping[str, int]) -> LoggerColumns:
        """Returns the same columns with how many rows of the whole table each has.

        Raises:
            ValueError: one has no row.
        """
        for name in self.propensity:
            if not rows.get(name):
                problem = f"propensity has {name!r}, of which column {self.logger!r} has no row"
                raise ValueError(f"{problem}; it has {name_some(sorted(rows))}")
        return dataclasses.replace(self, rows=rows)

    def with_some_rows(self, rows: Mapping[str, int]) -> LoggerColumns:
        """Returns the same columns with how many rows of a part of the table each has.

        Other rows may be of logging policies that have none of these.
        """
        return dataclasses.replace(self, rows=rows, are_all_counted=False)

    def mix(self, frame: DataFrame) -> Floats:
        """Returns the probabilities with which the mixture of all takes the logged actions: [n].

        Raises:
            ValueError: a probability cannot be.
        """
        total = sum(self.rows.values())
        mixture = np.zeros(len(frame))
        for name, column in self.propensity.items():
            chances = read_numbers(frame, column)
            check_column(frame, column, (chances >= 0.0) & (chances <= 1.0), "0 to 1")
            mixture += self.rows.get(name, 0) / total * chances
        is_taken = mixture >= MIN_PROPENSITY
        if not self.are_all_counted:
            mixture = np.maximum(mixture, MIN_PROPENSITY)
        elif not is_taken.all():
            place = name_row(frame, int(is_taken.argmin()))
            raise ValueError(f"no logging policy takes the action in {place}, by its probabilities")
        return np.minimum(mixture, 1.0)  # which rounding may exceed
