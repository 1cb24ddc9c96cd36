"""The linear model that contextual policies learn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class LinearModel(NamedTuple):
    """A ridge regression of rewards r on features x [D], which can forget.

        A     = sum_i gamma^(n-i) x_i x_i^T + tikhonov_weight I
        theta = A^-1 sum_i gamma^(n-i) r_i x_i

    for batches i = 1..n. It keeps the square root R of A = R^T R, and updates it by QR:

        [sqrt(gamma) R                          sqrt(gamma) z]
        [x_i                                    r_i          ]   =   Q [R' z']
        [sqrt((1 - gamma) tikhonov_weight) I    0            ]         [0  . ]

    A is never formed, so errors do not accumulate and collinear features are harmless; R is
    invertible because A >= tikhonov_weight I.

    Fields:
        root: R, [D, D] upper triangular.
        target: z, [D]; R theta = z.
        theta: the estimate, [D].
        whitening: W = R^-T, [D, D] lower triangular: W^T W = A^-1.

    Source: Golub & Van Loan, Matrix Computations, 4th ed., sections 5.3 and 6.5.
    """

    root: NDArray[np.float64]
    target: NDArray[np.float64]
    theta: NDArray[np.float64]
    whitening: NDArray[np.float64]

    @classmethod
    def initial(cls, dim: int, tikhonov_weight: float) -> LinearModel:
        """Returns the model of nothing, whose estimate is zero."""
        root = np.sqrt(tikhonov_weight)
        return cls(root * np.eye(dim), np.zeros(dim), np.zeros(dim), np.eye(dim) / root)

    def updated(
        self, features: NDArray[Any], rewards: NDArray[Any], gamma: float, tikhonov_weight: float
    ) -> LinearModel:
        """Returns the model after a batch of features [B, D] and rewards [B]."""
        batch, dim = features.shape
        again = dim if gamma < 1.0 else 0  # rows that make up for the regularisation's decay
        rows = np.zeros((dim + batch + again, dim + 1))
        rows[:dim, :dim], rows[:dim, dim] = self.root, self.target
        rows[:dim] *= np.sqrt(gamma)
        rows[dim : dim + batch, :dim], rows[dim : dim + batch, dim] = features, rewards
        rows[dim + batch :, :dim] = np.sqrt((1.0 - gamma) * tikhonov_weight) * np.eye(again, dim)
        triangle: Any = np.linalg.qr(rows, mode="r")
        root, target = triangle[:dim, :dim].copy(), triangle[:dim, dim].copy()
        whitening = np.linalg.inv(root).T
        return LinearModel(root, target, whitening.T @ target, whitening)
