"""The linear model that contextual policies learn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class LinearModel(NamedTuple):
    """A ridge regression of rewards r on features x [D], which can forget.

        A     = sum_i gamma^(n-i) x_i x_i^T + tikhonov_weight I
        theta = A^-1 sum_i gamma^(n-i) r_i x_i

    for batches i = 1..n. It keeps the square root R of A = R^T R, updated by QR:

        [sqrt(gamma) R                          sqrt(gamma) z]
        [x_i                                    r_i          ]   =   Q [R' z']
        [sqrt((1 - gamma) tikhonov_weight) I    0            ]         [0  . ]

    A is never formed, so errors do not accumulate and collinear features are harmless. An update
    returns a new model.

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
        dim = len(self.theta)
        rows = np.concatenate((self.root, self.target[:, np.newaxis]), axis=1) * np.sqrt(gamma)
        batch = np.concatenate((features, rewards[:, np.newaxis]), axis=1)
        again = np.sqrt((1.0 - gamma) * tikhonov_weight) * np.eye(
            dim if gamma < 1.0 else 0, dim + 1
        )
        triangle: Any = np.linalg.qr(np.concatenate((rows, batch, again)), mode="r")
        root, target = triangle[:dim, :dim].copy(), triangle[:dim, dim].copy()
        whitening = np.linalg.inv(root).T
        return LinearModel(root, target, whitening.T @ target, whitening)
