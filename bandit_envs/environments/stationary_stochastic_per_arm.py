"""The contextual bandit whose every arm has features of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import first_nan
from bandit_envs.base.availability import available_actions
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.checks import check_integer
from bandit_envs.base.state import Seed
from bandit_envs.rewards import RewardFunction, as_reward_model
from bandit_envs.sampling import ContextSampler, SamplingFunction, as_sampler
from bandit_envs.specs import ArraySpec, BoundedArraySpec, add_outer_dims_nest

Observation = dict[str, NDArray[Any]]

GLOBAL, ARMS, COUNT = "global_context_sampling_fn", "arm_context_sampling_fn", "num_actions_fn"


class StationaryStochasticPerArmPyEnvironment(BanditPyEnvironment):
    """Contextual bandit with features of users and of items. A row is a user of a shared problem.

        x_t       ~ global_context_sampling_fn                    the user
        z_t(a)    ~ arm_context_sampling_fn, for each arm a       the items
        R_t       ~ reward_fn(x_t, z_t(A_t))                      the same function for all rows

    Every step has new users and items. The observation is a dict: `global` [B, G], `per_arm`
    [B, K, P] and, if `num_actions_fn` is given, `num_actions` [B] int32: the first so many arms are
    available to the row.

    Random stream: a step draws the rewards, then the global contexts, the arms' and the numbers of
    actions. Functions of TF-Agents' kind are called once each in the constructor, then in that
    order once a row, or once an arm, as TF-Agents does; so a script that seeds `numpy.random` sees
    the same numbers. They draw outside the environment's generator: seeds and saved states do not
    reproduce them.

    Shapes:
        B: batch_size.
        K: max_num_actions.
        G, P: features of a user, of an item.

    Args:
        global_context_sampling_fn: a `ContextSampler`, or a function without arguments that returns
            one context: an array, list or tuple [G], or a number.
        arm_context_sampling_fn: the same, for an arm: [P].
        max_num_actions: K.
        reward_fn: a `RewardModel`, or a function that takes a vector [G + P], the user's features
            and then the item's, and draws a number. With a function, expected rewards, optimal
            actions and regret are unavailable.
        num_actions_fn: a `ContextSampler` of one integer, or a function that returns an integer.
            The numbers are clipped to 1 and K. None: all arms are always available.
        batch_size, name, seed, horizon: as for `BanditPyEnvironment`.

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
        sample_global = as_sampler(GLOBAL, global_context_sampling_fn, (1,))
        sample_arms = as_sampler(ARMS, arm_context_sampling_fn, (1, num_arms))
        self._sample_global = sample_global
        self._sample_arms = sample_arms
        self._sample_num_actions = None
        spec: dict[str, ArraySpec] = {
            "global": sample_global.spec,
            "per_arm": add_outer_dims_nest(sample_arms.spec, (num_arms,)),
        }
        if num_actions_fn is not None:
            self._sample_num_actions = _integer_sampler(num_actions_fn)
            spec["num_actions"] = BoundedArraySpec((), np.int32, 1, num_arms)
        self._reward_model = as_reward_model(
            "reward_fn",
            reward_fn,
            np.zeros((1, *sample_global.spec.shape), sample_global.spec.dtype),
            np.zeros((1, *sample_arms.spec.shape), sample_arms.spec.dtype),
        )
        super().__init__(
            spec,
            num_arms,
            self._reward_model.spec,
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
            name=name,
        )
        self._has_mask = num_actions_fn is not None
        self._item_shape = (self._batch_size, num_arms)
        self._flat_items = (self._batch_size * num_arms, *sample_arms.spec.shape)

    def _initial_state(self, rng: np.random.Generator) -> Observation:
        contexts = {
            "global": self._sample_global.sample(rng, self._batch_shape, GLOBAL),
            "per_arm": self._sample_arms.sample(rng, self._item_shape, ARMS),
        }
        if self._sample_num_actions is not None:
            numbers = self._sample_num_actions.sample(rng, self._batch_shape, COUNT)[:, 0]
            most = min(self.num_actions, np.iinfo(numbers.dtype).max)  # a uint8 is at most 255
            contexts["num_actions"] = numbers.clip(1, most).astype(np.int32)
        return contexts

    def _observe(self, state: Observation) -> Observation:
        return state

    def _expected_rewards(self, state: Observation) -> NDArray[Any]:
        items = state["per_arm"]
        expected = np.asarray(self._reward_model.mean(state["global"], items))
        if expected.shape != items.shape[:2]:
            raise ValueError(
                f"reward_fn has a mean of shape {expected.shape}; expected {items.shape[:2]}"
            )
        index = first_nan(expected)
        if index is not None:
            raise ValueError(f"reward_fn has NaN as the mean of row {index[0]}, arm {index[1]}")
        return expected

    def _available(self, state: Observation) -> NDArray[np.bool_] | None:
        return available_actions(state, self.num_actions)

    def _state_of(self, observation: Observation) -> Observation:
        return observation

    def _draw_rewards(
        self, rng: np.random.Generator, state: Observation, action: NDArray[np.intp]
    ) -> NDArray[Any]:
        chosen = state["per_arm"].reshape(self._flat_items).take(self._row_offsets + action, 0)
        return self._reward_model.draw(rng, state["global"], chosen)

    def _next_state(
        self, rng: np.random.Generator, state: Observation, action: NDArray[np.intp]
    ) -> Observation:
        return self._initial_state(rng)


def _integer_sampler(function: SamplingFunction) -> ContextSampler:
    sampler = as_sampler(COUNT, function, (1,))
    dtype, shape = sampler.spec.dtype, sampler.spec.shape
    if dtype.kind not in "iu":
        raise TypeError(f"num_actions_fn returned {dtype}; expected integers")
    if shape != (1,):
        raise ValueError(f"num_actions_fn returned shape {shape}; expected one integer a row")
    return sampler
