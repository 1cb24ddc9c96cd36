"""Logs as pandas data frames."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Floats, Mask
from bandit_envs.base.checks import as_list, check_integer
from bandit_envs.base.extras import import_extra
from bandit_envs.datasets.tables import name_row
from bandit_envs.logged.columns import BadValueError, parse_number
from bandit_envs.logged.files.missing import MissingValues
from bandit_envs.logged.files.tables import TableLayout, check_layout, join_frame, split_log
from bandit_envs.logged.log import BanditLog

LARGEST = 2.0**63
"""What integers of 64 bits are below."""

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
    propensity: str = "propensity",
    *,
    features: str | Sequence[str] | None = None,
    num_actions: int | None = None,
    embedding: str | Sequence[str] = (),
) -> BanditLog:
    """Returns the log in a pandas DataFrame, which has one row a decision.

    Args:
        frame: the table.
        action: the column of the actions, integers from 0.
        reward: the column of the rewards.
        propensity: the column of the probabilities with which the actions were chosen.
        features: the columns of the observation [n, d], all numbers; or None if `to_frame` made
            the frame.
        num_actions: by default, the largest action plus 1.
        embedding: the columns of the categories of the action, integers from 0, if there are any.

    Raises:
        ValueError: a column is missing, or has a value that cannot be; missing values are counted
            by column.
    """
    if features is None:
        if KEY not in frame.attrs:
            raise ValueError("features is None, and frame was not made by to_frame()")
        layout: TableLayout = check_layout(frame.attrs[KEY]).copy()
        layout["rows"] = len(frame)  # some may have been filtered
        return join_frame(layout, frame)
    feature_names = as_list(features)
    embedding_names = as_list(embedding)
    used = [action, reward, propensity, *feature_names, *embedding_names]
    check_column_names("frame", used, list(frame))
    check_roles([action, reward, propensity], feature_names)
    if num_actions is not None:
        check_integer("num_actions", num_actions, minimum=1)
    MissingValues.from_frame(frame, used).check_none()
    actions = read_integers(frame, action)
    rewards = _read_numbers(frame, reward)
    propensities = _read_numbers(frame, propensity)
    observation = _read_features(frame, feature_names)
    if num_actions is None and len(actions):
        check_smallest_action(action, int(actions.min()))
    try:
        return BanditLog(
            observation=observation,
            action=actions,
            reward=rewards,
            propensity=propensities,
            num_actions=num_actions,  # type: ignore[arg-type]  # None is the default
            embedding=_read_embedding(frame, embedding_names),
        )
    except BadValueError as error:
        column = {"action": action, "reward": reward, "propensity": propensity}[error.name]
        raise _bad_value(frame, column, error.row, error.expected) from error


def check_column_names(table: str, names: Sequence[str], found: Sequence[str]) -> None:
    """Raises ValueError if a table does not have a column, or has several of its name."""
    for name in names:
        count = found.count(name)
        if count == 0:
            raise ValueError(f"{table} has no column {name!r}; it has {list(found)[:20]}")
        if count > 1:
            raise ValueError(f"{table} has {count} columns {name!r}; expected one")


def check_roles(decision: Sequence[str], features: Sequence[str]) -> None:
    """Raises ValueError if a column has two roles.

    Args:
        decision: the columns of the action, the reward and the propensity.
        features: those of the observation, which is known before the decision.
    """
    if len(set(decision)) < len(decision):
        found = ", ".join(map(repr, decision))
        raise ValueError(f"action, reward and propensity are {found}; expected three columns")
    for name in features:
        if list(features).count(name) > 1:
            raise ValueError(f"features has {name!r} twice; expected each column once")
        if name in decision:
            expected = "what is known before the action: not it, its reward or its propensity"
            raise ValueError(f"features has {name!r}; expected {expected}")


def read_integers(frame: Any, name: str) -> Array:
    """Returns the actions or categories in a column, which must be whole numbers.

    Booleans are 1 and 0; texts may have numbers.
    """
    cells = frame[name].to_numpy()
    if cells.dtype.kind in "iu":
        return np.asarray(cells)
    parsed = cells if cells.dtype.kind in "bf" else _parse_cells(cells)
    numbers = np.asarray(parsed, np.float64)
    is_whole = (np.floor(numbers) == numbers) & (np.abs(numbers) < LARGEST)
    if _has_mostly_texts(cells, numbers):
        advice = f"frame[{name!r}].astype('category').cat.codes numbers texts in pandas"
        _check_column(frame, name, is_whole, f"an integer; {advice}")
    _check_column(frame, name, is_whole, "an integer")
    return numbers.astype(np.int64)


def check_smallest_action(name: str, smallest: int) -> None:
    """Raises ValueError if the smallest action in a column is 1."""
    if smallest == 1:
        problem = f"column {name!r} counts actions from 1, or has no action 0"
        raise ValueError(f"{problem}; subtract 1, or give num_actions")


def _read_numbers(frame: Any, name: str) -> Floats:
    """Returns the numbers in a column; ValueError names the first value that is not a number.

    Booleans are 1 and 0; texts may have numbers.
    """
    cells = frame[name].to_numpy()
    if cells.dtype.kind in "biuf":
        return np.asarray(cells, np.float64)
    numbers = _parse_cells(cells)
    expected = "a number"
    if _has_mostly_texts(cells, numbers):
        expected += f"; pandas.get_dummies(frame, columns=[{name!r}]) makes numbers of texts"
    elif cells.dtype.kind == "M":
        expected += f"; frame[{name!r}].dt has numbers, such as .dt.hour and .dt.dayofweek"
    _check_column(frame, name, ~np.isnan(numbers), expected)
    return numbers


def _parse_cells(cells: Array) -> Floats:
    """Returns the numbers of cells, or of their texts; NaN where a cell has no number."""
    parsed = [parse_number(cell) for cell in cells.tolist()]
    return np.array([math.nan if number is None else number for number in parsed], np.float64)


def _has_mostly_texts(cells: Array, numbers: Floats) -> bool:
    """Whether most cells are texts without a number: names rather than mistakes."""
    is_text = [isinstance(cell, str) for cell in cells[np.isnan(numbers)].tolist()]
    return 2 * sum(is_text) > len(cells)


def _check_column(frame: Any, name: str, is_good: Mask, expected: str) -> None:
    """Raises ValueError for the first value of a column that is not good, with its row or line."""
    if not is_good.all():
        raise _bad_value(frame, name, int(is_good.argmin()), expected)


def _bad_value(frame: Any, name: str, position: int, expected: str) -> ValueError:
    """Returns the error of a value of a column, with its row or its line in a file."""
    found = f"column {name!r} is {frame[name].tolist()[position]!r}"
    return ValueError(f"{found} in {name_row(frame, position)}; expected {expected}")


def _read_embedding(frame: Any, names: Sequence[str]) -> Array | None:
    """Returns the categories [n, D] in some columns, integers from 0; None without columns."""
    if not names:
        return None
    columns = []
    for name in names:
        categories = read_integers(frame, name)
        _check_column(frame, name, categories >= 0, "an integer from 0")
        columns.append(categories)
    return np.stack(columns, axis=1)


def _read_features(frame: Any, names: Sequence[str]) -> Floats:
    """Returns the observation [n, d] in some columns, whose numbers must be finite."""
    observation = np.empty((len(frame), len(names)))
    for place, name in enumerate(names):
        observation[:, place] = _read_numbers(frame, name)
        _check_column(frame, name, np.isfinite(observation[:, place]), "a finite number")
    return observation
