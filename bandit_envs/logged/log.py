"""Logged bandit data: what was observed, done and paid, and how probable the action was."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bandit_envs.arrays import NUMBERS, Array, Floats, as_numbers, check_array
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.nests import Nest, flatten, map_structure

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
        columns = {
            name: column(name, value, *COLUMNS[name])
            for name, value in zip(COLUMNS, (*given, step, row))
            if value is not None
        }
        size = len(columns["action"])
        if num_actions is None:
            widths = [array.shape[1] for array in columns.values() if array.ndim == 2]
            num_actions = [*widths, int(columns["action"].max(initial=0)) + 1][0]
        self.num_actions = check_integer("num_actions", num_actions, minimum=1)
        for name, array in columns.items():
            check_array(f"{name} has", array, (size, self.num_actions)[: array.ndim])
        _check_values(columns, self.num_actions)
        self._columns = columns
        self.observation: Nest = features(observation, size)
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
        optional = [*COLUMNS][3:]
        for name in names:
            if name not in optional:
                raise ValueError(
                    f"name is {short_repr(name)}; expected one of {', '.join(optional)}"
                )
        return self._like(self.observation, {**self._columns, **dict.fromkeys(names)})

    def __len__(self) -> int:
        return len(self.action)

    def __getitem__(self, rows: Any) -> BanditLog:
        """Returns the log of some rows: a slice, a mask [n] or an array of indices."""
        return self._like(*map_structure(operator.itemgetter(rows), self._nest()))

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
        known = f"{len(self)} rows, {self.num_actions} actions"
        if len(self):
            low, mean, high = self.propensity.min(), self.reward.mean(), self.propensity.max()
            known += f", mean reward {mean:.4g}, propensities {low:.4g} to {high:.4g}"
        return f"BanditLog({known})"

    def _nest(self) -> Nest:
        return self.observation, self._columns

    def _like(self, observation: Nest, columns: dict[str, Any]) -> BanditLog:
        return BanditLog(observation, num_actions=self.num_actions, **columns)


def concatenate(logs: Sequence[BanditLog]) -> BanditLog:
    """Returns one log with the rows of several, in order; they must have the same columns."""
    if not logs:
        raise ValueError("logs is empty; expected at least one log")
    try:
        (_,) = {log.num_actions for log in logs}
        nests = [log._nest() for log in logs]
        return logs[0]._like(*joined(nests))
    except (TypeError, ValueError) as error:
        raise ValueError(f"logs differ in their columns or number of actions: {error}") from error


def joined(nests: Sequence[Nest]) -> Nest:
    """Returns one nest with the rows of several, in order."""
    return map_structure(lambda *leaves: np.concatenate(leaves), *nests)


def column(
    name: str, value: ArrayLike, kinds: str = NUMBERS, dtype: DTypeLike = np.float64, ndim: int = 2
) -> NDArray[Any]:
    """Returns a read-only copy of a column whose dtype is of one of the `kinds`."""
    array: NDArray[Any] = np.array(as_numbers(f"{name} is", value, kinds), dtype)
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}; expected {ndim} dimensions")
    array.setflags(write=False)
    return array


def features(observation: Nest, size: int) -> Nest:
    """Returns read-only copies of the arrays of an observation, of `size` rows each."""

    def checked(leaf: Any) -> NDArray[Any]:
        array = np.array(leaf)
        if array.dtype.hasobject:
            raise TypeError(f"observation is {array.dtype}; expected arrays of numbers or strings")
        check_array("observation has", array, (size, *array.shape[1:]))
        array.setflags(write=False)
        return array

    return map_structure(checked, observation)


def _check_values(columns: dict[str, NDArray[Any]], num_actions: int) -> None:
    action, reward, propensity = (columns[key] for key in ("action", "reward", "propensity"))
    check_each("action", action, (action >= 0) & (action < num_actions), f"0 to {num_actions - 1}")
    check_each("reward", reward, np.isfinite(reward), "finite numbers")
    check_each("propensity", propensity, (propensity > 0) & (propensity <= 1), "above 0, at most 1")
    size = len(action)
    available = np.broadcast_to(columns.get("available", np.True_), (size, num_actions))
    check_each("action", action, available[np.arange(size), action], "an available action")
    if "action_probabilities" in columns:
        check_distributions("action_probabilities", columns["action_probabilities"])
    if "expected_rewards" in columns:
        means = columns["expected_rewards"]
        check_each("expected_rewards", means, np.isfinite(means) | ~available, "finite numbers")


def check_distributions(name: str, table: Floats, start: int = 0) -> Floats:
    """Returns `table` [n, K]; ValueError for the first row that is no probability distribution."""
    check_each(name, table, table >= 0.0, "at least 0", start)
    sums = table @ np.ones(table.shape[1])  # much faster than sum(axis=1)
    check_each(f"the sum of {name}", sums, np.abs(sums - 1.0) <= 1e-5, "1", start)
    return table


def check_each(name: str, values: Array, good: Any, expected: str, start: int = 0) -> Array:
    """Returns `values` [n, ...]; ValueError for the first that is not good; rows from `start`."""
    if not good.all():
        row, *rest = map(int, np.argwhere(~good)[0])
        found = f"{name} is {values.item(row, *rest)!r} in row {start + row}"
        raise ValueError(f"{found}; expected {expected}")
    return values
