"""The contextual bandit whose actions have no features."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import check_integer, check_numbers
from bandit_envs.environments.contexts.new_contexts import CONTEXT, NewContexts
from bandit_envs.nests import Nest
from bandit_envs.rewards import ActionRewards, LinearActionReward, as_action_reward_model
from bandit_envs.sampling import BatchFunction, ContextSampler, Normal
from bandit_envs.seeding import Seed, split_seed


class StationaryStochasticPyEnvironment(NewContexts, BanditPyEnvironment[Array]):
    """Contextual bandit without features of the actions. A row is a user of a shared problem.

        x_t ~ context_sampling_fn,    R_t ~ reward_fns[A_t](x_t)

    Every step has new contexts: the observation is [B, d]. With constraints, the reward is a dict
    of `reward` and `constraint`; expected rewards and regret are those of `reward`.

    A step draws the rewards, row by row, then the constraints, then the contexts. Seeds and saved
    states do not reproduce functions. The constructor calls the first of each argument once.

    Args:
        context_sampling_fn: a `ContextSampler`, or a function that returns contexts [B, d].
        reward_fns: an `ActionRewardModel`, or a function for each action, which takes a context [d]
            and draws a number, or a list of R numbers; with functions, means are unknown.
        constraint_fns: the same, for the constraints; None for none.
        batch_size: B.

    Source: TF-Agents' `StationaryStochasticPyEnvironment`, whose signature is kept; Li et al.
    (2010), section 2.

    >>> from bandit_envs.sampling import Normal
    >>> rewards = LinearActionReward([[1.0, 0.0], [0.0, 2.0]], noise_std=0.1)
    >>> env = StationaryStochasticPyEnvironment(Normal(2), rewards, batch_size=3, seed=0)
    >>> env.reset().observation.shape, env.expected_rewards().shape
    ((3, 2), (3, 2))
    """

    skips_nan_check = True  # the sampler checks the contexts

    def __init__(
        self,
        context_sampling_fn: ContextSampler | Callable[[], ArrayLike],
        reward_fns: ActionRewards,
        constraint_fns: ActionRewards | None = None,
        batch_size: int = 1,
        name: str | None = "stationary_stochastic",
        *,
        seed: Seed = None,
        horizon: int | None = None,
    ) -> None:
        self._sampler, example = _as_batch_sampler(context_sampling_fn, batch_size)
        self._rewards = as_action_reward_model("reward_fns", reward_fns, example)
        self._constraints = None
        spec: Nest = self._rewards.spec
        if constraint_fns is not None:
            self._constraints = as_action_reward_model("constraint_fns", constraint_fns, example)
            if self._constraints.num_actions != self._rewards.num_actions:
                raise ValueError(
                    f"constraint_fns has {self._constraints.num_actions} actions; "
                    f"expected {self._rewards.num_actions}, as reward_fns"
                )
            spec = {"reward": spec, "constraint": self._constraints.spec.replace(name="constraint")}
        super().__init__(
            self._sampler.spec,
            self._rewards.num_actions,
            spec,
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
            name=name,
        )

    def _initial_state(self, rng: Rng) -> Array:
        return self._sampler.sample(rng, self._batch_shape, CONTEXT)

    def _expected_rewards(self, state: Array) -> Array:
        return np.asarray(self._rewards.mean(state))

    def _draw_rewards(self, rng: Rng, state: Array, action: Indices) -> Nest:
        reward = self._rewards.draw(rng, state, action)
        if self._constraints is None:
            return reward
        return {"reward": reward, "constraint": self._constraints.draw(rng, state, action)}


def _as_batch_sampler(
    function: ContextSampler | Callable[[], ArrayLike], batch_size: int
) -> tuple[ContextSampler, Array]:
    """Returns a sampler, or a function that returns contexts [B, d] as one, and a context [d]."""
    if isinstance(function, ContextSampler):
        return function, function.sample(np.random.default_rng(0), (1,), CONTEXT)[0]
    contexts = check_numbers(CONTEXT, function(), ndim=2)
    if len(contexts) != batch_size:
        expected = "The outer dimension of the observations should match the batch size."
        raise ValueError(f"{CONTEXT} returned shape {contexts.shape}. {expected}")
    draw = functools.partial(_draw_batch, function)
    return BatchFunction(draw, contexts.shape[1], contexts.dtype), contexts[0]


def _draw_batch(function: Callable[[], ArrayLike], rng: Rng, size: tuple[int, ...]) -> ArrayLike:
    """Calls a function as a `BatchFunction` does, but without arguments."""
    return function()


def stationary_stochastic(
    context_dim: int = 15,
    num_actions: int = 5,
    noise_std: float = 0.1,
    batch_size: int = 8,
    **options: typing.Unpack[Options],
) -> StationaryStochasticPyEnvironment:
    """Contextual bandit without features of the actions: linear rewards, normal contexts.

    The weights of the actions are drawn from `seed` so that the mean rewards have variance 1.
    """
    theta_rng, options["seed"] = split_seed(options.get("seed"))
    contexts = Normal(check_integer("context_dim", context_dim, minimum=1))
    count = check_integer("num_actions", num_actions, minimum=1)
    theta = theta_rng.standard_normal((count, context_dim)) / context_dim**0.5
    rewards = LinearActionReward(theta, noise_std)
    return StationaryStochasticPyEnvironment(contexts, rewards, batch_size=batch_size, **options)
