"""The bandit whose rewards an adversary has fixed in advance."""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import check_integer, check_table
from bandit_envs.specs import BoundedArraySpec


class AdversarialBandit(BanditPyEnvironment[int]):
    """A bandit whose rewards an adversary has fixed in advance. Each row is an independent run.

        R_t = rewards[t mod T, A_t]

    All rows share the clock, which goes on through `reset`. `expected_rewards` and regret are those
    of the step.

    Args:
        rewards: [T, K], of T steps and K arms.
        batch_size: B.

    Source: Auer et al., The nonstochastic multiarmed bandit problem (2002); rlberry's
    `AdversarialBandit`.

    >>> env = AdversarialBandit([[1.0, 0.0], [0.0, 3.0]])
    >>> time_step = env.reset()
    >>> [env.step([0]).reward.item() for _ in range(3)]
    [1.0, 0.0, 1.0]
    """

    independent_rows = True

    def __init__(
        self, rewards: ArrayLike, batch_size: int = 1, **options: typing.Unpack[Options]
    ) -> None:
        self._table = check_table("rewards", rewards, ndim=2).astype(np.float32)
        num_arms = self._table.shape[1]
        smallest = self._table.min()
        largest = self._table.max()
        spec = BoundedArraySpec((), np.float32, smallest, largest, "reward")
        super().__init__(None, num_arms, spec, batch_size=batch_size, **options)

    def _initial_state(self, rng: Rng) -> int:
        return 0

    def _expected_rewards(self, state: int) -> Array:
        row = self._table[state % len(self._table)]
        return np.broadcast_to(row, (self._batch_size, len(row)))

    def _draw_rewards(self, rng: Rng, state: int, action: Indices) -> Array:
        return np.asarray(self._table[state % len(self._table)].take(action))

    def _next_state(self, rng: Rng, state: int, action: Indices) -> int:
        return state + 1

    def _next_episode(self, rng: Rng, state: int) -> int:
        return state

    def _share(self, state: int) -> int:
        return state  # the time, which is that of all rows


def adversarial(
    num_actions: int = 4, period: int = 100, batch_size: int = 1, **options: typing.Unpack[Options]
) -> AdversarialBandit:
    """Rewards of 0 and 1 in turns: each arm pays for `period` steps, the last for twice as many."""
    num_arms = check_integer("num_actions", num_actions, minimum=1)
    steps_of_arms = np.full(num_arms, check_integer("period", period, minimum=1))
    steps_of_arms[-1] *= 2
    table = np.eye(num_arms, dtype=np.float32).repeat(steps_of_arms, axis=0)
    return AdversarialBandit(table, batch_size=batch_size, **options)
