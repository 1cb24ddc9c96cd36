"""`bandit-envs list`: the ids of environments and policies, and what they stand for."""

import argparse
import contextlib
import inspect
import os
from collections.abc import Iterable
from typing import Any

from bandit_envs.base.checks import short_repr
from bandit_envs.environments.registry import ENVIRONMENTS, EnvironmentEntry, find_environment
from bandit_envs.names.notation import to_toml
from bandit_envs.names.registry import Entry, near_miss
from bandit_envs.names.users_code import look_for_modules_in
from bandit_envs.policies.registry import POLICIES, PolicyEntry


def show_list(options: argparse.Namespace) -> int:
    """Prints all ids, or all about one."""
    print(_describe_all() if options.id is None else _describe(_find(options.id)))
    return 0


def _find(name: str) -> Entry:
    """Returns the entry of an id, or of a user's environment or policy `module:Class`."""
    entry: Entry | None = ENVIRONMENTS.get(name) or POLICIES.get(name)
    if entry is not None:
        return entry
    if ":" in name:
        look_for_modules_in(os.getcwd())
        with contextlib.suppress(ValueError):
            return find_environment(name)
        return PolicyEntry.find(name, POLICIES)
    hint = near_miss(name, [*ENVIRONMENTS, *POLICIES]) or "list shows all ids"
    raise ValueError(f"{short_repr(name)} is not an id; {hint}")


def _describe_all() -> str:
    note = "give a value for ?; parameters after 'Also' have no default and may be left out"
    environments = f"environments, with defaults ({note}):\n{_join_lines(ENVIRONMENTS.values())}"
    return f"{environments}\n\npolicies:\n{_join_lines(POLICIES.values())}"


def _join_lines(entries: Iterable[Entry]) -> str:
    lines = []
    for entry in entries:
        lines.append(f"  {_usage(entry)}")
        lines.append(f"      {entry.summary}{_also(entry)}")
    return "\n".join(lines)


def _describe(entry: Entry) -> str:
    """Returns what a user may give, and the docstrings of a preset and of its class."""
    makers: list[Any] = [entry.make]
    if isinstance(entry, EnvironmentEntry):
        makers.append(entry.environment)
    texts = [_usage(entry), *(str(inspect.getdoc(maker)) for maker in makers)]
    return "\n\n".join(dict.fromkeys(texts))


def _usage(entry: Entry) -> str:
    """Returns an entry as a user may give it, with defaults."""
    values = []
    for name, parameter in entry.parameters().items():
        if parameter.default is inspect.Parameter.empty:
            values.append(f"{name}=?")
        elif parameter.default is not None:
            values.append(f"{name}={to_toml(parameter.default)}")
    text = f"{entry.id}:{','.join(values)}".rstrip(":").replace('"', "'")
    needs_quotes = any(sign in text for sign in "['")  # in a shell
    return f'"{text}"' if needs_quotes else text


def _also(entry: Entry) -> str:
    """Returns a sentence with the parameters that may be left out and have no default."""
    parameters = entry.parameters().items()
    names = [name for name, parameter in parameters if parameter.default is None]
    return f" Also: {', '.join(names)}." if names else ""
