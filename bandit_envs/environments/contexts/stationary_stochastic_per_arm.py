"""The contextual bandit whose every arm has features of its own."""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Indices, Rng, take_actions
from bandit_envs.base.bandit_py_environment import (
    BanditPyEnvironment,
    Options,
    available_actions,
)
from bandit_envs.base.checks import check_integer
from bandit_envs.environments.contexts.new_contexts import (
    NAMES,
    NewContexts,
    Observation,
    UsersAndItems,
)
from bandit_envs.rewards import LinearReward, RewardFunction, as_reward_model
from bandit_envs.sampling import ContextSampler, Normal, SamplingFunction, as_sampler
from bandit_envs.seeding import Seed, split_seed
from bandit_envs.specs import BoundedArraySpec

COUNT = "num_actions_fn"


class StationaryStochasticPerArmPyEnvironment(NewContexts, BanditPyEnvironment[Observation]):
    """Contextual bandit with features of users and of items. Rows are users of a shared problem.

        x_t       ~ global_context_sampling_fn                    the user
        z_t(a)    ~ arm_context_sampling_fn, for each arm a       the items
        R_t       ~ reward_fn(x_t, z_t(A_t))                      the same function for all rows

    Every step has new users and items. The observation is a dict: `global` [B, G], `per_arm`
    [B, K, P] and, if `num_actions_fn` is given, `num_actions` [B], of the dtype that it returns:
    the first so many arms are available to the row.

    Random stream: a step draws the rewards, then the global contexts, the arms' and the numbers of
    actions. Functions are called once each in the constructor, then in that order for each row, or
    each arm: a script that seeds `numpy.random` sees the same numbers as in TF-Agents. Seeds and
    saved states of the environment do not reproduce them.

    Args:
        global_context_sampling_fn: a `ContextSampler`, or a function that returns one context [G].
        arm_context_sampling_fn: the same for an arm: [P].
        max_num_actions: K.
        reward_fn: a `RewardModel`, or a function that takes a vector [G + P], the user's features
            and then the item's, and draws a number; with a function, means are unknown.
        num_actions_fn: a `ContextSampler` of one integer, or a function that returns one; they are
            clipped to 1 and K. None if all arms are always available.
        batch_size: B.

    Source: TF-Agents' `StationaryStochasticPerArmPyEnvironment`, whose signature is kept; Li et al.
    (2010), section 2.

    >>> from bandit_envs import rewards, sampling
    >>> user, item = sampling.Normal(4), sampling.Normal(5)
    >>> model = rewards.LinearReward(np.arange(9), noise_std=1.0)
    >>> env = StationaryStochasticPerArmPyEnvironment(user, item, 7, model, batch_size=2, seed=0)
    >>> {key: array.shape for key, array in env.reset().observation.items()}
    {'global': (2, 4), 'per_arm': (2, 7, 5)}
    >>> env.step(env.optimal_action()).reward.shape
    (2,)
    """

    skips_nan_check = True  # the samplers check the contexts

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        global_context_sampling_fn: SamplingFunction,
        arm_context_sampling_fn: SamplingFunction,
        max_num_actions: int,
        reward_fn: RewardFunction,
        num_actions_fn: SamplingFunction | None = None,
        batch_size: int = 1,
        name: str | None = "stationary_stochastic_per_arm",
        *,
        seed: Seed = None,
        horizon: int | None = None,
    ) -> None:
        num_arms = check_integer("max_num_actions", max_num_actions, minimum=1)
        self._contexts = UsersAndItems(
            NAMES, global_context_sampling_fn, arm_context_sampling_fn, num_arms
        )
        observation_spec = self._contexts.spec
        self._counts: ContextSampler | None = None
        if num_actions_fn is not None:
            self._counts = as_sampler(COUNT, num_actions_fn, (1,))
            counted = self._counts.spec
            if counted.dtype.kind not in "iu" or counted.shape != (1,):
                raise TypeError(f"{COUNT} returned {counted}; expected one integer for each row")
            largest = min(num_arms, np.iinfo(counted.dtype).max)
            observation_spec["num_actions"] = BoundedArraySpec((), counted.dtype, 1, largest)
        user = self._contexts.users.spec
        item = self._contexts.items.spec
        self._reward_model = as_reward_model("reward_fn", reward_fn, user, item)
        super().__init__(
            observation_spec,
            num_arms,
            self._reward_model.spec,
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
            name=name,
        )
        self._has_mask = self._counts is not None

    def _initial_state(self, rng: Rng) -> Observation:
        contexts = self._contexts.draw(rng, self._batch_size)
        if self._counts is not None:
            numbers = self._counts.sample(rng, self._batch_shape, COUNT)[:, 0]
            counts = numbers.astype(np.int64).clip(1, self.num_actions)
            contexts["num_actions"] = counts.astype(self._counts.spec.dtype)
        return contexts

    def _expected_rewards(self, state: Observation) -> Array:
        return np.asarray(self._reward_model.mean(state["global"], state["per_arm"]))

    def _available(self, state: Observation) -> NDArray[np.bool_] | None:
        return available_actions(state, self.num_actions)

    def _draw_rewards(self, rng: Rng, state: Observation, action: Indices) -> Array:
        items = take_actions(state["per_arm"], action)
        return self._reward_model.draw(rng, state["global"], items)


def per_arm(
    global_dim: int = 40,
    arm_dim: int = 50,
    max_num_actions: int = 70,
    noise_std: float = 1.0,
    batch_size: int = 20,
    **options: typing.Unpack[Options],
) -> StationaryStochasticPerArmPyEnvironment:
    """Contextual bandit with features of users and of items: linear rewards, normal features.

        R_t ~ N(theta . (x_t, z_t(A_t)), noise_std^2)

    The weights theta are drawn from `seed` so that the mean reward has variance 1.

    Args:
        global_dim: the number of features of a user.
        arm_dim: the number of features of an item.
        max_num_actions: the number of items, K.
        noise_std: the standard deviation of rewards around their mean, at least 0.
        batch_size: B.
        **options: `seed`, `horizon` and `name`, as for `BanditPyEnvironment`.
    """
    theta_rng, options["seed"] = split_seed(options.get("seed"))
    of_users = check_integer("global_dim", global_dim, minimum=0)
    of_items = check_integer("arm_dim", arm_dim, minimum=0)
    dim = of_users + of_items
    theta = theta_rng.standard_normal(dim) / np.sqrt(max(dim, 1))
    reward = LinearReward(theta, noise_std)
    return StationaryStochasticPerArmPyEnvironment(
        Normal(of_users),
        Normal(of_items),
        max_num_actions,
        reward,
        batch_size=batch_size,
        **options,
    )
