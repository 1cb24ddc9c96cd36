"""Thompson sampling with logistic models of rewards from 0 to 1."""

from __future__ import annotations

import typing
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Rng, sigmoid
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_number, check_positive
from bandit_envs.nests import Nest
from bandit_envs.policies.draws import draw_normal
from bandit_envs.policies.features import ContextReader
from bandit_envs.policies.policy import PolicyOptions
from bandit_envs.policies.ridge import add_rows
from bandit_envs.policies.thompson import ThompsonSamplingPolicy
from bandit_envs.trajectories import TimeStep, Trajectory

ACCURACY = 1e-9  # of the square of Newton's step, in units of the posterior's variance
MAX_STEPS = 100
MAX_HALVINGS = 60


class LogisticModels(NamedTuple):
    """Normal posteriors of the independent weights of K logistic models."""

    mean: Floats  # m, [K, D]
    precision: Floats  # q, [K, D]

    def means_and_deviations(self, context: Floats) -> tuple[Floats, Floats]:
        """Returns the posteriors of w . x of every model, for contexts [B, D]: [B, K] each."""
        # The product of x and independent normal weights is normal.
        variances = np.square(context) @ (1.0 / self.precision).T
        return context @ self.mean.T, np.sqrt(variances)

    def updated(self, model: Indices, context: Floats, rewards: Floats) -> LogisticModels:
        """Returns what is known after contexts [n, D] and rewards [n] of the models `model` [n]."""
        order = model.argsort(kind="stable")
        models, first, place = np.unique(model[order], return_index=True, return_inverse=True)
        batch = _Batch(context[order], rewards[order], first, place)
        mean = self.mean.copy()
        precision = self.precision.copy()
        mean[models] = batch.mode(mean[models], precision[models])
        scores = batch.scores(mean[models])[:, np.newaxis]
        curvature = np.square(batch.context) * sigmoid(scores) * sigmoid(-scores)
        precision[models] += np.add.reduceat(curvature, first)
        return LogisticModels(mean, precision)


class LogisticThompsonSamplingPolicy(ThompsonSamplingPolicy):
    """Draws a logistic model for every row and action and chooses the action that looks best.

        argmax_a  w[a] . x,    w[a, i] ~ N(m[a, i], alpha^2 / q[a, i])

    Of the rows (x, r) of a step whose action was a, with sigma(s) = 1 / (1 + exp(-s)):

        m   = argmin_w  sum_i q[i] (w[i] - m[i])^2 / 2 - sum_rows log P(r | w . x)
        q  += sum_rows x^2 p (1 - p),    p = sigma(m . x)

    which approximates the posterior by Laplace's method. At first m is 0 and q is tikhonov_weight.
    The rewards must be from 0 to 1: P(r | s) = sigma(s)^r (1 - sigma(s))^(1 - r). The context x is
    that of `DisjointLinUCBPolicy`, and all rows share the models.

    Args:
        alpha: how far to explore, in standard deviations of a weight; at least 0.
        tikhonov_weight: the precision of every weight's prior, from 1e-37 to 1e37.
        observation_spec: of the environment.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Chapelle & Li, An Empirical Evaluation of Thompson Sampling (2011), algorithm 3.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> LogisticThompsonSamplingPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    learns_by_row = False
    reward_range = 0.0, 1.0

    def __init__(
        self,
        alpha: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._alpha = check_number("alpha", alpha, 0.0, MAX_PARAMETER)
        self._tikhonov_weight = check_positive(
            "tikhonov_weight", tikhonov_weight, MIN_STD, MAX_PARAMETER
        )
        self._context = ContextReader(observation_spec)
        super().__init__(**options)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {**super().arguments_for(env), "observation_spec": env.observation_spec()}

    def _initial(self) -> LogisticModels:
        shape = (self.num_actions, self._context.dim)
        return LogisticModels(np.zeros(shape), np.full(shape, self._tikhonov_weight))

    def _draw_values(self, rng: Rng, learned: LogisticModels, time_step: TimeStep) -> Floats:
        context = self._context.read(time_step.observation, self.batch_size)
        means, deviations = learned.means_and_deviations(context)
        return draw_normal(rng, means, self._alpha * deviations)

    def _learn(self, learned: LogisticModels, trajectory: Trajectory) -> LogisticModels:
        context = self._context.read(trajectory.observation, len(trajectory.action))
        return learned.updated(trajectory.action, context, trajectory.reward.astype(np.float64))


class _Batch(NamedTuple):
    """Rows sorted by their models: contexts [n, D], rewards [n], first rows [k], numbers [n]."""

    context: Floats
    rewards: Floats
    first: Indices
    place: Indices

    def mode(self, prior: Floats, precision: Floats) -> Floats:
        """Returns the most likely weights of each model, by Newton's method with halved steps."""
        weights = prior
        loss = self.loss(prior, prior, precision)
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
            weights = trial
            loss = trial_loss
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
