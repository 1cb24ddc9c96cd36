"""Defines the columns of logs, and checks them. Errors name the column and the first bad row."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bandit_envs.arrays import NUMBERS, Array, Floats, Mask, as_numbers, check_array, read_only
from bandit_envs.base.actions import ActionKind
from bandit_envs.base.checks import MAX_REWARD, short_repr
from bandit_envs.base.kind_of_actions import kind_of, kind_of_actions
from bandit_envs.nests import Nest, map_structure
from bandit_envs.specs import ArraySpec

MIN_PROPENSITY = 1e-40
"""The smallest propensity, so that no square of a weighted reward overflows."""

TOLERANCE = 1e-5  # of a sum of probabilities, which may be stored in single precision


class ColumnKind(NamedTuple):
    """What a column accepts, and how it is stored."""

    kinds: str  # of dtype
    dtype: DTypeLike
    ndim: int


COLUMNS = {
    "action": ColumnKind("iu", np.int64, 1),
    "reward": ColumnKind("fiub", np.float64, 1),
    "propensity": ColumnKind("fiu", np.float64, 1),
    "action_probabilities": ColumnKind("fiu", np.float64, 2),
    "available": ColumnKind("b", np.bool_, 2),
    "expected_rewards": ColumnKind("fiu", np.float64, 2),
    "step": ColumnKind("iu", np.int64, 1),
    "row": ColumnKind("iu", np.int64, 1),
    "embedding": ColumnKind("iu", np.int64, 2),
    "own_propensity": ColumnKind("fiu", np.float64, 1),
    "item": ColumnKind("iu", np.int64, 2),
    "unit": ColumnKind("iu", np.int64, 1),
    "time": ColumnKind("fiu", np.float64, 1),
    "weight": ColumnKind("fiu", np.float64, 1),
}
"""The columns other than the observation. All but the first three are optional."""

OPTIONAL = tuple(COLUMNS)[3:]


class BadValueError(ValueError):
    """A value of a column that is not good.

    Args:
        name: of the column.
        value: which is not good.
        row: its number.
        expected: what good values are.
    """

    def __init__(self, name: str, value: object, row: int, expected: str) -> None:
        super().__init__(name, value, row, expected)
        self.name = name
        self.value = value
        self.row = row
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.name} is {self.value!r} in row {self.row}; expected {self.expected}"


def as_column(
    name: str, value: ArrayLike, kinds: str = NUMBERS, dtype: DTypeLike = np.float64, ndim: int = 2
) -> NDArray[Any]:
    """Returns a read-only copy of a column whose dtype is of one of the `kinds`."""
    numbers = as_numbers(f"{name} is", value, kinds)
    array: NDArray[Any] = np.array(numbers, dtype)
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}; expected {ndim} dimensions")
    array.setflags(write=False)
    return array


def check_each(name: str, values: Array, is_good: Mask, expected: str, start: int = 0) -> Array:
    """Returns `values` [n, ...]; BadValueError for the first that is not good.

    Args:
        name: of the values, in the message.
        values: what is checked.
        is_good: which values are good, of the same shape.
        expected: what good values are, in the message.
        start: the number of the first row, in the message.
    """
    if not is_good.all():
        place = tuple(np.argwhere(~is_good)[0].tolist())
        raise BadValueError(name, values.item(place), start + place[0], expected)
    return values


def check_reward_range(name: str, values: Floats, start: int = 0) -> Floats:
    """Returns rewards [n, ...]; ValueError if a square or sum of them could overflow."""
    is_small = np.abs(values) <= MAX_REWARD
    return check_each(name, values, is_small, f"finite numbers of at most {MAX_REWARD:g}", start)


def check_distributions(name: str, table: Floats, start: int = 0) -> Floats:
    """Returns `table` [n, K]; ValueError for the first row that is not a distribution."""
    check_each(name, table, table >= 0.0, "at least 0", start)
    sums = table @ np.ones(table.shape[1])  # much faster than sum(axis=1)
    check_each(f"the sum of {name}", sums, np.abs(sums - 1.0) <= TOLERANCE, "1", start)
    return table


def kind_in_log(num_actions: int) -> ActionKind:
    """Returns what an action is that is one integer from 0 to K - 1, or a real number if K is 0."""
    if num_actions == 0:
        return kind_of_actions(ArraySpec((), np.float64, "action"))
    return kind_of(num_actions, None)


def has_own_kind(kind: ActionKind | None) -> TypeGuard[ActionKind]:
    """Returns whether actions are neither integers from 0 nor real numbers; None if they are."""
    return not (kind is None or kind.is_single or kind.is_number)


def check_kind(kind: ActionKind, num_actions: int | None) -> int:
    """Returns K of what an action is; ValueError if a log cannot hold it, or has another K."""
    if kind.is_slate:
        raise ValueError(f"action_kind is {kind}; expected another one, as a SlateLog holds slates")
    if num_actions not in (None, kind.num_actions):
        expected = f"expected {kind.num_actions}, as action_kind"
        raise ValueError(f"num_actions is {num_actions}; {expected}")
    return kind.num_actions


def as_actions(
    action: Nest, reward: ArrayLike, kind: ActionKind | None, num_actions: int | None
) -> Nest:
    """Returns read-only copies of actions: [n], or what their kind says.

    Args:
        action: of n rows.
        reward: of the same rows.
        kind: what actions are; None for integers, or real numbers if `num_actions` is 0.
        num_actions: K.
    """
    if has_own_kind(kind):
        rows = len(np.asarray(reward))
        checked = kind.for_rows(rows).check(action) if rows else action
        return map_structure(lambda leaf: read_only(np.array(leaf)), checked)
    if num_actions == 0:
        return as_column("action", action, ndim=1)
    return as_column("action", action, "iu", np.int64, ndim=1)


def check_propensities(propensity: Floats, kind: ActionKind, name: str = "propensity") -> Floats:
    """Returns propensities; ValueError for the first that is no probability, or no density."""
    is_good = propensity >= MIN_PROPENSITY
    if kind.is_continuous:
        is_good &= np.isfinite(propensity)
        expected = f"a density of at least {MIN_PROPENSITY:g}"
    else:
        is_good &= propensity <= 1.0
        expected = f"above 0 (at least {MIN_PROPENSITY:g}) and at most 1"
    return check_each(name, propensity, is_good, expected)


def describe_actions(kind: ActionKind) -> str:
    """Returns what the actions of a log are, such as "3 actions"."""
    if kind.is_single:
        return f"{kind.num_actions} actions"
    return "real actions" if kind.is_number else f"{kind}"


def count_actions(columns: dict[str, Array]) -> int:
    """Returns K: the width of a column [n, K], or else the largest action plus 1."""
    for name, array in columns.items():
        if array.ndim == 2 and name != "embedding":
            return int(array.shape[1])
    return int(columns["action"].max(initial=0)) + 1


def check_info(info: dict[str, Nest]) -> dict[str, Nest]:
    """Returns an info; ValueError if it is no dict, or a name in it is that of a column."""
    is_named = isinstance(info, dict) and all(isinstance(name, str) for name in info)
    if not is_named or not info.keys().isdisjoint(("observation", *COLUMNS)):
        expected = "a dict of arrays, whose names are not those of the log's columns"
        raise ValueError(f"info is {short_repr(info)}; expected {expected}")
    return info


def as_arrays(name: str, nest: Nest, size: int) -> Nest:
    """Returns read-only copies of the arrays of an observation or an info, of `size` rows each."""

    def check(leaf: Any) -> Array:
        array = np.array(leaf)
        if array.dtype.hasobject:
            raise TypeError(f"{name} is {array.dtype}; expected arrays of numbers or strings")
        check_array(f"{name} has", array, (size, *array.shape[1:]))
        array.setflags(write=False)
        return array

    return map_structure(check, nest)
