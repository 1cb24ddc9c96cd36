"""Ridge regression."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.logged.moments import Moments


class RidgeRegression:
    """Linear least squares, with the sum of the squared weights but the intercept's as penalty.

    >>> model = RidgeRegression().fit(np.array([[-1.0], [1.0]]), np.array([0.0, 6.0]))
    >>> model.predict(np.array([[0.0], [1.0]]))
    array([3., 5.])
    """

    weights: Floats  #: [1 + d], the intercept first

    def fit(
        self, features: Floats, targets: Floats, sample_weight: Floats | None = None
    ) -> RidgeRegression:
        """Fits the weights to features [m, d] and targets [m], which count by `sample_weight`."""
        columns = np.column_stack([features, targets]).T
        return self.fit_moments(Moments.from_columns(columns, sample_weight))

    def fit_moments(self, moments: Moments) -> RidgeRegression:
        """Fits the weights to the moments of the d features and, last, of the target."""
        gram = moments.products[:-1, :-1] + np.eye(len(moments.means) - 1)
        slope = np.linalg.solve(gram, moments.products[:-1, -1])
        intercept = moments.means[-1] - moments.means[:-1] @ slope
        self.weights = np.append(intercept, slope)
        return self

    def predict(self, features: Floats) -> Floats:
        """Returns the predictions for features [m, d]: [m]."""
        return np.asarray(self.weights[0] + features @ self.weights[1:])
