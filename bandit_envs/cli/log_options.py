"""The options of logs: which log is read, and what policies learn from."""

import argparse
import re
import warnings
from typing import Literal

from bandit_envs.base.checks import short_repr
from bandit_envs.cli.console import OUT
from bandit_envs.cli.options import split_names
from bandit_envs.cli.table_names import (
    LOGISTIC,
    PROPENSITY,
    NamedPropensities,
    read_propensity,
    split_pattern,
)
from bandit_envs.evaluations.logs import BATCH_ROWS, AnyLog, as_source
from bandit_envs.evaluations.training import AUTO
from bandit_envs.logged import estimate_propensities, scan_log
from bandit_envs.logged.files import read_slates
from bandit_envs.logged.files.log_files import is_archive
from bandit_envs.logged.files.log_readers import FileScan
from bandit_envs.logged.files.log_roles import Propensity
from bandit_envs.logged.files.reward_table import RewardTable
from bandit_envs.logged.slate_log import SlateLog
from bandit_envs.policies.scikit_learn.named_estimators import make_estimator
from bandit_envs.tables.cells import parse_number
from bandit_envs.tables.roles import is_given

OF_SETS = ("rewards", "window", "available", "item", "item_features")
"""The options of logs of actions from sets that change, and of rewards in a second table."""

WINDOW = re.compile(r"(?P<column>.+):(?P<window>[0-9.]+ ?[a-z]+)(:(?P<until>[0-9]{4}-.+))?")
"""A column of times, how long rewards count, and perhaps when they were exported."""


def named_features(options: argparse.Namespace, role: str = "features") -> list[str] | None:
    """Returns the columns that --features names, in its order; None if it is left out.

    Args:
        options: of the command.
        role: of which columns; the name of the option.
    """
    names = getattr(options, role)
    return None if names is None else split_names(names)


def open_log(options: argparse.Namespace) -> AnyLog:
    """Returns the log that the options name, with estimated propensities if they ask for them."""
    named = read_propensity(options)
    if named.is_of_slates:
        raise ValueError("propensity names probabilities of slots; expected those of actions")
    found = _scan_with_advice(options, named)
    name = named.model
    if name is None:
        return found
    if options.item is not None:
        problem = "--propensity is estimate, and actions are items"
        expected = "expected the column of the probabilities with which they were chosen"
        raise ValueError(f"{problem}; {expected}")
    if name != LOGISTIC:
        if read_training(options.train)[1] is not None:
            raise ValueError("a classifier of propensities takes no time in --train")
        source = as_source(found)
        for remark in source.scan.remarks():  # rows in memory do not know what was left out
            OUT.print(remark, soft_wrap=True)
    model = None if name == LOGISTIC else make_estimator(name)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column .* is no feature")  # as is printed below
        estimated = estimate_propensities(found, model)
    OUT.print(str(estimated), soft_wrap=True)
    return estimated


def names_slates(options: argparse.Namespace) -> bool:
    """Whether actions are slates: there are slots or their propensities, or several columns."""
    is_of_slots = options.slot is not None or read_propensity(options).is_of_slates
    return "," in options.action or is_of_slots


def open_slate_log(options: argparse.Namespace) -> SlateLog:
    """Returns the log of slates that the options name.

    Raises:
        ValueError: an option is not of slates, or the table has no such columns.
    """
    for name in OF_SETS:
        if getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"slates have no {option}; expected the columns of slates")
    named = read_propensity(options)
    if named.model is not None or options.logger is not None:
        problem = "--logger" if named.model is None else "estimated propensities"
        raise ValueError(f"slates have no {problem}; expected the columns of propensities")
    path, only = split_pattern(options.log)
    try:
        return read_slates(
            path.absolute(),
            only=only,
            action=split_names(options.action),
            reward=split_names(options.reward),
            propensity=named.column,
            slot_propensity=named.slots,
            prefix_propensity=named.prefixes,
            decision=options.decision,
            slot=options.slot,
            unit=options.unit,
            features=named_features(options),
            num_actions=options.num_actions,
            drop_missing=options.drop_missing,
        )
    except ValueError as error:
        if f"no column {PROPENSITY!r}" not in str(error):
            raise
        advice = "--propensity COLUMN, slot:A,B or prefix:A,B names its probabilities"
        raise ValueError(f"{error}; {advice}") from error


def _propensity(named: NamedPropensities, logger: str | None) -> Propensity:
    """Returns the propensities that the options name: a column, a number or several columns."""
    if named.column is None:
        if logger is not None:
            raise ValueError("--logger is for known propensities; expected none to be estimated")
        return None
    if logger is None:
        constant = parse_number(named.column)
        return named.column if constant is None else float(constant)
    pairs = [text.partition("=") for text in named.column.split(",")]
    if not all(name and column for name, _, column in pairs):
        expected = "NAME=COLUMN,NAME=COLUMN, one for each logging policy"
        raise ValueError(f"propensity is {named.column!r}; expected {expected}")
    return {name: column for name, _, column in pairs}


def _scan_with_advice(options: argparse.Namespace, named: NamedPropensities) -> FileScan:
    """Returns a log that `write_log` wrote, or a table with the user's columns.

    Raises:
        ValueError: it has files that cannot be read, or lacks a column. If no column was named, the
            message says by which options.
    """
    try:
        return _scan(options, named)
    except ValueError as error:
        lacks_propensity = f"no column {PROPENSITY!r}" in str(error)
        names_others = options.features is not None or is_given("action", options.action)
        if lacks_propensity and named.column == PROPENSITY and names_others:
            advice = "--propensity names it"
            if options.item is None:
                advice += ", or --propensity estimate estimates what it lacks"
            raise ValueError(f"{error}; {advice}") from error
        path, _ = split_pattern(options.log.absolute())
        given = {"action": options.action, "reward": options.reward, "propensity": named.column}
        given["features"] = options.features
        if any(is_given(role, names) for role, names in given.items()):
            raise
        if any(is_archive(file.name) for file in (path, *path.rglob("*"))):
            raise  # no table of a user is an archive
        if " no column " not in str(error):
            raise
        advice = "--action, --reward, --propensity and --features name the columns of your table"
        raise ValueError(f"{error}; {advice}") from error


def _scan(options: argparse.Namespace, named: NamedPropensities) -> FileScan:
    """Returns the log that the options name."""
    _, until = read_training(options.train)
    logger = getattr(options, "logger", None)
    time = None if until is None else until.partition("=")[0]
    rewards, time = _read_rewards(options, time)
    path, only = split_pattern(options.log)
    return scan_log(
        path.absolute(),  # workers may be in other folders
        BATCH_ROWS,
        action=options.action,
        reward=options.reward,
        propensity=_propensity(named, logger),
        features=named_features(options),
        num_actions=options.num_actions,
        drop_missing=options.drop_missing,
        time=time,
        only=only,
        logger=logger,
        unit=options.unit,
        decision=options.decision,
        item=options.item,
        chosen=options.chosen,
        item_features=named_features(options, "item_features"),
        available=options.available,
        rewards=rewards,
    )


def _read_rewards(
    options: argparse.Namespace, time: str | None
) -> tuple[RewardTable | None, str | None]:
    """Returns the table of rewards that the options name, and the column of times.

    Args:
        options: of the command.
        time: the column that another option names.

    Raises:
        ValueError: there is a window without a table of rewards or without a column, or another
            column of times is named.
    """
    if options.rewards is None:
        if options.window is not None:
            found = f"--window is {options.window}, and --rewards is not given"
            raise ValueError(f"{found}; expected a table of rewards")
        return None, time
    path = options.rewards.absolute()
    if options.window is None:
        return RewardTable(path), time
    match = WINDOW.fullmatch(options.window)
    if match is None:
        expected = "COLUMN:14d, as time:14d, or with the day of the export, as time:14d:2024-05-10"
        raise ValueError(f"--window is {options.window}; expected {expected}")
    column = match["column"]
    if time not in (None, column):
        raise ValueError(f"{time!r} and {column!r} are named as times; expected one column")
    return RewardTable(path, match["window"], until=match["until"]), column


def read_training(text: str | None) -> tuple[float | Literal["auto"] | None, str | None]:
    """Returns the share of the rows that policies learn from, and the time before which they are.

    Args:
        text: as a user gives it; None of one who does not.

    Raises:
        ValueError: a text is neither.
    """
    if text is None:
        return AUTO, None
    if text == "none":
        return None, None
    if "=" in text:
        return AUTO, text
    try:
        return float(text), None
    except ValueError:
        expected = "a share such as 0.5, COLUMN=VALUE, or none"
        raise ValueError(f"train is {short_repr(text)}; expected {expected}") from None
