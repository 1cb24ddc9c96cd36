"""Clicks whose logit is linear in a context: the published problem, and its distribution."""

import tracemalloc

import numpy as np
import pytest

from bandit_envs.environments import logistic_context
from tests.statistical import is_near

SIZE = 100_000


@pytest.fixture(scope="module")
def published():
    """The contexts, and the environment, of the published example: batches one and two."""
    source = np.random.RandomState(12345)
    first = source.normal(size=(SIZE, 5))
    env = logistic_context(10, 5, reference=first)
    means = env.expected_rewards_for(first)
    chances = np.exp(means)
    chances /= chances.sum(axis=1, keepdims=True)
    drawn = np.random.RandomState(12345).uniform(size=(SIZE, 1))
    action = (chances.cumsum(axis=1) > drawn).argmax(axis=1)
    source.binomial(1, means[np.arange(SIZE), action])
    return means, source.normal(size=(SIZE, 5))


def test_the_first_expected_rewards_are_the_published_ones(published):
    assert np.allclose(published[0][0, :3], [0.816903, 0.62620894, 0.38626891], atol=5e-9)


def test_the_uniform_policy_is_worth_the_published_value(published):
    env = logistic_context(10, 5, reference=published[1])
    truth = env.expected_rewards_for(published[1]).mean()
    assert truth == pytest.approx(0.49990989791058, abs=1e-13)


def test_rewards_have_their_expected_mean():
    env = logistic_context(3, 2, batch_size=200_000, seed=0)
    env.reset()
    for action in range(3):
        expected = env.expected_rewards()[:, action].mean()
        reward = env.step(np.full(200_000, action)).reward
        assert set(np.unique(reward)) == {0.0, 1.0}
        assert is_near(reward, expected, 0.5)


def test_contexts_are_normal_and_new_in_every_step():
    env = logistic_context(3, 2, batch_size=100_000, seed=0)
    first = env.reset().observation
    second = env.step(np.zeros(100_000, int)).observation
    assert is_near(second, 0.0, 1.0)
    assert np.allclose(np.cov(second.T), np.eye(2), atol=0.02)
    assert is_near(first * second, 0.0, 1.0)


def test_a_step_draws_a_uniform_number_for_each_row_and_then_contexts():
    env = logistic_context(3, 2, batch_size=4, seed=0)
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(env.reset().observation, rng.standard_normal((4, 2)))
    for action in ([0, 1, 2, 0], [2, 2, 1, 0]):
        means = env.expected_rewards()[range(4), action]
        time_step = env.step(action)
        np.testing.assert_array_equal(time_step.reward, rng.random(4) < means)
        np.testing.assert_array_equal(time_step.observation, rng.standard_normal((4, 2)))


def test_the_problem_depends_on_its_own_seed_alone():
    contexts = np.eye(5)
    same = [logistic_context(4, problem=1, seed=seed) for seed in (0, 1)]
    first, second = (env.expected_rewards_for(contexts) for env in same)
    assert np.array_equal(first, second)
    other = logistic_context(4, problem=2).expected_rewards_for(contexts)
    assert not np.allclose(first, other)


def test_many_actions_take_little_memory_and_are_standardised_as_few_are():
    tracemalloc.start()
    env = logistic_context(2000, 2, seed=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6  # the scores of all actions take 160 MB
    reference = np.random.RandomState(12345).normal(size=(10_000, 2))
    probabilities = env.expected_rewards_for(reference[:1000])
    logits = np.log(probabilities / (1.0 - probabilities))
    assert logits.std() == pytest.approx(1.0, abs=0.05)
    assert logits.mean() == pytest.approx(0.0, abs=0.05)
