"""Inverse gap weighting, held against its formula, one action at a time."""

import numpy as np
import pytest

from bandit_envs.policies.rules import inverse_gap_probabilities
from tests.cases import for_each

VALUES = np.random.default_rng(0).normal(size=(200, 6)).round(1)  # rounded, so that some tie
MASK = np.random.default_rng(1).random(VALUES.shape) < 0.5
MASK[:, 0] |= ~MASK.any(axis=1)


def one_at_a_time(values, gamma, available):
    """Returns what the rule says of one row: [K]."""
    allowed = np.flatnonzero(available)
    best = [a for a in allowed if values[a] == values[allowed].max()]
    table = np.zeros(len(values))
    for a in allowed:
        if a not in best:
            table[a] = 1.0 / (len(allowed) + gamma * (values[best[0]] - values[a]))
    table[best] = (1.0 - table.sum()) / len(best)
    return table


@for_each("available", [None, MASK])
@for_each("gamma", [0.0, 3.0, 1e6, np.linspace(0.0, 50.0, len(VALUES))])
def test_probabilities_are_those_of_the_formula(gamma, available):
    table = inverse_gap_probabilities(VALUES, gamma, available)
    masks = np.ones(VALUES.shape, bool) if available is None else available
    gammas = np.broadcast_to(gamma, len(VALUES))
    expected = [one_at_a_time(*row) for row in zip(VALUES, gammas, masks, strict=True)]
    np.testing.assert_allclose(table, expected, rtol=1e-12)
    np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=1e-12)
    assert (table >= 0.0).all()
    assert (table[~masks] == 0.0).all()


def test_a_value_that_is_nan_is_refused_unless_its_action_is_not_available():
    values = np.array([[0.2, np.nan, 0.1]])
    with pytest.raises(ValueError, match="NaN"):
        inverse_gap_probabilities(values, 1.0)
    available = np.array([[True, False, True]])
    assert inverse_gap_probabilities(values, 0.0, available).tolist() == [[0.5, 0.0, 0.5]]
