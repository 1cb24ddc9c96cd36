"""Tests of variants from tables, with a row for each user."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Mask
from bandit_envs.base.checks import as_list, check_confidence, short_repr
from bandit_envs.names.visible import visible
from bandit_envs.policies.split_tests.day_notes import (
    name_date,
    note_missing_days,
    note_repeated_days,
)
from bandit_envs.policies.split_tests.split_looks import report_of
from bandit_envs.policies.split_tests.split_report import SplitReport
from bandit_envs.policies.split_tests.split_rule import SplitRule
from bandit_envs.policies.split_tests.split_sums import SplitSums, Stratum
from bandit_envs.tables.cells import (
    as_numbers,
    as_objects,
    as_times,
    cells_of,
    find_places,
    find_zones,
    parse_number,
    parse_time,
    read_reals,
)
from bandit_envs.tables.errors import check_column, name_row, name_some
from bandit_envs.tables.roles import Roles, check_column_names
from bandit_envs.tables.whole_table import AnyTable, table_in_memory

if TYPE_CHECKING:
    from pandas import DataFrame

DAY = 24 * 60 * 60 * 1_000_000
"""In microseconds, as times are counted."""

CHANCE = 1e-5
"""A variant without rows somewhere was not open there if chance explains it so rarely."""

WHOLE = "all rows"
"""The one period of a table without times."""

Times = Mapping[str, Any]
"""A time of each of some variants."""


def compare_variants(
    table: AnyTable,
    *,
    variant: str = "variant",
    reward: str | Sequence[str] = "reward",
    time: str | None = None,
    period: str | None = None,
    opened: str | Times | None = None,
    closed: str | Times | None = None,
    shares: Mapping[str, float] | None = None,
    delta: float = 0.05,
    tolerance: float = 0.0,
    threshold: str = "practical",
    planned: int | None = None,
    closes_by_results: bool = False,
    control: str | None = None,
    confidence: float = 0.95,
) -> SplitReport:
    """Returns who won a test of variants, when and by how much, from a row for each user.

    Users must be split at random among the open variants, in shares that stay the same within a
    day. The test is looked at at the end of each day. It compares users of the same day, and of the
    same part of it if a variant opens or closes meanwhile.

    Args:
        table: a data frame, or the path of a CSV or Parquet file, or of a folder of such files.
        variant: the column of the variant that a user saw.
        reward: the column of what the user did, a number; or several columns. The first one decides
            the test. The others are shown with the same intervals, and decide nothing.
        time: the column of when the variant was chosen: times, dates, or numbers, of which each
            integer starts a day. None if all variants were open all the time.
        period: a column of parts of the day, such as "evening", if a variant is open in some of
            them alone, or shares differ.
        opened: when variants opened: a dict, or a column; None for the first row of each. Give it
            if a variant opened in the middle of a day, and times are dates.
        closed: when variants were closed; None for the last row of those with many rows after it,
            so that chance is not why.
        shares: of the variants, for the check of the split and for proven bounds; None if equal.
        delta: the largest probability of a wrong answer.
        tolerance: by how much the answer may be worse than the best variant.
        threshold: "practical" or "proven", as in `SplitTestPolicy`.
        planned: how many variants there will be at most; None if unknown.
        closes_by_results: whether variants were closed because of what the test has shown.
        control: the variant that the others are compared with; None if all are with all.
        confidence: the probability with which the intervals of a reward's differences hold at once,
            whenever you look.

    Raises:
        ValueError: the table cannot be read, or a cell does not fit; the message has its line.

    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> seen = rng.choice(["red", "blue"], 4000)
    >>> bought = rng.random(4000) < np.where(seen == "red", 0.1, 0.2)
    >>> users = pd.DataFrame({"variant": seen, "reward": bought, "day": np.arange(4000) // 500})
    >>> report = compare_variants(users, time="day")
    >>> report.winner, report.stopped_at
    ('blue', '1')
    """
    check_confidence(confidence)
    rule = SplitRule(delta, tolerance, threshold, planned, closes_by_results)
    metrics = as_list(reward)
    roles = Roles.of((), variant=variant, reward=metrics, time=time, period=period)
    with table_in_memory(table, "logged") as frame:
        ends = [each for each in (opened, closed) if isinstance(each, str)]
        check_column_names("the table", [*roles.names(), *ends], list(frame))
        if not len(frame):
            raise ValueError("there are no rows; expected one for each user")
        users = _read_users(frame, variant, metrics, time, period)
        if planned is not None and planned < len(users.names):
            expected = f"expected at least {len(users.names)}, as many as column {variant!r} has"
            raise ValueError(f"planned is {planned}; {expected}")
        if threshold == "proven":
            fits = (users.rewards[0] >= 0.0) & (users.rewards[0] <= 1.0)
            check_column(frame, metrics[0], fits, "a number from 0 to 1, as threshold is proven")
        given = Windows(
            low=_read_ends(frame, "opened", opened, users, variant),
            high=_read_ends(frame, "closed", closed, users, variant),
        )
        _check_inside(frame, users, given)
        notes: list[str] = []
        if users.are_dates:
            notes += note_missing_days(users.days)
            notes += note_repeated_days(frame[roles.names()], users.days)
    place = None if control is None else _find(control, users.names, "control")
    sums = SplitSums(rule, users.names, metrics, _find_shares(shares, users.names))
    windows, assumed = _fill(users, given, sums.shares)
    notes += assumed
    for stratum, is_open, rows in _strata(users, windows, sums.shares):
        sums.add(stratum, is_open, users.actions[rows], users.rewards[:, rows])
    report = report_of(sums, confidence, place)
    notes += _note_days(users, windows, given)
    if report.is_split_wrong and time is None:
        notes.append("Without times, all variants count as open for all users.")
    return dataclasses.replace(report, notes=(*report.notes, *notes))


def _note_days(users: Users, windows: Windows, given: Windows) -> Iterator[str]:
    """Yields what is assumed of variants that came or went on some day, if times are days alone.

    Args:
        users: of the test.
        windows: when variants opened and closed.
        given: those ends that somebody has said.
    """
    if (users.times % users.day_length).any():
        return
    joined = np.isnan(given.low) & (windows.low > users.times.min())
    left = np.isnan(given.high) & np.isfinite(windows.high)
    for verb, ends, are_noted in (("joined", windows.low, joined), ("left", windows.high, left)):
        for place in np.flatnonzero(are_noted):
            name = visible(users.names[place])
            day = _name_day(int(ends[place] // users.day_length), users)
            problem = f"{name} {verb} on {day}: times are days alone"
            yield f"{problem}. If it was in the middle of the day, leave out its rows of that day."


class Users(NamedTuple):
    """What a table says of its n users."""

    names: list[str]  # of the variants
    actions: Indices  # [n]
    rewards: Floats  # [R, n]
    times: Array  # [n], microseconds, or numbers of days
    are_dates: bool
    has_times: bool
    parts: Array  # names of parts of days, [n]

    @property
    def day_length(self) -> float:
        """How long a day is."""
        return DAY if self.are_dates else 1.0

    @property
    def days(self) -> Indices:
        """The numbers of their days: [n]."""
        return np.floor(self.times / self.day_length).astype(np.int64)


class Windows(NamedTuple):
    """When variants opened and closed, NaN where nobody has said so: [K] each."""

    low: Floats
    high: Floats


def _read_users(
    frame: DataFrame, variant: str, metrics: Sequence[str], time: str | None, period: str | None
) -> Users:
    """Returns what a table says of its users."""
    cells = cells_of(frame, variant)
    check_column(frame, variant, ~frame[variant].isna().to_numpy(np.bool_), "the name of a variant")
    names = sorted({str(each) for each in as_objects(cells)})
    if len(names) < 2:
        raise ValueError(f"column {variant!r} has {name_some(names)} alone; expected two variants")
    rewards = np.stack([read_reals(frame, name) for name in metrics])
    parts = np.full(len(frame), "")
    if period is not None:
        parts = np.array([str(each) for each in as_objects(cells_of(frame, period))])
    times: Array = np.zeros(len(frame))
    are_dates = False
    if time is not None:
        times, are_dates = _read_times(frame, time)
    return Users(
        names=names,
        actions=find_places(names, cells),
        rewards=rewards,
        times=times,
        are_dates=are_dates,
        has_times=time is not None,
        parts=parts,
    )


def _read_times(frame: DataFrame, name: str) -> tuple[Array, bool]:
    """Returns the times of rows in microseconds, or numbers of days, and whether they are dates."""
    cells = cells_of(frame, name)
    if cells.dtype.kind in "iuf":
        return read_reals(frame, name), False
    times = as_times(cells)
    if np.isnat(times).all():
        numbers = as_numbers(cells)
        if np.isfinite(numbers).all():
            return numbers, False
    check_column(frame, name, ~np.isnat(times), "a time such as 2024-12-31 23:59, or a number")
    zones = find_zones(cells)
    if "" in zones and len(zones) > 1:
        found = (
            f"column {name!r} has times without a zone, and some in {name_some(sorted(zones)[1:])}"
        )
        raise ValueError(f"{found}; expected all in one way, as days begin by the clock shown")
    return times.astype(np.int64).astype(np.float64), True


def _find(name: str, names: Sequence[str], what: str) -> int:
    """Returns the number of a variant."""
    if str(name) not in names:
        expected = f"expected one of {name_some(names)}"
        raise ValueError(f"{what} is {short_repr(name)}; {expected}")
    return names.index(str(name))


def _find_shares(shares: Mapping[str, float] | None, names: Sequence[str]) -> Floats | None:
    """Returns the shares of variants that a user gives."""
    if shares is None:
        return None
    found = np.zeros(len(names))
    for name, share in shares.items():
        found[_find(name, names, "a name in shares")] = share
    if not (np.isfinite(found).all() and (found > 0.0).all()):
        raise ValueError(
            f"shares is {short_repr(shares)}; expected a number above 0 for each variant"
        )
    return found


def _read_ends(
    frame: DataFrame, what: str, given: str | Times | None, users: Users, variant: str
) -> Floats:
    """Returns when variants opened or closed, as a user says; NaN where nothing is said."""
    found = np.full(len(users.names), np.nan)
    if isinstance(given, str):
        cells = frame[[variant, given]].dropna().drop_duplicates()
        pairs = zip(as_objects(cells_of(cells, variant)), as_objects(cells_of(cells, given)))
    else:
        pairs = zip(*((given or {}).keys(), (given or {}).values()))
    for name, cell in pairs:
        place = _find(name, users.names, f"a name in {what}")
        value = _read_time(cell, users.are_dates, what)
        if np.isfinite(found[place]) and found[place] != value:
            raise ValueError(f"{what} has several times of {str(name)!r}; expected one")
        found[place] = value
    return found


def _read_time(cell: Any, is_date: bool, what: str) -> float:
    """Returns a time as `Users.times` has it."""
    if is_date:
        time = parse_time(cell)
        if time is not None:
            return float(time.astype("M8[us]").astype(np.int64))
    else:
        number = parse_number(cell)
        if number is not None and np.isfinite(number):
            return float(number)
    expected = "a time such as 2024-12-31 23:59" if is_date else "a number, as the times are"
    raise ValueError(f"{what} is {short_repr(cell)}; expected {expected}")


def _check_inside(frame: DataFrame, users: Users, windows: Windows) -> None:
    """Raises ValueError if a user saw a variant before it opened, or after it was closed."""
    early = users.times < windows.low[users.actions]
    late = users.times >= windows.high[users.actions]
    for is_bad, when in ((early, "before it opened"), (late, "after it was closed")):
        if is_bad.any():
            row = int(is_bad.argmax())
            name = visible(users.names[users.actions[row]])
            raise ValueError(f"{name_row(frame, row)} shows {name!r} {when}")


def _strata(
    users: Users, windows: Windows, shares: Floats
) -> Iterator[tuple[Stratum, Mask, Indices]]:
    """Yields each stratum, the variants that were open in it, and its rows in order of time."""
    low, high = windows
    ends = np.unique(np.concatenate([low, high[np.isfinite(high)]]))
    segments = np.searchsorted(ends, users.times, side="right")
    days = users.days
    parts, codes = np.unique(users.parts, return_inverse=True)
    order = np.lexsort((users.times, codes, segments, days))
    keys = np.stack([days, segments, codes], axis=1)[order]
    counts = np.zeros((len(parts), len(users.names)))
    np.add.at(counts, (codes, users.actions), 1.0)  # of each part, on all days
    starts = np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)])
    for start, stop in zip(starts, [*starts[1:], len(order)]):
        day, segment, code = keys[start].tolist()
        rows = order[start:stop]
        begin = ends[segment - 1]
        is_open = (low <= begin) & (begin < high)
        if len(parts) > 1:
            has_rows = np.bincount(users.actions[rows], minlength=len(users.names)) > 0
            is_missing = (1.0 - shares / shares.sum()) ** len(rows) < CHANCE
            is_open &= has_rows | ((counts[code] > 0.0) & ~is_missing)
        stratum = Stratum(day, _name_day(day, users), f"{segment:06d} {parts[code]}")
        yield stratum, is_open, rows


def _fill(users: Users, windows: Windows, shares: Floats) -> tuple[Windows, list[str]]:
    """Returns when variants opened, and from when on they were closed; and what that assumes.

    What is not known follows from their first and last rows. A variant is closed if there are so
    many rows after its last one that chance is not why.
    """
    number = len(users.names)
    first = np.full(number, np.inf)
    last = np.full(number, -np.inf)
    np.minimum.at(first, users.actions, users.times)
    np.maximum.at(last, users.actions, users.times)
    low = np.where(np.isnan(windows.low), first, windows.low)
    high = np.where(np.isnan(windows.high), np.inf, windows.high)
    last_day = np.floor(users.times.max() / users.day_length)
    notes = []
    for place in np.flatnonzero(np.isnan(windows.high)).tolist():
        if _chance_of_no_rows(users, place, shares, since=last[place]) < CHANCE:
            high[place] = np.nextafter(last[place], np.inf)
        elif last[place] < last_day * users.day_length:
            problem = f"{visible(users.names[place])} has no row on the last day, by chance"
            notes.append(f"{problem}, so it counts as open. If it was closed, give closed.")
    return Windows(low, high), notes


def _chance_of_no_rows(users: Users, place: int, shares: Floats, since: float) -> float:
    """Returns the probability that a variant which is still open has no row after its last one.

    Args:
        users: of the test.
        place: the number of the variant.
        shares: of the variants.
        since: the time of its last row.
    """
    is_own = users.actions == place
    in_parts = np.isin(users.parts, users.parts[is_own])
    before = in_parts & (users.times >= users.times[is_own].min()) & (users.times <= since)
    seen = np.count_nonzero(is_own) / (1.0 + np.count_nonzero(before))
    told = shares[place] / shares.sum()
    missed = np.count_nonzero(in_parts & (users.times > since))
    return float((1.0 - min(seen, told)) ** missed)


def _name_day(day: int, users: Users) -> str:
    """Returns the name of a day."""
    if not users.are_dates:
        return str(day) if users.has_times else WHOLE
    return name_date(day)
