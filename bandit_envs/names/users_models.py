"""Models of users, such as estimators and networks, by `module:name`."""

from __future__ import annotations

import os
from typing import Any

from bandit_envs.names.registry import Entry, EntryType
from bandit_envs.names.users_code import look_for_modules_in


class ModelEntry(Entry):
    """A class of models, or a function that makes one."""

    what = "model"
    kinds = (object,)

    @classmethod
    def of_users(cls: type[EntryType], name: str, found: Any) -> EntryType:
        """Returns the entry of what a user's `module:name` is, or raises TypeError."""
        if not callable(found):
            raise TypeError("it is neither a class nor a function")
        return cls(id=name, title=name, make=found)


def find_users(kind: type[EntryType], name: str) -> EntryType:
    """Returns the entry of a user's `module:name`. The module may be in the current folder.

    Raises:
        ValueError: there is no such module, class or function.
    """
    look_for_modules_in(os.getcwd())
    return kind.find(name, {})
