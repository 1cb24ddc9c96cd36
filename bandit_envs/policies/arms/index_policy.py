"""Policies that choose the action with the largest score, such as an upper confidence bound."""

from __future__ import annotations

import abc
from typing import Any

from bandit_envs.arrays import Floats, Mask, Rng
from bandit_envs.policies.beliefs import Beliefs
from bandit_envs.policies.draws import (
    argmax_random_ties,
    check_exploration,
    explore,
    index_probabilities,
)
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

    def _exploration(self, learned: Any) -> float | Floats:
        """Returns the probability of choosing any action: a number, or one for each row, [B]."""
        return self._epsilon

    def _best(self, rng: Rng, learned: Any, time_step: TimeStep, available: Mask | None) -> Actions:
        """Returns an available action with the largest score for every row: [B]."""
        scores = self._scores(learned, time_step)
        self._check_table("_scores", scores)
        return argmax_random_ties(rng, scores, available)

    def _select(self, rng: Rng, learned: Any, time_step: TimeStep) -> Actions:
        available = self._available(time_step.observation)
        best = self._best(rng, learned, time_step, available)
        epsilon = self._checked_exploration(learned)
        if isinstance(epsilon, float) and epsilon == 0.0:
            return best
        return explore(rng, best, epsilon, available, self.num_actions)

    def _probabilities(self, learned: Any, time_step: TimeStep) -> Floats:
        available = self._available(time_step.observation)
        scores = self._scores(learned, time_step)
        self._check_table("_scores", scores)
        return index_probabilities(scores, self._checked_exploration(learned), available)

    def _checked_exploration(self, learned: Any) -> float | Floats:
        """Returns what `_exploration` returns, which must be from 0 to 1."""
        return check_exploration("_exploration", self._exploration(learned), self.batch_size)


class UpperBoundPolicy(IndexPolicy):
    """Chooses the available action with the largest bound; ties are broken uniformly at random.

    A subclass implements `_bounds`, and what it has learned has `values`, `counts` and
    `with_pending`.
    """

    can_count_pending = True

    @abc.abstractmethod
    def _bounds(self, learned: Any) -> Floats:
        """Returns the upper bound of the reward of every action: [B, K]; may be infinite."""

    def _scores(self, learned: Any, time_step: TimeStep) -> Floats:
        return self._bounds(learned)

    def _describe(self, learned: Any) -> Beliefs:
        return Beliefs(
            learned.values, learned.counts, high=self._bounds(learned), interval="upper bound"
        )
