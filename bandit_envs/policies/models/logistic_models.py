"""Posteriors of logistic regressions, by Laplace's method."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, sigmoid
from bandit_envs.policies.models.ridge_models import add_rows, dots

ACCURACY = 1e-9  # of the square of Newton's step, in units of the posterior's variance
MAX_STEPS = 100
MAX_HALVINGS = 60
ROUNDING = 1e-15  # of the factor of a step's direction, as a share of it
PRECISION = 1e-12  # of the factor, which is from -1 to 1, and of what it adds to the log-odds


class LogisticModels(NamedTuple):
    """Normal posteriors of the independent weights of logistic models."""

    mean: Floats  # m, [..., D]
    precision: Floats  # q, [..., D]

    @classmethod
    def initial(cls, shape: tuple[int, ...], tikhonov_weight: float) -> LogisticModels:
        """Returns models of nothing, whose weights have the mean 0."""
        return cls(np.zeros(shape), np.full(shape, tikhonov_weight))

    def updated(
        self, model: Indices, context: Floats, rewards: Floats, start: float, are_problems: bool
    ) -> LogisticModels:
        """Returns what M models [M, D] know after n rows.

        Args:
            model: [n], of each row.
            context: x, [n, D].
            rewards: [n].
            start: s0, the log-odds beside w . x.
            are_problems: whether the models of all rows differ. Then what a model learns depends on
                no other row, not even by rounding.
        """
        mean = self.mean.copy()
        precision = self.precision.copy()
        if are_problems:
            mean[model], precision[model] = _after_one_row_each(
                mean[model], precision[model], context, rewards, start
            )
        elif len(model) == 1:
            (one,) = model
            _add_row(mean[one], precision[one], context[0], float(rewards[0]), start)
        else:
            order = model.argsort(kind="stable")
            models, first, place = np.unique(model[order], return_index=True, return_inverse=True)
            batch = _Batch(context[order], rewards[order], first, place, start)
            mean[models] = batch.mode(mean[models], precision[models])
            scores = batch.scores(mean[models])[:, np.newaxis]
            curvature = np.square(batch.context) * sigmoid(scores) * sigmoid(-scores)
            precision[models] += np.add.reduceat(curvature, first)
        return LogisticModels(mean, precision)


def _add_row(mean: Floats, precision: Floats, x: Floats, reward: float, start: float) -> None:
    """Adds one row to one model [D], in place.

    The mode is at m + c x / q, where c solves c = r - sigma(s0 + m . x + c sum x^2 / q). Newton's
    method finds c, with bisection where a step would leave the interval that holds it.
    """
    direction = x / precision
    score = start + float(mean @ x)
    spread = float(direction @ x)
    least = PRECISION / max(1.0, spread)
    low = reward - 1.0
    high = reward
    factor = reward - _sigmoid(score)
    for _ in range(MAX_STEPS):
        chance = _sigmoid(score + factor * spread)
        excess = factor - reward + chance
        if excess > 0.0:
            high = factor
        else:
            low = factor
        step = excess / (1.0 + spread * chance * (1.0 - chance))
        trial = factor - step
        if not low <= trial <= high:
            trial = 0.5 * (low + high)
        is_close = abs(trial - factor) <= max(least, ROUNDING * abs(trial))
        factor = trial
        if is_close:
            break
    mean += factor * direction
    chance = _sigmoid(score + factor * spread)
    precision += np.square(x) * (chance * (1.0 - chance))


def _sigmoid(score: float) -> float:
    """Returns sigma of a number, without overflow."""
    if score >= 0.0:
        return 1.0 / (1.0 + math.exp(-score))
    power = math.exp(score)
    return power / (1.0 + power)


def _after_one_row_each(
    mean: Floats, precision: Floats, x: Floats, rewards: Floats, start: float
) -> tuple[Floats, Floats]:
    """Returns what n models [n, D] know after a row each, as `_add_row` does it."""
    direction = x / precision
    scores = start + dots(mean, x)
    spreads = dots(direction, x)
    least = PRECISION / np.maximum(1.0, spreads)
    low = rewards - 1.0
    high = rewards.copy()
    factors = rewards - sigmoid(scores)
    is_open = np.ones(len(x), np.bool_)
    for _ in range(MAX_STEPS):
        chances = sigmoid(scores + factors * spreads)
        excess = factors - rewards + chances
        high = np.where(excess > 0.0, factors, high)
        low = np.where(excess > 0.0, low, factors)
        trials = factors - excess / (1.0 + spreads * chances * (1.0 - chances))
        is_outside = ~((low <= trials) & (trials <= high))
        trials = np.where(is_outside, 0.5 * (low + high), trials)
        is_close = np.abs(trials - factors) <= np.maximum(least, ROUNDING * np.abs(trials))
        factors = np.where(is_open, trials, factors)  # found ones stay as they are
        is_open &= ~is_close
        if not is_open.any():
            break
    chances = sigmoid(scores + factors * spreads)
    curvature = (chances * (1.0 - chances))[:, np.newaxis]
    return mean + factors[:, np.newaxis] * direction, precision + np.square(x) * curvature


class _Batch(NamedTuple):
    """n rows, sorted by their k models. These are numbered from 0 to k - 1 in this order."""

    context: Floats  # x, [n, D]
    rewards: Floats  # [n]
    first: Indices  # the first row of each model, [k]
    place: Indices  # the number of each row's model, [n]
    start: float  # s0, the log-odds beside w . x

    def mode(self, prior: Floats, precision: Floats) -> Floats:
        """Returns the most likely weights of each model: [k, D].

        It is found by Newton's method, with steps that are halved until the loss does not grow.

        Args:
            prior: the means of the weights before these rows, [k, D].
            precision: the precisions of the weights before these rows, [k, D].
        """
        weights = prior
        loss = self.loss(prior, prior, precision)
        for _ in range(MAX_STEPS):
            step, decrement = self.newton_step(weights, prior, precision)
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

    def newton_step(
        self, weights: Floats, prior: Floats, precision: Floats
    ) -> tuple[Floats, Floats]:
        """Returns Newton's step from `weights`, to be subtracted, and its squared length.

        The length is measured by the Hessian at `weights`, so its unit is the posterior's standard
        deviation: [k, D] and [k].
        """
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
        return step, np.square(half).sum(axis=1)

    def loss(self, weights: Floats, prior: Floats, precision: Floats) -> Floats:
        """Returns minus the logarithm of the posterior density, but for a constant: [k]."""
        scores = self.scores(weights)
        losses = np.logaddexp(0.0, scores) - self.rewards * scores
        distances = 0.5 * (precision * np.square(weights - prior)).sum(axis=1)
        return np.asarray(distances + np.add.reduceat(losses, self.first))

    def scores(self, weights: Floats) -> Floats:
        """Returns s0 + w . x of each row: [n]."""
        products = np.einsum("nd,nd->n", self.context, weights[self.place])
        return np.asarray(products if self.start == 0.0 else products + self.start)
