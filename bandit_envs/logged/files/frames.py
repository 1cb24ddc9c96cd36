"""Logs as pandas data frames."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from bandit_envs.base.checks import check_integer
from bandit_envs.base.extras import import_extra
from bandit_envs.datasets.encoding import TableEncoding
from bandit_envs.datasets.tables import describe_unnamed
from bandit_envs.logged.columns import BadValueError
from bandit_envs.logged.files.cells import (
    bad_value,
    read_embedding,
    read_features,
    read_integers,
    read_names,
    read_numbers,
    read_reals,
)
from bandit_envs.logged.files.encoding_search import (
    Propensity,
    TableColumns,
    check_smallest_action,
    search_cells,
    separate_loggers,
)
from bandit_envs.logged.files.missing import MissingValues
from bandit_envs.logged.files.tables import TableLayout, check_layout, join_frame, split_log
from bandit_envs.logged.log import BanditLog

KEY = "bandit_envs.log"
"""Where frames and files keep the layout of a log."""


def to_frame(log: BanditLog) -> Any:
    """Returns a log as a pandas DataFrame, which `from_frame` reads."""
    pandas = import_extra("pandas", "logged")
    layout, columns = split_log(log)
    frame = pandas.DataFrame(columns)
    frame.attrs[KEY] = layout
    return frame


def from_frame(
    frame: Any,
    action: str = "action",
    reward: str = "reward",
    propensity: Propensity = "propensity",
    *,
    features: str | Sequence[str] | None = None,
    num_actions: int | None = None,
    embedding: str | Sequence[str] = (),
    drop_missing: bool = False,
    logger: str | None = None,
) -> BanditLog:
    """Returns the log in a pandas DataFrame, which has one row a decision.

    Columns of numbers are features as they are. Those of texts become a feature for each text, and
    those of dates and times become five. `log.encoding` says what became of which column.

    Args:
        frame: the table; `to_frame` may have made it.
        action: the column of the actions: integers from 0, or names, which are numbered in sorted
            order.
        reward: the column of the rewards.
        propensity: the column of the probabilities with which the actions were chosen; None if they
            are not known. With `logger`, a dict: for each logging policy, by its name, the column
            of the probabilities with which it takes the logged actions, its own and those of the
            others.
        features: the columns of the observation [n, d]; None for all that have a name, and no other
            role.
        num_actions: by default, the largest action plus 1, or the number of names; or 0, if some
            actions are numbers that are not whole. 0 says that actions are real numbers, such as
            prices or doses, and propensities their densities.
        embedding: the columns of the categories of the action, integers from 0, if there are any.
        drop_missing: whether to drop rows with missing values. By default, they raise a ValueError
            that counts them.
        logger: the column that says which of several logging policies a row is of. Propensities are
            then those of their mixture, as by `balance_loggers`.

    Raises:
        ValueError: a column is missing, or has a value that cannot be; missing values are counted
            by column.

    Warns:
        UserWarning: a column without a name is not a feature, or a column of dates in another form
            is read as texts.
    """
    if features is None and logger is None and KEY in frame.attrs:
        layout: TableLayout = check_layout(frame.attrs[KEY]).copy()
        layout["rows"] = len(frame)  # some may have been filtered
        return join_frame(layout, frame)
    single, loggers = separate_loggers(logger, propensity)
    columns = TableColumns.of_roles(
        [action, reward, single], features, list(frame), embedding=embedding, loggers=loggers
    )
    check_column_names("frame", columns.used(), list(frame))
    if columns.unnamed:
        warnings.warn(describe_unnamed(columns.unnamed), stacklevel=2)
    if num_actions is not None:
        check_integer("num_actions", num_actions, minimum=0)
    if not drop_missing:
        MissingValues.from_frame(frame, columns.used()).check_none()
    encoded = columns.encoded(num_actions)
    found = search_cells(frame, columns, encoded, texts=())
    half_read = found.find_half_read(columns)
    if half_read:
        found = search_cells(frame, columns, encoded, half_read)
    encoding = found.encoding(columns)
    for problem in encoding.find_other_dates():
        warnings.warn(problem, stacklevel=2)
    check_named_actions(num_actions, encoding)
    if num_actions is None and found.are_real(columns):
        num_actions = 0
    if num_actions is None and not encoding.actions:
        check_smallest_action(action, found.smallest)
    complete = frame.dropna(subset=columns.used()) if drop_missing else frame
    return encode_frame(complete, columns.with_rows(found.loggers), encoding, num_actions)


def encode_frame(
    frame: Any, columns: TableColumns, encoding: TableEncoding, num_actions: int | None
) -> BanditLog:
    """Returns the log in a data frame that misses no value.

    Args:
        frame: the table, or a part of it.
        columns: which of its columns are those of a log.
        encoding: of the whole table.
        num_actions: of actions that are integers; None for the largest plus 1; 0 of real numbers.

    Raises:
        ValueError: a value cannot be.
    """
    if encoding.actions:
        actions = read_names(frame, columns.action, encoding.actions)
        num_actions = len(encoding.actions)
    elif num_actions == 0:
        actions = read_reals(frame, columns.action)
    else:
        actions = read_integers(frame, columns.action)
    propensity = None
    if columns.propensity is not None:
        propensity = read_numbers(frame, columns.propensity)
    elif columns.loggers is not None:
        propensity = columns.loggers.mix(frame)
    try:
        return BanditLog(
            observation=read_features(frame, encoding),
            action=actions,
            reward=read_numbers(frame, columns.reward),
            propensity=propensity,  # type: ignore[arg-type]  # None if it is not known
            num_actions=num_actions,  # type: ignore[arg-type]  # None is the default
            embedding=read_embedding(frame, columns.embedding),
            encoding=encoding,
        )
    except BadValueError as error:
        column = getattr(columns, error.name)
        raise bad_value(frame, column, error.row, error.expected) from error


def check_named_actions(num_actions: int | None, encoding: TableEncoding) -> None:
    """Raises ValueError if another number of actions is given than there are names of them."""
    if encoding.actions and num_actions not in (None, len(encoding.actions)):
        found = f"num_actions is {num_actions}, and the table names {len(encoding.actions)}"
        raise ValueError(f"{found}; log.add_actions(names) adds those that no row has")


def check_column_names(table: str, names: Sequence[str], found: Sequence[str]) -> None:
    """Raises ValueError if a table does not have a column, or has several of its name."""
    for name in names:
        count = found.count(name)
        if count == 0:
            problem = f"{table} has no column {name!r}; it has {list(found)[:20]}"
            is_one = len(found) == 1 and any(mark in str(found[0]) for mark in ";\t|")
            raise ValueError(problem + ("; commas separate columns" if is_one else ""))
        if count > 1:
            raise ValueError(f"{table} has {count} columns {name!r}; expected one")
