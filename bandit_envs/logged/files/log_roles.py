"""What the columns of a log are, also of one of several logging policies."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import short_repr
from bandit_envs.logged.columns import MIN_PROPENSITY
from bandit_envs.logged.files.reward_table import JoinedRewards, RewardColumns, RewardTable
from bandit_envs.names.visible import visible
from bandit_envs.tables.cells import cells_of, read_numbers
from bandit_envs.tables.errors import check_column, name_some
from bandit_envs.tables.roles import FEATURES, ROLES, Names, Roles, describe_role, is_given
from bandit_envs.tables.whole_table import AnyTable

if TYPE_CHECKING:
    from pandas import DataFrame

Propensity: TypeAlias = str | float | Mapping[str, str] | None
"""The column of the propensities, or the one that all decisions have; or for several logging
policies, by name, a column of each."""

SHARED = ("embedding", "time")
"""Roles whose columns may have another role, too."""

OF_ITEMS = ("decision", "item_features", "chosen")
"""Roles of logs of items. Logs of actions have `decision`, too, if rewards have their own table."""

OF_ACTIONS = ("embedding", "logger", "available", "action")
"""Roles of logs of actions without features."""


class LogColumns(TypedDict, total=False):
    """What a user says of a table that has a log, as for `from_frame`.

    The last five are those of `HOW_TO_READ`. All others are roles; `ROLES` has their defaults.
    """

    action: str
    item: str | None
    chosen: str
    decision: str | None
    item_features: Names | None
    reward: str
    embedding: Names
    time: str | None
    propensity: Propensity
    logger: str | None
    available: str | None
    unit: str | None
    weight: str | None
    features: Names | None
    balance: bool
    rewards: AnyTable | RewardTable | None
    num_actions: int | None
    drop_missing: bool
    gather: bool


HOW_TO_READ: Mapping[str, Any] = {
    "balance": False,
    "rewards": None,
    "num_actions": None,
    "drop_missing": False,
    "gather": False,
}
"""The defaults of the arguments that say how a table is read."""

ROLES_OF_LOGS = tuple(name for name in ROLES if name in LogColumns.__annotations__)
"""The roles of logs, in the order in which their columns are read; features are the last."""


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
            expected = f"the column {ROLES['logger'].says}"
            raise ValueError(f"balance is True, and logger is None; expected {expected}")
        if logger is None:
            if not isinstance(propensity, Mapping):
                return None
            expected = describe_role("logger")
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
    """What the columns of a log are, and how its table is read.

    Fields:
        roles: of the columns.
        loggers: the columns of several logging policies; None for one.
        propensity: of all decisions; None if a column has them, or they are not known.
        rewards: of a table of their own; None if a column has them.
        num_actions: the number of actions; None if the table says it.
        drop_missing: whether decisions that miss values are left out.
        gather: whether the rows of a decision among items may stand anywhere.
        given: the arguments that are not the defaults, without the column of times.
    """

    roles: Roles
    loggers: LoggerColumns | None
    propensity: float | None
    rewards: JoinedRewards | None
    num_actions: int | None
    drop_missing: bool
    gather: bool
    given: Sequence[str]

    @classmethod
    def of(cls, **columns: typing.Unpack[LogColumns]) -> LogRoles:
        """Returns the roles that a user names, as for `from_frame`.

        Raises:
            TypeError: a name is not that of a role.
            ValueError: a column has two roles, logging policies have no propensities, there is a
                mixture of them in rows with weights, or a role is of another kind of log: one of
                items has no `action`, and the other way round.
        """
        named = _complete(columns)
        given = _find_given(named)
        propensity = named["propensity"]
        weight = named["weight"]
        loggers = LoggerColumns.of(named["logger"], propensity, named["balance"])
        if named["balance"] and weight is not None:
            expected = "rows that all count alike, as a mixture of logging policies counts them"
            raise ValueError(f"balance is True, and weight {weight!r}; expected {expected}")
        constant = propensity if isinstance(propensity, float) else None
        if constant is not None and not 0.0 < constant <= 1.0:
            raise ValueError(f"propensity is {constant}; expected above 0 and at most 1")
        own: dict[str, Names | None] = {name: named[name] for name in ROLES_OF_LOGS}
        own["propensity"] = None if constant is not None else propensity
        if isinstance(propensity, Mapping):
            own["propensity"] = tuple(dict.fromkeys(propensity.values()))
        for role in _find_others(named, given):
            own[role] = None
        joined = None
        if named["rewards"] is not None:
            own["reward"] = None
            joined = _read_rewards(named)
        features = own.pop(FEATURES)
        return cls(
            roles=Roles.of(features, SHARED, **own),
            loggers=loggers,
            propensity=constant,
            rewards=joined,
            num_actions=named["num_actions"],
            drop_missing=named["drop_missing"],
            gather=named["gather"],
            given=given,
        )

    @property
    def are_of_items(self) -> bool:
        """Whether actions are items with features."""
        return bool(self.roles.all_of("item"))


def _find_given(named: Mapping[str, Any]) -> list[str]:
    """Returns the names of the arguments that are not the defaults, without the column of times."""
    found = [role for role in ROLES_OF_LOGS if role != "time" and is_given(role, named[role])]
    if named["propensity"] is None:
        found.remove("propensity")  # any log may lack propensities
    if named[FEATURES] is not None and FEATURES not in found:
        found.append(FEATURES)  # an empty list names no feature, and None names all
    for name, default in HOW_TO_READ.items():
        value = named[name]
        is_default = value is None if default is None else not value  # NumPy's False, too
        if not is_default:
            found.append(name)
    return found


def _complete(columns: LogColumns) -> dict[str, Any]:
    """Returns what a user says of columns, with the defaults; TypeError for an unknown name."""
    for name in columns:
        if name not in LogColumns.__annotations__:
            expected = f"one of {', '.join(LogColumns.__annotations__)}"
            raise TypeError(f"{short_repr(name)} is given; expected {expected}")
    defaults = {role: ROLES[role].default for role in ROLES_OF_LOGS}
    return {**defaults, **HOW_TO_READ, **columns}


def _find_others(named: Mapping[str, Any], given: Sequence[str]) -> Sequence[str]:
    """Returns the roles that this kind of log does not have; ValueError if one of them is given."""
    others: Sequence[str] = OF_ACTIONS
    expected = f"a log of actions, as {named['item']!r} has items"
    if named["item"] is None:
        others = [role for role in OF_ITEMS if role != "decision" or named["rewards"] is None]
        expected = describe_role("item")
    for role in others:
        if role in given:
            raise ValueError(f"{role} is given; expected {expected}")
    return others


def _read_rewards(named: Mapping[str, Any]) -> JoinedRewards:
    """Returns the rewards of a second table; decision, reward and time name its columns, too."""
    if named["decision"] is None:
        expected = "the column of ids that the log and the table of rewards have"
        raise ValueError(f"rewards is given, and decision is None; expected {expected}")
    columns = RewardColumns(named["decision"], named["reward"], named["time"])
    return JoinedRewards.read(RewardTable.of(named["rewards"]), columns)
