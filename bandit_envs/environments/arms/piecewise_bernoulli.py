"""The bandit whose arms pay 1 or 0, with probabilities that change at certain times."""

from __future__ import annotations

import typing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Array, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import check_integer, check_number, check_table
from bandit_envs.rewards.item_models import CLICK_SPEC
from bandit_envs.sampling.durations import Durations
from bandit_envs.seeding import Seed
from bandit_envs.specs import ArraySpec

PROBLEMS = (
    ((0.1, 0.2), (0.1, 0.3), (0.5, 0.3), (0.4, 0.3), (0.3, 0.9)),
    ((0.3, 0.5, 0.9), (0.3, 0.2, 0.9), (0.3, 0.2, 0.1), (0.7, 0.2, 0.1), (0.7, 0.5, 0.1)),
    ((0.4, 0.5, 0.9), (0.5, 0.4, 0.7), (0.6, 0.3, 0.5), (0.7, 0.2, 0.3), (0.8, 0.1, 0.1)),
    ((0.1, 0.2, 0.9), (0.4, 0.9, 0.1), (0.5, 0.1, 0.2), (0.2, 0.2, 0.3)),
    ((0.1, 0.5, 0.9), (0.3, 0.4, 0.1), (0.5, 0.3, 0.2), (0.7, 0.4, 0.3), (0.1, 0.5, 0.2)),
    (
        (0.071, 0.041, 0.032, 0.030, 0.020, 0.011),
        (0.055, 0.053, 0.032, 0.030, 0.008, 0.011),
        (0.040, 0.063, 0.032, 0.030, 0.008, 0.011),
        (0.040, 0.042, 0.043, 0.030, 0.008, 0.011),
        (0.030, 0.032, 0.055, 0.030, 0.008, 0.011),
        (0.030, 0.032, 0.020, 0.030, 0.008, 0.021),
        (0.020, 0.022, 0.020, 0.045, 0.008, 0.021),
        (0.020, 0.022, 0.020, 0.057, 0.008, 0.011),
        (0.020, 0.022, 0.034, 0.057, 0.022, 0.011),
    ),
    ((0.5, 0.3, 0.4), (0.5, 0.3, 0.9), (0.5, 0.3, 0.4)),
)
"""The means of the pieces: problems 0 to 5 are SMPyBandits', 6 is Garivier & Moulines'."""

STARTS = {4: (0.0, 0.5, 0.625, 0.75, 0.875), 6: (0.0, 0.3, 0.5)}
"""When the pieces start, as a share of all steps, where they do not last equally long."""


class PiecewiseState(NamedTuple):
    """Where in the sequence of pieces all rows are."""

    time: int  # the number of steps so far
    ends: NDArray[np.int64]  # [n + 1]: 0, and the times at which the n pieces so far end


class PiecewiseBernoulliPyEnvironment(BanditPyEnvironment[PiecewiseState]):
    """A bandit whose arms pay 1 or 0, with probabilities that change at certain times.

        P(R_t = 1) = piece_means[i mod P, A_t]     in piece i, which lasts d_i steps

    Each row is an independent run, and all rows change at the same times. Time goes on through
    `reset`. The observation [B, 1] is 0. A saved state does not hold what an iterator returns
    later.

    Args:
        piece_means: [P, K], of P pieces and K arms.
        change_duration_generator: d_0, d_1, ...: an iterator, a sequence, an integer, or a
            `ContextSampler` of one integer; see `sampling.Durations`.
        batch_size: B.
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
        name: str | None = None,
    ) -> None:
        self._piece_means = check_table("piece_means", piece_means, 2, 0.0, 1.0)
        super().__init__(
            ArraySpec((1,), np.int32, "observation"),
            self._piece_means.shape[1],
            CLICK_SPEC,
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
            name=name,
        )
        self._piece_optima = self._piece_means.argmax(axis=1)
        self._durations = Durations("change_duration_generator", change_duration_generator)
        self._restart_on_reset = bool(restart_on_reset)
        self._zeros = np.zeros((self._batch_size, 1), np.int32)

    @property
    def current_piece(self) -> int:
        """The index of the piece that the next action meets."""
        return self._piece(self.bandit_state().state)

    @property
    def change_points(self) -> NDArray[np.int64]:
        """The times at which pieces ended so far, in steps: [changes]."""
        return np.unique(self.bandit_state().state.ends[:-1])[1:]

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

    def _share(self, state: PiecewiseState) -> PiecewiseState:
        return state  # all rows have the same time

    def _piece(self, state: PiecewiseState) -> int:
        return (len(state.ends) - 2) % len(self._piece_means)


def piecewise_bernoulli(
    problem: int = 1, steps: int = 1000, batch_size: int = 1, **options: typing.Unpack[Options]
) -> PiecewiseBernoulliPyEnvironment:
    """Arms that pay 1 or 0, with probabilities that change at certain times.

    `problem` is one of SMPyBandits' problems 0 to 5, or 6, with the abrupt changes of Garivier &
    Moulines: means of 0.5, 0.3 and 0.4, the last of which is 0.9 from 30% to 50% of the steps. It
    spreads over so many `steps`; its last piece stays. Each reset starts it again.
    `environments.arms.piecewise_bernoulli.PROBLEMS` has the means of all.

    Source: SMPyBandits; for problem 5, Cao et al. (2019); for 6, Garivier & Moulines (2011).
    """
    number = check_integer("problem", problem, minimum=0)
    if number >= len(PROBLEMS):
        raise ValueError(f"problem is {number}; expected 0 to {len(PROBLEMS) - 1}")
    pieces = PROBLEMS[number]
    starts = STARTS.get(number, np.arange(len(pieces)) / len(pieces))
    times = np.append(starts, 1.0) * check_integer("steps", steps, minimum=len(pieces))
    durations = np.diff(times.round().astype(np.int64))
    return PiecewiseBernoulliPyEnvironment(
        pieces, durations, restart_on_reset=True, batch_size=batch_size, **options
    )


def constrained_adversary(
    num_actions: int = 8, gap: float = 0.125, batch_size: int = 1, **options: typing.Unpack[Options]
) -> PiecewiseBernoulliPyEnvironment:
    """A stochastically constrained adversary: all means move, and the gap of the best arm stays.

    The probabilities of a reward of 1 are 1 for action 0 and 1 - gap for the others, and then gap
    and 0, by turns. Piece n lasts 1.6^n steps, rounded up. Each reset starts with the first.

    Source: Zimmert & Seldin, Tsallis-INF (2021), section 5.
    """
    others = check_integer("num_actions", num_actions, minimum=2) - 1
    gap = check_number("gap", gap, 0.0, 1.0)
    high_means = [1.0] + [1.0 - gap] * others
    low_means = [gap] + [0.0] * others
    durations = np.ceil(1.6 ** np.arange(90)).astype(np.int64)
    return PiecewiseBernoulliPyEnvironment(
        [high_means, low_means], durations, restart_on_reset=True, batch_size=batch_size, **options
    )
