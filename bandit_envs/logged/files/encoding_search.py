"""How the columns of a user's table become numbers, found in one pass over its parts."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import as_list, short_repr
from bandit_envs.datasets.encoding import (
    MAX_LEVELS,
    MAX_NAMES,
    CellCounts,
    TableEncoding,
    name_some,
)
from bandit_envs.datasets.tables import find_unnamed, name_row
from bandit_envs.logged.columns import MIN_PROPENSITY
from bandit_envs.logged.files.cells import (
    check_column,
    has_fractions,
    read_integers,
    read_numbers,
)

MANY_ACTIONS = 1000
"""The most actions that a log can have of which it has no row."""

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
        counted: the first row of those that are counted, and the first behind them; None for all.
    """

    logger: str
    propensity: Mapping[str, str]
    rows: Mapping[str, int] = dataclasses.field(default_factory=dict)
    counted: tuple[int, int] | None = None

    def __str__(self) -> str:
        return ", ".join(f"{name} ({self.rows.get(name, 0)} rows)" for name in self.propensity)

    def names(self) -> list[str]:
        """Returns the names of the columns."""
        return [self.logger, *self.propensity.values()]

    def count(self, frame: Any) -> dict[str, int]:
        """Returns how many rows of a data frame, none of which misses a value, each has.

        Raises:
            ValueError: a row is of another one.
        """
        found = [str(cell) for cell in frame[self.logger].tolist()]
        is_known = np.array([name in self.propensity for name in found], np.bool_)
        expected = f"one of {name_some(sorted(self.propensity))}, as propensity says"
        check_column(frame, self.logger, is_known, expected)
        names, counts = np.unique(np.array(found, np.str_), return_counts=True)
        return dict(zip(names.tolist(), counts.tolist()))

    def with_rows(self, rows: Mapping[str, int]) -> LoggerColumns:
        """Returns the same columns with how many rows of the whole table each has.

        Raises:
            ValueError: one has no row.
        """
        for name in self.propensity:
            if not rows.get(name):
                problem = f"propensity has {name!r}, of which column {self.logger!r} has no row"
                raise ValueError(f"{problem}; it has {name_some(sorted(rows))}")
        return dataclasses.replace(self, rows=rows)

    def mix(self, frame: Any) -> Floats:
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
        if self.counted is not None:  # others may be of logging policies that have none of these
            mixture = np.maximum(mixture, MIN_PROPENSITY)
        elif not is_taken.all():
            place = name_row(frame, int(is_taken.argmin()))
            raise ValueError(f"no logging policy takes the action in {place}, by its probabilities")
        return np.minimum(mixture, 1.0)  # which rounding may exceed


def separate_loggers(
    logger: str | None, propensity: Propensity
) -> tuple[str | None, LoggerColumns | None]:
    """Returns the column of the propensities of one logging policy, or the columns of several.

    Raises:
        ValueError: there is a column of logging policies, and no dict of their propensities, or the
            other way round.
    """
    if logger is None:
        if propensity is None or isinstance(propensity, str):
            return propensity, None
        expected = "logger, the column that says which logging policy a row is of"
        raise ValueError(f"propensity is {short_repr(propensity)}; expected {expected}")
    if not isinstance(propensity, Mapping) or not propensity:
        expected = f"a dict: for each name in column {logger!r} the column of its probabilities"
        raise ValueError(f"propensity is {short_repr(propensity)}; expected {expected}")
    return None, LoggerColumns(logger, dict(propensity))


@dataclasses.dataclass(frozen=True)
class TableColumns:
    """Which columns of a user's table are those of a log, as for `from_frame`.

    Args:
        action: the actions.
        reward: the rewards.
        propensity: the propensities; None if they are not known.
        features: the observation.
        time: a time, by which the log is cut; None without one.
        embedding: the categories of the action.
        are_all: whether `features` are all columns that have a name, and no other role.
        loggers: of several logging policies; None for one.
        unnamed: the columns that are not features, as they have no name.
    """

    action: str
    reward: str
    propensity: str | None
    features: Sequence[str]
    time: str | None = None
    embedding: Sequence[str] = ()
    are_all: bool = False
    loggers: LoggerColumns | None = None
    unnamed: Sequence[str] = ()

    @classmethod
    def of_roles(
        cls,
        decision: Sequence[str | None],
        features: str | Sequence[str] | None,
        found: Sequence[str],
        *,
        time: str | None = None,
        embedding: str | Sequence[str] = (),
        loggers: LoggerColumns | None = None,
    ) -> TableColumns:
        """Returns the columns of a table by what they are; ValueError if one has two roles.

        Args:
            decision: the columns of the action, the reward and the propensity.
            features: those of the observation; None for all columns that have no other role.
            found: all columns of the table.
            time: of the time, if there is one.
            embedding: of the categories of the action, if there are some.
            loggers: of several logging policies; None for one.
        """
        action, reward, propensity = decision
        assert action is not None
        assert reward is not None
        of_loggers = [] if loggers is None else loggers.names()
        others = [*decision, *as_list(embedding), time, *of_loggers]
        rest = [name for name in found if name not in others]
        unnamed = find_unnamed(rest) if features is None else []
        named = [name for name in rest if name not in unnamed]
        names = named if features is None else as_list(features)
        check_roles(decision, names)
        for name in of_loggers:
            if name in decision or name in names:
                raise ValueError(f"column {name!r} has two roles; one is that of logging policies")
        return cls(
            action=action,
            reward=reward,
            propensity=propensity,
            features=tuple(names),
            time=time,
            embedding=tuple(as_list(embedding)),
            are_all=features is None,
            loggers=loggers,
            unnamed=tuple(unnamed),
        )

    def used(self) -> list[str]:
        """Returns the names of the columns of a log, each once."""
        known = [] if self.propensity is None else [self.propensity]
        known += [] if self.loggers is None else self.loggers.names()
        names = [self.action, self.reward, *known, *self.features, *self.embedding]
        return list(dict.fromkeys(names))

    def names(self) -> list[str]:
        """Returns the names of all columns, each once."""
        times = [] if self.time is None else [self.time]
        return list(dict.fromkeys(self.used() + times))

    def encoded(self, num_actions: int | None) -> list[str]:
        """Returns the names of the columns that an encoding is of: features, and actions.

        Args:
            num_actions: 0 if actions are real numbers, which have no names.
        """
        return [*self.features] if num_actions == 0 else [self.action, *self.features]

    def texts(self, known: Sequence[str]) -> list[str]:
        """Returns the columns whose cells are texts: those that are known, and of loggers."""
        return [*known] if self.loggers is None else [*known, self.loggers.logger]

    def with_rows(self, rows: Mapping[str, int]) -> TableColumns:
        """Returns the same columns with how many rows of the table each logging policy has."""
        if self.loggers is None:
            return self
        return dataclasses.replace(self, loggers=self.loggers.with_rows(rows))

    def with_time(self, name: str) -> TableColumns:
        """Returns the same columns with another time, a feature only if it was named as one."""
        features = [each for each in self.features if not self.are_all or each != name]
        return dataclasses.replace(self, time=name, features=tuple(features))


def check_roles(decision: Sequence[str | None], features: Sequence[str]) -> None:
    """Raises ValueError if a column has two roles.

    Args:
        decision: the columns of the action, the reward and the propensity.
        features: those of the observation, which is known before the decision.
    """
    if len(set(decision)) < len(decision):
        found = ", ".join(map(repr, decision))
        raise ValueError(f"action, reward and propensity are {found}; expected three columns")
    for name in features:
        if list(features).count(name) > 1:
            raise ValueError(f"features has {name!r} twice; expected each column once")
        if name in decision:
            expected = "what is known before the action: not it, its reward or its propensity"
            raise ValueError(f"features has {name!r}; expected {expected}")


@dataclasses.dataclass(frozen=True)
class FoundCells:
    """What cells of actions and features a part of a table has. Those of parts merge.

    Args:
        counts: the kinds of cells, by column.
        smallest: action, if they are numbers; None without rows.
        largest: action.
        problem: why actions are not numbers; "" if they are.
        has_fractions: whether some actions are numbers that are not whole.
        loggers: how many rows each logging policy has, if there are several.
    """

    counts: Mapping[str, CellCounts] = dataclasses.field(default_factory=dict)
    smallest: int | None = None
    largest: int | None = None
    problem: str = ""
    has_fractions: bool = False
    loggers: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def merge(self, other: FoundCells) -> FoundCells:
        """Returns what the rows of both have."""
        counts = dict(self.counts)
        for name, more in other.counts.items():
            counts[name] = counts[name].merge(more) if name in counts else more
        known = [each for each in (self.smallest, other.smallest) if each is not None]
        high = [each for each in (self.largest, other.largest) if each is not None]
        return FoundCells(
            counts=counts,
            smallest=min(known, default=None),
            largest=max(high, default=None),
            problem=self.problem or other.problem,
            has_fractions=self.has_fractions or other.has_fractions,
            loggers=collections.Counter(self.loggers) + collections.Counter(other.loggers),
        )

    def find_half_read(self, columns: TableColumns) -> list[str]:
        """Returns the columns of texts of which some cells were read as numbers or times."""
        return [
            name
            for name, each in self.counts.items()
            if not each.is_whole and (each.is_named if name == columns.action else each.is_text)
        ]

    def encoding(self, columns: TableColumns) -> TableEncoding:
        """Returns the encoding of the columns.

        A column that is mostly numbers or times counts as one of these; a later error names the
        cells that are something else.
        """
        names: tuple[str, ...] = ()
        of_actions = self.counts.get(columns.action)
        if of_actions is not None and of_actions.is_named:
            advice = "expected names of actions, of which each has many rows"
            names = of_actions.levels(columns.action, advice)
        features = tuple(self.counts[name].likely_column(name) for name in columns.features)
        return TableEncoding(names, features)

    def are_real(self, columns: TableColumns) -> bool:
        """Returns whether actions are real numbers, as some of them are not whole."""
        return self.has_fractions and not self.counts[columns.action].is_named

    def count_actions(self, name: str) -> int:
        """Returns the largest action plus 1, of actions that are numbers.

        Args:
            name: of the column.

        Raises:
            ValueError: an action is not an integer; the smallest is 1: actions then probably count
                from 1; or the largest exceeds the number of rows: it is then not the number of an
                action.
        """
        if self.problem:
            raise ValueError(self.problem)
        rows = self.counts[name].numbers
        largest = -1 if self.largest is None else self.largest
        check_smallest_action(name, self.smallest)
        if largest > max(rows, MANY_ACTIONS):
            problem = f"column {name!r} has the action {largest}, and {rows} rows"
            raise ValueError(f"{problem}; number the actions from 0, or give num_actions")
        return largest + 1


def check_smallest_action(name: str, smallest: int | None) -> None:
    """Raises ValueError if the smallest action in a column is 1."""
    if smallest == 1:
        problem = f"column {name!r} counts actions from 1, or has no action 0"
        raise ValueError(f"{problem}; subtract 1, or give num_actions")


def search_cells(
    frame: Any, columns: TableColumns, names: Sequence[str], texts: Sequence[str]
) -> FoundCells:
    """Returns what cells some columns of a data frame have; missing ones do not count.

    Args:
        frame: a part of the table; with all columns if it has several logging policies.
        columns: says which of them has the actions.
        names: of these columns.
        texts: those that are known to be texts.
    """
    counts = {}
    for name in names:
        limit = MAX_NAMES if name == columns.action else MAX_LEVELS
        cells = frame[name].dropna().to_numpy()
        counts[name] = CellCounts.from_cells(cells, limit, as_texts=name in texts)
    loggers: Mapping[str, int] = {}
    if columns.loggers is not None:
        loggers = columns.loggers.count(frame.dropna(subset=columns.used()))
    if columns.action not in names or columns.action in texts:
        return FoundCells(counts, loggers=loggers)
    known = frame[[columns.action]].dropna()
    try:
        actions = read_integers(known, columns.action)
    except ValueError as error:  # unless they are names, as other parts may tell
        return FoundCells(
            counts=counts,
            problem=str(error),
            has_fractions=has_fractions(known[columns.action].to_numpy()),
            loggers=loggers,
        )
    return FoundCells(
        counts=counts,
        smallest=int(actions.min()) if len(actions) else None,
        largest=int(actions.max()) if len(actions) else None,
        loggers=loggers,
    )
