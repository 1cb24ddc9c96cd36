"""Where a time cuts a log: how many of its rows are before it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.tables.cells import parse_time, seconds_of

DATE = re.compile(r"\d{4}-\d\d-\d\d")
"""How a date begins in a column of texts."""

PART_OF_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")
"""A date, or a month or a year."""

DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h|d|w)")
SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


class TimesOfRows(NamedTuple):
    """The times of some rows of a log."""

    values: Array  # [n], numbers, dates or strings
    place: Callable[[int], str]  # says where the row of an index is


class RowsByTime(NamedTuple):
    """How many rows there are on both sides of a time."""

    before: int
    after: int


def count_rows_by_time(name: str, limit: str, parts: Iterable[TimesOfRows]) -> RowsByTime:
    """Returns how many rows have a time below a limit, and how many others come after them.

    Args:
        name: of the column, in messages.
        limit: a number if the times are numbers, and else as they are written: dates as in
            2024-12-31, and strings as they are sorted.
        parts: of the column, in order.

    Raises:
        ValueError: the limit is not of the kind of the times, or a row below it comes after one
            that is not.
    """
    before = 0
    after = 0
    for values, place in parts:
        if not len(values):
            continue
        is_before = np.asarray(values < _parse_limit(name, limit, values), np.bool_)
        is_late = is_before & (bool(after) | np.logical_or.accumulate(~is_before))
        if is_late.any():
            row = int(is_late.argmax())
            found = (
                f"{name} is {values[row]} in {place(row)}, after rows that are not below {limit}"
            )
            raise ValueError(f"{found}; sort the log by {name}")
        count = int(np.count_nonzero(is_before))
        before += count
        after += len(values) - count
    return RowsByTime(before, after)


def name_row_of(source: str, first_row: int, row: int) -> str:
    """Says where a row is in a log.

    Args:
        source: names the log.
        first_row: the number of the first row of its batch.
        row: its number in the batch.
    """
    return f"row {first_row + row} of {source}"


def parse_duration(name: str, text: str) -> float:
    """Returns a duration, such as 14d, in seconds.

    Args:
        name: of the argument, in messages.
        text: a number of s, min, h, d or w.

    >>> parse_duration("window", "14d") / 86400
    14.0
    """
    found = DURATION.fullmatch(text) if isinstance(text, str) else None
    if found is None or not float(found[1]):
        raise ValueError(f"{name} is {text!r}; expected a number of {', '.join(SECONDS)}, as 14d")
    return float(found[1]) * SECONDS[found[2]]


def parse_seconds(name: str, text: str) -> float:
    """Returns a date or a time, such as 2024-12-31, in seconds since 1970-01-01 00:00.

    Args:
        name: of the argument, in messages.
        text: as in 2024-12-31 or 2024-12-31 23:59.

    >>> parse_seconds("until", "1970-01-02")
    86400.0
    """
    time = parse_time(text)
    if time is None:
        raise ValueError(f"{name} is {text!r}; expected a date or a time, as in 2024-12-31 23:59")
    return float(seconds_of(time))


def write_seconds(seconds: float) -> str:
    """Returns a time in seconds since 1970-01-01 00:00 as a text, to the minute.

    >>> write_seconds(86400.0)
    '1970-01-02 00:00'
    """
    return str(np.datetime64(int(seconds), "s").astype("M8[m]")).replace("T", " ")


def _parse_limit(name: str, limit: str, values: Array) -> Any:
    """Returns a limit that can be compared with times; ValueError if it is of another kind."""
    kind = values.dtype.kind
    first = values[0]
    try:
        if kind in "iuf":
            return _parse_number(limit)
        if kind == "M":
            return np.datetime64(limit)
        if isinstance(first, datetime.datetime):
            found = type(first).fromisoformat(limit)
            return found if found.tzinfo else found.replace(tzinfo=first.tzinfo)
        if isinstance(first, datetime.date):
            return datetime.date.fromisoformat(limit)
    except ValueError as error:
        problem = f"{name} is {first} in the first row, and cannot be compared with {limit!r}"
        raise ValueError(problem) from error
    if isinstance(first, str):
        if DATE.match(first) and not _is_written_as(limit, first):
            raise ValueError(
                f"{name} is '{first}' in the first row; write {limit!r} in the same way"
            )
        return limit
    raise ValueError(f"{name} is {first!r} in the first row; expected a number, a date or text")


def _is_written_as(limit: str, date: str) -> bool:
    """Whether a limit sorts among dates that are written as another one.

    It may be shorter, such as a month. Behind the day, it has the same letter before the hour.
    """
    if not PART_OF_DATE.fullmatch(limit[:10]):
        return False
    separator = limit[10:11]
    return not (separator and date[10:11]) or separator == date[10:11]


def _parse_number(text: str) -> int | float:
    """Returns an integer exactly: nanoseconds of a date have more digits than a float."""
    try:
        return int(text)
    except ValueError:
        return float(text)
