"""The bandit whose arms pay 1 or 0, with probabilities that change at certain times."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.base.arrays import Array, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.checks import check_numbers
from bandit_envs.base.state import Seed
from bandit_envs.rewards.arms import check_parameters
from bandit_envs.rewards.contextual import CLICK_SPEC
from bandit_envs.sampling.durations import Durations
from bandit_envs.specs import ArraySpec


class PiecewiseState(NamedTuple):
    """Where in the sequence of pieces all rows are."""

    time: int  # the number of steps so far
    ends: NDArray[np.int64]  # [n + 1]: 0, and the times at which the n pieces so far end


class PiecewiseBernoulliPyEnvironment(BanditPyEnvironment):
    """A bandit whose arms pay 1 or 0, with probabilities that change at certain times.

        P(R_t = 1) = piece_means[i mod P, A_t]     in piece i, which lasts d_i steps

    Each row is an independent run, and all rows change at the same times. Time goes on through
    `reset`. The observation [B, 1] is 0. A saved state does not hold what an iterator returns
    later.

    Args:
        piece_means: [P, K], of P pieces and K arms.
        change_duration_generator: d_0, d_1, ...: an iterator, a sequence, an integer, or a
            `ContextSampler` of one integer; see `sampling.Durations`.
        restart_on_reset: whether each `reset` returns to piece 0; a sampler draws new durations.

    Source: TF-Agents' `PiecewiseBernoulliPyEnvironment`, whose signature is kept; Garivier &
    Moulines (2011), section 2.

    >>> env = PiecewiseBernoulliPyEnvironment([[0.0, 1.0], [1.0, 0.0]], 2, seed=0)
    >>> time_step = env.reset()
    >>> [env.step([0]).reward.item() for _ in range(5)], env.change_points.tolist()
    ([0.0, 0.0, 1.0, 1.0, 0.0], [2, 4])
    """

    independent_rows = True

    def __init__(
        self,
        piece_means: ArrayLike,
        change_duration_generator: Any,
        batch_size: int = 1,
        *,
        restart_on_reset: bool = False,
        seed: Seed = None,
        horizon: int | None = None,
        name: str = "piecewise_bernoulli",
    ) -> None:
        table = check_numbers("piece_means", piece_means, ndim=2)
        if not len(table):
            raise ValueError(f"piece_means has shape {table.shape}; expected at least one piece")
        (self._piece_means,) = check_parameters(piece_means=(table, 0.0, 1.0))
        spec, num_arms = ArraySpec((1,), np.int32, "observation"), table.shape[1]
        super().__init__(
            spec, num_arms, CLICK_SPEC, batch_size=batch_size, seed=seed, horizon=horizon, name=name
        )
        self._piece_optima = self._piece_means.argmax(axis=1)
        self._durations = Durations("change_duration_generator", change_duration_generator)
        self._restart_on_reset = bool(restart_on_reset)
        self._zeros = np.zeros((self._batch_size, 1), np.int32)

    @property
    def current_piece(self) -> int:
        """The index of the piece that the next action meets."""
        return self._piece(self._bandit_state().state)

    @property
    def change_points(self) -> NDArray[np.int64]:
        """The times at which pieces ended so far, in steps: [changes]."""
        return np.unique(self._bandit_state().state.ends[:-1])[1:]

    def _initial_state(self, rng: Rng) -> PiecewiseState:
        return PiecewiseState(0, self._durations.ends(rng, 0, np.zeros(1, np.int64)))

    def _observe(self, state: PiecewiseState) -> NDArray[np.int32]:
        return self._zeros

    def _expected_rewards(self, state: PiecewiseState) -> Array:
        means = self._piece_means[self._piece(state)]
        return np.broadcast_to(means, (self._batch_size, len(means)))

    def _expected_reward(self, state: PiecewiseState, action: Indices) -> Array:
        return np.asarray(self._piece_means[self._piece(state)].take(action))

    def _optimal_action(self, state: PiecewiseState) -> Indices:
        return np.full(self._batch_size, self._piece_optima[self._piece(state)])

    def _draw_rewards(self, rng: Rng, state: PiecewiseState, action: Indices) -> Array:
        is_paid = rng.random(self._batch_size) < self._expected_reward(state, action)
        return np.asarray(is_paid)

    def _next_state(self, rng: Rng, state: PiecewiseState, action: Indices) -> PiecewiseState:
        time = state.time + 1
        return PiecewiseState(time, self._durations.ends(rng, time, state.ends))

    def _next_episode(self, rng: Rng, state: PiecewiseState) -> PiecewiseState:
        return self._initial_state(rng) if self._restart_on_reset else state

    def _piece(self, state: PiecewiseState) -> int:
        return (len(state.ends) - 2) % len(self._piece_means)
