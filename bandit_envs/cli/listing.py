"""`bandit-envs list`: the ids of environments and policies, and what they stand for."""

import argparse
import contextlib
import inspect
import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bandit_envs.base.checks import short_repr
from bandit_envs.environments.registry import ENVIRONMENTS, EnvironmentEntry, find_environment
from bandit_envs.names.notation import to_toml
from bandit_envs.names.registry import Entry, near_miss
from bandit_envs.names.users_code import look_for_modules_in
from bandit_envs.policies.registry import POLICIES, PolicyEntry

TABLES: dict[str, Mapping[str, Entry]] = {"environments": ENVIRONMENTS, "policies": POLICIES}

KINDS_OF_MODULES = {
    "slates": "slates",
    "continuous": "numbers",
    "number_policies": "numbers",
    "best_arm": "best_arm",
    "split_tests": "best_arm",
}
"""The kind of entries that are defined in modules of these names; others are arms or contextual."""

WIDTH = 80
"""Columns of the list of all kinds."""

LINES = 2
"""How many lines of ids each kind has at most in the list of all kinds."""

MORE = "bandit-envs list ID says all about one of them, and its parameters."
"""The last line of each list."""


def show_list(options: argparse.Namespace) -> int:
    """Prints the ids of all kinds, those of one, or all about one."""
    what, *kinds = options.what or [""]
    if not what:
        print(_describe_all())
    elif what in TABLES:
        print(_describe_table(what, kinds))
    elif kinds:
        raise ValueError(f"list shows one id at a time; expected no {short_repr(kinds[0])}")
    else:
        print(_describe(_find(what)))
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
    """Returns the first ids of each kind, sorted."""
    texts = []
    for what, table in TABLES.items():
        texts.append(f"{len(table)} {what}; bandit-envs list {what} [KIND] shows more")
        for kind, entries in _by_kind(table).items():
            names = ", ".join(entry.id for entry in entries)
            texts += textwrap.wrap(
                f"{kind} ({len(entries)}): {names}",
                WIDTH,
                initial_indent="  ",
                subsequent_indent="    ",
                max_lines=LINES,
                placeholder=" ...",
            )
    return "\n".join([*texts, "", MORE])


def _describe_table(what: str, kinds: Sequence[str]) -> str:
    """Returns the entries of a table, or those of one of its kinds, sorted.

    Raises:
        ValueError: the table has no such kind, or several are given.
    """
    found = _by_kind(TABLES[what])
    if len(kinds) > 1 or not found.keys() >= set(kinds):
        expected = f"one of {', '.join(found)}"
        raise ValueError(f"kind of {what} is {short_repr(' '.join(kinds))}; expected {expected}")
    chosen = [entry for kind in kinds or found for entry in found[kind]]
    chosen.sort(key=lambda entry: entry.id)
    note = "give a value for ?; parameters after 'Also' have no default and may be left out"
    return f"{what}, with defaults ({note}):\n{_join_lines(chosen)}\n\n{MORE}"


def _join_lines(entries: Iterable[Entry]) -> str:
    """Returns two lines for each entry: what a user may give, and what it is."""
    lines = []
    for entry in entries:
        lines.append(f"  {_usage(entry)}")
        lines.append(f"      {entry.summary}{_also(entry)}")
    return "\n".join(lines)


def _by_kind(table: Mapping[str, Entry]) -> dict[str, list[Entry]]:
    """Returns the entries of each kind, sorted."""
    found: dict[str, list[Entry]] = {}
    for _, entry in sorted(table.items()):
        found.setdefault(_kind_of(entry), []).append(entry)
    return dict(sorted(found.items()))


def _kind_of(entry: Entry) -> str:
    """Returns the kind of an entry: what its actions are, or what it knows of them."""
    made: Any = entry.make
    has_context = False
    if isinstance(entry, EnvironmentEntry):
        made = entry.environment
        has_context = entry.has_context
    elif isinstance(entry, PolicyEntry):
        has_context = entry.context != "ignored"
        if entry.slates:
            return "slates"
    for part in made.__module__.split("."):
        if part in KINDS_OF_MODULES:
            return KINDS_OF_MODULES[part]
    return "contextual" if has_context else "arms"


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
