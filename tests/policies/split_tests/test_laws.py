"""How often tests of variants err, and their intervals do not hold, in 300 tests of each law."""

import dataclasses

import numpy as np
import pytest

from bandit_envs.policies.split_tests.split_rule import SplitRule
from tests.policies.split_tests.laws import CELLS, Law, simulate, weekends

TESTS = 300
BOUND = 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / TESTS)
"""Two standard errors above delta."""

QUICK = "the last joins on day 6, a weekend"


def check_equal(name, rule):
    """Checks how often a test of equal variants stops, and how often intervals do not hold."""
    found = simulate(CELLS[name], rule, tests=TESTS, seed=1)
    assert found.stopped.mean() <= BOUND
    assert found.missed.mean() <= BOUND


@pytest.mark.slow
def test_equal_variants_of_which_one_joins_on_a_weekend_seldom_stop_a_test():
    check_equal(QUICK, SplitRule())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CELLS.keys() - {QUICK}))
def test_equal_variants_seldom_stop_a_test(name):
    law = CELLS[name]
    check_equal(name, SplitRule(planned=law.rates.shape[1]))


@pytest.mark.slow
def test_bets_on_equal_variants_seldom_stop_a_test():
    law = Law(CELLS["the last joins on day 6, a weekend"].rates[:14])
    found = simulate(law, SplitRule(threshold="proven"), tests=100, seed=1)
    assert found.stopped.mean() <= BOUND


@pytest.mark.slow
def test_different_variants_are_told_apart_and_intervals_hold_at_all_looks():
    """It takes about 1,415 users by an independent simulation, which looked ten times a day."""
    law = Law(weekends([0.10, 0.12, 0.15, 0.25], 18))
    found = simulate(law, SplitRule(planned=4), tests=TESTS, seed=1)
    assert found.stopped.all()
    assert (found.best[found.stopped] == 3).mean() >= 1.0 - BOUND
    assert found.missed.mean() <= BOUND
    assert 1300 < found.users.mean() < 1600


@pytest.mark.slow
def test_equal_variants_stop_with_a_tolerance():
    """It takes about 43,077 users by an independent simulation."""
    rule = SplitRule(planned=3, tolerance=0.01)
    found = simulate(Law(weekends([0.1] * 3, 100)), rule, tests=100, seed=1)
    assert found.stopped.mean() > 0.95
    assert 38_000 < found.users[found.stopped].mean() < 48_000


def test_a_tolerance_saves_users_where_two_variants_are_nearly_equal():
    law = Law(weekends([0.2, 0.2, 0.1], 20))
    rule = SplitRule(planned=3, tolerance=0.03)
    assert simulate(law, rule, tests=40, seed=1).stopped.mean() > 0.8
    strict = dataclasses.replace(rule, tolerance=0.0)
    assert simulate(law, strict, tests=40, seed=1).stopped.mean() < 0.2
