"""The contextual bandit whose features are nests."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Indices, Rng, take_actions
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import check_integer
from bandit_envs.environments.contexts.new_contexts import (
    NAMES,
    NewContexts,
    Observation,
    UsersAndItems,
)
from bandit_envs.nests import Nest, map_structure
from bandit_envs.rewards import FlatReward, LinearReward, RowNestReward, as_reward_model
from bandit_envs.sampling import Normal, Uniform, as_nest_sampler
from bandit_envs.seeding import Seed, split_seed


class StationaryStochasticStructuredPyEnvironment(NewContexts, BanditPyEnvironment[Observation]):
    """Contextual bandit with nests of features. A row is a user of a shared problem.

        x_t    ~ global_context_sampling_fn                    the user
        z_t(a) ~ arm_context_sampling_fn, for each action a    the items
        R_t    ~ reward_fn(x_t, z_t(A_t))

    Every step has new users and items. The observation is a dict of two nests: `global`, with
    leaves [B, ...], and `per_arm`, with leaves [B, K, ...].

    Args:
        global_context_sampling_fn: a nest of `ContextSampler` objects, or a function as
            `sampling.FunctionNest` takes it, which seeds and saved states do not reproduce.
        arm_context_sampling_fn: the same, for an item.
        num_actions: K.
        reward_fn: a `RewardModel` that takes nests in the place of arrays, such as `FlatReward`; or
            a function that takes the nests of one user and one item and draws a number; with a
            function, means are unknown.
        batch_size: B.

    Source: TF-Agents' `StationaryStochasticStructuredPyEnvironment`, whose signature is kept.

    >>> users, items = {"age": Uniform(1, 18, 90), "taste": Normal(2)}, Normal(3)
    >>> reward = FlatReward(LinearReward(np.ones(6)))
    >>> env = StationaryStochasticStructuredPyEnvironment(users, items, 4, reward, batch_size=5)
    >>> observation = env.reset().observation
    >>> observation["global"]["age"].shape, observation["per_arm"].shape
    ((5, 1), (5, 4, 3))
    """

    skips_nan_check = True  # the samplers check the contexts

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        global_context_sampling_fn: Nest,
        arm_context_sampling_fn: Nest,
        num_actions: int,
        reward_fn: Any,
        batch_size: int = 1,
        name: str | None = "stationary_stochastic_structured",
        *,
        seed: Seed = None,
        horizon: int | None = None,
    ) -> None:
        count = check_integer("num_actions", num_actions, minimum=1)
        self._contexts = UsersAndItems(
            NAMES, global_context_sampling_fn, arm_context_sampling_fn, count, as_nest_sampler
        )
        user = self._contexts.users.spec
        item = self._contexts.items.spec
        self._reward_model = as_reward_model("reward_fn", reward_fn, user, item, RowNestReward)
        super().__init__(
            self._contexts.spec,
            count,
            self._reward_model.spec,
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
            name=name,
        )

    def _initial_state(self, rng: Rng) -> Observation:
        return self._contexts.draw(rng, self._batch_size)

    def _expected_rewards(self, state: dict[str, Nest]) -> Array:
        return np.asarray(self._reward_model.mean(state["global"], state["per_arm"]))

    def _draw_rewards(self, rng: Rng, state: dict[str, Nest], action: Indices) -> Array:
        items = map_structure(lambda leaf: take_actions(leaf, action), state["per_arm"])
        return self._reward_model.draw(rng, state["global"], items)


def structured(
    global_dim: int = 4,
    arm_dim: int = 5,
    num_actions: int = 10,
    noise_std: float = 1.0,
    batch_size: int = 16,
    **options: typing.Unpack[Options],
) -> StationaryStochasticStructuredPyEnvironment:
    """Contextual bandit with nests of features: a user in a session, items with prices.

    The reward is linear in all features, with weights that are drawn from `seed`.
    """
    theta_rng, options["seed"] = split_seed(options.get("seed"))
    feature_count = check_integer("global_dim", global_dim, minimum=0)
    user = {"user": Normal(feature_count), "session": Normal(feature_count)}
    item = {
        "item": Normal(check_integer("arm_dim", arm_dim, minimum=0)),
        "price": Uniform(1, 0.0, 1.0),
    }
    dim = 2 * feature_count + arm_dim + 1
    theta = theta_rng.standard_normal(dim) / dim**0.5
    reward = FlatReward(LinearReward(theta, noise_std))
    return StationaryStochasticStructuredPyEnvironment(
        user, item, num_actions, reward, batch_size=batch_size, **options
    )
