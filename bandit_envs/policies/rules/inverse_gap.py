"""Inverse gap weighting: a rule of choice for any model that predicts the rewards of actions."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats, Mask
from bandit_envs.policies.draws import largest_values, row_sums


def inverse_gap_probabilities(
    values: Floats, gamma: float | Floats, available: Mask | None = None
) -> Floats:
    """Returns the probabilities of inverse gap weighting: [B, K].

        p(a) = 1 / (mu + gamma (max_b v(b) - v(a)))    of an action that is not among the best
        p(a) = (1 - sum of these) / m                  of the m actions with the largest value

    Here mu is the number of available actions of the row. With gamma 0, all of these are equally
    likely; the larger gamma is, the more often the best one is chosen.

    Args:
        values: [B, K], the predicted rewards v.
        gamma: at least 0: one number; or one for each row, [B]. Then rows do not depend on each
            other, not even by rounding.
        available: [B, K], which actions may be chosen, at least one in each row; None for all.
            The others get 0, and their values do not count.

    Raises:
        ValueError: a value is NaN.

    Source: Foster & Rakhlin, Beyond UCB: Optimal and Efficient Contextual Bandits with Regression
    Oracles (2020), after Abe & Long (1999).

    >>> inverse_gap_probabilities(np.array([[0.5, 0.4, 0.5, 0.1]]), gamma=10.0)
    array([[0.3375, 0.2   , 0.3375, 0.125 ]])
    """
    if available is None:
        available = np.ones(values.shape, np.bool_)
    candidates = np.where(available, values, -np.inf)
    _, largest = largest_values(candidates)
    is_best = candidates == largest
    is_other = available & ~is_best
    table = np.zeros(values.shape)
    gaps = (largest - values)[is_other]
    rows = is_other.nonzero()[0]
    numbers = row_sums(available)[rows]
    weights = np.broadcast_to(gamma, len(values))[rows]
    table[is_other] = 1.0 / (numbers + weights * gaps)
    sums = table.sum(axis=1) if isinstance(gamma, np.ndarray) else row_sums(table)
    rest = 1.0 - sums
    table += is_best * (rest / row_sums(is_best))[:, np.newaxis]
    return table
