"""Environments with which nothing is wrong pass the contract, of whatever kind they are."""

import unittest

from bandit_envs.testing import EnvironmentContract
from tests.contracts import one_test
from tests.testing.sound_environments import Corridor, FewerActions, RareRewards, Unbounded


class TestNestsWithoutAutoReset(EnvironmentContract):
    """Pytest collects its tests one by one, as those of users."""

    num_steps = 7

    def make_environment(self, seed):
        return Corridor(batch_size=3, seed=seed)


@one_test
class TestNestsWithAutoReset(EnvironmentContract):
    num_steps = 7

    def make_environment(self, seed):
        return Corridor(True, batch_size=1, seed=seed)


@one_test
class TestSpecsWithoutBounds(EnvironmentContract):
    num_steps = 5

    def make_environment(self, seed):
        return Unbounded(batch_size=2, seed=seed)


@one_test
class TestUnknownMeans(EnvironmentContract):
    num_steps = 5

    def make_environment(self, seed):
        return FewerActions(seed=seed)


@one_test
class TestRareRewards(EnvironmentContract):
    num_steps = 5
    num_rewards = 10_000

    def make_environment(self, seed):
        return RareRewards(seed=seed)


class UnderUnittest(EnvironmentContract, unittest.TestCase):
    __test__ = False  # pytest would run it a second time
    num_rewards = 0

    def make_environment(self, seed):
        return RareRewards(seed=seed)


def test_the_contract_runs_under_unittest_and_may_leave_out_the_means():
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(UnderUnittest)
    result = unittest.TestResult()
    suite.run(result)
    assert result.wasSuccessful(), result.failures + result.errors
    assert result.testsRun > 15
    assert result.skipped == []
