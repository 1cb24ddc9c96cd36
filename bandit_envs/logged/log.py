"""Logged bandit data: what was observed, done and paid, and how probable the action was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.base.arrays import as_numbers
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.checks import check_integer
from bandit_envs.specs import Nest, flatten, map_structure

COLUMNS = {
    "action": ("iu", np.int64, 1),
    "reward": ("fiub", np.float64, 1),
    "propensity": ("fiu", np.float64, 1),
    "action_probabilities": ("fiu", np.float64, 2),
    "available": ("b", np.bool_, 2),
    "expected_rewards": ("fiu", np.float64, 2),
    "step": ("iu", np.int64, 1),
    "row": ("iu", np.int64, 1),
}
"""The columns other than the observation: accepted kinds of dtype, stored dtype, dimensions."""


class BanditLog:
    """A table of n past decisions; every column is a read-only attribute, or None.

    Args:
        observation: a nest of arrays [n, ...], from which the action was chosen.
        action: [n], integers from 0 to K - 1.
        reward: [n], the reward of the action.
        propensity: [n], the probability with which the action was chosen, above 0 and at most 1.
        num_actions: K; by default what a column [n, K] says, or else the largest action plus 1.
        action_probabilities: [n, K], the probability of every action; rows sum to 1.
        available: [n, K] bool, which actions were available.
        expected_rewards: [n, K], the true mean of every action's reward, where it is known.
        step: [n], the step of the run that the decision was made in.
        row: [n], the row of the batch.

    Raises:
        TypeError, ValueError: a column is wrong; the message names it and its first bad row.

    Source: the record formats of the Open Bandit Pipeline and of Vowpal Wabbit.

    >>> log = BanditLog(np.ones((3, 1)), [0, 1, 1], [1.0, 0.0, 1.0], [0.5, 0.25, 0.25])
    >>> log[1:]
    BanditLog(2 rows, 2 actions, mean reward 0.5, propensities 0.25 to 0.25)
    """

    def __init__(
        self,
        observation: Nest,
        action: ArrayLike,
        reward: ArrayLike,
        propensity: ArrayLike,
        num_actions: int | None = None,
        *,
        action_probabilities: ArrayLike | None = None,
        available: ArrayLike | None = None,
        expected_rewards: ArrayLike | None = None,
        step: ArrayLike | None = None,
        row: ArrayLike | None = None,
    ) -> None:
        given = action, reward, propensity, action_probabilities, available, expected_rewards
        named = zip(COLUMNS, (*given, step, row))
        columns = {name: _column(name, value) for name, value in named if value is not None}
        size = len(columns["action"])
        if num_actions is None:
            tables = [column for column in columns.values() if column.ndim == 2]
            largest = int(columns["action"].max(initial=0)) + 1
            num_actions = tables[0].shape[1] if tables else largest
        self.num_actions = check_integer("num_actions", num_actions, minimum=1)
        for name, column in columns.items():
            expected = (size, self.num_actions)[: column.ndim]
            if column.shape != expected:
                raise ValueError(f"{name} has shape {column.shape}; expected {expected}")
        _check_values(columns, self.num_actions)
        self._columns = columns
        self.observation: Nest = map_structure(lambda leaf: features(leaf, size), observation)
        self.action: NDArray[np.int64] = columns["action"]
        self.reward: NDArray[np.float64] = columns["reward"]
        self.propensity: NDArray[np.float64] = columns["propensity"]
        self.action_probabilities: NDArray[np.float64] | None = columns.get("action_probabilities")
        self.available: NDArray[np.bool_] | None = columns.get("available")
        self.expected_rewards: NDArray[np.float64] | None = columns.get("expected_rewards")
        self.step: NDArray[np.int64] | None = columns.get("step")
        self.row: NDArray[np.int64] | None = columns.get("row")

    def columns(self) -> dict[str, NDArray[Any]]:
        """Returns the columns other than the observation that there are, by name."""
        return dict(self._columns)

    def seen(self) -> Nest:
        """Returns the observation as policies take it: with `available` as its `mask`."""
        if self.available is None or available_actions(self.observation, 1) is not None:
            return self.observation
        return {"observation": self.observation, "mask": self.available}

    def drop(self, *names: str) -> BanditLog:
        """Returns the log without some optional columns, such as those a format cannot hold."""
        kept = {name: column for name, column in self._columns.items() if name not in names}
        return self._like((self.observation, kept))

    def __len__(self) -> int:
        return len(self.action)

    def __getitem__(self, rows: Any) -> BanditLog:
        """Returns the log of some rows: a slice, a mask [n] or an array of indices."""
        return self._like(map_structure(lambda leaf: leaf[rows], self._nest()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BanditLog) or self.num_actions != other.num_actions:
            return False
        nests = self._nest(), other._nest()
        try:
            equal = map_structure(lambda a, b: a.dtype == b.dtype and np.array_equal(a, b), *nests)
        except (TypeError, ValueError):  # their structures differ
            return False
        return all(flatten(equal))

    def __repr__(self) -> str:
        size = f"BanditLog({len(self)} rows, {self.num_actions} actions"
        if not len(self):
            return f"{size})"
        low, mean, high = self.propensity.min(), self.reward.mean(), self.propensity.max()
        return f"{size}, mean reward {mean:.4g}, propensities {low:.4g} to {high:.4g})"

    def _nest(self) -> Nest:
        return self.observation, self._columns

    def _like(self, nest: Nest) -> BanditLog:
        observation, columns = nest
        return BanditLog(observation, num_actions=self.num_actions, **columns)


def concatenate(logs: Sequence[BanditLog]) -> BanditLog:
    """Returns one log with the rows of several, in order; they must have the same columns."""
    if not logs:
        raise ValueError("logs is empty; expected at least one log")
    try:
        (_,) = {log.num_actions for log in logs}
        nests = [log._nest() for log in logs]
        return logs[0]._like(map_structure(lambda *leaves: np.concatenate(leaves), *nests))
    except (TypeError, ValueError) as error:
        raise ValueError(f"logs differ in their columns or number of actions: {error}") from error


def _column(name: str, value: ArrayLike) -> NDArray[Any]:
    kinds, dtype, ndim = COLUMNS[name]
    column: NDArray[Any] = np.array(as_numbers(f"{name} is", value, kinds), dtype)
    if column.ndim != ndim:
        raise ValueError(f"{name} has shape {column.shape}; expected {ndim} dimensions")
    column.setflags(write=False)
    return column


def features(leaf: Any, size: int) -> NDArray[Any]:
    """Returns a read-only copy of an array of observations; ValueError if they are not `size`."""
    array = np.array(leaf)
    if array.dtype.hasobject:
        raise TypeError(f"observation is {array.dtype}; expected arrays of numbers or strings")
    if array.shape[:1] != (size,):
        raise ValueError(f"observation has shape {array.shape}; expected {size} rows")
    if array.dtype.kind == "f":
        check_each("observation", array, ~np.isnan(array), "no NaN")
    array.setflags(write=False)
    return array


def _check_values(columns: dict[str, NDArray[Any]], num_actions: int) -> None:
    action, reward, propensity = (columns[key] for key in ("action", "reward", "propensity"))
    check_each("action", action, (action >= 0) & (action < num_actions), f"0 to {num_actions - 1}")
    check_each("reward", reward, np.isfinite(reward), "finite numbers")
    check_each("propensity", propensity, (propensity > 0) & (propensity <= 1), "above 0, at most 1")
    available = columns.get("available")
    if available is not None:
        chosen = np.take_along_axis(available, action[:, np.newaxis], axis=1)[:, 0]
        check_each("action", action, chosen, "an available action")
    table = columns.get("action_probabilities")
    if table is not None:
        check_each("action_probabilities", table, (table >= 0) & (table <= 1), "0 to 1")
        sums = table.sum(axis=1)
        check_each("action_probabilities", sums, np.isclose(sums, 1.0), "rows that sum to 1")
    means = columns.get("expected_rewards")
    if means is not None:
        known = np.isfinite(means) if available is None else np.isfinite(means) | ~available
        check_each("expected_rewards", means, known, "finite numbers")


def check_each(name: str, values: NDArray[Any], good: NDArray[np.bool_], expected: str) -> None:
    """Raises ValueError for the first of `values` [n, ...] that is not good."""
    if not good.all():
        index = tuple(map(int, np.argwhere(~good)[0]))
        raise ValueError(f"{name} is {values[index]} in row {index[0]}; expected {expected}")
