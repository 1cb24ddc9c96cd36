"""The contextual bandit whose weights are redrawn now and then."""

from __future__ import annotations

import typing
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Rng, read_only
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import MAX_PARAMETER, check_integer, check_number
from bandit_envs.environments.contexts.new_contexts import WEIGHTS, LinearContexts, multiply
from bandit_envs.sampling import Durations, Normal, SamplingFunction, as_sampler
from bandit_envs.seeding import Seed

ADDITIVE = "additive_sampling_fn"


class PiecewiseLinearState(NamedTuple):
    """The contexts, and what all rows share."""

    context: Array  # [B, d]
    weights: Floats  # W, [d, K]
    additive: Array  # b, [K]
    time: int  # steps, or samples, since the first reset
    ends: Indices  # 0, and the times at which the pieces so far end


class PiecewiseLinearBandit(BanditPyEnvironment[PiecewiseLinearState]):
    """Contextual bandit with linear rewards, whose parameters change abruptly.

        R_t = x_t . W[:, A_t] + b[A_t]

    All rows share W and b, which stay for a number of steps and are then drawn anew. There is no
    noise. Time goes on through `reset`.

    Args:
        context_sampling_fn: a `ContextSampler` of d features, or a function that returns one
            context. The observation is [B, d].
        interval_sampling_fn: the number of steps in each piece, as `sampling.Durations` takes it:
            an integer, or a `ContextSampler` of one.
        weights_sampling_fn: draws a row of W, of K numbers; it is drawn d times.
        additive_sampling_fn: draws b, of K numbers.
        batch_size: B.
        count_samples: whether durations count samples, which are steps times rows, as in TF-Agents.

    Source: TF-Agents' `PiecewiseStochasticEnvironment`; there, the optimum leaves out b.

    >>> env = PiecewiseLinearBandit(Normal(3), 100, Normal(2), Normal(2), batch_size=4, seed=0)
    >>> env.reset().observation.shape, env.weights.shape
    ((4, 3), (3, 2))
    """

    skips_nan_check = True  # the samplers check the contexts

    def __init__(  # noqa: PLR0917 - in the order of TF-Agents
        self,
        context_sampling_fn: SamplingFunction,
        interval_sampling_fn: Any,
        weights_sampling_fn: SamplingFunction,
        additive_sampling_fn: SamplingFunction,
        batch_size: int = 1,
        name: str | None = None,
        *,
        count_samples: bool = False,
        seed: Seed = None,
        horizon: int | None = None,
    ) -> None:
        self._contexts = LinearContexts(context_sampling_fn, weights_sampling_fn)
        super().__init__(
            self._contexts.spec,
            self._contexts.num_actions,
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
            name=name,
        )
        self._durations = Durations("interval_sampling_fn", interval_sampling_fn)
        self._time_of_step = self._batch_size if count_samples else 1
        self._additive_sampler = as_sampler(ADDITIVE, additive_sampling_fn, (1,))
        (drawn,) = self._additive_sampler.spec.shape
        if drawn != self.num_actions:
            expected = f"expected {self.num_actions}, as {WEIGHTS}"
            raise ValueError(f"{ADDITIVE} draws {drawn} numbers; {expected}")

    @property
    def weights(self) -> Floats:
        """The weights W of the coming reward: [d, K]."""
        return read_only(self.bandit_state().state.weights)

    def _initial_state(self, rng: Rng) -> PiecewiseLinearState:
        ends = self._durations.ends(rng, 0, np.zeros(1, np.int64))
        weights = self._contexts.draw_weights(rng)
        additive = self._draw_additive(rng)
        contexts = self._contexts.draw_contexts(rng, self._batch_size)
        return PiecewiseLinearState(contexts, weights, additive, 0, ends)

    def _observe(self, state: PiecewiseLinearState) -> Array:
        return state.context

    def _expected_rewards(self, state: PiecewiseLinearState) -> Array:
        return np.asarray(multiply(state.context, state.weights) + state.additive)

    def _draw_rewards(self, rng: Rng, state: PiecewiseLinearState, action: Indices) -> Array:
        rewards = self._of_action(multiply(state.context, state.weights), action)
        rewards += state.additive.take(action)
        return rewards

    def _next_state(
        self, rng: Rng, state: PiecewiseLinearState, action: Indices
    ) -> PiecewiseLinearState:
        _, weights, additive, time, ends = state  # _replace takes four times as long
        time += self._time_of_step
        number = len(ends)
        if time >= ends.item(-1):
            ends = self._durations.ends(rng, time, ends)
            if len(ends) > number:  # else the last piece stays
                weights = self._contexts.draw_weights(rng)
                additive = self._draw_additive(rng)
        contexts = self._contexts.draw_contexts(rng, self._batch_size)
        return PiecewiseLinearState(contexts, weights, additive, time, ends)

    def _next_episode(self, rng: Rng, state: PiecewiseLinearState) -> PiecewiseLinearState:
        contexts = self._contexts.draw_contexts(rng, self._batch_size)
        return PiecewiseLinearState(contexts, state.weights, state.additive, state.time, state.ends)

    def _draw_additive(self, rng: Rng) -> Array:
        """Draws b: [K]."""
        return np.asarray(self._additive_sampler.sample(rng, (1,), ADDITIVE)[0])


def piecewise_linear(
    context_dim: int = 15,
    num_actions: int = 5,
    interval: int = 200,
    additive_std: float = 0.01,
    batch_size: int = 8,
    **options: typing.Unpack[Options],
) -> PiecewiseLinearBandit:
    """Contextual bandit with linear rewards, whose parameters are redrawn at regular intervals.

    Contexts and weights are standard normal, as in TF-Agents' example.
    """
    return PiecewiseLinearBandit(
        Normal(check_integer("context_dim", context_dim, minimum=1)),
        interval,
        Normal(check_integer("num_actions", num_actions, minimum=1)),
        Normal(num_actions, scale=check_number("additive_std", additive_std, 0.0, MAX_PARAMETER)),
        batch_size,
        **options,
    )
