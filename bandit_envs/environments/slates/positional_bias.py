"""The contextual bandit of slates whose every slot is looked at with a probability of its own."""

from __future__ import annotations

import typing
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Array, Floats, Indices, Rng, cast, take_actions
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import check_integer, check_number, check_table
from bandit_envs.base.slates import best_slate
from bandit_envs.environments.contexts.new_contexts import (
    ITEM_NAMES,
    NewContexts,
    Observation,
    UsersAndItems,
)
from bandit_envs.rewards import LogisticReward, RewardModel
from bandit_envs.rewards.item_models import CLICK_SPEC
from bandit_envs.sampling import Normal, SamplingFunction
from bandit_envs.seeding import Seed, split_seed
from bandit_envs.specs import SlateSpec


class ExplicitPositionalBiasRankingEnvironment(NewContexts, BanditPyEnvironment[Observation]):
    """A user looks at each slot with a probability of its own. Rows share the problem.

        x ~ global_sampling_fn,   z_j ~ item_sampling_fn
        P(click on slot i, which shows item j) = observation_probs[i] * relevance_fn(x, z_j)

    Clicks on different slots are independent; the reward is a vector of them, and the expected
    reward of a slate is their expected number. Relevances are clipped to [0, 1], with a warning.
    Every step has new users and items.

    Args:
        global_sampling_fn: a `ContextSampler`, or a function that returns one context [G].
        item_sampling_fn: the same for an item: [P].
        relevance_fn: a `RewardModel`, whose means are the relevances, or a function of a user [G]
            and an item [P].
        num_items: K.
        observation_probs: the probabilities that slots are looked at: [S].
        batch_size: B.

    Source: TF-Agents' `ExplicitPositionalBiasRankingEnvironment`, whose signature is kept; there, a
    slate may show an item twice.

    >>> users = items = Normal(2)
    >>> env = ExplicitPositionalBiasRankingEnvironment(users, items, LogisticReward(np.ones(4)), 9,
    ...     observation_probs=[1.0, 0.5, 0.25], batch_size=2)
    >>> time_step = env.reset()
    >>> env.step(env.optimal_action()).reward.shape
    (2, 3)
    """

    skips_nan_check = True  # the samplers check the contexts

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        global_sampling_fn: SamplingFunction,
        item_sampling_fn: SamplingFunction,
        relevance_fn: Any,
        num_items: int,
        observation_probs: ArrayLike,
        batch_size: int = 1,
        name: str | None = None,
        *,
        seed: Seed = None,
        horizon: int | None = None,
    ) -> None:
        check_integer("num_items", num_items, minimum=1)
        self._contexts = UsersAndItems(ITEM_NAMES, global_sampling_fn, item_sampling_fn, num_items)
        self._looks = check_table("observation_probs", observation_probs, 1, 0.0, 1.0)
        self._relevance_fn = relevance_fn
        num_slots = check_integer("the length of observation_probs", len(self._looks), 1, num_items)
        super().__init__(
            self._contexts.spec,
            reward_spec=CLICK_SPEC.replace(shape=(num_slots,), name="score_vector"),
            action_spec=SlateSpec.of(num_slots, num_items),
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
            name=name,
        )

    def _initial_state(self, rng: Rng) -> Observation:
        return self._contexts.draw(rng, self._batch_size)

    def _draw_rewards(self, rng: Rng, state: Observation, action: Indices) -> NDArray[np.bool_]:
        return rng.random(action.shape) < self._click_probabilities(state, action)

    def _expected_reward(self, state: Observation, action: Indices) -> Array:
        return np.asarray(self._click_probabilities(state, action).sum(axis=1))

    def _optimal_action(self, state: Observation) -> Indices:
        return best_slate(self._rendered_values(state), self._looks)

    def _rendered_values(self, state: Observation) -> Floats:
        return self._relevances(state["global"], state["per_arm"])

    def _click_probabilities(self, state: Observation, action: Indices) -> Floats:
        items = take_actions(state["per_arm"], action)
        return np.asarray(self._looks * self._relevances(state["global"], items))

    def _relevances(self, users: Array, items: Array) -> Floats:
        """Returns the relevances of items [B, n, P]: [B, n]."""
        if isinstance(self._relevance_fn, RewardModel):
            found = np.asarray(self._relevance_fn.mean(users, items), np.float64)
        else:
            rows = [self._relevances_of_row(user, row) for user, row in zip(users, items)]
            found = cast("relevance_fn returned", rows, np.dtype(np.float64))
        if not ((found >= 0.0) & (found <= 1.0)).all():
            if np.isnan(found).any():
                raise ValueError("relevance_fn returned NaN; expected numbers in [0, 1]")
            message = "relevance_fn returned a number outside [0, 1]; it is clipped"
            warnings.warn(message, stacklevel=2)
        return found.clip(0.0, 1.0)

    def _relevances_of_row(self, user: Array, items: Array) -> list[Any]:
        """Returns what the user's function says of each of the items of a row [n, P]: [n]."""
        return [self._relevance_fn(user, item) for item in items]


def positional_bias(
    num_items: int = 20,
    num_slots: int = 5,
    dim: int = 4,
    decay: float = 1.3,
    batch_size: int = 20,
    **options: typing.Unpack[Options],
) -> ExplicitPositionalBiasRankingEnvironment:
    """Slates of items for users, who look at slot i with probability 1 / i^decay."""
    rng, options["seed"] = split_seed(options.get("seed"))
    dim = check_integer("dim", dim, minimum=1)
    slots = np.arange(1, check_integer("num_slots", num_slots, minimum=1) + 1)
    observation_probs = slots ** -check_number("decay", decay, 0.0)
    relevance = LogisticReward(rng.standard_normal(2 * dim))
    features = Normal(dim)
    return ExplicitPositionalBiasRankingEnvironment(
        features,
        features,
        relevance,
        num_items,
        observation_probs,
        batch_size=batch_size,
        **options,
    )
