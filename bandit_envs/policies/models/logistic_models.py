"""Posteriors of logistic regressions, by Laplace's method."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, sigmoid
from bandit_envs.policies.models.centres import Centres
from bandit_envs.policies.models.ridge_models import LARGE, add_rows, dots

ACCURACY = 1e-9  # of the square of Newton's step, in units of the posterior's variance
MAX_STEPS = 100
MAX_HALVINGS = 60
ROUNDING = 1e-15  # of the factor of a step's direction, as a share of it
PRECISION = 1e-12  # of the factor, which is from -1 to 1, and of what it adds to the log-odds


class LogisticModels(NamedTuple):
    """Normal posteriors of the independent weights of logistic models.

    The arrays may be float32. Arithmetic is in float64 all the same.
    """

    mean: Floats  # m, [..., D]
    precision: Floats  # q, [..., D]

    @classmethod
    def initial(
        cls, shape: tuple[int, ...], tikhonov_weight: float, dtype: str = "float64"
    ) -> LogisticModels:
        """Returns models of nothing, whose weights have the mean 0."""
        return cls(np.zeros(shape, dtype), np.full(shape, tikhonov_weight, dtype))

    def learn(
        self, model: Indices, context: Floats, rewards: Floats, start: float, are_problems: bool
    ) -> None:
        """Adds n rows to M models [M, D], in place.

        Args:
            model: [n], of each row.
            context: x, [n, D].
            rewards: [n].
            start: s0, the log-odds beside w . x.
            are_problems: whether the models of all rows differ. Then what a model learns depends on
                no other row, not even by rounding.
        """
        if are_problems:
            after = _after_one_row_each(*self._of(model), context, rewards, start)
            self._put(model, after)
        elif len(model) == 1:
            known = self._of(model)
            _add_row(known.mean[0], known.precision[0], context[0], float(rewards[0]), start)
            self._put(model, known)
        else:
            self._learn_batch(model, context, rewards, start)

    def _learn_batch(self, model: Indices, context: Floats, rewards: Floats, start: float) -> None:
        """Adds n rows, as `learn`: first to the models that have one each, then to the others."""
        order = model.argsort(kind="stable")
        models, first, counts = np.unique(model[order], return_index=True, return_counts=True)
        is_single = counts == 1
        rows = order[first[is_single]]
        after = _after_one_row_each(*self._of(model[rows]), context[rows], rewards[rows], start)
        self._put(model[rows], after)
        order = order[~is_single.repeat(counts)]
        models = models[~is_single]
        counts = counts[~is_single]
        dim = context.shape[1]
        if dim >= LARGE:
            for one, rows in zip(models[:, np.newaxis], np.split(order, counts.cumsum()[:-1])):
                known = self._of(one)
                self._put(one, _after_rows(known, context[rows], rewards[rows], start))
        elif models.size:
            place = np.arange(len(models)).repeat(counts)
            first = counts.cumsum() - counts
            batch = _Batch(context[order], rewards[order], first, place, start)
            self._put(models, batch.posterior(self._of(models)))

    def _of(self, models: Indices) -> LogisticModels:
        """Returns a copy of some models, in float64."""
        mean = self.mean[models].astype(np.float64)
        return LogisticModels(mean, self.precision[models].astype(np.float64))

    def _put(self, models: Indices, known: LogisticModels) -> None:
        """Sets what some models know."""
        self.mean[models] = known.mean
        self.precision[models] = known.precision


def learn_centred(
    models: LogisticModels,
    centres: Centres,
    *,
    model: Indices,
    context: Floats,
    rewards: Floats,
    are_problems: bool,
    first_weight: float,
) -> None:
    """Adds n rows to M models [M, D] of features that are measured from centres, in place.

    The log-odds b in the centre of a model are learned as the weight of a constant. Then the centre
    moves by h / n, to where b does not depend on w:

        h = sum_rows p (1 - p) (x - m),    n += sum_rows p (1 - p)
        q += sum_rows p (1 - p) (x - m)^2 - h^2 / n

    Args:
        models: whose weights are learned.
        centres: of the models, [M], [M, D] and [M].
        model: [n], of each row.
        context: x, [n, D].
        rewards: [n].
        are_problems: whether the models of all rows differ.
        first_weight: of a model without rows, whose centre is that of its first rows.
    """
    changed, place, counts = np.unique(model, return_inverse=True, return_counts=True)
    totals = np.zeros((len(changed), context.shape[1]))
    np.add.at(totals, place, context)
    is_new = centres.weights[changed, np.newaxis] == first_weight
    centre = np.where(is_new, totals / counts[:, np.newaxis], centres.features[changed])
    x = np.column_stack((context - centre[place], np.ones(len(place))))
    wide = LogisticModels(
        mean=np.column_stack((models.mean[changed], centres.levels[changed])),
        precision=np.column_stack((models.precision[changed], centres.weights[changed])),
    )
    before = wide.precision[:, :-1].copy()
    wide.learn(model=place, context=x, rewards=rewards, start=0.0, are_problems=are_problems)
    scores = dots(wide.mean[place], x)
    weighted = x[:, :-1] * (sigmoid(scores) * sigmoid(-scores))[:, np.newaxis]
    shifts = np.zeros_like(totals)
    np.add.at(shifts, place, weighted)
    weights = wide.precision[:, -1]
    steps = shifts / weights[:, np.newaxis]
    precision = np.maximum(before, wide.precision[:, :-1] - shifts * steps)
    models.mean[changed] = wide.mean[:, :-1]
    models.precision[changed] = precision
    centres.weights[changed] = weights
    centres.features[changed] = centre + steps
    centres.levels[changed] = wide.mean[:, -1] + dots(wide.mean[:, :-1], steps)


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
) -> LogisticModels:
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
    return LogisticModels(
        mean=mean + factors[:, np.newaxis] * direction,
        precision=precision + np.square(x) * curvature,
    )


def _after_rows(known: LogisticModels, x: Floats, rewards: Floats, start: float) -> LogisticModels:
    """Returns what one model [1, D] knows after n rows.

    The mode is at m + q^-1/2 U a, with the triangle R of x q^-1/2 = R^T U^T. So `a` is the mode of
    logistic regression on the rows of R^T, of independent weights with the mean 0 and the
    precision 1. It has n numbers, where n is less than D.
    """
    num_rows, dim = x.shape
    place = np.zeros(num_rows, np.intp)
    first = place[:1]
    if num_rows >= dim:
        return _Batch(x, rewards, first, place, start).posterior(known)
    mean = known.mean[0]
    scales = known.precision[0] ** -0.5
    basis, triangle = np.linalg.qr((x * scales).T)
    batch = _Batch(triangle.T, rewards, first, place, start + x @ mean)
    factors = batch.mode(np.zeros((1, num_rows)), np.ones((1, num_rows)))
    scores = batch.scores(factors)
    curvature = np.square(x).T @ (sigmoid(scores) * sigmoid(-scores))
    return LogisticModels(
        mean=known.mean + scales * (basis @ factors[0]),
        precision=known.precision + curvature,
    )


class _Batch(NamedTuple):
    """n rows, sorted by their k models. These are numbered from 0 to k - 1 in this order."""

    context: Floats  # x, [n, D]
    rewards: Floats  # [n]
    first: Indices  # the first row of each model, [k]
    place: Indices  # the number of each row's model, [n]
    start: float | Floats  # the log-odds beside w . x: s0, or [n]

    def posterior(self, prior: LogisticModels) -> LogisticModels:
        """Returns what the k models know after these rows."""
        mean = self.mode(prior.mean, prior.precision)
        scores = self.scores(mean)[:, np.newaxis]
        curvature = np.square(self.context) * sigmoid(scores) * sigmoid(-scores)
        return LogisticModels(mean, prior.precision + np.add.reduceat(curvature, self.first))

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
        """Returns minus the logarithm of the posterior density, except for a constant: [k]."""
        scores = self.scores(weights)
        losses = np.logaddexp(0.0, scores) - self.rewards * scores
        distances = 0.5 * (precision * np.square(weights - prior)).sum(axis=1)
        return np.asarray(distances + np.add.reduceat(losses, self.first))

    def scores(self, weights: Floats) -> Floats:
        """Returns s0 + w . x of each row: [n]."""
        return np.asarray(np.einsum("nd,nd->n", self.context, weights[self.place]) + self.start)
