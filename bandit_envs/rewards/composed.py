"""Distributions of rewards that are made of other ones, and those of SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Indices, Rng
from bandit_envs.base.checks import check_parameters, short_repr
from bandit_envs.rewards.arm_rewards import Bernoulli, ParametricDistribution, RewardDistribution


class Corrupted(RewardDistribution):
    """Rewards of a distribution, of which a proportion are replaced by rewards of another one.

    Args:
        distribution: a `RewardDistribution`, or whatever `KArmedBandit` takes for its arms.
        proportion: from 0 to 1: a number, [K] or [B, K].
        other: the distribution of the other rewards.

    Source: rlberry-research's `CorruptedLaws`; Lykouris et al. (2018).
    """

    def __init__(self, distribution: Any, proportion: ArrayLike, other: Any) -> None:
        (p,) = check_parameters(proportion=(proportion, 0.0, 1.0))
        first = as_distribution("distribution", distribution)
        second = as_distribution("other", other)
        mean = (1.0 - p) * first.mean + p * second.mean
        of_first = first.std**2 + (first.mean - mean) ** 2
        of_second = second.std**2 + (second.mean - mean) ** 2
        variance = (1.0 - p) * of_first + p * of_second
        low = min(first.support[0], second.support[0])
        high = max(first.support[1], second.support[1])
        super().__init__(mean, np.sqrt(variance), (low, high))
        self._first = first
        self._second = second
        self._is_replaced = Bernoulli(p)

    def draw(self, rng: Rng, action: Indices, row: Indices | None = None) -> Array:
        rewards = self._first.draw(rng, action, row)
        others = self._second.draw(rng, action, row)
        is_replaced = self._is_replaced.draw(rng, action, row) > 0.0
        return np.where(is_replaced, others, rewards)


class _SciPyDistribution(RewardDistribution):
    """A frozen distribution of SciPy. If its arms differ, it draws a reward of each of them."""

    def __init__(self, frozen: Any) -> None:
        super().__init__(frozen.mean(), frozen.std())
        self._rvs = frozen.rvs

    def draw(self, rng: Rng, action: Indices, row: Indices | None = None) -> Array:
        count = len(action)
        if row is not None and self.mean.ndim == 2:
            tables = self._rvs(size=(count, *self.mean.shape), random_state=rng)
            return np.asarray(tables[np.arange(count), row, action])
        rewards = np.asarray(self._rvs(size=(count, *self.mean.shape[-1:]), random_state=rng))
        if rewards.ndim == 1:  # one distribution for all arms
            return rewards
        return np.asarray(rewards[np.arange(count), action])


class _ArmByArm(RewardDistribution):
    """A distribution for each arm, or for each row of arms.

    Arms whose distributions have the same parametric class are drawn together.
    """

    def __init__(self, distributions: Sequence[RewardDistribution]) -> None:
        low = min(each.support[0] for each in distributions)
        high = max(each.support[1] for each in distributions)
        means = np.array([each.mean for each in distributions])
        stds = np.array([each.std for each in distributions])
        super().__init__(means, stds, (low, high))
        # Pairs: where each member of the group is in it, -1 for others; and its distribution.
        self._groups: list[tuple[Indices, RewardDistribution]] = []
        for members in _group_by_class(distributions):
            places = np.full(len(distributions), -1)
            places[members] = np.arange(len(members))
            self._groups.append((places, _join([distributions[arm] for arm in members])))

    def draw(self, rng: Rng, action: Indices, row: Indices | None = None) -> Array:
        is_table = self.mean.ndim == 2
        members = action
        if is_table:
            members = np.arange(len(action)) if row is None else row
        rewards = np.empty(len(action))
        for places, distribution in self._groups:
            place = places.take(members)
            rows = np.flatnonzero(place >= 0)
            arms = action if is_table else place
            rewards[rows] = distribution.draw(rng, arms.take(rows))
        return rewards


def _group_by_class(distributions: Sequence[RewardDistribution]) -> list[list[int]]:
    """Returns the indices of those that `_join` takes together; all others are alone."""
    groups: dict[Any, list[int]] = {}
    for index, each in enumerate(distributions):
        is_joined = isinstance(each, ParametricDistribution) and each.mean.ndim == 0
        groups.setdefault(type(each) if is_joined else index, []).append(index)
    return list(groups.values())


def _join(distributions: list[RewardDistribution]) -> RewardDistribution:
    """Returns the distribution of several arms of one class, or the only one as it is."""
    first = distributions[0]
    if not isinstance(first, ParametricDistribution) or first.mean.ndim:
        return first
    rows = [each.parameters for each in distributions if isinstance(each, ParametricDistribution)]
    make: Any = type(first)
    joined: RewardDistribution = make(*(np.stack(column) for column in zip(*rows)))
    return joined


def as_distribution(name: str, arms: Any) -> RewardDistribution:
    """Returns the distribution of all arms; `name` is for messages.

    It takes a `RewardDistribution`; a frozen distribution of SciPy, known by its methods `mean`,
    `std` and `rvs`; a sequence of them, one for each arm; or a table of them, a sequence of such
    sequences.
    """
    if isinstance(arms, RewardDistribution):
        return arms
    if all(callable(getattr(arms, method, None)) for method in ("mean", "std", "rvs")):
        return _SciPyDistribution(arms)
    if not isinstance(arms, Sequence) or isinstance(arms, str) or not arms:
        raise TypeError(
            f"{name} is {short_repr(arms)}; expected a distribution, or a sequence of them"
        )
    distributions = [as_distribution(f"{name}[{arm}]", each) for arm, each in enumerate(arms)]
    for arm, each in enumerate(distributions):
        shape = each.mean.shape
        if len(shape) > 1 or shape != distributions[0].mean.shape:
            raise ValueError(
                f"{name}[{arm}] has {shape} arms; expected one, or as many as {name}[0]"
            )
    return _ArmByArm(distributions)
