"""Environments with which nothing is wrong pass the contract, of whatever kind they are."""

import unittest

import pytest

from bandit_envs import KArmedTestbed
from bandit_envs.testing import EnvironmentContract
from tests.testing.sound_environments import (
    Corridor,
    Doubling,
    FewerActions,
    Preferences,
    RareRewards,
    Ratings,
    Unbounded,
)


class TestNestsWithoutAutoReset(EnvironmentContract):
    num_steps = 7

    def make_environment(self, seed):
        return Corridor(batch_size=3, seed=seed)


class TestNestsWithAutoReset(EnvironmentContract):
    num_steps = 7

    def make_environment(self, seed):
        return Corridor(True, batch_size=1, seed=seed)


class TestSpecsWithoutBounds(EnvironmentContract):
    def make_environment(self, seed):
        return Unbounded(batch_size=2, seed=seed)


class TestContextualStream(EnvironmentContract):
    def make_environment(self, seed):
        return Preferences(seed=seed)


class TestContextualEpisodes(EnvironmentContract):
    def make_environment(self, seed):
        return Preferences(num_actions=1, batch_size=1, seed=seed, horizon=1)


class TestUnknownMeans(EnvironmentContract):
    def make_environment(self, seed):
        return FewerActions(seed=seed)


class TestRareRewards(EnvironmentContract):
    def make_environment(self, seed):
        return RareRewards(seed=seed)


class TestRatings(EnvironmentContract):
    def make_environment(self, seed):
        return Ratings(seed=seed, horizon=3)


class TestWrapper(EnvironmentContract):
    def make_environment(self, seed):
        return Doubling(Doubling(Preferences(seed=seed, horizon=2)))


class UnderUnittest(EnvironmentContract, unittest.TestCase):
    __test__ = False  # pytest would run it a second time

    def make_environment(self, seed):
        return FewerActions(seed=seed)


def test_the_contract_runs_under_unittest():
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(UnderUnittest)
    result = unittest.TestResult()
    suite.run(result)
    assert result.wasSuccessful(), result.failures + result.errors
    assert result.testsRun > 25
    skipped = {case.id().split(".")[-1] for case, _ in result.skipped}
    assert skipped == {
        "test_optimal_actions_have_the_largest_expected_reward",
        "test_info_describes_the_last_step",
        "test_the_mean_of_many_rewards_is_the_expected_reward",
    }


def test_a_class_that_another_process_cannot_import_is_told_so():
    class Local(EnvironmentContract):
        def make_environment(self, seed):
            return KArmedTestbed(seed=seed)

    with pytest.raises(AssertionError, match="define the class at the top level of a module"):
        Local().test_a_token_replays_in_another_process()


def test_a_contract_needs_a_factory():
    with pytest.raises(TypeError, match="make_environment"):
        EnvironmentContract()
