"""Policies that choose the action with the largest score."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from bandit_envs.arrays import Floats, Mask, Rng
from bandit_envs.policies.draws import argmax, draw_indices, normalized
from bandit_envs.policies.policy import Actions, Policy
from bandit_envs.trajectories import TimeStep


class IndexPolicy(Policy):
    """Chooses the available action with the largest score; ties are broken uniformly at random.

    A subclass implements `_scores`. If it sets `_epsilon`, it chooses any available action, all
    equally likely, with that probability; if epsilon changes, it overrides `_exploration`.
    """

    _epsilon = 0.0

    @abc.abstractmethod
    def _scores(self, learned: Any, time_step: TimeStep) -> Floats:
        """Returns the score of every action, available or not: [B, K], above -inf."""

    def _exploration(self, learned: Any) -> Any:
        """Returns the probability of choosing any action: a number, or one for each row, [B]."""
        return self._epsilon

    def _best(self, rng: Rng, learned: Any, time_step: TimeStep, available: Mask | None) -> Actions:
        scores = self._scores(learned, time_step)
        if scores.shape != self._table_shape:
            found = f"_scores returned shape {scores.shape}"
            raise ValueError(f"{found}; expected {self._table_shape}")
        best, tied = argmax(rng, scores, available)
        self._chosen_by.value = self._state, time_step, best, tied, scores
        return best

    def _select(self, rng: Rng, learned: Any, time_step: TimeStep) -> Actions:
        available = self._available(time_step.observation)
        actions = self._best(rng, learned, time_step, available)
        epsilon = self._exploration(learned)
        if not isinstance(epsilon, float) or epsilon > 0.0:
            drawn = rng.random(self.batch_size)
            rows = (drawn < epsilon).nonzero()[0]
            actions = actions.copy()
            if available is not None:
                actions[rows] = draw_indices(rng, available[rows])
            else:  # of the numbers below epsilon, drawn / epsilon is uniform
                below = epsilon[rows] if isinstance(epsilon, np.ndarray) else epsilon
                actions[rows] = drawn[rows] / below * self.num_actions
        return actions

    def _probabilities(self, learned: Any, time_step: TimeStep) -> Floats:
        available = self._available(time_step.observation)
        if available is None:
            available = np.ones(self._table_shape, np.bool_)
        scores = np.where(available, self._scores(learned, time_step), -np.inf)
        best = scores == scores.max(axis=1, keepdims=True)
        epsilon = np.reshape(self._exploration(learned), (-1, 1))
        return (1.0 - epsilon) * normalized(best) + epsilon * normalized(available)

    def _probability_of(self, learned: Any, time_step: TimeStep, action: Actions) -> Floats:
        last = self._chosen_by.value
        if not last or last[0] is not self._state or last[1] is not time_step:
            table = self._probabilities(learned, time_step)
            return np.asarray(table.take(self._row_offsets + action))
        _, _, best, tied, scores = last
        found: Floats = (action == best).astype(np.float64)
        if tied.size:
            rows = scores[tied]
            is_largest = rows == rows.max(axis=1, keepdims=True)
            chosen = is_largest[np.arange(tied.size), action[tied]]
            found[tied] = chosen / is_largest.sum(axis=1)
        epsilon = self._exploration(learned)
        if not isinstance(epsilon, float) or epsilon > 0.0:
            found *= 1.0 - epsilon
            found += epsilon * (1.0 / self.num_actions)
        return found
