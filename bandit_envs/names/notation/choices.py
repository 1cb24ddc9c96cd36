"""Names with parameters, as users write them: `ucb:c=2`."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Container
from typing import Any

from bandit_envs.base.checks import short_repr
from bandit_envs.names.notation.values import to_toml

VALUES = ("true", "false", "inf", "nan")
"""Words that are values of TOML, and no texts."""

LAST_KEY = "_last"
"""Follows the values that a user has written. If it is lost, a brace in them ended the table."""

QUOTED_WORD = re.compile(r'(?<==)"([^\W\d]\w*)"(?=,|$)')
"""A word in quotes that needs none, as it is a value of its own."""

WORD = re.compile(r"""("[^"]*"|'[^']*')|(?<==)[^\W\d][^"'=,{}\[\]]*(?=,|$)""")
"""A string of TOML, which is a group, or a text without quotes, which begins with a letter."""


def parse_toml(text: str) -> dict[str, Any]:
    """Returns what TOML says; Python 3.10 needs a package for it."""
    module = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return dict(module.loads(text))


def parse_choice(what: str, text: str, table: Container[str]) -> tuple[str, dict[str, object]]:
    """Returns the name and the parameters in `name:key=value,key=value`.

    Args:
        what: is named, such as "policy", for messages.
        text: by a user.
        table: of known names; others are those of users' classes, `module:Class`.

    Raises:
        ValueError: the text is not of this form.
    """
    name, _, values = text.partition(":")
    path, _, rest = values.partition(":")
    if name not in table and path and "=" not in path:  # module:Class
        name = f"{name}:{path}"
        values = rest
    try:
        parameters = _parse_values(values)
    except (ValueError, RecursionError) as error:
        expected = 'name:key=value,key=value with values such as 0.1, true, "text" or [1, 2]'
        problem = str(error).partition(" (at")[0]
        if "=" not in values:
            problem = f"{short_repr(values)} has no key"
        raise ValueError(f"{what} is {short_repr(text)}; expected {expected}: {problem}") from error
    return name, parameters


def without_quotes(text: str) -> str:
    """Returns a choice without the quotes that its words do not need.

    >>> without_quotes('constant:number="shoes"')
    'constant:number=shoes'
    """
    return QUOTED_WORD.sub(_bare_word, text)


def _bare_word(match: re.Match[str]) -> str:
    """Returns a word without quotes; what is a value of TOML without them keeps them."""
    return match.group() if match[1] in VALUES else match[1]


def _parse_values(values: str) -> dict[str, object]:
    """Returns the parameters in `key=value,key=value`. A text that is not a value is a string."""
    try:
        table = _parse_table(values)
    except ValueError:
        quoted = WORD.sub(_quote_word, values)
        if quoted == values:
            raise
        table = _parse_table(quoted)
    if LAST_KEY not in table:
        raise ValueError("a brace ends it too early")
    del table[LAST_KEY]
    return table


def _parse_table(values: str) -> dict[str, object]:
    """Returns the table of TOML with some values, and with `LAST_KEY`."""
    separator = ", " if values else ""
    table: dict[str, object] = parse_toml(f"table = {{{values}{separator}{LAST_KEY} = 0}}")["table"]
    return table


def _quote_word(match: re.Match[str]) -> str:
    """Returns a text as a string of TOML; what is a value of TOML stays as it is."""
    text = match.group()
    if match[1]:
        return text
    try:
        parse_toml(f"value = {text}")
    except ValueError:
        return to_toml(text)
    return text
