"""Logs as pandas data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, as_numbers
from bandit_envs.base.checks import as_list
from bandit_envs.datasets.tables import import_extra
from bandit_envs.logged.columns import check_each
from bandit_envs.logged.layout import Layout, join_columns, split_log
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.missing import MissingValues

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

    Raises:
        ValueError: a column is missing, or has a value that cannot be; missing values are counted
            by column.
    """
    if features is None:
        if KEY not in frame.attrs:
            raise ValueError("features is None, and frame was not made by to_frame()")
        layout: Layout = frame.attrs[KEY].copy()
        layout["rows"] = len(frame)  # some may have been filtered
        return join_columns(layout, {name: frame[name].to_numpy() for name in frame})
    feature_names = as_list(features)
    used = [action, reward, propensity, *feature_names]
    for name in used:
        if name not in frame:
            raise ValueError(f"frame has no column {name!r}; it has {list(frame)[:20]}")
    MissingValues.from_frame(frame, used).check_none()
    actions = read_actions(frame, action)
    if num_actions is None and len(actions):
        check_smallest_action(action, int(actions.min()))
    try:
        return BanditLog(
            observation=_read_features(frame, feature_names),
            action=actions,
            reward=frame[reward].to_numpy(),
            propensity=frame[propensity].to_numpy(),
            num_actions=num_actions,  # type: ignore[arg-type]  # None is the default
        )
    except (TypeError, ValueError) as error:
        where = f"action is column {action!r}, reward {reward!r}, propensity {propensity!r}"
        if frame.index.name and len(frame) == frame.index[-1] - frame.index[0] + 1:
            where += f", row 0 is {frame.index.name} {frame.index[0]}"
        raise type(error)(f"{error} ({where})") from error


def read_actions(frame: Any, name: str) -> Array:
    """Returns the actions in a column, which must be whole numbers."""
    actions = frame[name].to_numpy()
    if actions.dtype.kind not in "iu":
        whole = [isinstance(each, (int, float)) and each % 1 == 0 for each in actions.tolist()]
        check_each(f"column {name!r}", actions, np.array(whole, np.bool_), "an integer")
        actions = actions.astype(np.int64)
    return np.asarray(actions)


def check_smallest_action(name: str, smallest: int) -> None:
    """Raises ValueError if the smallest action in a column is 1."""
    if smallest == 1:
        problem = f"column {name!r} counts actions from 1, or has no action 0"
        raise ValueError(f"{problem}; subtract 1, or give num_actions")


def _read_features(frame: Any, names: Sequence[str]) -> Array:
    """Returns the observation [n, d] in some columns."""
    columns = [as_numbers(f"column {name!r} is", frame[name].to_numpy()) for name in names]
    return np.array(columns).reshape(len(names), len(frame)).T
