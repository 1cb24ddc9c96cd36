"""The contextual bandit whose weights are redrawn now and then."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bandit_envs.base.arrays import Array, Floats, Indices, Rng
from bandit_envs.base.checks import check_integer
from bandit_envs.base.state import Seed
from bandit_envs.environments.contextual import WEIGHTS, LinearBandit
from bandit_envs.sampling import ContextSampler, Normal, SamplingFunction, as_sampler

INTERVAL, ADDITIVE = "interval_sampling_fn", "additive_sampling_fn"


class PiecewiseLinearState(NamedTuple):
    """The contexts, and what all rows share."""

    context: Array  # [B, d]
    weights: Floats  # W, [d, K]
    additive: Array  # b, [K]
    piece: int  # its number, from 0
    time: int  # steps since the first reset
    next_change: int  # the time at which the next piece starts


class PiecewiseLinearBandit(LinearBandit):
    """Contextual bandit with linear rewards, whose parameters change abruptly.

        R_t = x_t . W[:, A_t] + b[A_t]

    All rows share W and b, which stay for a number of steps and are then drawn anew. There is no
    noise. Time goes on through `reset`.

    Args:
        context_sampling_fn: a `ContextSampler` of d features, or a function without arguments that
            returns one context. The observation is [B, d].
        interval_sampling_fn: the number of steps in a piece: an integer; or a `ContextSampler` of
            one integer, or a function that returns one. At least 1.
        weights_sampling_fn: draws a row of W, of K numbers; it is drawn d times.
        additive_sampling_fn: draws b, of K numbers.

    Source: TF-Agents' `PiecewiseStochasticEnvironment`; there, time counts samples, which are
    steps times rows, and the optimum leaves out b.

    >>> env = PiecewiseLinearBandit(Normal(3), 100, Normal(2), Normal(2), batch_size=4, seed=0)
    >>> env.reset().observation.shape, env.piece
    ((4, 3), 0)
    """

    def __init__(  # noqa: PLR0917 - in the order of TF-Agents
        self,
        context_sampling_fn: SamplingFunction,
        interval_sampling_fn: int | SamplingFunction,
        weights_sampling_fn: SamplingFunction,
        additive_sampling_fn: SamplingFunction,
        batch_size: int = 1,
        name: str | None = "piecewise_linear",
        *,
        seed: Seed = None,
        horizon: int | None = None,
    ) -> None:
        samplers = context_sampling_fn, weights_sampling_fn
        super().__init__(*samplers, batch_size=batch_size, seed=seed, horizon=horizon, name=name)
        self._additive_sampler = as_sampler(ADDITIVE, additive_sampling_fn, (1,))
        self._interval: Any = interval_sampling_fn
        if callable(interval_sampling_fn):
            self._interval = as_sampler(INTERVAL, interval_sampling_fn, (1,))
        else:
            check_integer(INTERVAL, interval_sampling_fn, minimum=1)
        (drawn,) = self._additive_sampler.spec.shape
        if drawn != self.num_actions:
            expected = f"expected {self.num_actions}, as {WEIGHTS}"
            raise ValueError(f"{ADDITIVE} draws {drawn} numbers; {expected}")

    @property
    def piece(self) -> int:
        """The number of the present piece, from 0."""
        piece: int = self._bandit_state().state.piece
        return piece

    def _initial_state(self, rng: Rng) -> PiecewiseLinearState:
        return self._new_piece(rng, 0, 0)

    def _expected_rewards(self, state: PiecewiseLinearState) -> Array:
        return np.asarray(self._products(state) + state.additive)

    def _draw_rewards(self, rng: Rng, state: PiecewiseLinearState, action: Indices) -> Array:
        rewards = self._of_action(self._products(state), action)
        rewards += state.additive.take(action)
        return rewards

    def _next_state(
        self, rng: Rng, state: PiecewiseLinearState, action: Indices
    ) -> PiecewiseLinearState:
        time = state.time + 1
        if time < state.next_change:
            _, weights, additive, piece, _, change = state  # _replace takes four times as long
            return PiecewiseLinearState(self._contexts(rng), weights, additive, piece, time, change)
        return self._new_piece(rng, state.piece + 1, time)

    def _new_piece(self, rng: Rng, piece: int, time: int) -> PiecewiseLinearState:
        interval = self._interval
        if isinstance(interval, ContextSampler):
            interval = interval.sample(rng, (1,), INTERVAL).item()
        weights = self._weights(rng)
        additive = self._additive_sampler.sample(rng, (1,), ADDITIVE)[0]
        change = time + check_integer(INTERVAL, interval, minimum=1)
        return PiecewiseLinearState(self._contexts(rng), weights, additive, piece, time, change)


def piecewise_linear(
    context_dim: int = 15,
    num_actions: int = 5,
    interval: int = 200,
    additive_std: float = 0.01,
    batch_size: int = 8,
    **options: Any,
) -> PiecewiseLinearBandit:
    """Contextual bandit with linear rewards, whose parameters are redrawn at regular intervals.

    Contexts and weights are standard normal, as in TF-Agents' example.
    """
    return PiecewiseLinearBandit(
        Normal(context_dim),
        interval,
        Normal(num_actions),
        Normal(num_actions, scale=additive_std),
        batch_size,
        **options,
    )
