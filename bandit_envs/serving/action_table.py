"""The actions of a service by their names, and which of them may be chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from bandit_envs.arrays import Mask, read_only
from bandit_envs.base.checks import short_repr
from bandit_envs.logged.files.served.decision_tables import ActionRow
from bandit_envs.tables.encoding import LONE_SURROGATE


class ActionTable:
    """The actions at one moment.

    Args:
        rows: the actions, in the order of their numbers.
    """

    def __init__(self, rows: Sequence[ActionRow]) -> None:
        self.names = tuple(row.name for row in rows)
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self.open = read_only(np.array([row.is_open for row in rows], np.bool_))
        """Which actions may be chosen: [K]."""

    @property
    def open_names(self) -> tuple[str, ...]:
        """The names of the actions that may be chosen."""
        return tuple(name for name, is_open in zip(self.names, self.open) if is_open)

    def find(self, name: Any) -> int:
        """Returns the number of an action that may be chosen; ValueError for another one."""
        number = self._numbers.get(check_name(name))
        if number is None:
            raise ValueError(f"action is {name!r}; expected one of {list(self.open_names)}")
        if not self.open[number]:
            raise ValueError(f"action {name!r} is retired; expected one of {list(self.open_names)}")
        return number

    def mask(self, available: Any) -> Mask:
        """Returns which actions may be chosen in a decision: [K].

        Args:
            available: names of actions; None for all that are open.
        """
        if available is None:
            return self.open
        if isinstance(available, (str, bytes)) or not hasattr(available, "__iter__"):
            expected = "a list of names of actions"
            raise TypeError(f"available is {short_repr(available)}; expected {expected}")
        mask = np.zeros(len(self.names), np.bool_)
        for name in available:
            mask[self.find(name)] = True
        if not mask.any():
            raise ValueError("available has no actions; expected at least one")
        return mask


def check_name(name: Any) -> str:
    """Returns the name of an action; TypeError if it is not text, ValueError if it is empty."""
    if not isinstance(name, str):
        raise TypeError(f"action is {short_repr(name)}; expected a name, a str")
    if not name:
        raise ValueError("action is ''; expected a name")
    return check_text("action", name)


def check_all(names: Iterable[Any]) -> tuple[str, ...]:
    """Returns the names of many actions, as `check_name` does for one."""
    found = tuple(names)
    are_texts = {*map(type, found)} == {str} and "" not in found
    if are_texts and not LONE_SURROGATE.search("".join(found)):
        return found  # the common kind
    return tuple(map(check_name, found))


def check_text(what: str, text: str) -> str:
    """Returns a text; ValueError if it has half a character, which no file can keep."""
    if LONE_SURROGATE.search(text):
        raise ValueError(f"{what} is {short_repr(text)}; expected a text that UTF-8 can write")
    return text


def check_id(name: Any) -> str:
    """Returns the id of a decision; TypeError if it is no text, or empty."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"id is {short_repr(name)}; expected a str that is not empty")
    return check_text("id", name)


def check_names(names: Any, num_actions: int) -> tuple[str, ...]:
    """Returns the names of K actions; ValueError if they are too few, too many or not different."""
    if isinstance(names, (str, bytes, Iterator)) or not hasattr(names, "__iter__"):
        raise TypeError(f"actions is {short_repr(names)}; expected a list of names")
    found = check_all(names)
    if len({*found}) < len(found):
        raise ValueError(f"actions is {short_repr(list(found))}; expected names, each once")
    if len(found) != num_actions:
        problem = f"actions has {len(found)} names, and policy {num_actions} actions"
        raise ValueError(f"{problem}; expected as many")
    return found
