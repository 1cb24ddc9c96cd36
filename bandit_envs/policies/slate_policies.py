"""Policies whose actions are slates of distinct items, with a reward for each slot."""

from __future__ import annotations

import abc
import typing
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Mask, Rng, check_array
from bandit_envs.base.checks import (
    MAX_PARAMETER,
    check_integer,
    check_number,
    check_numbers,
)
from bandit_envs.base.slates import SlateProbabilities
from bandit_envs.policies.draws import largest_random_ties
from bandit_envs.policies.policy import BatchOptions, Policy, PolicyOptions
from bandit_envs.specs import SlateSpec
from bandit_envs.trajectories import TimeStep, Trajectory


class SlatePolicy(Policy):
    """Shows the items with the largest scores, best first; ties are broken uniformly at random.

    It shows available items only. Actions and rewards are [B, S], with S slots and K items. A
    subclass implements `_scores`, and `_learn` if it learns.

    Args:
        num_slots: S, the number of items in a slate, at most K.
        num_actions: K, the number of items.
        **options: `batch_size` and `seed`, as in `Policy`.
    """

    _choosing_hooks: ClassVar[tuple[str, ...]] = ("_select", "_scores")

    def __init__(
        self, num_slots: int, *, num_actions: int, **options: typing.Unpack[BatchOptions]
    ) -> None:
        num_items = check_integer("num_actions", num_actions, minimum=1)
        self._num_slots = check_integer("num_slots", num_slots, 1, num_items)
        super().__init__(action_spec=SlateSpec.of(self._num_slots, num_items), **options)

    @abc.abstractmethod
    def _scores(self, learned: Any, time_step: TimeStep) -> Floats:
        """Returns the score of every item: [B, K]."""

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        kind = env.action_kind
        if not kind.is_slate:
            raise ValueError(f"{env.name} takes {kind}; expected an environment of slates")
        return {**super().arguments_for(env), "num_slots": kind.spec.shape[0]}

    def _select(self, rng: Rng, learned: Any, time_step: TimeStep) -> Indices:
        scores = self._scores(learned, time_step)
        self._check_table("_scores", scores)
        check_array("_scores returned", scores, self._table_shape)  # no NaN
        available = self._available(time_step.observation)
        if available is not None:
            scores = np.where(available, scores, -np.inf)
        return largest_random_ties(rng, scores, self._num_slots)

    def _state_key(self) -> dict[str, int | None]:
        return {**super()._state_key(), "num_slots": self._num_slots}


class RandomSlatePolicy(SlatePolicy):
    """Shows items uniformly at random.

        P(slate) = (K - S)! / K!    with S slots

    Args:
        num_slots: S, the number of items in a slate, at most K.
        **options: `num_actions`, the number of items, `batch_size` and `seed`, as in `Policy`.

    >>> from bandit_envs import CascadeBandit
    >>> RandomSlatePolicy(2, num_actions=5, seed=0).action(CascadeBandit().reset()).shape
    (1, 2)
    """

    def _scores(self, learned: None, time_step: TimeStep) -> Floats:
        return np.zeros(self._table_shape)

    def _probability_of(
        self, learned: None, time_step: TimeStep, action: Indices
    ) -> SlateProbabilities:
        available = self._available(time_step.observation)
        if available is None:
            available = np.ones(self._table_shape, np.bool_)
        num_items = available.sum(axis=1)[:, np.newaxis]
        left = num_items - np.arange(self._num_slots)  # items, as slots are filled
        is_shown = np.take_along_axis(available, action, axis=1)
        prefix = is_shown.cumprod(axis=1) / left.cumprod(axis=1, dtype=np.float64)
        return SlateProbabilities(prefix[:, -1], is_shown / num_items, prefix)


class Clicks(NamedTuple):
    """What is known of each item; [B, K] and updated in place, except for the steps."""

    clicks: Floats  # how often it was clicked on
    shown: Floats  # how often it was shown, and seen as far as is known
    looks: Floats  # the expected number of times that users looked at it
    steps: Indices  # how many slates each row has learned from, [B]

    @classmethod
    def initial(cls, batch_size: int, num_items: int) -> Clicks:
        """Returns what is known before any slate was shown."""
        shape = (batch_size, num_items)
        steps = np.zeros(batch_size, np.intp)
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape), steps)

    def upper_bounds(self, c: float) -> Floats:
        """Returns (clicks + sqrt(c ln t shown)) / looks, infinite for items never seen: [B, K]."""
        log_t = np.log(np.maximum(self.steps, 1))[:, np.newaxis]
        bounds = c * log_t * self.shown
        np.sqrt(bounds, out=bounds)
        bounds += self.clicks
        with np.errstate(invalid="ignore"):
            bounds /= self.looks
        return np.asarray(np.fmin(bounds, np.inf, out=bounds))  # NaN, 0 / 0, becomes infinite

    def add(self, places: Indices, is_click: Mask, is_seen: Mask, looks: Array) -> Clicks:
        """Returns what is known after slates, whose items are at `places` [B, S] of flat tables."""
        self.clicks.reshape(-1)[places] += is_click
        self.shown.reshape(-1)[places] += is_seen
        self.looks.reshape(-1)[places] += looks
        return self._replace(steps=self.steps + 1)


class CascadeUCBPolicy(SlatePolicy):
    """Shows the items with the largest upper confidence bounds of their attractions.

        U_t(k) = w_k + sqrt(c ln t / n_k)

    w_k is the share of clicks of the n_k times that a user saw item k: the slots down to the one
    clicked, or all if there is no click. Items never seen come first.

    Args:
        num_slots: the number of items in a slate.
        c: how much it explores, at least 0.
        **options: `num_actions`, the number of items, `batch_size` and `seed`, as in `Policy`.

    Source: Kveton et al., Cascading bandits (2015), algorithm CascadeUCB1.

    >>> from bandit_envs import CascadeBandit
    >>> CascadeUCBPolicy(2, num_actions=5, seed=0).action(CascadeBandit().reset()).shape
    (1, 2)
    """

    def __init__(
        self, num_slots: int, c: float = 1.5, **options: typing.Unpack[PolicyOptions]
    ) -> None:
        self._c = check_number("c", c, 0.0, MAX_PARAMETER)
        super().__init__(num_slots, **options)

    def _initial(self) -> Clicks:
        return Clicks.initial(self.batch_size, self.num_actions)

    def _scores(self, learned: Clicks, time_step: TimeStep) -> Floats:
        return learned.upper_bounds(self._c)

    def _learn(self, learned: Clicks, trajectory: Trajectory) -> Clicks:
        is_click = trajectory.reward > 0.0
        is_seen = is_click.cumsum(axis=1) - is_click == 0  # down to the first click
        places = trajectory.action + self._row_offsets[:, np.newaxis]
        return learned.add(places, is_click & is_seen, is_seen, looks=is_seen)


class PBMUCBPolicy(SlatePolicy):
    """Shows the items with the largest upper confidence bounds, in the position-based model.

        U_t(k) = s_k / m_k + sqrt(n_k / m_k) sqrt(ln t / (2 m_k))

    s_k counts the clicks on item k, n_k how often it was shown, and m_k sums the probabilities of
    the slots in which it was. The best item goes to the slot that is looked at most.

    Args:
        num_slots: S, the number of items in a slate.
        observation_probs: [S], in (0, 1], the probability of a look at each slot.
        **options: `num_actions`, the number of items, `batch_size` and `seed`, as in `Policy`.

    Source: Lagree, Vernade & Cappe, Multiple-play bandits in the position-based model (2016),
    algorithm PBM-UCB.

    >>> from bandit_envs import PositionBasedBandit
    >>> policy = PBMUCBPolicy(2, [1.0, 0.5], num_actions=10, seed=0)
    >>> policy.action(PositionBasedBandit().reset()).shape
    (1, 2)
    """

    def __init__(
        self,
        num_slots: int,
        observation_probs: Sequence[float],
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        super().__init__(num_slots, **options)
        looks = check_numbers("observation_probs", observation_probs, ndim=1).astype(np.float64)
        if looks.shape != (self._num_slots,) or not ((looks > 0.0) & (looks <= 1.0)).all():
            expected = f"{self._num_slots} numbers above 0 and at most 1"
            raise ValueError(f"observation_probs is {looks}; expected {expected}")
        self._observation_probs = looks
        self._rank = (-looks).argsort(kind="stable").argsort(kind="stable")  # of each slot

    def _initial(self) -> Clicks:
        return Clicks.initial(self.batch_size, self.num_actions)

    def _scores(self, learned: Clicks, time_step: TimeStep) -> Floats:
        return learned.upper_bounds(0.5)

    def _select(self, rng: Rng, learned: Clicks, time_step: TimeStep) -> Indices:
        return super()._select(rng, learned, time_step)[:, self._rank]

    def _learn(self, learned: Clicks, trajectory: Trajectory) -> Clicks:
        is_click = trajectory.reward > 0.0
        places = trajectory.action + self._row_offsets[:, np.newaxis]
        return learned.add(places, is_click, np.ones_like(is_click), self._observation_probs)
