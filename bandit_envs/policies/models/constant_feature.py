"""The constant that linear models need among their features, to learn the mean of rewards."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats

LACKS_CONSTANT = (
    "is linear, and no sum of its features is nearly constant: it cannot learn the mean reward of "
    "an action; intercept=True of its model, or a column of ones, mends this"
)
"""A sentence without its subject, the name of a policy."""

ENOUGH = 0.99
"""Features have a constant if they explain at least this share of it."""

MOST_ROWS = 10_000
"""From so many rows it is found whether features make a constant."""

RIDGE = 1e-9
"""Added to the mean squares of features, which are 1, so that equal features do not matter."""

TINY = 1e-300
"""What features of zeros are divided by."""


def has_constant(features: Floats) -> bool:
    """Returns whether a linear function of features [n, D] is nearly 1 in all rows.

    >>> has_constant(np.eye(2)), has_constant(np.array([[18.0], [80.0]]))
    (True, False)
    """
    return share_of_constant(features) >= ENOUGH


def share_of_constant(features: Floats) -> float:
    """Returns how well a linear function of features [n, D] can be 1: from 0, not at all, to 1."""
    scaled = np.array(features, np.float64)
    scaled /= np.maximum(np.sqrt(np.mean(scaled**2, axis=0)), TINY)
    products = scaled.T @ scaled / len(scaled)  # much faster than a decomposition
    products[np.diag_indices_from(products)] += RIDGE
    weights = np.linalg.solve(products, scaled.mean(axis=0))
    return 1.0 - float(np.mean((scaled @ weights - 1.0) ** 2))
