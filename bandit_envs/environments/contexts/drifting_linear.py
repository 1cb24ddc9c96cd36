"""The contextual bandit whose weights rotate."""

from __future__ import annotations

import math
import typing
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Floats, Indices, Rng, read_only
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import MAX_PARAMETER, check_integer, check_number, check_parameters
from bandit_envs.environments.contexts.new_contexts import CONTEXT, LinearContexts, multiply
from bandit_envs.rewards import arm_rewards
from bandit_envs.sampling import Normal, SamplingFunction
from bandit_envs.seeding import Seed


class DriftingLinearState(NamedTuple):
    """The contexts [B, d], and the weights [d, K] of all rows."""

    context: Array
    weights: Floats


class DriftingLinearBandit(BanditPyEnvironment[DriftingLinearState]):
    """Contextual bandit with linear rewards and drifting weights, the same for all rows.

        R_t     = x_t . W_t[:, A_t] + N(additive_mean, additive_std^2)[A_t]
        W_{t+1} = G(i, phi) W_t,    phi ~ N(drift_mean, drift_std^2),    i ~ uniform {0, ..., d - 2}

    G rotates the rows i and i + 1 of W by phi, in radians, which keeps the norm of every column.
    Time goes on through `reset`.

    Args:
        context_sampling_fn: a `ContextSampler` of at least 2 features, or a function that returns
            one context. The observation is [B, d].
        weights_sampling_fn: the same for a row of W_0, of K numbers; it is drawn d times.
        drift_mean: the mean of the angle of a rotation, in radians.
        drift_std: its standard deviation, at least 0.
        additive_mean: the mean of what is added to the rewards: a number, or [K].
        additive_std: its standard deviation: a number, or [K].
        batch_size: B.
        shared_noise: whether all rows get the same additive rewards, as in TF-Agents.

    Source: TF-Agents' `DriftingLinearEnvironment`; there W is also rotated before the first reward,
    and the optimum leaves out the additive mean.

    >>> env = DriftingLinearBandit(Normal(3), Normal(2), batch_size=4, seed=0)
    >>> env.reset().observation.shape, env.weights.shape
    ((4, 3), (3, 2))
    """

    skips_nan_check = True  # the samplers check the contexts

    def __init__(  # noqa: PLR0917 - in the order of TF-Agents
        self,
        context_sampling_fn: SamplingFunction,
        weights_sampling_fn: SamplingFunction,
        drift_mean: float = 0.01,
        drift_std: float = 0.01,
        additive_mean: ArrayLike = 0.0,
        additive_std: ArrayLike = 0.01,
        batch_size: int = 1,
        name: str | None = None,
        *,
        shared_noise: bool = False,
        seed: Seed = None,
        horizon: int | None = None,
    ) -> None:
        self._contexts = LinearContexts(context_sampling_fn, weights_sampling_fn)
        check_integer(f"the number of features of {CONTEXT}", self._contexts.dim, minimum=2)
        super().__init__(
            self._contexts.spec,
            self._contexts.num_actions,
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
            name=name,
        )
        self._drift_mean = check_number("drift_mean", drift_mean)
        self._drift_std = check_number("drift_std", drift_std, 0.0, MAX_PARAMETER)
        mean, std = check_parameters(
            additive_mean=(additive_mean, -MAX_PARAMETER, MAX_PARAMETER),
            additive_std=(additive_std, 0.0, MAX_PARAMETER),
        )
        self._additive = arm_rewards.NormalReward(mean, std)
        if self._additive.mean.shape not in ((), (self.num_actions,)):
            shapes = f"shapes {mean.shape} and {std.shape}; expected () or (K,)"
            raise ValueError(f"additive_mean and additive_std have {shapes}")
        self._shared_noise = bool(shared_noise)

    @property
    def weights(self) -> Floats:
        """The weights W of the coming reward: [d, K]."""
        return read_only(self.bandit_state().state.weights)

    def _initial_state(self, rng: Rng) -> DriftingLinearState:
        contexts = self._contexts.draw_contexts(rng, self._batch_size)
        weights = self._contexts.draw_weights(rng)
        return DriftingLinearState(contexts, weights)

    def _observe(self, state: DriftingLinearState) -> Array:
        return state.context

    def _expected_rewards(self, state: DriftingLinearState) -> Array:
        return multiply(state.context, state.weights) + self._additive.mean.astype(np.float32)

    def _draw_rewards(self, rng: Rng, state: DriftingLinearState, action: Indices) -> Array:
        additive = self._draw_additive(rng, action)
        rewards = self._of_action(multiply(state.context, state.weights), action)
        rewards += additive
        return rewards

    def _draw_additive(self, rng: Rng, action: Indices) -> Array:
        """Draws what is added to the reward of each `action` [B]: [B]."""
        if self._shared_noise:
            return self._additive.draw(rng, np.arange(self.num_actions)).take(action)
        return self._additive.draw(rng, action)

    def _draw_angle(self, rng: Rng) -> float:
        """Draws the angle of the next rotation."""
        return self._drift_mean + self._drift_std * rng.standard_normal()

    def _rotate(self, rng: Rng, weights: Floats) -> Floats:
        """Returns weights [d, K] after a random rotation."""
        first = int(rng.random() * (self._contexts.dim - 1))
        return rotated(weights, first, self._draw_angle(rng))

    def _next_state(
        self, rng: Rng, state: DriftingLinearState, action: Indices
    ) -> DriftingLinearState:
        weights = self._rotate(rng, state.weights)
        return DriftingLinearState(self._contexts.draw_contexts(rng, self._batch_size), weights)

    def _next_episode(self, rng: Rng, state: DriftingLinearState) -> DriftingLinearState:
        contexts = self._contexts.draw_contexts(rng, self._batch_size)
        return DriftingLinearState(contexts, state.weights)


def rotated(weights: Floats, first: int, angle: float) -> Floats:
    """Returns weights [d, K] with the rows `first` and `first + 1` rotated by an angle."""
    cos = math.cos(angle)
    sin = math.sin(angle)
    rotation = np.array([[cos, -sin], [sin, cos]])
    result = weights.copy()
    result[first : first + 2] = rotation @ weights[first : first + 2]
    return result


def drifting_linear(  # noqa: PLR0917 - as the class
    context_dim: int = 15,
    num_actions: int = 5,
    drift_mean: float = 0.01,
    drift_std: float = 0.01,
    additive_std: float = 0.01,
    batch_size: int = 8,
    *,
    shared_noise: bool = False,
    **options: typing.Unpack[Options],
) -> DriftingLinearBandit:
    """Contextual bandit with linear rewards, whose weights rotate at every step.

    Contexts and weights are standard normal, as in TF-Agents' example.
    """
    return DriftingLinearBandit(
        Normal(check_integer("context_dim", context_dim, minimum=2)),
        Normal(check_integer("num_actions", num_actions, minimum=1)),
        drift_mean,
        drift_std,
        additive_std=additive_std,
        batch_size=batch_size,
        shared_noise=shared_noise,
        **options,
    )
