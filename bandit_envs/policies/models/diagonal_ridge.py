"""Ridge regression that keeps the diagonal of its precision alone, and is updated in place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Rng
from bandit_envs.policies.models.ridge_models import RidgeModels, dots, triangle_of


class DiagonalRidge(NamedTuple):
    """M ridge regressions of rewards r on features x [D] with independent weights.

    Before each batch, the weights of a model are taken to be independent, with the means m and the
    precisions q. Of its rows, a model learns

        m   = argmin_w  sum_i q[i] (w[i] - m[i])^2 / 2 + sum_rows (r - w . x)^2 / 2
        q  += sum_rows x^2

    so q is the diagonal of A of `RidgeModels`. It is kept as the scales q^-1/2, which stand where
    the root of A^-1 stands there. One row costs O(D), and n rows of a model in one batch
    O(min(n, D) n D). Arithmetic is in float64, whatever dtype the arrays have.
    """

    theta: Floats  # m, [M, D]
    scales: Floats  # q^-1/2, [M, D]

    @classmethod
    def initial(
        cls, num_models: int, dim: int, tikhonov_weight: float, dtype: str = "float64"
    ) -> DiagonalRidge:
        """Returns models of nothing, whose estimates are zero."""
        shape = (num_models, dim)
        return cls(np.zeros(shape, dtype), np.full(shape, tikhonov_weight**-0.5, dtype))

    def reshaped(self, *shape: int) -> DiagonalRidge:
        """Returns the same models, numbered otherwise, such as by [R, M] in place of [R M]."""
        dim = self.theta.shape[-1]
        return DiagonalRidge(self.theta.reshape(*shape, dim), self.scales.reshape(*shape, dim))

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
        """Adds a batch of features [n, D] and rewards [n], each to the model in `model` [n].

        What a model learns depends on no row of another one, not even by rounding.

        Returns:
            [M], how much the loss of each model grew, as `RidgeModels.update` returns it.
        """
        growth = np.zeros(len(self.theta))
        if gamma < 1.0:
            self._forget(gamma, tikhonov_weight)
        if are_problems:
            growth[model] = self._add_row_each(model, features, rewards)
            return growth
        order = model.argsort(kind="stable")
        models, first, counts = np.unique(model[order], return_index=True, return_counts=True)
        is_single = counts == 1
        rows = order[first[is_single]]
        growth[models[is_single]] = self._add_row_each(model[rows], features[rows], rewards[rows])
        for one, start, count in zip(models[~is_single], first[~is_single], counts[~is_single]):
            rows = order[start : start + count]
            growth[one] = self._add_rows(one, features[rows], rewards[rows])
        return growth

    def _forget(self, gamma: float, tikhonov_weight: float) -> None:
        """Multiplies what all models have learned by gamma. The regularisation does not decay."""
        kept = gamma * self.scales.astype(np.float64) ** -2.0
        precision = kept + (1.0 - gamma) * tikhonov_weight
        self.theta[...] = self.theta * (kept / precision)
        self.scales[...] = precision**-0.5

    def _add_row_each(self, model: Indices, features: Floats, rewards: Array) -> Floats:
        """Adds row i to model `model[i]`, all different; returns how the losses grew: [n]."""
        theta = self.theta[model].astype(np.float64)
        scales = self.scales[model].astype(np.float64)
        white = features * scales
        errors = rewards - dots(features, theta)
        spreads = 1.0 + dots(white, white)
        self.theta[model] = theta + white * scales * (errors / spreads)[:, np.newaxis]
        self.scales[model] = scales / np.sqrt(1.0 + np.square(white))
        return np.asarray(errors * errors / spreads)

    def _add_rows(self, model: int, features: Floats, rewards: Array) -> float:
        """Adds rows [n, D] to one model, by a triangle; returns how much its loss grew.

        With V = x q^-1/2 and the errors e of its estimates, it finds the u that minimises
        |u|^2 + |e - V u|^2. It does so for n rows, or for D features, where there are fewer.
        """
        theta = self.theta[model].astype(np.float64)
        scales = self.scales[model].astype(np.float64)
        white = features * scales
        errors = rewards - features @ theta
        num_rows, dim = white.shape
        if num_rows <= dim:  # R^T R = I + V V^T
            root = triangle_of(np.concatenate((white.T, np.eye(num_rows))))
            surprises = np.linalg.solve(root.T, errors)
            step = white.T @ np.linalg.solve(root, surprises)
            growth = float(surprises @ surprises)
        else:
            upper = np.eye(dim, dim + 1)
            problem = np.concatenate((upper, np.column_stack((white, errors))))
            triangle = triangle_of(problem)
            step = np.linalg.solve(triangle[:dim, :dim], triangle[:dim, dim])
            growth = float(triangle[dim, dim] ** 2)
        self.theta[model] = theta + scales * step
        self.scales[model] = scales / np.sqrt(1.0 + np.square(white).sum(axis=0))
        return growth


def initial_models(
    num_models: int, dim: int, tikhonov_weight: float, *, diagonal: bool, dtype: str
) -> RidgeModels | DiagonalRidge:
    """Returns models of nothing, with all of A or with its diagonal alone."""
    if diagonal:
        return DiagonalRidge.initial(num_models, dim, tikhonov_weight, dtype)
    return RidgeModels.initial(num_models, dim, tikhonov_weight, dtype)


def ridge_models(theta: Floats, roots: Floats) -> RidgeModels | DiagonalRidge:
    """Returns the models of estimates and roots of A^-1, or of the diagonals of such."""
    if roots.ndim == theta.ndim:
        return DiagonalRidge(theta, roots)
    return RidgeModels(theta, roots)


def draw_errors(rng: Rng, roots: Floats, size: int, are_problems: bool) -> Floats:
    """Draws theta' - theta of one model for each of `size` rows, from N(0, A^-1): [size, D].

    Args:
        rng: draws.
        roots: W of the model of each row [size, D, D], or of the only one, [1, D, D]; or the
            diagonals of such.
        size: the number of rows.
        are_problems: whether each row has a model of its own.
    """
    noise = rng.standard_normal((size, roots.shape[1]))
    if roots.ndim == 2:
        return np.asarray(noise * roots)
    if are_problems:
        return np.asarray((noise[:, np.newaxis] @ roots)[:, 0])
    return np.asarray(noise @ roots[0])
