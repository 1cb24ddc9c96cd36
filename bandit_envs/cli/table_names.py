"""How users name the files of a table, and the probabilities in it."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bandit_envs.cli.options import split_names
from bandit_envs.tables.roles import ROLES

PROPENSITY = str(ROLES["propensity"].default)
"""The column of propensities, if no option names another column."""

ESTIMATE = "estimate"
"""What --propensity says of a table without propensities."""

OF_SLOTS = "slot:"
"""Begins the columns of the probabilities that slots show their items."""

OF_PREFIXES = "prefix:"
"""Begins the columns of the probabilities of the items down to each slot."""

LOGISTIC = "logistic"
"""The model of propensities that is not one of scikit-learn."""


class NamedPropensities(NamedTuple):
    """What --propensity names; None or () for what it does not name."""

    column: str | None
    """A column, a number, or a column for each of several loggers."""

    model: str | None = None
    """A classifier that estimates what the table lacks."""

    slots: Sequence[str] = ()
    """Columns of the probabilities that slots show their items."""

    prefixes: Sequence[str] = ()
    """Columns of the probabilities of the items down to each slot."""

    @property
    def is_of_slates(self) -> bool:
        """Whether these are probabilities of slots or of prefixes."""
        return bool(self.slots or self.prefixes)


def read_propensity(options: argparse.Namespace) -> NamedPropensities:
    """Returns what --propensity names.

    Raises:
        ValueError: it names two columns, numbers or models.
    """
    given: list[str] = options.propensity or [PROPENSITY]
    slots: Sequence[str] = ()
    prefixes: Sequence[str] = ()
    others = []
    for text in given:
        if text.startswith(OF_SLOTS):
            slots = split_names(text.removeprefix(OF_SLOTS))
        elif text.startswith(OF_PREFIXES):
            prefixes = split_names(text.removeprefix(OF_PREFIXES))
        else:
            others.append(text)
    if len(others) > 1:
        problem = f"--propensity names {' and '.join(others)}"
        raise ValueError(f"{problem}; expected one of them, or {OF_SLOTS}A,B or {OF_PREFIXES}A,B")
    if not others:
        return NamedPropensities(None, None, slots, prefixes)
    (text,) = others
    kind, colon, model = text.partition(":")
    if kind != ESTIMATE or (colon and not model):
        return NamedPropensities(text, None, slots, prefixes)
    return NamedPropensities(None, model or LOGISTIC, slots, prefixes)


def split_pattern(path: Path) -> tuple[Path, str | None]:
    """Returns a file or folder, and the pattern of the files in it that a path ends with.

    >>> split_pattern(Path("clicks/day=?/*.csv"))[1]
    'day=?/*.csv'
    >>> split_pattern(Path("clicks"))[1] is None
    True
    """
    if path.exists():
        return path, None
    for number, part in enumerate(path.parts):
        if set(part) & set("*?["):
            return Path(*path.parts[:number]), "/".join(path.parts[number:])
    return path, None
