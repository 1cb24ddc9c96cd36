"""What cells of tables say: numbers, times and names. Errors of columns name the first bad cell."""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats
from bandit_envs.base.extras import import_extra
from bandit_envs.tables.errors import check_cells, check_column

if TYPE_CHECKING:
    from pandas import DataFrame

LARGEST = 2.0**63
"""What integers of 64 bits are below."""

LARGEST_FLOAT = 2.0**53
"""What whole numbers are below that a float tells apart."""

PLAIN = (str, numbers.Real, decimal.Decimal, np.bool_, datetime.date, np.datetime64)
"""The types of cells that are read. Cells of other types would become texts by accident."""

PLAIN_KINDS = "biufMUT"
"""The kinds of dtypes whose cells all have such types."""

NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?|nan", re.IGNORECASE
)
TRUTHS = {"true": 1, "false": 0}
TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?)"
    r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
)

PLAIN_TIME = "0000-00-00 00:00:00"
"""How most times are written, with any digits in place of 0."""

DATE_WIDTH = 10
PLAIN_WIDTH = len(PLAIN_TIME)
WIDTHS = (DATE_WIDTH, 16, PLAIN_WIDTH)
"""After how many characters of it a date or a time may end."""


def parse_number(value: Any) -> int | float | None:
    """Returns the number of a cell of a table, or the one that its text says; None if it has none.

    Booleans are 1 and 0, as pandas reads a column of them. Texts are as pandas reads columns of
    numbers: 1_000 is not a number, and neither are digits other than 0 to 9.

    >>> [parse_number(cell) for cell in (True, " 2.5", "1_0", "red")]
    [1, 2.5, None, None]
    """
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            return int(text)
        return float(text) if NUMBER.fullmatch(text) else TRUTHS.get(text.lower())
    if isinstance(value, (numbers.Integral, np.bool_)):
        return int(value)
    is_number = isinstance(value, numbers.Number) and not isinstance(value, numbers.Complex)
    if not is_number and not isinstance(value, numbers.Real):
        return None
    try:
        return float(value)
    except (OverflowError, ValueError):  # such as a large fraction, and Decimal("sNaN")
        return math.nan


def parse_time(value: Any) -> np.datetime64 | None:
    """Returns the time of a cell, as a clock showed it there; None if it has none.

    Texts are as in 2024-12-31, 2024-12-31 23:59 or 2024-12-31T23:59:30.5+01:00.

    >>> parse_time("2024-12-31 23:59+01:00")
    np.datetime64('2024-12-31T23:59:00.000000')
    """
    try:
        if isinstance(value, str):
            match = TIME.fullmatch(value.strip())
            return np.datetime64(match[1], "us") if match else None
        if isinstance(value, datetime.datetime):
            return np.datetime64(value.replace(tzinfo=None).isoformat(), "us")
        if isinstance(value, datetime.date):
            return np.datetime64(value.isoformat(), "us")
        if isinstance(value, np.datetime64):
            time: np.datetime64 = value.astype("M8[us]")
            return time
    except ValueError:  # such as of February 30
        pass
    return None


def as_numbers(cells: Array) -> Floats:
    """Returns the numbers of cells, or of their texts; NaN where a cell has no number."""
    if cells.dtype.kind in "biuf":
        return np.asarray(cells, np.float64)
    parsed = [parse_number(cell) for cell in cells.tolist()]
    return np.array([np.nan if number is None else number for number in parsed], np.float64)


def as_times(cells: Array) -> NDArray[np.datetime64]:
    """Returns the times of cells in microseconds; NaT where a cell has none."""
    if cells.dtype.kind == "M":
        return np.asarray(cells.astype("M8[us]"))
    objects = cells.tolist()
    different = list(dict.fromkeys(objects))
    times = _parse_plain_times(different)
    if times is None:
        times = np.array([parse_time(cell) for cell in different], "M8[us]")  # NaT for None
    if len(different) == len(objects):
        return times
    places = dict(zip(different, range(len(different))))
    return times[np.fromiter(map(places.__getitem__, objects), np.intp, len(objects))]


def find_zones(cells: Array) -> set[str]:
    """Returns the zones in which times of day are written, such as +0100; "" for no zone.

    >>> sorted(find_zones(np.array(["2024-12-31", "2024-12-31 23:59", "2024-12-31 23:59Z"])))
    ['', '+0000']
    """
    if cells.dtype.kind not in "OU":
        return {""} if cells.dtype.kind == "M" else set()
    found = map(_zone_of, dict.fromkeys(cells.tolist()))
    return {zone for zone in found if zone is not None}


def _zone_of(cell: Any) -> str | None:
    """Returns the zone in which a time is written; None for a date, and for what is no time."""
    if isinstance(cell, datetime.datetime):
        return f"{cell:%z}"
    if not isinstance(cell, str):
        return None
    if cell[PLAIN_WIDTH - 3 : PLAIN_WIDTH - 2] == ":" and len(cell) == PLAIN_WIDTH:
        return ""  # as most are, and without a regular expression
    match = TIME.fullmatch(cell.strip())
    if match is None or match[2] is None:
        return None
    zone = (match[5] or "").replace("Z", "+0000").replace(":", "")
    return zone.ljust(5, "0") if zone else ""


def _parse_plain_times(cells: Sequence[Any]) -> NDArray[np.datetime64] | None:
    """Returns the times of cells that are all written alike, as 2024-12-31 23:59:30.

    It is what `parse_time` does, in a third of the time. None if some are written in another way.
    """
    if not all(type(cell) is str for cell in cells):
        return None
    lengths = set(map(len, cells))
    length = max(lengths, default=0)
    if len(lengths) != 1 or length not in WIDTHS:
        return None
    texts = np.array(cells, np.str_)
    codes = texts.view(np.uint32).reshape(len(cells), length)
    pattern = np.frombuffer(PLAIN_TIME[:length].encode(), np.uint8)
    is_digit = (codes >= ord("0")) & (codes <= ord("9"))
    is_good = np.where(pattern == ord("0"), is_digit, codes == pattern)
    is_good[:, DATE_WIDTH:][:, :1] |= codes[:, DATE_WIDTH:][:, :1] == ord("T")
    try:
        return texts.astype("M8[us]") if is_good.all() else None
    except ValueError:  # such as of February 30
        return None


def find_places(names: Sequence[str], cells: Array) -> NDArray[np.int64]:
    """Returns the places of cells [n] among names: [n]; -1 where a cell is not a name."""
    places = {name: place for place, name in enumerate(names)}
    texts = as_objects(cells)
    found = {cell: places.get(str(cell), -1) for cell in dict.fromkeys(texts)}
    return np.fromiter(map(found.__getitem__, texts), np.int64, len(texts))


def as_objects(cells: Array) -> list[Any]:
    """Returns cells as Python's objects; times as texts, which pandas keeps as numbers."""
    objects: list[Any] = (cells.astype(np.str_) if cells.dtype.kind == "M" else cells).tolist()
    return objects


def cells_of(frame: DataFrame, name: str) -> Array:
    """Returns the cells of a column: [n].

    Raises:
        ValueError: a cell is not a number, a text, a date or a time, but, for example, a duration,
            a period, or bytes. It would become a text, or a number that depends on its unit.
    """
    cells: Array = frame[name].to_numpy()
    if cells.dtype.kind in PLAIN_KINDS:
        return cells
    if cells.dtype.kind == "O":
        are_plain = {kind: issubclass(kind, PLAIN) for kind in {*map(type, cells.tolist())}}
        if all(are_plain.values()):
            return cells
        is_plain = np.array([are_plain[type(cell)] for cell in cells.tolist()], np.bool_)
    else:
        is_plain = np.zeros(len(cells), np.bool_)
    is_good = is_plain | frame[name].isna().to_numpy(np.bool_)
    expected = "a number, a text, a date or a time: convert the column first"
    check_column(frame, name, is_good, expected)
    return cells


def check_kinds(frame: DataFrame) -> None:
    """Raises ValueError for a cell of a data frame that `cells_of` refuses."""
    for name in frame:
        cells_of(frame, name)


def read_integers(frame: DataFrame, name: str) -> Array:
    """Returns the actions or categories in a column, which must be whole numbers.

    Booleans are 1 and 0; texts may have numbers.
    """
    cells = cells_of(frame, name)
    if cells.dtype.kind in "iu":
        return np.asarray(cells)
    numbers = as_numbers(cells)
    is_whole = (np.floor(numbers) == numbers) & (np.abs(numbers) < LARGEST)
    expected = "an integer"
    if not is_whole.all() and np.isfinite(numbers[is_whole.argmin()]):
        expected += "; num_actions=0 reads real numbers such as prices"
    check_column(frame, name, is_whole, expected)
    return numbers.astype(np.int64)


def read_categories(frame: DataFrame, names: Sequence[str]) -> Array | None:
    """Returns the categories [n, D] in some columns, integers from 0; None without columns."""
    if not names:
        return None
    columns = []
    for name in names:
        categories = read_integers(frame, name)
        check_column(frame, name, categories >= 0, "an integer from 0")
        columns.append(categories)
    return np.stack(columns, axis=1)


def count_fractions(cells: Array) -> int:
    """Returns how many cells are finite numbers that are not whole."""
    numbers = as_numbers(cells)
    return int(np.count_nonzero(np.isfinite(numbers) & (np.floor(numbers) != numbers)))


def read_numbers(frame: DataFrame, name: str) -> Floats:
    """Returns the numbers in a column; ValueError names the first value that is not a number.

    Booleans are 1 and 0; texts may have numbers.
    """
    cells = cells_of(frame, name)
    numbers = as_numbers(cells)
    if cells.dtype.kind not in "biuf":
        check_column(frame, name, ~np.isnan(numbers), "a number")
    return numbers


def read_reals(frame: DataFrame, name: str) -> Floats:
    """Returns the numbers in a column; ValueError names the first cell without a finite one."""
    numbers = read_numbers(frame, name)
    check_column(frame, name, np.isfinite(numbers), "a finite number")
    return numbers


def read_seconds(frame: DataFrame, name: str) -> Floats:
    """Returns the dates or times in a column, in seconds since 1970-01-01 00:00: [n]."""
    cells = cells_of(frame, name)
    is_number = cells.dtype.kind in "biuf"
    times = np.full(len(cells), "NaT", "M8[us]") if is_number else as_times(cells)
    check_column(frame, name, ~np.isnat(times), "a date or a time, as in 2024-12-31 23:59")
    return np.asarray(times.astype(np.int64) / 1e6)


def read_names(frame: DataFrame, name: str, names: Sequence[str]) -> Array:
    """Returns the numbers of the actions whose names a column has."""
    places = find_places(names, cells_of(frame, name))
    check_column(frame, name, places >= 0, "the name of an action that was found before")
    return places


def to_numbers(frame: DataFrame) -> NDArray[np.float64]:
    """Returns the cells of a data frame, which must be finite numbers."""
    pandas = import_extra("pandas", "datasets")
    check_kinds(frame)
    columns = [pandas.to_numeric(frame[name], errors="coerce") for name in frame]
    numbers = np.column_stack(columns).astype(np.float64)
    check_cells(frame, np.isfinite(numbers), "a number")
    return numbers


def to_costs(frame: DataFrame) -> Floats:
    """Returns the cells of a data frame, which must be numbers that are at least 0."""
    costs = to_numbers(frame)
    check_cells(frame, costs >= 0.0, "a cost of at least 0")
    return costs


def to_texts(frame: DataFrame) -> NDArray[np.object_]:
    """Returns the cells of a data frame as texts without spaces around them; none may be empty."""
    check_kinds(frame)
    columns = [frame[name].astype(str).str.strip() for name in frame]
    texts = np.column_stack(columns).astype(object)
    check_cells(frame, texts != "", "a value")
    return texts
