"""What policies have learned of some actions, as what they know of more; and how these start."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Mask
from bandit_envs.base.checks import short_repr
from bandit_envs.base.saving import ForeignModel
from bandit_envs.nests import Nest

Warm: TypeAlias = Literal["mean", "empirical_bayes"]
"""What new actions start from in place of the prior: see `Policy.with_actions`."""

WARM: tuple[Warm, ...] = ("mean", "empirical_bayes")


def check_warm(warm: Any) -> Warm | None:
    """Returns what new actions start from; ValueError if it is nothing known."""
    if warm is None or (isinstance(warm, str) and warm in WARM):
        return warm
    expected = "None, " + ", ".join(map(repr, WARM))
    raise ValueError(f"warm is {short_repr(warm)}; expected one of {expected}")


@runtime_checkable
class MakesConsistent(Protocol):
    """What was learned of actions, if some of its numbers depend on each other."""

    def make_consistent(self, known: int) -> None:
        """Lets all numbers agree, in place.

        Args:
            known: how many actions come before those that were added, which are as at first.
        """


@runtime_checkable
class StartsWarm(Protocol):
    """What was learned of actions, if new ones may start from what the others are like."""

    def start_warm(self, known: int, warm: Warm) -> None:
        """Starts the actions from `known` on warm, as `Policy.with_actions` says; in place.

        Args:
            known: how many actions come before those that were added, which have the prior.
            warm: from what.

        Raises:
            NotImplementedError: they cannot start from that.
        """


class Spread(NamedTuple):
    """How the mean reward of a new action is distributed if it is like the others: [B] each."""

    mean: Floats
    variance: Floats
    excess: Floats  # tau^2, the variance that the noise of rewards does not explain


def add_actions(found: Nest, initial: Nest, known: int, num_actions: int) -> Nest:
    """Returns what is known of `known` actions in the layout of more, which start as at first.

    An axis of all actions, and a list or tuple with an item for each, gets those of `initial` at
    its end. Everything else stays as found, unless a named tuple makes its numbers consistent. What
    was found may be changed in place.

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
        if not hasattr(found, "_fields"):
            return type(found)(parts)
        grown = type(found)(*parts)
        if isinstance(grown, MakesConsistent):
            grown.make_consistent(known)
        return grown
    if isinstance(found, np.ndarray) and isinstance(initial, np.ndarray):
        return _add_to_array(found, initial, *sizes)
    if isinstance(found, ForeignModel) and found.layout() != initial.layout():
        raise ValueError(f"knows a {type(found).__name__} of {known} actions, and cannot have more")
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
