"""The bandit whose every arm is a Markov chain."""

from __future__ import annotations

import functools
import typing

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Floats, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import check_integer, check_table
from bandit_envs.base.hook_results import RunOptimum
from bandit_envs.specs import BoundedArraySpec

MOST_STATES = 100_000
"""The most joint states of all chains for which the optimum of a run is bounded by their values."""


class RestlessMarkovBandit(BanditPyEnvironment[Indices]):
    """A bandit whose every arm is a Markov chain, which pays its state's reward.

        R_t = rewards[k, s_k],   P(s_k' = j | s_k = i) = transitions[k, i, j],   k = A_t

    Each row is an independent run. All chains move in every step; if they are `rested`, only that
    of the arm pulled does. They start from their stationary distributions. The states are hidden:
    `expected_rewards` is that of somebody who sees them, and `stationary_means` is what each arm
    pays on average.

    Args:
        transitions: [K, S, S]; rows sum to 1, and each chain has one stationary distribution.
        rewards: [K, S], of K arms and S states of each chain.
        rested: whether only the chain of the arm pulled moves.
        batch_size: B.

    Source: Tekin & Liu, Online learning of rested and restless bandits (2012).

    >>> env = RestlessMarkovBandit([[[0.9, 0.1], [0.1, 0.9]]] * 2, [[0.0, 1.0], [0.4, 0.4]], seed=0)
    >>> env.stationary_means.round(2).tolist()
    [0.5, 0.4]
    """

    independent_rows = True

    def __init__(
        self,
        transitions: ArrayLike = (
            ((0.9, 0.1), (0.1, 0.9)),
            ((0.8, 0.2), (0.3, 0.7)),
            ((0.5, 0.5), (0.5, 0.5)),
        ),
        rewards: ArrayLike = ((0.0, 1.0), (0.2, 0.9), (0.4, 0.5)),
        rested: bool = False,
        batch_size: int = 1,
        **options: typing.Unpack[Options],
    ) -> None:
        chains = check_table("transitions", transitions, 3, 0.0, 1.0)
        pays = check_table("rewards", rewards, ndim=2)
        num_arms, num_states = pays.shape
        if chains.shape != (num_arms, num_states, num_states):
            expected = (num_arms, num_states, num_states)
            raise ValueError(f"transitions has shape {chains.shape}; expected {expected}")
        if not np.allclose(chains.sum(axis=2), 1.0):
            raise ValueError("transitions has rows that do not sum to 1")
        self._rewards = pays.astype(np.float32)
        self._transitions = chains
        spec = BoundedArraySpec((), np.float32, pays.min(), pays.max(), "reward")
        super().__init__(None, num_arms, spec, batch_size=batch_size, **options)
        self._stationary = np.stack([_stationary(chain) for chain in chains])
        # Entry k S + s of a table, its cell, is of state s of arm k.
        self._bounds = _bounds(chains).reshape(-1, num_arms * num_states)
        self._arms = np.arange(num_arms) * num_states
        self._first_cells = np.tile(self._arms, (self._batch_size, 1))
        self.actions_change_state = bool(rested)

    @property
    def stationary_means(self) -> Floats:
        """The mean reward of each arm in its stationary distribution: [K]."""
        return np.asarray((self._stationary * self._rewards).sum(axis=1))

    def optimum_of_run(self, num_steps: int) -> RunOptimum:
        """Returns, for rested chains, what somebody who sees all states can earn: a bound.

        Of chains with many states together, it is what the best fixed arm earns.
        """
        steps = check_integer("num_steps", num_steps, minimum=1)
        num_arms, num_states = self._rewards.shape
        if not self.actions_change_state:
            return super().optimum_of_run(steps)
        if num_states**num_arms > MOST_STATES:
            best = self.stationary_means.max()
            return RunOptimum(best * np.arange(1.0, steps + 1.0), "best fixed arm")
        start = functools.reduce(np.multiply.outer, self._stationary)
        value = np.zeros_like(start)  # of the states of all chains together: [S, ..., S]
        earned = np.zeros(steps)
        for step in range(steps):
            pulled = [self._value_of_pull(arm, value) for arm in range(num_arms)]
            value = np.maximum.reduce(pulled)
            earned[step] = (start * value).sum()
        return RunOptimum(earned, "bound")

    def _value_of_pull(self, arm: int, value: Floats) -> Floats:
        """Returns what a pull and the steps after it earn, where these alone earn `value`."""
        after = np.tensordot(value, self._transitions[arm], axes=(arm, 1))
        return np.moveaxis(after + self._rewards[arm], -1, arm)

    def _initial_state(self, rng: Rng) -> Indices:
        return _draw_cells(rng, self._first_cells, _bounds(self._stationary[np.newaxis]))

    def _expected_rewards(self, state: Indices) -> Array:
        return np.asarray(self._rewards.take(state))

    def _draw_rewards(self, rng: Rng, state: Indices, action: Indices) -> Array:
        return np.asarray(self._rewards.take(self._of_action(state, action)))

    def _next_state(self, rng: Rng, state: Indices, action: Indices) -> Indices:
        if not self.actions_change_state:
            return _draw_cells(rng, self._first_cells, self._bounds.take(state, axis=1))
        bounds = self._bounds.take(self._of_action(state, action), axis=1)
        moved = state.copy()
        cells = _draw_cells(rng, self._arms.take(action), bounds)
        moved.reshape(-1)[self.action_kind.row_offsets + action] = cells
        return moved

    def _share(self, state: Indices) -> Indices:
        if self.actions_change_state:
            return state  # rested chains are the user's own, as only the user's actions move them
        return np.repeat(state[:1], self._batch_size, axis=0)


def _bounds(probabilities: Floats) -> Floats:
    """Returns the cumulative sums of [..., S], without the last, by state: [S - 1, ...]."""
    return np.moveaxis(probabilities.cumsum(axis=-1)[..., :-1], -1, 0)


def _draw_cells(rng: Rng, first: Indices, bounds: Floats) -> Indices:
    """Draws cells, of which `first` [...] are those of state 0, by `bounds` [S - 1, ...]."""
    return np.asarray(first + (rng.random(first.shape) >= bounds).sum(axis=0))


def _stationary(chain: Floats) -> Floats:
    """Returns p with p = p P and sum 1, the least-squares solution if there are several."""
    size = len(chain)
    equations = np.vstack([chain.T - np.eye(size), np.ones((1, size))])
    solution = np.linalg.lstsq(equations, np.append(np.zeros(size), 1.0), rcond=None)[0]
    return np.asarray(solution.clip(0.0, 1.0))
