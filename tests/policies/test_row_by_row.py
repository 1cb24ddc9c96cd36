"""A policy for each row, in place of one model for all."""

import copy

import numpy as np
import pytest

from bandit_envs import (
    BernoulliPyEnvironment,
    DelayedLearning,
    DelayedRewards,
    EpsilonGreedyPolicy,
    KArmedTestbed,
    LinUCBPolicy,
    RandomActionMask,
    RegretMetric,
    StepDriver,
)
from bandit_envs.base.saving import load_state, save_state
from bandit_envs.environments import ContinuousBandit
from bandit_envs.nests import map_structure
from bandit_envs.policies import LUCBPolicy, RowByRowPolicy
from bandit_envs.testing import PolicyContract, assert_identical
from bandit_envs.trajectories import Trajectory
from tests.cases import for_each
from tests.contracts import one_test
from tests.policies.examples import make_environment
from tests.policies.shared import Decaying, SharedAverages, SharedNumber, SharedSampler

B, K = 5, 3


def make(kind, env, seed=1, **arguments):
    """Returns a policy with a copy of `kind` for each row of `env`, each with a seed of its own."""
    given = {**kind.arguments_for(env), **arguments, "batch_size": 1}
    seeds = np.random.SeedSequence(seed).spawn(env.batch_size)
    return RowByRowPolicy([kind(**given, seed=each) for each in seeds], seed=seed)


class RowByRowContract(PolicyContract):
    """What a row has learned is an item of a tuple, whatever it is made of."""

    def _rows(self, policy, rows):
        return tuple(copy.deepcopy(policy._state.learned[row]) for row in rows)


@one_test
class TestRowByRow(RowByRowContract):
    def make_policy(self, env, seed):
        return make(SharedAverages, env, seed, epsilon=0.3)


@one_test
class TestRowByRowWithoutProbabilities(RowByRowContract):
    num_choices = 0

    def make_policy(self, env, seed):
        return make(SharedSampler, env, seed)


@one_test
class TestRowByRowOfSlates(RowByRowContract):
    def make_environment(self, batch_size, seed):
        return make_environment("top_k_lin_ucb", batch_size, seed)

    def make_policy(self, env, seed):
        return make(LinUCBPolicy, env, seed)


@one_test
class TestRowByRowOfNumbers(RowByRowContract):
    def make_environment(self, batch_size, seed):
        return ContinuousBandit(batch_size=batch_size, seed=seed)

    def make_policy(self, env, seed):
        return make(SharedNumber, env, seed)


def row_of(nest, row):
    return map_structure(lambda leaf: leaf[row : row + 1], nest)


def test_each_row_chooses_and_learns_as_a_policy_of_its_own():
    env = RandomActionMask(KArmedTestbed(K, batch_size=B, seed=0), 0.7)
    policy = make(SharedAverages, env)
    alone = [SharedAverages(num_actions=K) for _ in range(B)]
    time_step = env.reset()
    for _ in range(40):
        action = policy.action(time_step)
        expected = [each.probabilities(row_of(time_step, row)) for row, each in enumerate(alone)]
        assert_identical(policy.probabilities(time_step), np.concatenate(expected))
        after = env.step(action)
        trajectory = Trajectory.from_transition(time_step, action, after)
        policy(trajectory)
        for row, each in enumerate(alone):
            each(row_of(trajectory, row))
        time_step = after
    for row, each in enumerate(alone):
        assert_identical(policy._state.learned[row], each._state.learned)


def test_a_row_learns_as_the_class_does_that_keeps_attributes_or_overrides_learn():
    env = KArmedTestbed(K, batch_size=B, seed=0)
    policy = make(Decaying, env)
    alone = [Decaying(num_actions=K) for _ in range(B)]
    copied = policy.replicate(B)
    time_step = env.reset()
    for _ in range(20):
        after = env.step(policy.action(time_step))
        trajectory = Trajectory.from_transition(time_step, policy.action(time_step), after)
        policy(trajectory)
        for row, each in enumerate(alone):
            each(row_of(trajectory, row))
        time_step = after
    expected = [each.probabilities(row_of(time_step, row)) for row, each in enumerate(alone)]
    assert_identical(policy.probabilities(time_step), np.concatenate(expected))
    assert_identical(copied.probabilities(time_step), np.full((B, K), 1.0 / K))


def test_a_shared_rule_has_the_regret_of_its_twin_that_learns_by_row():
    totals = []
    for make_policy in (
        lambda env: make(SharedAverages, env, epsilon=0.1),
        lambda env: EpsilonGreedyPolicy(0.1, num_actions=K, batch_size=env.batch_size, seed=1),
    ):
        env = KArmedTestbed(K, batch_size=40, seed=0)
        policy = make_policy(env)
        regret = RegretMetric(env)
        StepDriver(env, policy, [policy, regret], 150).run()
        totals.append(regret.totals)
    difference = totals[0] - totals[1]
    assert abs(difference.mean()) < 3.0 * difference.std() / np.sqrt(len(difference))


def test_policies_go_on_from_what_they_know_and_stay_as_they_are():
    env = BernoulliPyEnvironment([0.1, 0.9], seed=0)
    taught = SharedAverages(num_actions=2, seed=1)
    StepDriver(env, taught, [taught], 30).run()
    before = taught.get_state()
    policy = RowByRowPolicy([taught] * B, seed=2)
    assert not policy.is_untrained
    many = BernoulliPyEnvironment([0.1, 0.9], batch_size=B, seed=3)
    time_step = many.reset()
    expected = taught.probabilities(env.current_time_step())
    assert_identical(policy.probabilities(time_step), np.repeat(expected, B, axis=0))
    StepDriver(many, policy, [policy], 30).run()
    assert_identical(taught.get_state(), before)
    policy.reset()
    assert policy.is_untrained


def test_a_run_with_delayed_rewards_goes_on_from_a_file(tmp_path):
    env = DelayedRewards(KArmedTestbed(K, batch_size=B, seed=0), delay=[0, 1, 4])
    policy = make(SharedAverages, env, epsilon=0.2)
    driver = StepDriver(env, policy, [DelayedLearning(env, policy)], 20)
    driver.run()
    save_state(tmp_path / "run.npz", driver.get_state())
    driver.run()
    expected = driver.get_state()
    driver.set_state(load_state(tmp_path / "run.npz"))
    driver.run()
    assert_identical(driver.get_state(), expected)


def test_it_tells_what_each_row_knows():
    env = KArmedTestbed(K, batch_size=B, seed=0)
    policy = make(SharedAverages, env)
    StepDriver(env, policy, [policy], 30).run()
    values = [policy.describe(row).values for row in range(B)]
    assert len(np.unique(values, axis=0)) == B


@for_each(
    ("policies", "error", "message"),
    [
        ([], TypeError, "policies is"),
        (5, TypeError, "policies is 5"),
        ([EpsilonGreedyPolicy(0.1, num_actions=2), 3], TypeError, "policies has 3"),
        ([LUCBPolicy(0.1, num_actions=2)], TypeError, "BestArmPolicy"),
        ([EpsilonGreedyPolicy(0.1, num_actions=2, batch_size=2)], ValueError, "batch_size 1"),
        (
            [EpsilonGreedyPolicy(0.1, num_actions=2), EpsilonGreedyPolicy(0.1, num_actions=3)],
            ValueError,
            "'num_actions': 3.*num_actions 2",
        ),
    ],
)
def test_what_is_no_policy_for_each_row_is_refused(policies, error, message):
    with pytest.raises(error, match=message):
        RowByRowPolicy(policies)


@for_each("change", [{"action": [0, 1]}, {"reward": np.zeros(B + 1)}])
def test_too_few_or_too_many_values_are_refused(change):
    env = KArmedTestbed(K, batch_size=B, seed=0)
    policy = make(SharedAverages, env)
    time_step = env.reset()
    good = Trajectory.from_transition(time_step, np.zeros(B, int), env.step([0] * B))
    before = policy.get_state()
    with pytest.raises(ValueError, match=f"expected {B} rows"):
        policy(good._replace(**change))
    assert_identical(policy.get_state(), before)
