"""Logs in files are opened to be read in batches, or are read into memory."""

from __future__ import annotations

import os
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from bandit_envs.base.checks import check_integer
from bandit_envs.logged.files.dsjson.dsjson_scan import DsjsonScan
from bandit_envs.logged.files.log_files import (
    DSJSON_SUFFIXES,
    LOG_SUFFIXES,
    WrittenScan,
    check_suffix,
    is_written,
)
from bandit_envs.logged.files.log_roles import LogColumns, LogRoles
from bandit_envs.logged.files.open_table import open_table
from bandit_envs.logged.files.scan import BATCH_ROWS
from bandit_envs.logged.files.served.decision_scan import DecisionScan
from bandit_envs.logged.files.users_scan import UsersScan
from bandit_envs.logged.log import BanditLog
from bandit_envs.tables.folders import find_parts, has_files
from bandit_envs.tables.suffixes import DECISION_SUFFIXES, TABLE_SUFFIXES

FileScan: TypeAlias = WrittenScan | UsersScan | DecisionScan | DsjsonScan
"""A log in files, as `scan_log` returns it."""


def scan_log(
    path: str | os.PathLike[str],
    batch_rows: int = BATCH_ROWS,
    *,
    only: str | None = None,
    **columns: typing.Unpack[LogColumns],
) -> FileScan:
    """Returns an iterable over the batches of a log.

    CSV and Parquet files are read one batch at a time; each npz file is read whole. Of the file of
    a `DecisionService`, the decisions are read that have a reward when this is called. Names,
    texts, dates and times become numbers as in `from_frame`: an extra pass over a table finds the
    names of its actions and the levels of its texts, which all batches have as their `encoding`.

    Args:
        path: a file that `write_log` wrote; or any file of CSV, Parquet or JSON lines (.jsonl); or
            one of Vowpal Wabbit's dsjson, which ends in .dsjson or .json, as `read_dsjson` reads
            it; or a folder of such files, also in folders inside it, which are taken in the order
            of their names; or a file of decisions, which ends in .sqlite, .sqlite3 or .db, or a
            folder of such files, in which an action of the same name is the same, and which are
            taken in the order of their first decisions. Names of folders such as day=2, as pandas
            and Hive write them, are columns of a table; where they are numbers, these say the
            order.
        batch_rows: the most rows of a batch. The last batch of a file may have fewer.
        only: a pattern, such as `*.csv` or `day=2/*`, of the files of a folder that are read. By
            default, a file that is not a log is an error, unless its name begins with "." or "_".
        columns: which columns of a table are the actions, the rewards and so on, and how it is
            read: `action`, `reward`, `propensity`, `features`, `item`, `item_features`, `decision`,
            `chosen`, `available`, `embedding`, `unit`, `weight`, `time`, `logger`, `rewards`,
            `num_actions`, `drop_missing`, `balance` and `gather`, which `from_frame` explains. Of
            Parquet files, columns without a role are not read. If `num_actions` is given, and the
            first batch has numbers alone, there is no extra pass. A decision among items may go on
            in the next file. With `time`, `scan.split("2024-12-31")` returns the rows before then
            and the later ones, `evaluate` cuts the log by week or month, and batches of
            `scan.with_dates("")` have its dates. A service's file has `time`: `evaluate` cuts by
            the times of its decisions, and `split` by those of its rewards; its `reward` may name a
            further reward. Lines of dsjson have `Timestamp`. With `logger`, another pass counts the
            rows of each logging policy. With `balance`, a part of the log may have other
            proportions: `balance` of what is returned counts those of some rows, as `evaluate` and
            `learn` do of the rows that they use.

    Raises:
        ValueError: there is no log, a folder has other files, or without `features`, the first file
            lacks a column of decisions; or, while batches are read, a file is damaged or changes,
            or its columns are not those of the first. The message names the file.

    >>> import tempfile
    >>> import numpy as np
    >>> from bandit_envs.logged import write_log
    >>> log = BanditLog(np.ones((5, 1)), [0, 1, 0, 1, 1], [1.0] * 5, [0.5] * 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_log(f"{folder}/part-0.npz", log)
    ...     [len(batch) for batch in scan_log(folder, batch_rows=2)]
    [2, 2, 1]
    """
    check_integer("batch_rows", batch_rows, minimum=1)
    roles = LogRoles.of(**columns)
    time = columns.get("time")
    folder = Path(path)
    if has_files(folder, DECISION_SUFFIXES, only):
        given = [name for name in roles.given if name != "reward"]
        _refuse_given(given, "a DecisionService", path)
        parts = find_parts(folder, DECISION_SUFFIXES, only)
        return DecisionScan.open(parts, batch_rows, time, columns.get("reward", "reward"))
    if has_files(folder, DSJSON_SUFFIXES, only):
        _refuse_given(roles.given, "a logger of dsjson", path)
        return DsjsonScan.open(find_parts(folder, DSJSON_SUFFIXES, only), batch_rows, time)
    if columns.get("features") is None and columns.get("item") is None:
        if not folder.is_dir() and folder.exists():
            check_suffix(folder, (*LOG_SUFFIXES, *DSJSON_SUFFIXES))
        parts = find_parts(folder, LOG_SUFFIXES, only)
        if is_written(parts.found[0]):
            _refuse_given(roles.given, "write_log", path)
            return WrittenScan(parts, batch_rows, time)
    return open_table("it", find_parts(folder, TABLE_SUFFIXES, only), roles, batch_rows)


def _refuse_given(given: Sequence[str], writer: str, path: str | os.PathLike[str]) -> None:
    """Raises ValueError for the first argument that says what the columns of a table are.

    Args:
        given: the names of such arguments.
        writer: of the log, which says that itself.
        path: of the log.
    """
    if given:
        raise ValueError(f"{given[0]} is for a table of your own; {writer} wrote {path}")


def read_log(
    path: str | os.PathLike[str],
    *,
    only: str | None = None,
    **columns: typing.Unpack[LogColumns],
) -> BanditLog:
    """Reads what `write_log` wrote, a table, or all such files in a folder, by their names' order.

    Nothing is unpickled. CSV may be compressed. Of the file of a `DecisionService`, the decisions
    are read that have a reward. The log has the dates of `time`. The arguments are those of
    `scan_log`, whose batches it joins; `from_frame` explains the `columns`.

    Raises:
        ValueError: a file is damaged, or changes while it is read; the message names it and the
            column.
    """
    scan = scan_log(path, only=only, **columns)
    time = columns.get("time")
    if time is not None:
        scan = scan.with_dates(time)
    return scan.read()
