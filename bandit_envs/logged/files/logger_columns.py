"""Tables of several logging policies: the propensities of each row, or those of their mixture."""

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
from bandit_envs.tables.errors import check_column, name_some

if TYPE_CHECKING:
    from pandas import DataFrame

Propensity: TypeAlias = str | float | Mapping[str, str] | None
"""The column of the propensities, or the one that all decisions have; or for several logging
policies, by name, a column of each."""


@dataclasses.dataclass(frozen=True)
class LoggerColumns:
    """Which columns of a table say what its logging policies do.

    Args:
        logger: says which logging policy a row is of.
        propensity: for each logging policy, by its name, the probabilities with which it takes the
            logged actions, its own and those of the others.
        balance: whether propensities are those of the mixture of all, and not each row's own.
        rows: how many rows each has; none before they are counted.
    """

    logger: str
    propensity: Mapping[str, str]
    balance: bool = False
    rows: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls, logger: str | None, propensity: Propensity, balance: bool = False
    ) -> LoggerColumns | None:
        """Returns the columns of several logging policies; None for one.

        Raises:
            ValueError: there is a column of logging policies, and no dict of their propensities, or
                the other way round; or there is nothing to balance.
        """
        if balance and logger is None:
            expected = "the column that says which logging policy a row is of"
            raise ValueError(f"balance is True, and logger is None; expected {expected}")
        if logger is None:
            if not isinstance(propensity, Mapping):
                return None
            expected = "logger, the column that says which logging policy a row is of"
            raise ValueError(f"propensity is {short_repr(propensity)}; expected {expected}")
        if not isinstance(propensity, Mapping) or not propensity:
            expected = f"a dict: for each name in column {logger!r} the column of its probabilities"
            raise ValueError(f"propensity is {short_repr(propensity)}; expected {expected}")
        return cls(logger, dict(propensity), balance)

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
        return dataclasses.replace(self, rows=rows)

    def own(self, frame: DataFrame) -> Floats:
        """Returns the probabilities with which each row's own policy took the action: [n].

        Raises:
            ValueError: a probability cannot be.
        """
        names = np.array([str(cell) for cell in frame[self.logger].tolist()], np.str_)
        found = np.empty(len(frame))
        for name, column in self.propensity.items():
            chances = read_numbers(frame, column)
            is_own = names == name
            is_known = (chances >= 0.0) & (chances <= 1.0)
            check_column(frame, column, is_known, "0 to 1")
            is_possible = ~is_own | (chances >= MIN_PROPENSITY)
            check_column(frame, column, is_possible, f"above 0, as {name!r} took the action")
            found[is_own] = chances[is_own]
        return found

    def mix(self, frame: DataFrame) -> Floats:
        """Returns the probabilities with which the mixture of all takes the logged actions: [n].

        Rows of a logging policy that has no counted row may have a probability of nearly 0.
        """
        total = sum(self.rows.values())
        mixture = np.zeros(len(frame))
        for name, column in self.propensity.items():
            mixture += self.rows.get(name, 0) / total * read_numbers(frame, column)
        return np.clip(mixture, MIN_PROPENSITY, 1.0)  # which rounding may exceed
