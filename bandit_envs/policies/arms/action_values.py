"""Estimated values of actions, and what policies share that choose by them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Mask, Rng
from bandit_envs.policies.arms.index_policy import IndexPolicy
from bandit_envs.policies.beliefs import Beliefs
from bandit_envs.policies.draws import argmax_random_ties
from bandit_envs.policies.learned import Warm, mean_of_known
from bandit_envs.policies.policy import Actions
from bandit_envs.trajectories import TimeStep, Trajectory


class ActionValues(NamedTuple):
    """Estimated values and the greedy actions that follow from them; updated in place.

    A reward changes one value of a row. So the action with the largest value is looked for again
    only in rows where it may be another one.
    """

    values: Floats  # Q, [B, K]
    counts: Floats  # N, how often each action was chosen, [B, K]
    greedy: Indices  # the action with the largest value, [B]; -1 if several have it
    rivals: Floats  # an upper bound of the other actions' values, [B]; -inf if several have it

    @classmethod
    def initial(cls, batch_size: int, num_actions: int, initial_value: float) -> ActionValues:
        """Returns equal values of all actions."""
        return cls(
            values=np.full((batch_size, num_actions), initial_value),
            counts=np.zeros((batch_size, num_actions)),
            greedy=np.full(batch_size, -1),
            rivals=np.full(batch_size, -np.inf),
        )

    def greedy_actions(self, rng: Rng) -> Indices:
        """Returns an action with the largest value of each row; of several, it draws one: [B]."""
        tied = (self.greedy < 0).nonzero()[0]
        if not tied.size:
            return self.greedy
        actions = self.greedy.copy()
        actions[tied] = argmax_random_ties(rng, self.values[tied])
        return actions

    def add(self, action: Indices, reward: Array, step_size: float | None) -> None:
        """Moves the values of actions [B] towards rewards [B]; without a step size, by 1 / N."""
        values = self.values.reshape(-1)
        places = self._row_offsets(len(action)) + action
        n = self.counts.take(places) + 1.0
        q = values.take(places)
        error = reward.astype(np.float64) - q
        q += error / n if step_size is None else error * step_size
        values[places] = q
        self.counts.reshape(-1)[places] = n
        # In these rows, another action may now have the largest value, or several may have it.
        changed = ((q <= self.rivals) == (action == self.greedy)).nonzero()[0]
        if changed.size:
            self.find_greedy(changed)

    def find_greedy(self, rows: Indices) -> None:
        """Finds the largest and the second-largest value of some rows."""
        table = self.values.take(rows, axis=0)
        flat = table.reshape(-1)
        offsets = self._row_offsets(rows.size)
        best = table.argmax(axis=1)
        largest = flat.take(offsets + best)
        flat[offsets + best] = -np.inf
        second = flat.take(offsets + table.argmax(axis=1))
        tied = second == largest
        best[tied] = -1
        second[tied] = -np.inf
        self.greedy[rows] = best
        self.rivals[rows] = second

    def make_consistent(self, known: int) -> None:
        """Finds the greedy actions of all rows, among those from `known` on, too."""
        self.find_greedy(np.arange(len(self.values)))

    def start_warm(self, known: int, warm: Warm) -> None:
        """Starts the values of actions from `known` on at the mean of those with rewards."""
        if warm != "mean":
            raise NotImplementedError("values have no posterior")
        initial_value = float(self.values[0, known])
        seen = self.counts[:, :known] > 0.0
        means = mean_of_known(self.values[:, :known], seen, initial_value)
        self.values[:, known:] = means[:, np.newaxis]
        self.make_consistent(known)

    def _row_offsets(self, num_rows: int) -> Indices:
        """Returns where the first rows begin in flat tables: [num_rows]."""
        return np.arange(0, num_rows * self.values.shape[1], self.values.shape[1])


class ActionValuePolicy(IndexPolicy):
    """Learns the value of every action, and chooses the action with the largest one.

    A subclass says how it explores: it sets `_epsilon` or overrides `_exploration`.
    """

    _initial_value = 0.0  # Q of an action before its first reward
    _step_size: float | None = None  # alpha; None for the sample average

    def _initial(self) -> ActionValues:
        return ActionValues.initial(self.batch_size, self.num_actions, self._initial_value)

    def _scores(self, learned: ActionValues, time_step: TimeStep) -> Floats:
        return learned.values

    def _best(
        self, rng: Rng, learned: ActionValues, time_step: TimeStep, available: Mask | None
    ) -> Actions:
        if available is None:
            return learned.greedy_actions(rng)
        return super()._best(rng, learned, time_step, available)

    def _learn(self, learned: ActionValues, trajectory: Trajectory) -> ActionValues:
        learned.add(trajectory.action, trajectory.reward, self._step_size)
        return learned

    def _describe(self, learned: ActionValues) -> Beliefs:
        return Beliefs(learned.values, learned.counts)
