"""Ridge regression that forgets and is updated in place."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Mask

WIDE = 2**21
"""How many numbers of models of float32 are float64 at a time, while they learn."""

LARGE = 48
"""Features from which on a model is so large that models are updated one after the other."""

SURPRISE = 1e8
"""The x . A^-1 x from which on a difference in W would lose more than four digits."""


class RidgeModels(NamedTuple):
    """M ridge regressions of rewards r on features x [D], which can forget; updated in place.

        A     = sum_i gamma^(n-i) x_i x_i^T + tikhonov_weight I
        theta = A^-1 sum_i gamma^(n-i) r_i x_i

    for batches i = 1..n. Each keeps a square root W of the inverse, W^T W = A^-1. One row costs
    O(D^2):

        v = W x,    s = 1 + v . v,    e = r - theta . x
        theta += W^T v e / s
        W     -= v (W^T v)^T / (sqrt(s) (sqrt(s) + 1))

    A root has half the digits of the inverse to lose, and is found by QR where a difference would
    lose more than four. So neither A nor a new factorisation is needed, for features of all scales
    and collinear ones too.

    Source: Potter's and Andrews' square-root forms of the Kalman filter, as in Kaminski, Bryson &
    Schmidt, Discrete square root filtering: a survey of current techniques (1971).

    The arrays may be float32. Arithmetic is in float64 all the same.
    """

    theta: Floats  # [M, D], the estimates
    whitening: Floats  # [M, D, D], W of each model: W^T W = A^-1

    @classmethod
    def initial(
        cls, num_models: int, dim: int, tikhonov_weight: float, dtype: str = "float64"
    ) -> RidgeModels:
        """Returns models of nothing, whose estimates are zero; warns if they take gigabytes."""
        gigabytes = 1e-9 * np.dtype(dtype).itemsize * num_models * dim**2  # of `whitening`
        if gigabytes > 1.0:
            found = f"{num_models} linear models of {dim} features take {gigabytes:.1f} GB"
            advice = "features of actions would need one model, and diagonal=True two numbers"
            warnings.warn(f"{found}; {advice} a feature", stacklevel=2)
        whitening = np.zeros((num_models, dim, dim), dtype)
        _set_diagonal(whitening, tikhonov_weight)
        return cls(np.zeros((num_models, dim), dtype), whitening)

    def reshaped(self, *shape: int) -> RidgeModels:
        """Returns the same models, numbered otherwise, such as by [R, M] in place of [R M]."""
        dim = self.theta.shape[-1]
        return RidgeModels(
            self.theta.reshape(*shape, dim), self.whitening.reshape(*shape, dim, dim)
        )

    def learn(
        self,
        model: Indices,
        features: Floats,
        rewards: Array,
        *,
        gamma: float,
        tikhonov_weight: float,
        are_problems: bool,
    ) -> Floats:
        """Adds a batch, as `update`.

        If rows are problems, row i of the batch is the only one of its problem. Then what a model
        learns depends on no other row, not even by rounding.
        """
        if self.theta.dtype != np.float64:
            return self._learn_wide(
                model,
                features,
                rewards,
                gamma=gamma,
                tikhonov_weight=tikhonov_weight,
                are_problems=are_problems,
            )
        if not are_problems:
            return self.update(model, features, rewards, gamma, tikhonov_weight)
        if gamma == 1.0:
            growth = np.zeros(len(self.theta))
            growth[model] = _add_row_each(self, model, features, rewards)
            return growth
        return self._learn_and_forget(
            model, features, rewards, gamma=gamma, tikhonov_weight=tikhonov_weight
        )

    def _learn_wide(
        self, model: Indices, features: Floats, rewards: Array, *, gamma: float, **options: Any
    ) -> Floats:
        """Adds a batch to models of float32, as `learn`: some at a time are float64 for it."""
        num_models, dim = self.theta.shape
        growth = np.zeros(num_models)
        changed = np.unique(model) if gamma == 1.0 else np.arange(num_models)
        step = max(1, WIDE // max(1, dim**2))
        for start in range(0, len(changed), step):
            several = changed[start : start + step]
            theta = self.theta[several].astype(np.float64)
            wide = RidgeModels(theta, self.whitening[several].astype(np.float64))
            rows = np.flatnonzero((model >= several[0]) & (model <= several[-1]))
            place = np.searchsorted(several, model[rows])
            growth[several] = wide.learn(
                place, features[rows], rewards[rows], gamma=gamma, **options
            )
            self.theta[several] = wide.theta
            self.whitening[several] = wide.whitening
        return growth

    def _learn_and_forget(
        self,
        model: Indices,
        features: Floats,
        rewards: Array,
        *,
        gamma: float,
        tikhonov_weight: float,
    ) -> Floats:
        """Lets all models forget, and adds rows to different ones, each by its own arithmetic."""
        num_models, dim = self.theta.shape
        growth = np.zeros(num_models)
        if gamma == 0.0:
            self.theta[...] = 0.0
            self.whitening[...] = 0.0
            _set_diagonal(self.whitening, tikhonov_weight)
            growth[model] = _add_row_each(self, model, features, rewards)
            return growth
        self.whitening[...] /= np.sqrt(gamma)
        again = np.sqrt((1.0 - gamma) * tikhonov_weight) * np.eye(dim)
        rows = np.zeros((num_models, dim + 1, dim))
        rows[:, 1:] = again
        rows[model, 0] = features
        targets = np.zeros((num_models, dim + 1))
        targets[model, 0] = rewards
        errors = targets - _times(rows, self.theta)
        white = rows @ _transposed(self.whitening)
        return _add_many(self.theta, self.whitening, white, errors)

    def update(
        self,
        model: Indices,
        features: Floats,
        rewards: Array,
        gamma: float,
        tikhonov_weight: float,
    ) -> Floats:
        """Adds a batch of features [n, D] and rewards [n], each to the model in `model` [n].

        Returns:
            [M], how much the loss of each model grew: the sum of its squared errors, plus
            tikhonov_weight |theta|^2; what it was before counts gamma times.
        """
        theta, whitening = self
        num_models, dim = theta.shape
        growth = np.zeros(num_models)
        if gamma == 0.0:
            theta[...] = 0.0
            whitening[...] = 0.0
            _set_diagonal(whitening, tikhonov_weight)
        elif gamma < 1.0:  # the regularisation does not decay: it is added again, as rows
            whitening /= np.sqrt(gamma)
            again = np.sqrt((1.0 - gamma) * tikhonov_weight) * np.eye(dim)
            model = np.concatenate((model, np.arange(num_models).repeat(dim)))
            features = np.concatenate((features, np.tile(again, (num_models, 1))))
            rewards = np.concatenate((rewards, np.zeros(num_models * dim)))
        if len(model) == 1:
            (one,) = model
            growth[one] = _add_row(theta[one], whitening[one], features[0], float(rewards[0]))
        elif num_models == 1 or dim >= LARGE:
            for one in np.unique(model):
                of_model = model == one
                growth[one] = _add(
                    theta[one], whitening[one], features[of_model], rewards[of_model]
                )
        else:
            for models, rows in _blocks(model, np.column_stack((features, rewards))):
                part = RidgeModels(theta[models], whitening[models])
                growth[models] += _add(*part, rows[..., :dim], rows[..., dim])
                theta[models] = part.theta
                whitening[models] = part.whitening
        return growth


def differs(roots: Floats, diagonal: float) -> Mask:
    """Returns which models have a root of A^-1 that is not the unit matrix times a number: [R, M].

    Args:
        roots: [R, M, D, D], or the diagonals of such, [R, M, D].
        diagonal: the number.
    """
    dim = roots.shape[-1]
    unit = diagonal * (np.ones(dim) if roots.ndim == 3 else np.eye(dim))
    accuracy = 1e-9 if roots.dtype == np.float64 else 1e-6
    is_other = np.abs(roots - unit) > accuracy * diagonal
    return np.asarray(is_other.any(axis=tuple(range(2, roots.ndim))))


def start_with_mean(weights: Floats, has_learned: Mask) -> None:
    """Sets the weights of the last models of each row to the mean of those that have learned.

    Args:
        weights: [R, M, D], updated in place.
        has_learned: [R, m], of the first m models. Rows where none has learned stay as they are.
    """
    known = has_learned.shape[1]
    chosen = has_learned[:, :, np.newaxis]
    count = has_learned.sum(axis=1)
    total = np.where(chosen, weights[:, :known], 0.0).sum(axis=1)
    rows = np.flatnonzero(count)
    weights[rows, known:] = (total[rows] / count[rows, np.newaxis])[:, np.newaxis]


def add_rows(factor: Floats, model: Indices, rows: Floats) -> None:
    """Adds rows to the least-squares problems of several models, in place.

    With R of `factor` and the rows x of one model: R'^T R' = R^T R + sum x^T x, by QR. The first D
    columns of `factor` [M, D, N], D <= N, become upper triangular. Row i of `rows` [n, N] is of the
    model `model[i]`.
    """
    dim = factor.shape[1]
    for models, block in _blocks(model, rows):
        problem = np.concatenate((factor[models], block), axis=1)
        factor[models] = triangle_of(problem)[:, :dim]


def _set_diagonal(whitening: Floats, tikhonov_weight: float) -> None:
    """Writes the root of (tikhonov_weight I)^-1 into matrices of zeros [M, D, D]."""
    places = np.arange(whitening.shape[1])
    whitening[:, places, places] = 1.0 / np.sqrt(tikhonov_weight)


def _blocks(model: Indices, rows: Floats) -> Iterator[tuple[Indices, Floats]]:
    """Yields models [m] and their rows [m, k, N], until all rows [n, N] of `model` [n] were there.

    Models that have fewer than k rows get rows of zeros.
    """
    order = model.argsort(kind="stable")
    model = model[order]
    rows = rows[order]
    rank = np.arange(len(model)) - np.searchsorted(model, model)  # of a row among its model's
    while len(model):
        # All models at once, in blocks of as many rows. With twice the mean, fewer than half of the
        # models have rows left for the next round.
        first = rank == 0
        models = model[first]
        place = first.cumsum() - 1
        size = min(rank.max() + 1, -(-2 * len(model) // len(models)))
        now = rank < size
        block = np.zeros((len(models), size, rows.shape[1]))
        block[place[now], rank[now]] = rows[now]
        yield models, block
        model = model[~now]
        rows = rows[~now]
        rank = rank[~now] - size


def _add_row(theta: Floats, whitening: Floats, x: Floats, reward: float) -> float:
    """Adds one row to one model in place; returns how much its loss grew."""
    white = whitening @ x
    error = reward - float(x @ theta)
    spread = 1.0 + float(white @ white)
    if spread > SURPRISE:
        return float(_add_many(theta, whitening, white[np.newaxis], np.array([error])))
    root = spread**0.5
    gain = white @ whitening
    theta += gain * (error / spread)
    white /= root * (root + 1.0)
    whitening -= np.multiply.outer(white, gain)
    return error * error / spread


def _add_row_each(models: RidgeModels, model: Indices, features: Floats, rewards: Array) -> Floats:
    """Adds row i to model `model[i]`, all different, in place; returns how the losses grew: [n]."""
    theta = models.theta.take(model, axis=0)
    whitening = models.whitening.take(model, axis=0)
    white = _times(whitening, features)
    errors = rewards - dots(features, theta)
    spreads = 1.0 + dots(white, white)
    roots = np.sqrt(spreads)
    gains = (white[:, np.newaxis] @ whitening)[:, 0]
    growth = errors * errors / spreads
    surprising = np.flatnonzero(spreads > SURPRISE)
    before = whitening[surprising]
    whitening -= (white / (roots * (roots + 1.0))[:, np.newaxis])[:, :, np.newaxis] * gains[
        :, np.newaxis
    ]
    after = theta + gains * (errors / spreads)[:, np.newaxis]
    for index, root in zip(surprising.tolist(), before):
        after[index] = theta[index]
        whitening[index] = root
        growth[index] = _add_row(
            after[index], whitening[index], features[index], float(rewards[index])
        )
    models.theta[model] = after
    models.whitening[model] = whitening
    return np.asarray(growth)


def dots(left: Floats, right: Floats) -> Floats:
    """Returns the products of vectors [n, D] and vectors [n, D]: [n]."""
    return np.asarray((left[:, np.newaxis] @ right[:, :, np.newaxis])[:, 0, 0])


def _add(theta: Floats, whitening: Floats, x: Floats, rewards: Array) -> Floats:
    """Adds rows x [..., n, D] to models in place; returns how much their losses grew: [...]."""
    errors = rewards - _times(x, theta)
    white = x @ _transposed(whitening)
    num_rows, dim = x.shape[-2:]
    if 2 * num_rows <= dim and np.vdot(white, white) < SURPRISE:
        return _add_few(theta, whitening, white, errors)
    return _add_many(theta, whitening, white, errors)


def _add_few(theta: Floats, whitening: Floats, white: Floats, errors: Floats) -> Floats:
    """Adds rows by a triangle of their number, in O(n D^2), with V [..., n, D] = x W^T.

    With R^T R = I + V V^T and R of a positive diagonal:

        theta += (V W)^T R^-1 R^-T e
        W     -= V^T (R + I)^-1 R^-T V W
    """
    num_rows = white.shape[-2]
    eye = np.broadcast_to(np.eye(num_rows), (*white.shape[:-1], num_rows))
    root = triangle_of(np.concatenate((_transposed(white), eye), axis=-2))
    diagonal = np.diagonal(root, axis1=-2, axis2=-1)
    root *= np.sign(diagonal)[..., np.newaxis]
    inverse = _transposed(np.linalg.inv(root))
    gains = inverse @ (white @ whitening)
    surprises = _times(inverse, errors)
    theta += _times(_transposed(gains), surprises)
    whitening -= _transposed(white) @ np.linalg.solve(root + eye, gains)
    return np.asarray(np.square(surprises).sum(axis=-1))


def _add_many(theta: Floats, whitening: Floats, white: Floats, errors: Floats) -> Floats:
    """Adds rows by a triangle of the number of features, with V [..., n, D] = x W^T.

    [I  0]       [T  z  ]
    [V  e] = Q   [0  rho],    theta += W^T T^-1 z,    W = T^-T W
    """
    dim = white.shape[-1]
    problem = np.zeros((*white.shape[:-2], dim + white.shape[-2], dim + 1))
    problem[..., :dim, :dim] = np.eye(dim)
    problem[..., dim:, :dim] = white
    problem[..., dim:, dim] = errors
    triangle = triangle_of(problem)
    inverse = np.linalg.inv(triangle[..., :dim, :dim])
    theta += _times(_transposed(whitening), _times(inverse, triangle[..., :dim, dim]))
    whitening[...] = _transposed(inverse) @ whitening
    return np.asarray(np.square(triangle[..., dim, dim]))


def triangle_of(matrices: Floats) -> Any:
    """Returns R of matrices = Q R."""
    return np.linalg.qr(matrices, mode="r")


def _transposed(matrices: Floats) -> Floats:
    return np.swapaxes(matrices, -1, -2)


def _times(matrices: Floats, vectors: Floats) -> Floats:
    """Returns products of matrices [..., n, k] and vectors [..., k]: [..., n]."""
    return np.asarray((matrices @ vectors[..., np.newaxis])[..., 0])
