"""What the columns of a log are, also of one of several logging policies."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import short_repr
from bandit_envs.logged.columns import MIN_PROPENSITY
from bandit_envs.logged.files.reward_table import JoinedRewards, RewardColumns, RewardTable
from bandit_envs.names.visible import visible
from bandit_envs.tables.cells import cells_of, read_numbers
from bandit_envs.tables.errors import check_column, name_some
from bandit_envs.tables.roles import Names, Roles
from bandit_envs.tables.whole_table import AnyTable

if TYPE_CHECKING:
    from pandas import DataFrame

Propensity: TypeAlias = str | float | Mapping[str, str] | None
"""The column of the propensities, or the one that all decisions have; or for several logging
policies, by name, a column of each."""

SHARED = ("embedding", "time")
"""Roles whose columns may have another role, too."""


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


class LogRoles(NamedTuple):
    """What the columns of a log are, and those of several logging policies if it has some."""

    roles: Roles
    loggers: LoggerColumns | None
    propensity: float | None = None  # of all decisions, if it is no column
    rewards: JoinedRewards | None = None  # of a table of their own

    @classmethod
    def of(
        cls,
        *,
        reward: str,
        propensity: Propensity,
        features: Names | None = None,
        time: str | None = None,
        action: str = "action",
        embedding: Names = (),
        logger: str | None = None,
        balance: bool = False,
        decision: str | None = None,
        item: str | None = None,
        chosen: str = "chosen",
        item_features: Names | None = None,
        available: str | None = None,
        unit: str | None = None,
        weight: str | None = None,
        rewards: AnyTable | RewardTable | None = None,
    ) -> LogRoles:
        """Returns the roles that a user names, as for `from_frame`.

        Raises:
            ValueError: a column has two roles, logging policies have no propensities, there is a
                mixture of them in rows with weights, or a role is of another kind of log: one of
                items has no `action`, and the other way round.
        """
        loggers = LoggerColumns.of(logger, propensity, balance)
        if balance and weight is not None:
            expected = "rows that all count alike, as a mixture of logging policies counts them"
            raise ValueError(f"balance is True, and weight {weight!r}; expected {expected}")
        constant = propensity if isinstance(propensity, float) else None
        if constant is not None and not 0.0 < constant <= 1.0:
            raise ValueError(f"propensity is {constant}; expected above 0 and at most 1")
        columns: Names | None = None
        if isinstance(propensity, Mapping):
            columns = tuple(dict.fromkeys(propensity.values()))
        elif not isinstance(propensity, float):
            columns = propensity
        of_items = {"decision": decision, "item_features": item_features}
        of_actions = {"embedding": embedding, "logger": logger, "available": available}
        others: dict[str, Names | None]
        if item is None:
            others = {"action": action}
            if rewards is not None:
                others["decision"] = decision
                del of_items["decision"]
            _refuse_roles({**of_items, "chosen": chosen != "chosen"}, "item, the column of items")
        else:
            others = {"item": item, "chosen": chosen, **of_items}
            expected = f"a log of actions, as {item!r} has items"
            _refuse_roles({**of_actions, "action": action != "action"}, expected)
        joined = None
        if rewards is None:
            others["reward"] = reward
        else:
            joined = _read_rewards(rewards, decision, reward, time)
        others |= {"embedding": embedding, "time": time, "propensity": columns}
        others |= {"logger": logger, "available": available, "unit": unit, "weight": weight}
        return cls(Roles.of(features, SHARED, **others), loggers, constant, joined)

    @property
    def are_of_items(self) -> bool:
        """Whether actions are items with features."""
        return bool(self.roles.all_of("item"))


def _read_rewards(
    rewards: AnyTable | RewardTable, decision: str | None, reward: str, time: str | None
) -> JoinedRewards:
    """Returns the rewards in a table of their own; the names are of its columns and the log's."""
    if decision is None:
        expected = "the column of ids that the log and the table of rewards have"
        raise ValueError(f"rewards is given, and decision is None; expected {expected}")
    return JoinedRewards.read(RewardTable.of(rewards), RewardColumns(decision, reward, time))


def _refuse_roles(given: Mapping[str, object], expected: str) -> None:
    """Raises ValueError for the first role that is given, and is of another kind of log."""
    for role, names in given.items():
        if names:
            raise ValueError(f"{role} is given; expected {expected}")
