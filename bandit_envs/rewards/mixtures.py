"""Laws of arms that are made of other laws, and those of SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.base.arrays import Array, Indices, Rng
from bandit_envs.base.checks import check_parameters, shown
from bandit_envs.rewards.arms import Bernoulli, Family, Law


class Corrupted(Law):
    """Rewards of a law, of which a proportion are replaced by rewards of another law.

    Args:
        law, other: laws, or whatever `KArmedBandit` takes for its arms.
        proportion: from 0 to 1: a number, [K] or [B, K].

    Source: rlberry-research's `CorruptedLaws`; Lykouris et al. (2018).
    """

    def __init__(self, law: Any, proportion: ArrayLike, other: Any) -> None:
        (p,) = check_parameters(proportion=(proportion, 0.0, 1.0))
        self._laws = laws = as_law("law", law), as_law("other", other)
        parts = list(zip((1.0 - p, p), laws))
        mean = sum(share * part.mean for share, part in parts)
        variance = sum(share * (part.std**2 + (part.mean - mean) ** 2) for share, part in parts)
        lows, highs = zip(*(part.support for part in laws))
        super().__init__(mean, np.sqrt(variance), (lows, highs))
        self._is_replaced = Bernoulli(p)

    def draw(self, rng: Rng, action: Indices, row: Indices | None = None) -> Array:
        rewards, others = (law.draw(rng, action, row) for law in self._laws)
        return np.where(self._is_replaced.draw(rng, action, row) > 0.0, others, rewards)


class _Frozen(Law):
    """A frozen law of SciPy. If its arms differ, it draws a reward of each of them."""

    def __init__(self, law: Any) -> None:
        super().__init__(law.mean(), law.std())
        self._rvs = law.rvs

    def draw(self, rng: Rng, action: Indices, row: Indices | None = None) -> Array:
        is_table = row is not None and self.mean.ndim == 2
        size = len(action), *(self.mean.shape if is_table else self.mean.shape[-1:])
        rewards = np.asarray(self._rvs(size=size, random_state=rng))
        if rewards.ndim == 1:
            return rewards
        each = np.arange(len(action))
        return rewards[(each, row, action) if is_table else (each, action)]


class _ArmByArm(Law):
    """A law for each arm, or for each row of arms. Arms of one family draw together."""

    def __init__(self, laws: Sequence[Any]) -> None:
        means, stds, supports = zip(*((law.mean, law.std, law.support) for law in laws))
        lows, highs = zip(*supports)
        super().__init__(means, stds, (lows, highs))
        groups: dict[Any, list[int]] = {}
        for arm, law in enumerate(laws):
            is_alone = law.mean.ndim or not isinstance(law, Family)
            groups.setdefault(arm if is_alone else type(law), []).append(arm)
        self._parts = []
        for arms in groups.values():
            places, law = np.full(len(laws), -1), laws[arms[0]]
            places[arms] = np.arange(len(arms))
            if isinstance(law, Family) and not law.mean.ndim:
                columns = zip(*(laws[arm].parameters for arm in arms))
                law = laws[arms[0]].__class__(*map(np.stack, columns))
            self._parts.append((places, law))

    def draw(self, rng: Rng, action: Indices, row: Indices | None = None) -> Array:
        rewards, is_table = np.empty(len(action)), self.mean.ndim == 2
        own = np.arange(len(action)) if row is None else row
        for places, law in self._parts:
            place = places.take(own if is_table else action)
            rows = np.flatnonzero(place >= 0)
            rewards[rows] = law.draw(rng, (action if is_table else place).take(rows))
        return rewards


def as_law(name: str, arms: Any) -> Law:
    """Returns the law of all arms; `name` is for messages.

    It takes a `Law`; a frozen law of SciPy, known by its methods `mean` and `rvs`; a sequence of
    them, each the law of one arm; or a table of them, a sequence of such sequences.
    """
    if isinstance(arms, Law):
        return arms
    if all(callable(getattr(arms, method, None)) for method in ("mean", "std", "rvs")):
        return _Frozen(arms)
    if not isinstance(arms, Sequence) or isinstance(arms, str) or not arms:
        raise TypeError(f"{name} is {shown(arms)}; expected a law, or a sequence of laws")
    laws = [as_law(f"{name}[{arm}]", law) for arm, law in enumerate(arms)]
    for arm, law in enumerate(laws):
        shape = law.mean.shape
        if len(shape) > 1 or shape != laws[0].mean.shape:
            raise ValueError(
                f"{name}[{arm}] has {shape} arms; expected one, or as many as {name}[0]"
            )
    return _ArmByArm(laws)
