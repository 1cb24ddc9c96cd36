"""What policies have learned: nests of arrays with the rows first, and of numbers for all rows."""

from __future__ import annotations

import functools
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.base.checks import short_repr
from bandit_envs.base.state import ForeignModel
from bandit_envs.nests import Nest, map_structure

Warm: TypeAlias = Literal["mean", "empirical_bayes"]
"""What new actions start from in place of the prior: see `Policy.with_actions`."""

WARM = ("mean", "empirical_bayes")


def check_warm(warm: Any) -> Warm | None:
    """Returns what new actions start from; ValueError if it is nothing known."""
    if warm is None or (isinstance(warm, str) and warm in WARM):
        return warm  # type: ignore[return-value]
    expected = "None, " + ", ".join(map(repr, WARM))
    raise ValueError(f"warm is {short_repr(warm)}; expected one of {expected}")


class Spread(NamedTuple):
    """How means of actions are spread, in each row: [B] each."""

    mean: Floats  # of a new action
    variance: Floats  # of a new action
    excess: Floats  # what of it the noise of rewards does not explain


def take_rows(nest: Nest, rows: Mask) -> Nest:
    """Returns some rows of a nest; a leaf may be None."""
    return map_structure(functools.partial(_take, rows), nest)


def merge_rows(before: Nest, after: Nest, rows: Mask) -> Nest:
    """Returns `after` in the `rows`, and `before` in all others.

    A number is shared by all rows: it is the new one.

    Raises:
        ValueError: an array does not have the rows first.
    """
    return map_structure(functools.partial(_merge, rows), before, after)


def repeat_rows(nest: Nest, batch_size: int, new_size: int) -> Nest:
    """Returns arrays [batch_size, ...] as [new_size, ...], whose row i is their row i mod B.

    Numbers and all else are shared by all rows.
    """
    rows = np.arange(new_size) % batch_size
    return map_structure(functools.partial(_repeat, rows, batch_size), nest)


def add_actions(found: Nest, initial: Nest, known: int, num_actions: int) -> Nest:
    """Returns what is known of `known` actions in the layout of more, which start as at first.

    An axis of all actions, and a list or tuple with an item for each, gets those of `initial` at
    its end. Everything else stays as found.

    Args:
        found: what was learned of `known` actions.
        initial: what a policy of `num_actions` actions knows at first.
        known: how many actions were known.
        num_actions: K, more than that.

    Raises:
        ValueError: an array or a model has another size, which is not the number of actions.
    """
    sizes = known, num_actions
    if isinstance(found, dict):
        return {key: add_actions(each, initial[key], *sizes) for key, each in found.items()}
    if isinstance(found, (list, tuple)):
        if len(found) != len(initial) and (len(found), len(initial)) != sizes:
            raise ValueError(f"knows {len(found)} items; expected one for each of {known} actions")
        parts = [add_actions(each, new, *sizes) for each, new in zip(found, initial)]
        parts += initial[len(found) :]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    if isinstance(found, np.ndarray) and isinstance(initial, np.ndarray):
        return _add_to_array(found, initial, *sizes)
    if isinstance(found, ForeignModel) and found.layout() != initial.layout():
        raise ValueError(f"knows a {type(found).__name__} of {known} actions, which has no more")
    return found


def make_room(shares: Floats, known: int) -> None:
    """Lowers the shares [B, K] of the first `known` actions, as the others have 1 / K each."""
    shares[:, :known] *= known / shares.shape[1]


def mean_of_known(values: Floats, seen: Mask, otherwise: float) -> Floats:
    """Returns the mean of values [B, K] that were `seen` [B, K], and else a number: [B]."""
    count = seen.sum(axis=1)
    total = np.where(seen, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), otherwise)


def spread_of_known(means: Floats, variances: Floats, seen: Mask) -> Spread:
    """Returns how the means of actions are spread beside their noise, by moments.

        m = sum w m_a / sum w,    w = 1 / (V_a + tau^2)
        tau^2 = max(0, (sum u (m_a - m_u)^2 - (k - 1)) / (sum u - sum u^2 / sum u)),   u = 1 / V_a

    where m_u is the mean with the weights u. A new action has the mean m, and the variance
    tau^2 + 1 / sum w; if tau is 0, at least the largest V_a. Rows with fewer than two actions with
    rewards tell nothing.

    Args:
        means: m_a, of the rewards of each action, [B, K].
        variances: V_a, of these means, above 0, [B, K].
        seen: which actions have rewards, [B, K].

    Source: DerSimonian & Laird, Meta-analysis in clinical trials (1986).
    """
    tells = seen & (seen.sum(axis=1, keepdims=True) >= 2)
    inverse = np.where(tells, 1.0 / variances, 0.0)
    total = np.maximum(inverse.sum(axis=1), np.finfo(np.float64).tiny)
    center = (inverse * means).sum(axis=1) / total
    surplus = (inverse * np.square(means - center[:, np.newaxis])).sum(axis=1)
    surplus -= tells.sum(axis=1) - 1.0
    scale = total - np.square(inverse).sum(axis=1) / total
    excess = np.maximum(0.0, surplus / np.where(scale > 0.0, scale, np.inf))
    weights = np.where(tells, 1.0 / (variances + excess[:, np.newaxis]), 0.0)
    total = np.maximum(weights.sum(axis=1), np.finfo(np.float64).tiny)
    mean = (weights * means).sum(axis=1) / total
    variance = excess + 1.0 / total
    largest = np.where(tells, variances, 0.0).max(axis=1)
    return Spread(mean, np.where(excess > 0.0, variance, np.maximum(variance, largest)), excess)


def check_layout(what: str, found: Nest, initial: Nest) -> None:
    """Checks that `found` is of the class, dtypes and shapes of what `_initial` returned.

    Args:
        what: the beginning of a message, such as "_learn returned".
        found: what may have been learned.
        initial: what a policy knows at first.

    Raises:
        TypeError, ValueError: it is not.
    """
    expected = layout(initial)
    if type(found) is not type(initial):
        name = type(initial).__name__
        raise TypeError(f"{what} {short_repr(found)}; expected a {name} as of _initial, {expected}")
    if layout(found) != expected:
        problem = f"{what} {layout(found)}"
        raise ValueError(f"{problem}; expected arrays as those of _initial, {expected}")


def layout(nest: Nest) -> Nest:
    """Returns the dtype and the shape of each leaf, in words."""
    return map_structure(_layout, nest)


def _add_to_array(
    found: NDArray[Any], initial: NDArray[Any], known: int, num_actions: int
) -> NDArray[Any]:
    """Returns `initial` with `found` in the place of the first actions."""
    if found.shape == initial.shape:
        return found.astype(initial.dtype, copy=False)
    pairs = list(zip(found.shape, initial.shape))
    fits = all(old == new or (old, new) == (known, num_actions) for old, new in pairs)
    if found.ndim != initial.ndim or not fits:
        shapes = f"an array of shape {found.shape} in place of {initial.shape}"
        raise ValueError(f"knows {shapes}; expected an axis of {known} actions, which grows")
    grown = np.array(initial, order="C")
    grown[tuple(map(slice, found.shape))] = found
    return grown


def _take(rows: Mask, leaf: Any) -> Any:
    return None if leaf is None else np.asarray(leaf)[rows]


def _merge(rows: Mask, before: Any, after: Any) -> Any:
    shape = np.shape(after)
    if shape[:1] == rows.shape:
        is_new = rows.reshape(-1, *[1] * (len(shape) - 1))
        return np.where(is_new, after, before)
    if isinstance(after, (int, float, np.number)) or np.array_equal(before, after):
        return after
    problem = "cannot learn from some rows only, as an array of `learned` is not [B, ...]"
    expected = "the rows first, or learns_by_row = False if rows share a model"
    raise ValueError(f"policy {problem}; expected {expected}")


def _repeat(rows: Indices, batch_size: int, leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray) and leaf.shape[:1] == (batch_size,):
        return leaf[rows]
    return leaf


def _layout(leaf: Any) -> str:
    """Returns the dtype and the shape of a leaf; the class of one that is not a number."""
    if isinstance(leaf, ForeignModel):
        return leaf.layout()
    if not isinstance(leaf, (np.ndarray, np.generic, int, float)):
        return type(leaf).__name__
    kind = "array" if isinstance(leaf, np.ndarray) else "number"
    return f"{kind} {np.asarray(leaf).dtype}{list(np.shape(leaf))}"
