import numpy as np

from bandit_envs import ArraySpec, BernoulliPyEnvironment
from bandit_envs.environments.arms.bernoulli import beta_bernoulli
from tests.statistical import is_near


def test_rewards_are_1_with_the_probability_of_the_arm():
    means = np.array([0.0, 0.25, 0.8, 1.0])
    env = BernoulliPyEnvironment(means, 100_000, seed=0)
    env.reset()
    for arm, mean in enumerate(means):
        reward = env.step(np.full(100_000, arm)).reward
        assert set(np.unique(reward)) <= {0.0, 1.0}
        assert is_near(reward == 1.0, mean)


def test_a_step_draws_one_uniform_number_a_row():
    env = BernoulliPyEnvironment([0.3, 0.6], 50, seed=7)
    rng = np.random.default_rng(7)
    env.reset()
    action = np.arange(50) % 2
    for _ in range(3):
        expected = rng.random(50) < np.array([0.3, 0.6])[action]
        assert np.array_equal(env.step(action).reward, expected)


def test_each_row_may_have_a_problem_of_its_own():
    means = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    env = BernoulliPyEnvironment(means, 3, seed=0)
    env.reset()
    assert np.array_equal(env.expected_rewards(), means)
    assert env.optimal_action().tolist() == [1, 0, 0]
    assert env.step([1, 0, 0]).reward[:2].tolist() == [1.0, 1.0]
    assert env.get_info()["expected_reward"].tolist() == [1.0, 1.0, 0.5]


def test_a_reset_changes_nothing():
    env = BernoulliPyEnvironment([0.2, 0.4], 2, seed=0, horizon=3)
    for _ in range(2):
        assert env.reset().observation.tolist() == [1.0, 1.0]
        assert env.expected_rewards().tolist() == [[0.2, 0.4]] * 2


def test_the_specs_are_those_of_tf_agents():
    env = BernoulliPyEnvironment([0.2, 0.4], 2)
    assert env.observation_spec() == ArraySpec((), np.float32, "observation")
    assert (env.action_spec().minimum, env.action_spec().maximum) == (0, 1)
    assert env.reward_spec().dtype == np.float32
    assert env.reward_range == (0.0, 1.0)


def test_beta_bernoulli_draws_the_means_of_every_row_from_the_seed():
    env = beta_bernoulli(4, successes=3.0, failures=1.0, batch_size=20_000, seed=0)
    env.reset()
    means = env.expected_rewards()
    assert means.shape == (20_000, 4)
    # Beta(3, 1) has the mean 3 / 4 and the variance 3 / 80.
    assert is_near(means, 0.75, (3 / 80) ** 0.5)
    assert abs(means.var() - 3 / 80) < 1e-3
    again = beta_bernoulli(4, successes=3.0, failures=1.0, batch_size=20_000, seed=0)
    again.reset()
    np.testing.assert_array_equal(again.expected_rewards(), means)
