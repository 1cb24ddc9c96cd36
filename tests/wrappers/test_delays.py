"""Rewards that arrive later, and policies that learn from them."""

import numpy as np
import pytest

from bandit_envs import (
    AdversarialBandit,
    AffineReward,
    BernoulliPyEnvironment,
    CascadeBandit,
    DelayedRewards,
    KArmedTestbed,
    RandomActionMask,
    RegretMetric,
    StepDriver,
    UCBPolicy,
    rewards,
)
from bandit_envs.testing import EnvironmentContract, assert_identical
from tests.cases import for_each
from tests.contracts import one_test
from tests.wrappers.examples import Coins, Payer, Vectors, per_arm_bandit

LAWS = [rewards.Geometric(0.5), rewards.Exponential(3.0), rewards.Poisson(1.0)]


class DelayedContract(EnvironmentContract):
    num_steps = 9


@pytest.mark.slow
@one_test
class TestConstantDelay(DelayedContract):
    def make_environment(self, seed):
        return DelayedRewards(KArmedTestbed(k=4, batch_size=3, horizon=6, seed=seed), 2)


@one_test
class TestRandomDelay(DelayedContract):
    num_rewards = 2000

    def make_environment(self, seed):
        return DelayedRewards(Coins(seed=seed), LAWS, max_delay=4)


@pytest.mark.slow
@one_test
class TestDelayOfContexts(DelayedContract):
    def make_environment(self, seed):
        env = DelayedRewards(per_arm_bandit(seed), LAWS[0], max_delay=3)
        return AffineReward(RandomActionMask(env, 0.5), 0.5)


@pytest.mark.slow
@one_test
class TestDelayOfVectors(DelayedContract):
    def make_environment(self, seed):
        return DelayedRewards(Vectors(seed=seed), [0, 1, 3])


@pytest.mark.slow
@one_test
class TestDelayOfSlates(DelayedContract):
    def make_environment(self, seed):
        return DelayedRewards(CascadeBandit(batch_size=3, seed=seed), 1)


@pytest.mark.slow
@one_test
class TestNoDelay(EnvironmentContract):
    num_rewards = 2000

    def make_environment(self, seed):
        return DelayedRewards(Coins(seed=seed), 0)


def played(env, steps, num_actions, seed=0):
    """Returns the actions [T, B], and the time steps after them."""
    rng = np.random.default_rng(seed)
    env.reset()
    actions = rng.integers(num_actions, size=(steps, env.batch_size))
    return actions, [env.step(action) for action in actions]


def column(time_steps, key):
    return np.array([time_step.observation["feedback"][key] for time_step in time_steps])


def test_a_constant_delay_shifts_the_rewards():
    plain, delayed = (KArmedTestbed(k=3, batch_size=5, seed=0) for _ in range(2))
    _, before = played(plain, 20, 3)
    _, after = played(DelayedRewards(delayed, 4), 20, 3)
    paid = np.array([time_step.reward for time_step in before])
    later = np.array([time_step.reward for time_step in after])
    assert not later[:4].any()
    assert_identical(later[4:], paid[:-4])


def test_feedback_says_which_action_a_reward_belongs_to():
    env = DelayedRewards(Vectors(batch_size=4, seed=0), [0, 1, 3])
    plain = Vectors(batch_size=4, seed=0)
    actions, time_steps = played(env, 30, 3)
    earned = np.array([step.reward for step in played(plain, 30, 3)[1]])
    arrived, rewards_, of = (column(time_steps, key) for key in ("arrived", "reward", "action"))
    for t in range(30):
        for d in range(4):
            known = t >= d
            due = known & (np.array([0, 1, 3])[actions[t - d]] == d)
            assert_identical(arrived[t, :, d], due)
            assert_identical(
                rewards_[t, :, d], np.where(due[:, None], earned[t - d], np.float32(0))
            )
            assert not known or (of[t, :, d] == actions[t - d]).all()
    paid = np.array([time_step.reward for time_step in time_steps])
    assert_identical(paid, rewards_.sum(axis=2))


@for_each(
    ("law", "chances"),
    [
        (rewards.Geometric(0.4), [0.0, 0.4, 0.24, 0.144]),
        (rewards.Exponential(2.0), [0.0, *-np.diff(np.exp(-0.5 * np.arange(4)))]),
        (rewards.Poisson(1.0), np.exp(-1.0) / np.array([1, 1, 2, 6])),
    ],
)
def test_delays_follow_their_law_and_long_ones_are_lost(law, chances):
    size = 40_000
    env = DelayedRewards(BernoulliPyEnvironment([0.5], size, seed=0), law, max_delay=3)
    _, time_steps = played(env, 4, 1)
    first = column(time_steps, "arrived")[range(4), :, range(4)]  # the reward of the first step
    assert (first.sum(axis=0) <= 1).all()
    assert first.mean(axis=1) == pytest.approx(np.array(chances), abs=5 * 0.5 / size**0.5)


def test_delays_may_depend_on_the_action():
    laws = [rewards.Geometric(1.0), rewards.Geometric(0.2)]
    env = DelayedRewards(BernoulliPyEnvironment([0.5, 0.5], 20_000, seed=0), laws, max_delay=1)
    actions, (time_step, later) = played(env, 2, 2)
    assert not time_step.observation["feedback"]["arrived"].any()
    arrived = later.observation["feedback"]["arrived"][:, 1]
    assert arrived[actions[0] == 0].all()
    assert arrived[actions[0] == 1].mean() == pytest.approx(0.2, abs=0.02)


def test_a_reset_drops_what_is_outstanding():
    env = DelayedRewards(KArmedTestbed(k=2, batch_size=3, horizon=2, seed=0), 1)
    _, time_steps = played(env, 6, 2)
    kinds = [int(time_step.step_type[0]) for time_step in time_steps]
    assert kinds == [1, 2, 0, 1, 2, 0]
    assert [bool(time_step.reward.any()) for time_step in time_steps] == [
        kind == 2 for kind in kinds
    ]


def test_rewards_without_delay_are_those_of_the_wrapped_environment():
    plain, env = Coins(seed=0), DelayedRewards(Coins(seed=0), 0)
    assert env.reward_spec() == plain.reward_spec()
    for before, after in zip(played(plain, 10, 3)[1], played(env, 10, 3)[1]):
        assert_identical(after._replace(observation=before.observation), before)


def test_the_reward_spec_bounds_what_can_arrive_at_once():
    env = DelayedRewards(Coins(seed=0), LAWS[2], max_delay=2)
    assert env.reward_range == (0.0, 3.0)
    paid = AffineReward(Coins(seed=0), 1.0, 1.0)
    assert DelayedRewards(paid, LAWS[2], max_delay=0).reward_range == (0.0, 2.0)  # or lost
    assert DelayedRewards(paid, 0).reward_range == (1.0, 2.0)


def test_regret_is_that_of_the_action_taken():
    plain, env = Coins(batch_size=50, seed=0), DelayedRewards(Coins(50, seed=0), 3)
    metrics = [RegretMetric(plain), RegretMetric(env)]
    for each, metric in zip((plain, env), metrics):
        policy = UCBPolicy(1.0, num_actions=3, batch_size=50, seed=1)
        with pytest.warns(UserWarning, match="policy"):
            StepDriver(each, policy, [metric], 30).run()
    assert_identical(metrics[1].get_state(), metrics[0].get_state())


@for_each(
    ("make", "error", "name"),
    [
        (lambda: DelayedRewards(Coins(), -1), ValueError, "delay"),
        (lambda: DelayedRewards(Coins(), [1, 2]), ValueError, "delay"),
        (lambda: DelayedRewards(Coins(), 1.5), TypeError, "delay"),
        (lambda: DelayedRewards(Coins(), True), TypeError, "delay"),
        (lambda: DelayedRewards(Coins(), [[1], [1, 2]]), ValueError, "delay is "),
        (lambda: DelayedRewards(Coins(), rewards.Geometric(0.5)), ValueError, "max_delay"),
        (lambda: DelayedRewards(Coins(), 1, -1), ValueError, "max_delay"),
        (lambda: DelayedRewards(CascadeBandit(), [1] * 10), ValueError, "delay"),
        (lambda: DelayedRewards(Payer([1.0]), 1), TypeError, "env"),
        (lambda: DelayedRewards(DelayedRewards(Coins(), 1), 1), ValueError, "come later already"),
    ],
)
def test_bad_arguments_are_refused(make, error, name):
    with pytest.raises(error, match=name):
        make()


def test_a_law_of_negative_delays_is_refused_when_it_draws_one():
    env = DelayedRewards(Coins(batch_size=100, seed=0), rewards.NormalReward(0.0), 5)
    env.reset()
    with pytest.raises(ValueError, match="delay"):
        env.step(np.zeros(100, int))


def test_the_rewards_of_one_arm_may_all_be_lost():
    env = DelayedRewards(AdversarialBandit([[1.0, 1.0]]), [0, 5], max_delay=3)
    env.reset()
    paid = [env.step([action]).reward.item() for action in (1, 1, 0, 1, 1, 1, 1, 0)]
    assert paid == [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
