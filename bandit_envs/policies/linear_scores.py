"""Policies with fixed linear scores, such as a learner makes from a log."""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats, as_numbers
from bandit_envs.nests import Nest
from bandit_envs.policies.draws import softmax
from bandit_envs.policies.features import ContextReader
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.policy import BatchOptions, Policy
from bandit_envs.trajectories import TimeStep


class LinearScoresPolicy(Policy):
    """A policy with fixed weights, which score the actions of a context x [d].

        score_a(x) = w_a . [1, x]

    Its state holds the weights, so a saved state has them. A subclass says how to choose by the
    scores.

    Args:
        weights: [K, 1 + d]; those of the constant come first.
        observation_spec: of the environment or log: a context without features of the actions.
        **options: `batch_size` and `seed`, as in `Policy`.
    """

    learns_by_row = False

    def __init__(
        self,
        weights: ArrayLike,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._context = ContextReader(observation_spec)
        self._weights: Floats = np.array(as_numbers("weights is", weights), np.float64)
        width = 1 + self._context.dim
        if self._weights.ndim != 2 or self._weights.shape[1] != width:
            expected = f"(K, {width}), for a constant and {self._context.dim} features"
            raise ValueError(f"weights has shape {self._weights.shape}; expected {expected}")
        if not np.isfinite(self._weights).all():
            raise ValueError("weights has NaN or infinite entries; expected finite numbers")
        super().__init__(num_actions=len(self._weights), **options)

    def _initial(self) -> Floats:
        return self._weights.copy()

    def _linear_scores(self, learned: Floats, time_step: TimeStep) -> Floats:
        """Returns the score of every action: [B, K]."""
        context = self._context.read(time_step.observation, self.batch_size)
        return np.asarray(learned[:, 0] + context @ learned[:, 1:].T)


class LinearSoftmaxPolicy(LinearScoresPolicy):
    """Draws actions from a softmax of linear scores with fixed weights.

        pi(a | x) = exp(w_a . [1, x]) / sum_b exp(w_b . [1, x])

    Args:
        weights: [K, 1 + d]; those of the constant come first.
        observation_spec: of the environment or log: a context without features of the actions.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Sutton & Barto, 2nd ed., section 13.1, with linear preferences.

    >>> from bandit_envs.specs import ArraySpec
    >>> from bandit_envs.trajectories import restart
    >>> spec = ArraySpec((1,), np.float32)
    >>> policy = LinearSoftmaxPolicy([[0.0, 0.0], [0.0, np.log(3.0)]], observation_spec=spec)
    >>> policy.probabilities(restart(np.ones((1, 1), np.float32), 1)).round(4)
    array([[0.25, 0.75]])
    """

    def _probabilities(self, learned: Floats, time_step: TimeStep) -> Floats:
        return softmax(self._linear_scores(learned, time_step))


class LinearGreedyPolicy(IndexPolicy, LinearScoresPolicy):
    """Chooses the action with the largest linear score, by fixed weights.

        argmax_a  w_a . [1, x]

    Args:
        weights: [K, 1 + d]; those of the constant come first.
        observation_spec: of the environment or log: a context without features of the actions.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Beygelzimer & Langford, The offset tree (2009), for policies by predicted rewards.

    >>> from bandit_envs.specs import ArraySpec
    >>> from bandit_envs.trajectories import restart
    >>> spec = ArraySpec((1,), np.float64)
    >>> policy = LinearGreedyPolicy([[0.0, 1.0], [0.0, 2.0]], observation_spec=spec)
    >>> policy.action(restart(np.ones((1, 1)), 1))
    array([1], dtype=int32)
    """

    def _scores(self, learned: Floats, time_step: TimeStep) -> Floats:
        return self._linear_scores(learned, time_step)
