"""Thompson sampling with logistic models of rewards from 0 to 1."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Rng, sigmoid
from bandit_envs.nests import Nest
from bandit_envs.policies.disjoint_linear import ContextPolicy
from bandit_envs.policies.policy import PolicyOptions
from bandit_envs.policies.ridge import add_rows
from bandit_envs.policies.thompson import ThompsonSamplingPolicy, draw_normal
from bandit_envs.trajectories import TimeStep

ACCURACY = 1e-9  # of the square of Newton's step, in units of the posterior's variance
MAX_STEPS, MAX_HALVINGS = 100, 60


class DiagonalPosteriors(typing.NamedTuple):
    """Normal posteriors of independent weights: means [K, D] and precisions [K, D]."""

    mean: Floats
    precision: Floats


class LogisticThompsonSamplingPolicy(ContextPolicy, ThompsonSamplingPolicy):
    """Draws a logistic model for every row and action and chooses the action that looks best.

        argmax_a  w[a] . x,    w[a, i] ~ N(m[a, i], alpha^2 / q[a, i])

    Of the rows (x, r) of a step whose action was a, with sigma(s) = 1 / (1 + exp(-s)):

        m   = argmin_w  sum_i q[i] (w[i] - m[i])^2 / 2 - sum_rows log P(r | w . x)
        q  += sum_rows x^2 p (1 - p),    p = sigma(m . x)

    which approximates the posterior by Laplace's method. At first m is 0 and q is tikhonov_weight.
    The rewards must be from 0 to 1: P(r | s) = sigma(s)^r (1 - sigma(s))^(1 - r).

    Source: Chapelle & Li, An Empirical Evaluation of Thompson Sampling (2011), algorithm 3.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> LogisticThompsonSamplingPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    reward_range = 0.0, 1.0

    def __init__(
        self,
        alpha: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        super().__init__(alpha, 1.0, tikhonov_weight, observation_spec=observation_spec, **options)

    def _initial(self) -> DiagonalPosteriors:
        shape = (self.num_actions, self._dim)
        return DiagonalPosteriors(np.zeros(shape), np.full(shape, self._tikhonov_weight))

    def _posterior(self, learned: DiagonalPosteriors, time_step: TimeStep) -> tuple[Floats, Floats]:
        # The product of x and independent normal weights is normal.
        context = self._features(time_step.observation)
        variances = np.square(context) @ (1.0 / learned.precision).T
        return self._means(learned.mean, context), self._alpha * np.sqrt(variances)

    def _draw_values(self, rng: Rng, learned: DiagonalPosteriors, time_step: TimeStep) -> Floats:
        return draw_normal(rng, *self._posterior(learned, time_step))

    def _fit(self, learned: DiagonalPosteriors, model: Any, features: Floats, rewards: Any) -> Any:
        rewards = rewards.astype(np.float64)
        order = model.argsort(kind="stable")
        models, first, place = np.unique(model[order], return_index=True, return_inverse=True)
        batch = _Batch(features[order], rewards[order], first, place)
        mean, precision = learned.mean.copy(), learned.precision.copy()
        mean[models] = batch.mode(mean[models], precision[models])
        scores = batch.scores(mean[models])[:, np.newaxis]
        curvature = np.square(batch.context) * sigmoid(scores) * sigmoid(-scores)
        precision[models] += np.add.reduceat(curvature, first)
        return DiagonalPosteriors(mean, precision)


class _Batch(typing.NamedTuple):
    """Rows sorted by their models: contexts [n, D], rewards [n], first rows [k], numbers [n]."""

    context: Floats
    rewards: Floats
    first: NDArray[np.intp]
    place: NDArray[np.intp]

    def mode(self, prior: Floats, precision: Floats) -> Floats:
        """Returns the most likely weights of each model, by Newton's method with halved steps."""
        weights, loss = prior, self.loss(prior, prior, precision)
        for _ in range(MAX_STEPS):
            scores = self.scores(weights)
            errors = (sigmoid(scores) - self.rewards)[:, np.newaxis] * self.context
            gradient = precision * (weights - prior) + np.add.reduceat(errors, self.first)
            # The Hessian is R^T R. It is not formed, for that would square R's condition number.
            root = np.sqrt(precision)[:, :, np.newaxis] * np.eye(weights.shape[1])
            spread = np.sqrt(sigmoid(scores) * sigmoid(-scores))
            add_rows(root, self.place, spread[:, np.newaxis] * self.context)
            inverse = np.linalg.inv(root)
            half = np.einsum("kij,ki->kj", inverse, gradient)
            step = np.einsum("kij,kj->ki", inverse, half)
            decrement = np.square(half).sum(axis=1)
            rounding = 1e-12 * (1.0 + loss)
            for _ in range(MAX_HALVINGS):
                trial = weights - step
                trial_loss = self.loss(trial, prior, precision)
                is_worse = ~(trial_loss <= loss + rounding)
                if not is_worse.any():
                    break
                step[is_worse] *= 0.5
            weights, loss = trial, trial_loss
            if (decrement <= ACCURACY).all():
                break
        return weights

    def loss(self, weights: Floats, prior: Floats, precision: Floats) -> Floats:
        """Returns minus the logarithm of the posterior density, but for a constant: [k]."""
        scores = self.scores(weights)
        losses = np.logaddexp(0.0, scores) - self.rewards * scores
        distances = 0.5 * (precision * np.square(weights - prior)).sum(axis=1)
        return np.asarray(distances + np.add.reduceat(losses, self.first))

    def scores(self, weights: Floats) -> Floats:
        """Returns w . x of each row: [n]."""
        return np.asarray(np.einsum("nd,nd->n", self.context, weights[self.place]))
