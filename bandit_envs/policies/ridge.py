"""Ridge regression that forgets and is updated in place."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_number, check_positive


class RidgeModels(NamedTuple):
    """M ridge regressions of rewards r on features x [D], which can forget; updated in place.

        A     = sum_i gamma^(n-i) x_i x_i^T + tikhonov_weight I
        theta = A^-1 sum_i gamma^(n-i) r_i x_i

    for batches i = 1..n. Each keeps the square root R of A = R^T R and z = R theta, by QR:

        [sqrt(gamma) R                          sqrt(gamma) z]
        [x_i                                    r_i          ]   =   Q [R' z']
        [sqrt((1 - gamma) tikhonov_weight) I    0            ]         [0  . ]

    A is never formed, so errors do not accumulate and collinear features are harmless.

    Source: Golub & Van Loan, Matrix Computations, 4th ed., sections 5.3 and 6.5.
    """

    factor: Floats  # [M, D, D + 1], [R z] of each model; R is upper triangular
    theta: Floats  # [M, D], the estimates
    whitening: Floats  # [M, D, D], W = R^-T of each model, lower triangular: W^T W = A^-1

    @classmethod
    def initial(cls, num_models: int, dim: int, tikhonov_weight: float) -> RidgeModels:
        """Returns models of nothing, whose estimates are zero; warns if they take gigabytes."""
        gigabytes = 16e-9 * num_models * dim**2  # `factor` and `whitening`, 8 bytes a number
        if gigabytes > 1.0:
            found = f"{num_models} linear models of {dim} features take {gigabytes:.1f} GB"
            warnings.warn(f"{found}; for features of arms, lin_ucb has one model", stacklevel=2)
        root = np.sqrt(tikhonov_weight) * np.eye(dim, dim + 1)
        whitening = np.eye(dim) / np.sqrt(tikhonov_weight)
        return cls(
            factor=np.tile(root, (num_models, 1, 1)),
            theta=np.zeros((num_models, dim)),
            whitening=np.tile(whitening, (num_models, 1, 1)),
        )

    def update(
        self,
        model: Indices,
        features: Floats,
        rewards: Array,
        gamma: float,
        tikhonov_weight: float,
    ) -> None:
        """Adds a batch of features [n, D] and rewards [n], each to the model in `model` [n]."""
        factor, theta, whitening = self
        num_models, dim = theta.shape
        rows = np.column_stack((features, rewards))
        changed = np.unique(model)
        if gamma < 1.0:  # every model forgets
            again = np.sqrt((1.0 - gamma) * tikhonov_weight) * np.eye(dim, dim + 1)
            changed = np.arange(num_models)
            model = np.concatenate((model, changed.repeat(dim)))
            rows = np.concatenate((rows, np.tile(again, (num_models, 1))))
            factor *= np.sqrt(gamma)
        add_rows(factor, model, rows)
        inverse = np.linalg.inv(factor[changed, :, :dim])
        theta[changed] = (inverse @ factor[changed, :, dim:])[..., 0]
        whitening[changed] = inverse.transpose(0, 2, 1)


def check_ridge(gamma: float, tikhonov_weight: float) -> tuple[float, float]:
    """Returns the forgetting factor and the weight of the regularisation of `RidgeModels`."""
    factor = check_number("gamma", gamma, 0.0, 1.0)
    weight = check_positive("tikhonov_weight", tikhonov_weight, MIN_STD, MAX_PARAMETER)
    return factor, weight


def add_rows(factor: Floats, model: Indices, rows: Floats) -> None:
    """Adds rows to the least-squares problems of several models, in place.

    With R of `factor` and the rows x of one model: R'^T R' = R^T R + sum x^T x, by QR. The first D
    columns of `factor` [M, D, N], D <= N, become upper triangular. Row i of `rows` [n, N] is of the
    model `model[i]`.
    """
    triangle: Any
    dim, width = factor.shape[1:]
    if len(factor) == 1:  # nothing to sort
        triangle = np.linalg.qr(np.concatenate((factor[0], rows)), mode="r")
        factor[0] = triangle[:dim]
        return
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
        block = min(rank.max() + 1, -(-2 * len(model) // len(models)))
        now = rank < block
        problem = np.zeros((len(models), dim + block, width))
        problem[:, :dim] = factor[models]
        problem[place[now], dim + rank[now]] = rows[now]
        triangle = np.linalg.qr(problem, mode="r")
        factor[models] = triangle[:, :dim]
        model = model[~now]
        rows = rows[~now]
        rank = rank[~now] - block
