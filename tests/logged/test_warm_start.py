"""Policies that have learned from a log, and go on in an environment."""

import numpy as np
import pytest

from bandit_envs import BernoulliPyEnvironment, RandomPolicy, StepDriver, UCBPolicy
from bandit_envs.environments import logistic_context
from bandit_envs.logged import (
    DirectMethodLearner,
    LogRecorder,
    learn_from_log,
    write_log,
    write_policy,
)
from bandit_envs.logged.learners import warm_start
from bandit_envs.policies import LinUCBPolicy
from bandit_envs.trajectories import restart


def make_env(batch_size=1, seed=0):
    return logistic_context(5, context_dim=3, batch_size=batch_size, seed=seed)


@pytest.fixture(scope="module")
def log():
    env = make_env(batch_size=20)
    recorder = LogRecorder(5)
    policy = RandomPolicy(5, batch_size=20, seed=1)
    StepDriver(env, policy, [recorder], num_steps=50, emit_log_probability=True).run()
    return recorder.log()


@pytest.fixture
def path(log, tmp_path):
    write_log(tmp_path / "log.npz", log)
    return str(tmp_path / "log.npz")


def test_it_knows_what_a_policy_has_learned_from_the_log(log, path):
    env = make_env(batch_size=4, seed=2)
    arguments = LinUCBPolicy.arguments_for(env)
    expected = learn_from_log(LinUCBPolicy(0.5, **arguments, seed=3), log)

    policy = warm_start("lin_ucb:alpha=0.5", path, env=env, seed=3)

    seen = restart(env.reset().observation, 4)
    np.testing.assert_array_equal(policy.probabilities(seen), expected.probabilities(seen))


def test_it_goes_on_learning(path):
    env = make_env(seed=4)
    policy = warm_start("lin_ucb", path, env=env, seed=5)

    StepDriver(env, policy, [policy.learn], num_steps=300).run()

    assert policy.get_state().content.learned.num_rewards == 1000 + 300


def test_each_row_that_is_a_problem_of_its_own_learns_the_whole_log(tmp_path):
    means = [0.2, 0.8]
    recorder = LogRecorder(2)
    logger = RandomPolicy(2, batch_size=10, seed=1)
    env = BernoulliPyEnvironment(means, batch_size=10, seed=0)
    StepDriver(env, logger, [recorder], num_steps=5, emit_log_probability=True).run()
    write_log(tmp_path / "log.npz", recorder.log())
    three = BernoulliPyEnvironment(means, batch_size=3, seed=1)

    policy = warm_start("ucb:c=1", str(tmp_path), env=three, seed=0)

    alone = learn_from_log(UCBPolicy(1.0, num_actions=2), recorder.log())
    for row in range(3):
        np.testing.assert_array_equal(policy.describe(row).counts, alone.describe().counts)
    assert alone.describe().counts.sum() == 50


def test_a_file_of_a_policy_goes_on_and_may_learn_another_log(log, path, tmp_path):
    env = make_env(seed=6)
    learned = learn_from_log(LinUCBPolicy(**LinUCBPolicy.arguments_for(env)), log[:400])
    file = str(tmp_path / "policy.npz")
    write_policy(file, learned)

    as_it_is = warm_start(file, env=env, seed=7)
    with_more = warm_start(file, path, env=env, seed=7)

    assert as_it_is.get_state().content.learned.num_rewards == 400
    assert with_more.get_state().content.learned.num_rewards == 400 + 1000


def test_a_policy_that_cannot_learn_a_log_is_refused(log, path, tmp_path):
    env = make_env()
    with pytest.raises(ValueError, match="log is None; expected a log from which lin_ucb learns"):
        warm_start("lin_ucb", env=env)
    with pytest.raises(ValueError, match="random, which does not learn"):
        warm_start("random", path, env=env)
    with pytest.raises(ValueError, match="policy has 4 actions; expected 5"):
        warm_start("lin_ucb", path, env=logistic_context(4, context_dim=3))
    file = str(tmp_path / "fixed.npz")
    write_policy(file, DirectMethodLearner().fit(log))
    assert not warm_start(file, env=env).can_learn
    with pytest.raises(ValueError, match=r"fixed\.npz, which does not learn"):
        warm_start(file, path, env=env)
