"""Slates without context: the cascade model and the position-based model."""

from __future__ import annotations

import itertools
import typing

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Array, Floats, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import check_integer, check_parameters, check_table
from bandit_envs.base.slates import best_slate
from bandit_envs.rewards.item_models import CLICK_SPEC
from bandit_envs.specs import SlateSpec

ATTRACTIONS = 0.5, 0.4, 0.3, 0.2, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05


class ClickModelBandit(BanditPyEnvironment["Indices | None"]):
    """What both models share: slates of items, which attract with probabilities of their own.

    The state says whose attractions a row has: those of the rows [B]; None for its own.

    Args:
        attractions: [K], or [B, K] for a problem a row; in [0, 1].
        looks: the probabilities that slots are looked at: [S].
        name_of_count: what messages call S.
        batch_size: B.
    """

    independent_rows = True

    def __init__(
        self,
        attractions: ArrayLike,
        looks: Floats,
        name_of_count: str,
        batch_size: int,
        **options: typing.Unpack[Options],
    ) -> None:
        (table,) = check_parameters(attractions=(attractions, 0.0, 1.0))
        size = check_integer("batch_size", batch_size, minimum=1)
        if table.ndim not in (1, 2) or (table.ndim == 2 and len(table) != size):
            raise ValueError(f"attractions has shape {table.shape}; expected [K] or [{size}, K]")
        num_items = table.shape[-1]
        num_slots = check_integer(name_of_count, len(looks), 1, num_items)
        self._attractions = table.copy()
        self._looks = looks
        clicks = CLICK_SPEC.replace(shape=(num_slots,), name="clicks")
        slates = SlateSpec.of(num_slots, num_items)
        super().__init__(reward_spec=clicks, action_spec=slates, batch_size=size, **options)

    def _initial_state(self, rng: Rng) -> Indices | None:
        return None

    def _share(self, state: Indices | None) -> Indices:
        return np.zeros(self._batch_size, np.intp)

    def _of_slates(self, values: Floats, state: Indices | None, slates: Indices) -> Floats:
        """Returns values of items, [K] or [B, K], for slates [B, S]: a new array [S, B]."""
        places = slates.T
        if values.ndim > 1:
            own = self.action_kind.row_offsets.T
            places = places + (own if state is None else state * self.num_actions)
        return values.take(places)

    def _rendered_values(self, state: Indices | None) -> Floats:
        table = self._attractions
        if table.ndim > 1 and state is not None:
            table = table[state]
        return np.broadcast_to(table, (self._batch_size, self.num_actions))

    def _optimal_action(self, state: Indices | None) -> Indices:
        best = best_slate(np.atleast_2d(self._attractions), self._looks)
        if len(best) > 1 and state is not None:
            best = best[state]
        return np.broadcast_to(best, (self._batch_size, best.shape[1]))


class CascadeBandit(ClickModelBandit):
    """A user scans a slate from the top, and clicks on the first item that attracts.

        P(click on slot i) = a_i (1 - a_1) ... (1 - a_{i-1}),    a_i = attraction of slot i's item

    The reward is a vector with a 1 at the slot clicked: the user has seen the slots above, and all
    of them if there is no click. The expected reward of a slate is the probability of a click. Each
    row is an independent run.

    Args:
        attractions: [K], or [B, K] for a problem a row; in [0, 1].
        num_slots: S. The action and the reward are [B, S].
        batch_size: B.

    Source: Kveton et al., Cascading bandits (2015).

    >>> env = CascadeBandit([0.0, 1.0, 0.5], num_slots=2, batch_size=2, seed=0)
    >>> time_step = env.reset()
    >>> env.step([[0, 1], [1, 2]]).reward.tolist(), env.optimal_action()[0].tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [1, 2])
    """

    def __init__(
        self,
        attractions: ArrayLike = ATTRACTIONS,
        num_slots: int = 4,
        batch_size: int = 1,
        **options: typing.Unpack[Options],
    ) -> None:
        looks = np.ones(check_integer("num_slots", num_slots, minimum=1))
        super().__init__(attractions, looks, "num_slots", batch_size, **options)
        self._complements = 1.0 - self._attractions

    def _draw_rewards(self, rng: Rng, state: Indices | None, action: Indices) -> NDArray[np.bool_]:
        # A user passes a slot if their one uniform number is below its pass probability.
        is_passed = rng.random(self._batch_size) < self._pass_probabilities(state, action)
        is_click = ~is_passed
        np.not_equal(is_passed[1:], is_passed[:-1], out=is_click[1:])
        return is_click.T

    def _expected_reward(self, state: Indices | None, action: Indices) -> Array:
        return np.asarray(1.0 - self._pass_probabilities(state, action)[-1])

    def _pass_probabilities(self, state: Indices | None, slates: Indices) -> Floats:
        """Returns the probability that no slot down to each one is clicked: [S, B]."""
        passes = self._of_slates(self._complements, state, slates)
        for above, slot in itertools.pairwise(passes):
            np.multiply(above, slot, out=slot)
        return passes


class PositionBasedBandit(ClickModelBandit):
    """A user looks at each slot with a probability of its own, and clicks if its item attracts.

        P(click on slot i) = observation_probs[i] * attraction of slot i's item

    Clicks on different slots are independent; the reward is a vector of them, and the expected
    reward of a slate is their expected number. Each row is an independent run.

    Args:
        attractions: [K], or [B, K] for a problem a row; in [0, 1].
        observation_probs: the probabilities that slots are looked at: [S]. The action and the
            reward are [B, S].
        batch_size: B.

    Source: Lagree, Vernade & Cappe, Multiple-play bandits in the position-based model (2016).

    >>> env = PositionBasedBandit([0.1, 0.9, 0.5], [0.5, 1.0], seed=0)
    >>> time_step = env.reset()
    >>> env.optimal_action().tolist(), env.optimal_reward().round(2).tolist()
    ([[2, 1]], [1.15])
    """

    def __init__(
        self,
        attractions: ArrayLike = ATTRACTIONS,
        observation_probs: ArrayLike = (1.0, 0.6, 0.4, 0.3),
        batch_size: int = 1,
        **options: typing.Unpack[Options],
    ) -> None:
        looks = check_table("observation_probs", observation_probs, 1, 0.0, 1.0)
        name_of_count = "the length of observation_probs"
        super().__init__(attractions, looks, name_of_count, batch_size, **options)
        self._row_looks = np.tile(looks[:, np.newaxis], self._batch_size)  # [S, B]: fast

    def _draw_rewards(self, rng: Rng, state: Indices | None, action: Indices) -> NDArray[np.bool_]:
        return (rng.random(action.shape[::-1]) < self._click_probabilities(state, action)).T

    def _expected_reward(self, state: Indices | None, action: Indices) -> Array:
        return np.asarray(self._click_probabilities(state, action).sum(axis=0))

    def _click_probabilities(self, state: Indices | None, slates: Indices) -> Floats:
        probabilities = self._of_slates(self._attractions, state, slates)
        probabilities *= self._row_looks
        return probabilities
