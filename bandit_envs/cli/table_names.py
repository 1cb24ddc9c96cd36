"""The options and texts that name the files of a table, its columns and its probabilities."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bandit_envs.cli.help import Parser
from bandit_envs.cli.options import StoreOnce, add_column, split_names
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


def add_log(parser: Parser, train: str) -> None:
    """Adds the options of logs.

    Args:
        parser: of the subcommand.
        train: says more of --train.
    """
    text = (
        "a log that `run --record` or `write_log` wrote, a CSV or Parquet file, one of Vowpal "
        "Wabbit's .dsjson, or the .sqlite file of a DecisionService; or a folder of such files, "
        'also in folders inside it such as day=2; or a pattern of them, as "clicks/*.csv"'
    )
    parser.add_argument("log", type=Path, metavar="LOG", help=text)
    text = (
        "the share of the rows, from the first, that policies learn from, or those below a value, "
        f"which come first, such as day=2024-12-31; {train} (default: 0.5)"
    )
    parser.group("what policies learn from").add_argument(
        "--train", metavar="F|COLUMN=VALUE", help=text
    )
    text = ": numbers from 0, names or prices; several of slates (default: action)"
    add_column(parser, "action", text, default=ROLES["action"].default)
    text = "; several of slates (default: reward)"
    add_column(parser, "reward", text, default=ROLES["reward"].default)
    text = (
        f"column of propensities, or one number for all rows; or {ESTIMATE} or {ESTIMATE}:MODEL, "
        "by a logistic regression or a classifier of scikit-learn (default: propensity)"
    )
    parser.add_argument("--propensity", action="append", metavar="COLUMN|P", help=text)
    text = 'columns of features in your table (default: all others; "" for none)'
    parser.add_argument("--features", action=StoreOnce, metavar="A,B,C", help=text)
    text = ", such as user: intervals are by units"
    add_column(parser.group("the log"), "unit", text, action=StoreOnce)
    text = (
        "table of rewards, such as conversions: it has the columns of --decision and --reward, and "
        "the sum for a decision counts, 0 without any"
    )
    parser.group("the log").add_argument("--rewards", type=Path, metavar="FILE", help=text)
    text = (
        "how long after its decision one of --rewards counts, such as time:14d, with the column of "
        "times in both tables; younger decisions are left out. time:14d:2024-05-10 says when "
        "--rewards was exported (default: the newest time in both tables)"
    )
    parser.group("the log").add_argument("--window", metavar="COLUMN:14d", help=text)
    add_missing(parser, "the log")
    text = (
        "actions in your table, if they are numbers (default: the largest plus 1); 0 if they are "
        "real numbers, though whole"
    )
    parser.group("the log").add_argument("--num-actions", type=int, metavar="K", help=text)
    add_available(parser, "the log")
    more = parser.group("actions that are items with features")
    text = (
        ", if your table has one row for each candidate or slot of a decision, or if --rewards has "
        "the same ids"
    )
    add_column(more, "decision", text)
    add_column(more, "item", "; there is no --action then")
    text = ", and 0 for others (default: chosen)"
    add_column(more, "chosen", text, default=ROLES["chosen"].default)
    text = (
        "columns of features of the items (default: those that differ within a decision, or that "
        "have lists)"
    )
    more.add_argument("--item-features", action=StoreOnce, metavar="A,B,C", help=text)


def add_slates(parser: Parser) -> None:
    """Adds the option of logs whose actions are slates."""
    text = (
        ", if there is a row for each slot; then --decision says which rows are of one slate. Of "
        "slates, --propensity may also be "
        f"{OF_SLOTS}A,B, with which probabilities slots show their items, or {OF_PREFIXES}A,B, "
        "those of the items down to each slot, or both in turn"
    )
    add_column(parser.group("actions that are slates"), "slot", text)


def add_available(parser: Parser, group: str) -> None:
    """Adds the option of the actions that are available in each row."""
    add_column(parser.group(group), "available", ', as ["A", "B"] (default: all are)')


def add_missing(parser: Parser, group: str) -> None:
    """Adds the option of which rows of a table are read."""
    text = "leave out the rows of your table that miss values (default: an error)"
    parser.group(group).add_argument("--drop-missing", action="store_true", help=text)
