"""The roles of the columns of a table: which are the actions, the rewards, the features and so on.

`ROLES` lists them. All readers of tables, and the options of the command, name roles as it does.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

UNNAMED = re.compile(r"Unnamed: [0-9]+(\.[0-9]+)?|__index_level_[0-9]+__")
"""What pandas calls a column without a name, such as the index that it writes to CSV or Parquet."""

FEATURES = "features"


class Role(NamedTuple):
    """What a column of a role holds.

    Fields:
        says: what it holds, in the words that follow "the column" in messages.
        default: the column that has the role in a log if no other is named; None for no column.
    """

    says: str
    default: str | None = None


ROLES: Mapping[str, Role] = {
    "action": Role("of the actions", "action"),
    "item": Role("of the items"),
    "chosen": Role("that is 1 for the chosen candidate", "chosen"),
    "decision": Role("of the ids of the decisions"),
    "item_features": Role("of the features of the items"),
    "reward": Role("of the rewards", "reward"),
    "embedding": Role("of the categories of the actions"),
    "time": Role("of dates or times"),
    "propensity": Role("of the probabilities of the actions", "propensity"),
    "logger": Role("that says which logging policy a row is of"),
    "available": Role("of the actions that are available"),
    "unit": Role("that says whose a row is"),
    "weight": Role("of how many decisions a row stands for"),
    FEATURES: Role("of what is known before the action"),
    "slot": Role("that says which slot a row is of"),
    "slot_propensity": Role("of the probabilities that slots show their items"),
    "prefix_propensity": Role("of the probabilities of the items down to each slot"),
    "example": Role("that tells examples apart"),
    "cost": Role("of the costs"),
    "by": Role("that cuts the rows into segments"),
    "label": Role("of the labels"),
    "variant": Role("of the variant that a user saw", "variant"),
    "period": Role("of parts of the day"),
}
"""All roles, by name; those of logs in the order in which their columns are read."""

SHOWN = 20  # columns that a message has at most

Names: TypeAlias = str | Sequence[str]
"""The name of a column, or of several."""


@dataclasses.dataclass(frozen=True)
class Roles:
    """What the columns of a table are. A role has one column, or several, or none.

    Args:
        columns: of each role but features, by its name; see `Roles.of`.
        features: the columns of what is known before the action.
        are_all: whether features are all columns that have a name, and no other role.
        unnamed: columns that are not features for want of a name.
    """

    columns: Mapping[str, tuple[str, ...]]
    features: tuple[str, ...] = ()
    are_all: bool = False
    unnamed: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, features: Names | None, shared: Collection[str] = (), **roles: Names | None
    ) -> Roles:
        """Returns the roles that a user names.

        Args:
            features: the columns of the features; None for all that have no other role, which
                `complete` finds.
            shared: roles whose columns may have another one, too.
            roles: the column or columns of each other role; None for none.

        Raises:
            ValueError: a column has two roles, or one twice.
        """
        columns = {role: _as_tuple(names) for role, names in roles.items()}
        described = _as_tuple(features)
        known: dict[str, str] = {}
        for role, names in {**columns, FEATURES: described}.items():
            for name in () if role in shared else names:
                if name in known:
                    raise ValueError(_describe_twice(name, known[name], role))
                known[name] = role
        return cls(columns, described, are_all=features is None)

    def complete(self, found: Sequence[str]) -> Roles:
        """Returns the same roles in a table: with the columns that patterns stand for.

        If features are all other columns, these are found, too.

        Args:
            found: the columns of the table.
        """
        roles = self
        for role, names in self.columns.items():
            columns = match_columns(names, found, roles.rest(found))
            roles = dataclasses.replace(roles, columns={**roles.columns, role: columns})
        if not self.are_all:
            features = match_columns(self.features, found, roles.rest(found))
            return dataclasses.replace(roles, features=features)
        known = roles.names()
        unnamed = find_unnamed(name for name in found if name not in known)
        return dataclasses.replace(roles, features=roles.rest(found), unnamed=tuple(unnamed))

    def rest(self, found: Iterable[str]) -> tuple[str, ...]:
        """Returns the columns of a table that have a name, and no role."""
        known = self.names()
        others = [name for name in found if name not in known]
        unnamed = find_unnamed(others)
        return tuple(name for name in others if name not in unnamed)

    def with_items(self, features: Iterable[str], item_features: Iterable[str]) -> Roles:
        """Returns the same roles with other features, and other ones of items."""
        columns = {**self.columns, "item_features": tuple(item_features)}
        return dataclasses.replace(self, columns=columns, features=tuple(features))

    def column_of(self, role: str) -> str:
        """Returns the column of a role that has one."""
        (name,) = self.all_of(role)
        return name

    def all_of(self, role: str) -> tuple[str, ...]:
        """Returns the columns of a role."""
        return self.columns.get(role, ())

    def one_of(self, role: str) -> str | None:
        """Returns the column of a role that has one at most."""
        names = self.all_of(role)
        return names[0] if names else None

    def names(self) -> list[str]:
        """Returns the names of all columns that have a role, each once."""
        named = [name for names in self.columns.values() for name in names]
        return list(dict.fromkeys([*named, *self.features]))

    def keep_features(self, names: Collection[str]) -> Roles:
        """Returns the same roles with some of the features."""
        kept = tuple(name for name in self.features if name in names)
        return dataclasses.replace(self, features=kept)

    def with_time(self, name: str) -> Roles:
        """Returns the same roles with another time, a feature only if it was named as one."""
        features = [each for each in self.features if not self.are_all or each != name]
        columns = {**self.columns, "time": (name,)}
        return dataclasses.replace(self, columns=columns, features=tuple(features))


def describe_role(role: str) -> str:
    """Returns the name of a role and what its column says, for messages.

    >>> describe_role("item")
    'item, the column of the items'
    """
    return f"{role}, the column {ROLES[role].says}"


def is_given(role: str, names: Names | None) -> bool:
    """Returns whether the columns of a role differ from its default."""
    return _as_tuple(names) != _as_tuple(ROLES[role].default)


def _as_tuple(names: Names | None) -> tuple[str, ...]:
    """Returns no name, one or several; the name of a column of a data frame may be a number."""
    if names is None:
        return ()
    if isinstance(names, str) or not isinstance(names, Iterable):
        return (names,)
    return tuple(names)


def match_columns(
    names: Iterable[str], found: Collection[str], others: Sequence[str]
) -> tuple[str, ...]:
    """Returns the columns that names and patterns stand for, in order.

    In a pattern, such as "embedding_*", * stands for any text. It stands for itself if no column
    matches, or if a column has this name.

    Args:
        names: of columns, or patterns.
        found: the columns of the table.
        others: the columns that a pattern may stand for.

    >>> match_columns(["e*", "age"], ["age", "e1", "e2", "paid"], ["e1", "e2"])
    ('e1', 'e2', 'age')
    """
    columns: list[str] = []
    for name in names:
        if not isinstance(name, str) or "*" not in name or name in found:
            columns.append(name)
            continue
        pattern = re.compile(".*".join(map(re.escape, name.split("*"))), re.DOTALL)
        matched = [n for n in others if isinstance(n, str) and pattern.fullmatch(n)]
        columns += [each for each in matched or [name] if each not in columns]
    return tuple(columns)


def _describe_twice(name: str, first: str, second: str) -> str:
    """Returns the message of a column that has two roles, or one twice."""
    if first == second:
        return f"{first} has the column {name!r} twice; expected each column once"
    problem = f"column {name!r} has two roles, {first} and {second}; expected one"
    if second == FEATURES:
        return f"{problem}: features are what is known before the action"
    return problem


def find_unnamed(names: Iterable[str]) -> list[str]:
    """Returns the columns without a name of their own, as pandas calls them.

    >>> find_unnamed(["Unnamed: 0", "age", "__index_level_0__"])
    ['Unnamed: 0', '__index_level_0__']
    """
    texts = dict.fromkeys(name for name in names if isinstance(name, str))
    return [name for name in texts if UNNAMED.fullmatch(name)]


def describe_unnamed(names: Sequence[str]) -> str:
    """Returns the line that says why columns without names are not features."""
    found = ", ".join(map(repr, names))
    return f"columns without a name, such as an index, are not features: {found}"


def check_column_names(table: str, names: Iterable[str], found: Sequence[str]) -> None:
    """Raises ValueError if a table does not have a column, or has several of its name.

    Args:
        table: what messages call it.
        names: of the columns that are needed.
        found: those that it has.
    """
    for name in names:
        count = found.count(name)
        if count > 1:
            raise ValueError(f"{table} has {count} columns {name!r}; expected one")
        if count == 0:
            problem = f"{table} has no column {name!r}; it has {list(found)[:SHOWN]}"
            is_one = len(found) == 1 and any(mark in str(found[0]) for mark in ";\t|")
            problem += "; commas separate columns" if is_one else ""
            problem += "; several names are a list" if "," in str(name) else ""
            raise ValueError(problem)
