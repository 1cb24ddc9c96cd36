"""Policies whose actions are slates of distinct items, with a reward for each slot."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import (
    MAX_PARAMETER,
    check_indices,
    check_integer,
    check_number,
    check_numbers,
    check_rewards,
)
from bandit_envs.base.slates import check_distinct
from bandit_envs.nests import Nest
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.linear import LinUCBPolicy, as_finite
from bandit_envs.policies.policy import PolicyOptions
from bandit_envs.trajectories import SlateProbabilities, TimeStep, Trajectory

Slates = NDArray[np.intp]


class SlatePolicy(IndexPolicy):
    """Shows the items with the largest scores, best first; ties are broken uniformly at random.

    Actions and rewards are [B, S]. Here S is `num_slots`, and K is the number of items.
    """

    def __init__(self, num_slots: int, **options: Any) -> None:
        super().__init__(**options)
        self._num_slots = check_integer("num_slots", num_slots, 1, self.num_actions)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        shape: tuple[int, ...] = getattr(env.action_spec(), "shape", ())
        if len(shape) != 1:
            raise ValueError(f"{env.name} has actions of shape {shape}; expected slates, (S,)")
        return {**super().arguments_for(env), "num_slots": shape[0]}

    def _checked(self, action: Any, reward: Any) -> tuple[Slates, NDArray[Any]]:
        slates = check_indices(action, *self._table_shape, (self._num_slots,))
        check_distinct(slates, self.num_actions)
        paid = np.asarray(reward)
        if paid.shape != slates.shape:
            raise ValueError(f"reward has shape {paid.shape}; expected {slates.shape}")
        return slates, check_rewards(paid.reshape(-1), slates.size).reshape(slates.shape)

    def _select(self, rng: Rng, learned: Any, time_step: TimeStep) -> Slates:
        scores = self._scores(learned, time_step)
        order = np.lexsort((rng.random(scores.shape), -scores))
        return order[:, : self._num_slots]

    def _choose(self, rng: Rng, time_step: TimeStep) -> Slates:
        return self._select(rng, self._state.learned, time_step)

    def _state_key(self) -> dict[str, int | None]:
        return {**super()._state_key(), "num_slots": self._num_slots}


class RandomSlatePolicy(SlatePolicy):
    """Shows items uniformly at random.

        P(slate) = (K - S)! / K!    with S slots

    >>> from bandit_envs import CascadeBandit
    >>> RandomSlatePolicy(2, num_actions=5, seed=0).action(CascadeBandit().reset()).shape
    (1, 2)
    """

    knows_probabilities = True

    def _scores(self, learned: None, time_step: TimeStep) -> Floats:
        return np.zeros(self._table_shape)

    def info_of(self, time_step: TimeStep, action: Any) -> SlateProbabilities:
        left = self.num_actions - np.arange(self._num_slots)  # items, as slots are filled
        prefix = np.tile(1.0 / left.cumprod(dtype=np.float64), (self.batch_size, 1))
        slot = np.full_like(prefix, 1.0 / self.num_actions)
        return SlateProbabilities(prefix[:, -1], slot, prefix)


class Clicks(NamedTuple):
    """What is known of each item, [B, K] each, and the steps of each row."""

    clicks: Floats  # how often it was clicked on
    shown: Floats  # how often it was shown, and seen as far as is known
    looks: Floats  # the expected number of times that users looked at it
    steps: NDArray[np.int64]  # how many slates each row has learned from, [B]


class CascadeUCBPolicy(SlatePolicy):
    """Shows the items with the largest upper confidence bounds of their attractions.

        U_t(k) = w_k + sqrt(c ln t / n_k)

    w_k is the share of clicks of the n_k times that a user saw item k: the slots down to the one
    clicked, or all if there is no click. Items never seen come first.

    Source: Kveton et al., Cascading bandits (2015), algorithm CascadeUCB1.

    >>> from bandit_envs import CascadeBandit
    >>> CascadeUCBPolicy(2, num_actions=5, seed=0).action(CascadeBandit().reset()).shape
    (1, 2)
    """

    def __init__(
        self, num_slots: int, c: float = 1.5, **options: typing.Unpack[PolicyOptions]
    ) -> None:
        super().__init__(num_slots, **options)
        self._c = check_number("c", c, 0.0, MAX_PARAMETER)

    def _initial(self) -> Clicks:
        clicks, shown, looks = np.zeros((3, *self._table_shape))
        return Clicks(clicks, shown, looks, np.zeros(self.batch_size, int))

    def _scores(self, learned: Clicks, time_step: TimeStep) -> Floats:
        log_t = self._c * np.log(np.maximum(learned.steps, 1))[:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = (learned.clicks + np.sqrt(log_t * learned.shown)) / learned.looks
        return np.where(learned.shown > 0.0, bounds, np.inf)

    def _learn(self, learned: Clicks, trajectory: Trajectory) -> Clicks:
        is_click = trajectory.reward > 0.0
        is_seen, looks = self._seen(is_click)
        places = trajectory.action + self._row_offsets[:, np.newaxis]
        for table, more in zip(learned[:3], (is_click & is_seen, is_seen, looks)):
            table.reshape(-1)[places] += more
        return learned._replace(steps=learned.steps + 1)

    def _seen(self, is_click: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Any]:
        """Returns which slots were seen as far as is known, and the expected looks at each."""
        is_above = is_click.cumsum(axis=1) - is_click == 0  # of the first click
        return is_above, is_above


class PBMUCBPolicy(CascadeUCBPolicy):
    """Shows the items with the largest upper confidence bounds, in the position-based model.

        U_t(k) = s_k / m_k + sqrt(n_k / m_k) sqrt(ln t / (2 m_k))

    s_k counts the clicks on item k, n_k how often it was shown, and m_k sums the probabilities of
    the slots in which it was. The best item goes to the slot that is looked at most.

    Args:
        observation_probs: [S], in (0, 1], the probability of a look at each slot.

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
        super().__init__(num_slots, 0.5, **options)
        looks = check_numbers("observation_probs", observation_probs, ndim=1).astype(np.float64)
        if looks.shape != (self._num_slots,) or not ((looks > 0.0) & (looks <= 1.0)).all():
            expected = f"{self._num_slots} numbers above 0 and at most 1"
            raise ValueError(f"observation_probs is {looks}; expected {expected}")
        self._looks = looks
        self._rank = (-looks).argsort(kind="stable").argsort(kind="stable")  # of each slot

    def _select(self, rng: Rng, learned: Clicks, time_step: TimeStep) -> Slates:
        return super()._select(rng, learned, time_step)[:, self._rank]

    def _seen(self, is_click: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Any]:
        return np.ones_like(is_click), self._looks


class TopKLinUCBPolicy(SlatePolicy, LinUCBPolicy):
    """Shows the items with the largest upper confidence bounds of `LinUCBPolicy`.

        U(a) = theta . x_a + alpha * sqrt(x_a^T A^-1 x_a)

    Every slot's reward is one observation of the linear model.

    Source: Qin, Chen & Zhu, Contextual combinatorial bandit (2014), algorithm 1.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> TopKLinUCBPolicy(2, observation_spec=spec).num_actions
    4
    """

    def __init__(
        self,
        num_slots: int,
        alpha: float = 1.0,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        numbers = {"alpha": alpha, "gamma": gamma, "tikhonov_weight": tikhonov_weight}
        super().__init__(num_slots, **numbers, observation_spec=observation_spec, **options)

    def _samples(self, trajectory: Trajectory) -> tuple[Slates, Floats, NDArray[Any]]:
        context, arms = self._arrays(trajectory.observation, len(trajectory.action))
        shown = np.take_along_axis(arms, trajectory.action[:, :, np.newaxis], axis=1)
        contexts = np.repeat(context[:, np.newaxis], self._num_slots, axis=1)
        features = as_finite(np.concatenate((contexts, shown), axis=2))
        return np.zeros_like(trajectory.action), features, trajectory.reward
