"""Data sets as bandits: epochs, distributions of rewards, exact optima."""

import numpy as np
import pytest

from bandit_envs import ClassificationBandit, rewards
from tests.cases import for_each
from tests.statistical import has_probabilities, is_near

CONTEXTS = np.arange(10.0)[:, np.newaxis]
LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])
OF_LABELS = rewards.NormalReward([[0.0, -1.0], [1.0, 3.0], [2.0, 0.5]], 0.5)


@for_each("batch_size", [1, 2, 5, 10, 20])
def test_an_epoch_shows_each_example_once_also_through_resets(batch_size):
    env = ClassificationBandit(CONTEXTS, LABELS, batch_size=batch_size, seed=0, horizon=2)
    seen = [env.reset().observation]
    while sum(map(len, seen)) < 60:
        seen.append(env.step(env.optimal_action()).observation)
    for epoch in np.concatenate(seen)[:60].reshape(-1, 10):
        assert sorted(epoch) == list(range(10))


def test_epochs_have_different_orders():
    env = ClassificationBandit(CONTEXTS, LABELS, batch_size=10, seed=0)
    first = env.reset().observation
    second = env.step([0] * 10).observation
    assert (first != second).any()


def test_with_replacement_examples_are_uniform():
    env = ClassificationBandit(CONTEXTS, LABELS, batch_size=100_000, replace=True, seed=0)
    counts = np.bincount(env.reset().observation[:, 0].astype(int), minlength=10)
    assert has_probabilities(counts, np.full(10, 0.1))


def test_the_right_label_pays_one():
    env = ClassificationBandit(CONTEXTS, LABELS, batch_size=4, seed=0)
    labels = LABELS[env.reset().observation[:, 0].astype(int)]
    assert (env.optimal_action() == labels).all()
    assert (env.expected_rewards() == np.eye(3)[labels]).all()
    action = np.array([0, 1, 2, 0])
    assert (env.step(action).reward == (action == labels)).all()


@pytest.mark.parametrize(
    "distribution",
    [
        OF_LABELS,
        rewards.Bernoulli([[0.2, 0.9], [0.5, 0.1], [0.0, 1.0]]),
        rewards.Discrete([0.0, 5.0], [[[0.5, 0.5], [1.0, 0.0]]] * 3),
        rewards.Corrupted(
            OF_LABELS, 0.25, rewards.NormalReward([[9.0, 8.0], [7.0, 6.0], [5.0, 4.0]])
        ),
    ],
)
def test_rewards_follow_the_distribution_of_label_and_action(distribution):
    check_rewards(distribution, distribution.mean, distribution.std)


def test_each_label_and_action_may_have_a_distribution_of_its_own():
    normal = rewards.NormalReward(3.0, 0.5)
    click = rewards.Bernoulli(0.2)
    table = [[normal, click], [click, rewards.NormalReward(-1.0, 2.0)], rewards.Poisson([2.0, 4.0])]
    means = [[3, 0.2], [0.2, -1], [2, 4]]
    variances = [[0.25, 0.16], [0.16, 4], [2, 4]]
    check_rewards(table, np.array(means), np.sqrt(variances))


def check_rewards(distribution, means, stds):
    size = 200_000
    env = ClassificationBandit(
        CONTEXTS, LABELS, distribution, batch_size=size, replace=True, seed=0
    )
    labels = LABELS[env.reset().observation[:, 0].astype(int)]
    action = np.arange(size) % 2
    assert (env.expected_rewards() == means[labels]).all()
    assert (env.optimal_action() == means[labels].argmax(axis=1)).all()
    reward = env.step(action).reward
    for label in range(3):
        for arm in range(2):
            drawn = reward[(labels == label) & (action == arm)]
            assert is_near(drawn, means[label, arm], stds[label, arm])
