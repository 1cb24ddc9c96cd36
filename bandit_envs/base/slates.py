"""Slates: actions that are items in slots [B, S], and rewards with one number for each slot."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats, Indices, Mask, Rng
from bandit_envs.base.actions import IndexedAction
from bandit_envs.base.checks import MAX_REWARD, check_indices, check_rewards, short_repr
from bandit_envs.specs import SlateSpec

__all__ = [
    "SlateProbabilities",
]


class SlateProbabilities(NamedTuple):
    """How probable slates are under a policy, which reports it if asked; None for what is unknown.

    Fields:
        slate: [B], the probability of the slate.
        slot: [B, S], the probability that the slot shows its item, whatever the others show.
        prefix: [B, S], the probability that the slots down to this one show their items.
    """

    slate: NDArray[np.float64] | None = None
    slot: NDArray[np.float64] | None = None
    prefix: NDArray[np.float64] | None = None

    @classmethod
    def of_slates(cls, shown: Any, slates: Any) -> SlateProbabilities:
        """Returns the probabilities of `slates` under a policy that shows `shown`, both [B, S]."""
        slot = np.equal(shown, slates).astype(np.float64)
        prefix = slot.cumprod(axis=1)
        return cls(prefix[:, -1], slot, prefix)


class SlateAction(IndexedAction):
    """A slate of distinct items from 0 to K - 1, in S slots with a reward for each: [B, S]."""

    is_slate = True

    spec: SlateSpec

    def __str__(self) -> str:
        return f"slates of {self.spec.shape[0]} of {self.num_actions} items"

    def check(self, action: Any) -> Indices:
        shape = self.spec.shape
        checked = check_indices(action, self.batch_size, self.num_actions, shape)
        return check_distinct(checked, self.num_actions)

    def check_rewards(
        self, reward: Any, low: float = -MAX_REWARD, high: float = MAX_REWARD
    ) -> Array:
        paid = np.asarray(reward)
        if paid.shape != self._shape:
            raise ValueError(f"reward has shape {paid.shape}; expected {self._shape}")
        return check_rewards(paid.reshape(-1), paid.size, low, high).reshape(self._shape)

    def total(self, reward: Array) -> Array:
        return sum_over_slots(reward)

    def draw(self, rng: Rng, available: Mask | None = None) -> Indices:
        if available is None:
            drawn: Indices = super().draw(rng)
            return drawn
        keys = np.where(available, rng.random(available.shape), 1.0)
        return keys.argsort(axis=1)[:, : self.spec.shape[0]].astype(self.spec.dtype)

    def check_probability(self, told: Any) -> SlateProbabilities:
        if not isinstance(told, SlateProbabilities):
            expected = "expected SlateProbabilities"
            raise TypeError(f"_probability_of returned {short_repr(told)}; {expected}")
        return told

    def probability(self, told: SlateProbabilities) -> Floats:
        if told.slate is None:
            hint = "info_of() tells those of slots or prefixes"
            raise NotImplementedError(f"the probabilities of whole slates are unknown; {hint}")
        return told.slate

    def info(self, told: SlateProbabilities) -> SlateProbabilities:
        return told


def sum_over_slots(reward: Array) -> Array:
    """Returns the rewards of slates [B]: the sums of vectors [B, S] that have one for each slot."""
    return np.asarray(reward.reshape(len(reward), -1).sum(axis=1))


def best_slate(values: Array, weights: Array) -> Indices:
    """Returns the items with the largest of `values` [B, K]: [B, S].

    The best item gets the slot with the largest of `weights` [S], or the first of these.
    """
    items = (-values).argsort(axis=1, kind="stable")[:, : len(weights)]
    slate = np.empty_like(items)
    slate[:, (-weights).argsort(kind="stable")] = items
    return slate


def check_distinct(action: Indices, num_items: int) -> Indices:
    """Returns slates [B, S] of items from 0 to `num_items` - 1; ValueError if one repeats an item.

    `check_indices` stores slates slot by slot, so that comparing two slots is fast.
    """
    num_slots = action.shape[1]
    slots = action.T.astype(np.min_scalar_type(num_items))
    # Going round in a circle, each pair of slots is at most half the circle apart.
    half = num_slots // 2
    circle = np.concatenate([slots, slots[:half]])
    for distance in range(1, half + 1):
        is_same = circle[distance : distance + num_slots] == slots
        if is_same.any():
            row = int(is_same.any(axis=0).argmax())
            found = f"action[{row}] is {action[row].tolist()}, which shows an item twice"
            raise ValueError(f"{found}; expected distinct items")
    return action
