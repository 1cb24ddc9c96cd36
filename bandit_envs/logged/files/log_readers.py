"""Logs in files are opened to be read in batches, or are read into memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from bandit_envs.base.checks import check_integer
from bandit_envs.logged.files.dsjson.dsjson_scan import DsjsonScan
from bandit_envs.logged.files.item_scan import open_table
from bandit_envs.logged.files.log_files import (
    DSJSON_SUFFIXES,
    LOG_SUFFIXES,
    WrittenScan,
    check_suffix,
    is_written,
)
from bandit_envs.logged.files.log_roles import LogRoles, Propensity
from bandit_envs.logged.files.reward_table import RewardTable
from bandit_envs.logged.files.scan import BATCH_ROWS
from bandit_envs.logged.files.served.decision_scan import DecisionScan
from bandit_envs.logged.files.users_scan import UsersScan
from bandit_envs.logged.log import BanditLog, concatenate
from bandit_envs.tables.folders import find_parts, has_files
from bandit_envs.tables.roles import Names
from bandit_envs.tables.suffixes import DECISION_SUFFIXES, TABLE_SUFFIXES
from bandit_envs.tables.whole_table import AnyTable

FileScan: TypeAlias = WrittenScan | UsersScan | DecisionScan | DsjsonScan
"""A log in files, as `scan_log` returns it."""


def scan_log(
    path: str | os.PathLike[str],
    batch_rows: int = BATCH_ROWS,
    *,
    action: str = "action",
    reward: str = "reward",
    propensity: Propensity = "propensity",
    features: Names | None = None,
    num_actions: int | None = None,
    drop_missing: bool = False,
    time: str | None = None,
    embedding: Names = (),
    weight: str | None = None,
    only: str | None = None,
    logger: str | None = None,
    balance: bool = False,
    decision: str | None = None,
    item: str | None = None,
    chosen: str = "chosen",
    item_features: Names | None = None,
    gather: bool = False,
    available: str | None = None,
    unit: str | None = None,
    rewards: AnyTable | RewardTable | None = None,
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
        action: the column of the actions, as for `from_frame`.
        reward: the column of the rewards; of a service's file, the name of a further reward.
        propensity: the column of the propensities, or the one of all rows; None if they are not
            known. With `logger`, a dict as for `from_frame`.
        features: the columns of the observation; None for all that have no other role. Of Parquet
            files, no other columns are read.
        num_actions: the number of actions of a table. By default, the extra pass finds the largest
            action. If it is given, and the first batch has numbers alone, there is no such pass.
            0 says that actions are real numbers, such as prices, and propensities their densities;
            so they are by default, too, if most are not whole.
        drop_missing: whether to drop rows of a table with missing values. By default, they raise a
            ValueError that counts them.
        time: a column that no batch has, such as the `time` of rewards.
            `earlier, later = scan.split("2024-12-31")` cuts the log there, and `evaluate` cuts it
            by week or month. Batches of `scan.with_dates("")` have its dates. A service's file has
            `time`: `evaluate` cuts by the times of its decisions, and `split` by those of its
            rewards. Lines of dsjson have `Timestamp`.
        embedding: the columns of the categories of the action, as for `from_frame`.
        weight: the column of how many decisions each row stands for, as for `from_frame`.
        only: a pattern, such as `*.csv` or `day=2/*`, of the files of a folder that are read. By
            default, a file that is not a log is an error, unless its name begins with "." or "_".
        logger: the column of a table that says which of several logging policies a row is of.
            Another pass counts the rows of each. Each row has the propensity of its own.
        balance: whether propensities are those of the mixture of all logging policies, in
            proportion to their rows. `balance_loggers` says what that assumes. A part of the log
            may have other proportions: `balance` of what is returned counts those of some rows, as
            `evaluate` and `learn` do of the rows that they use.
        decision: as for `from_frame`, as are the arguments after it. A decision may go on in the
            next file.
        item: the column of the items, if actions are items with features.
        chosen: the column that is 1 for the chosen candidate.
        item_features: the columns of the features of the items.
        gather: whether rows of a decision may stand anywhere.
        available: the column of lists of the actions that were available.
        unit: the column of a table that says whose a decision is, as for `from_frame`.
        rewards: a table of the rewards, as for `from_frame`.

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
    columns = LogRoles.of(
        reward=reward,
        propensity=propensity,
        features=features,
        time=time,
        action=action,
        embedding=embedding,
        logger=logger,
        balance=balance,
        decision=decision,
        item=item,
        chosen=chosen,
        item_features=item_features,
        available=available,
        unit=unit,
        weight=weight,
        rewards=rewards,
    )
    folder = Path(path)
    given = {
        "action": action != "action",
        "reward": reward != "reward",
        "propensity": propensity not in ("propensity", None),
        "num_actions": num_actions is not None,
        "drop_missing": drop_missing,
        "embedding": bool(embedding),
        "weight": weight is not None,
        "logger": logger is not None,
        "item": item is not None,
        "available": available is not None,
        "unit": unit is not None,
        "rewards": rewards is not None,
        "gather": gather,
    }
    if has_files(folder, DECISION_SUFFIXES, only):
        of_table = {**given, "features": features is not None, "reward": False}
        _refuse_given(of_table, "a DecisionService", path)
        parts = find_parts(folder, DECISION_SUFFIXES, only)
        return DecisionScan.open(parts, batch_rows, time, reward)
    if has_files(folder, DSJSON_SUFFIXES, only):
        _refuse_given({**given, "features": features is not None}, "a logger of dsjson", path)
        return DsjsonScan.open(find_parts(folder, DSJSON_SUFFIXES, only), batch_rows, time)
    if features is None and item is None:
        if not folder.is_dir() and folder.exists():
            check_suffix(folder, (*LOG_SUFFIXES, *DSJSON_SUFFIXES))
        parts = find_parts(folder, LOG_SUFFIXES, only)
        if is_written(parts.found[0]):
            _refuse_given(given, "write_log", path)
            return WrittenScan(parts, batch_rows, time)
    return open_table(
        "it",
        find_parts(folder, TABLE_SUFFIXES, only),
        columns,
        num_actions=num_actions,
        drop_missing=drop_missing,
        batch_rows=batch_rows,
        gather=gather,
    )


def _refuse_given(given: Mapping[str, bool], writer: str, path: str | os.PathLike[str]) -> None:
    """Raises ValueError if an argument is given that says what the columns of a table are.

    Args:
        given: whether each is given, by name.
        writer: of the log, which says that itself.
        path: of the log.
    """
    for name, is_given in given.items():
        if is_given:
            raise ValueError(f"{name} is for a table of your own; {writer} wrote {path}")


def read_log(
    path: str | os.PathLike[str],
    *,
    only: str | None = None,
    action: str = "action",
    reward: str = "reward",
    propensity: Propensity = "propensity",
    features: Names | None = None,
    num_actions: int | None = None,
    drop_missing: bool = False,
    embedding: Names = (),
    weight: str | None = None,
    logger: str | None = None,
    balance: bool = False,
    decision: str | None = None,
    item: str | None = None,
    chosen: str = "chosen",
    item_features: Names | None = None,
    gather: bool = False,
    available: str | None = None,
    unit: str | None = None,
    time: str | None = None,
    rewards: AnyTable | RewardTable | None = None,
) -> BanditLog:
    """Reads what `write_log` wrote, a table, or all such files in a folder, by their names' order.

    Nothing is unpickled. CSV may be compressed. Of the file of a `DecisionService`, the decisions
    are read that have a reward. The arguments are those of `scan_log`, whose batches it joins:
    those after `only` say what the columns of a table are. The log has the dates of `time`.

    Raises:
        ValueError: a file is damaged, or changes while it is read; the message names it and the
            column.
    """
    scan = scan_log(
        path,
        action=action,
        reward=reward,
        propensity=propensity,
        features=features,
        num_actions=num_actions,
        drop_missing=drop_missing,
        embedding=embedding,
        weight=weight,
        only=only,
        logger=logger,
        balance=balance,
        decision=decision,
        item=item,
        chosen=chosen,
        item_features=item_features,
        gather=gather,
        available=available,
        unit=unit,
        time=time,
        rewards=rewards,
    )
    if time is not None:
        scan = scan.with_dates(time)
    if isinstance(scan, WrittenScan):
        return scan.read()
    batches = list(scan)
    scan.warn(stacklevel=2)
    if isinstance(scan, DecisionScan) and not batches:
        raise ValueError(f"{path} has no decision that has a reward")
    return concatenate(batches)
