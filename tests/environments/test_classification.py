"""Data sets as bandits: epochs, laws, exact optima."""

import numpy as np
import pytest

from bandit_envs import ClassificationBandit, rewards
from bandit_envs.testing import EnvironmentContract

CONTEXTS = np.arange(10.0)[:, np.newaxis]
LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])
LAW = rewards.NormalReward([[0.0, -1.0], [1.0, 3.0], [2.0, 0.5]], 0.5)


class TestWithALaw(EnvironmentContract):
    num_steps = 7

    def make_environment(self, seed):
        return ClassificationBandit(CONTEXTS, LABELS, LAW, batch_size=3, seed=seed, horizon=4)


class TestWithReplacement(EnvironmentContract):
    num_steps = 7

    def make_environment(self, seed):
        return ClassificationBandit(CONTEXTS, LABELS, batch_size=3, replace=True, seed=seed)


@pytest.mark.parametrize("batch_size", [1, 2, 5, 10, 20])
def test_an_epoch_shows_each_example_once_also_through_resets(batch_size):
    env = ClassificationBandit(CONTEXTS, LABELS, batch_size=batch_size, seed=0, horizon=2)
    seen = [env.reset().observation]
    while sum(map(len, seen)) < 60:
        seen.append(env.step(env.optimal_action()).observation)
    for epoch in np.concatenate(seen)[:60].reshape(-1, 10):
        assert sorted(epoch) == list(range(10))


def test_epochs_have_different_orders():
    env = ClassificationBandit(CONTEXTS, LABELS, batch_size=10, seed=0)
    first, second = env.reset().observation, env.step([0] * 10).observation
    assert (first != second).any()


def test_with_replacement_examples_are_uniform():
    env = ClassificationBandit(CONTEXTS, LABELS, batch_size=100_000, replace=True, seed=0)
    counts = np.bincount(env.reset().observation[:, 0].astype(int), minlength=10)
    assert counts == pytest.approx(10_000, abs=5 * 95)


def test_the_right_label_pays_one():
    env = ClassificationBandit(CONTEXTS, LABELS, batch_size=4, seed=0)
    labels = LABELS[env.reset().observation[:, 0].astype(int)]
    assert (env.optimal_action() == labels).all()
    assert (env.expected_rewards() == np.eye(3)[labels]).all()
    action = np.array([0, 1, 2, 0])
    assert (env.step(action).reward == (action == labels)).all()


@pytest.mark.parametrize(
    "law",
    [
        LAW,
        rewards.Bernoulli([[0.2, 0.9], [0.5, 0.1], [0.0, 1.0]]),
        rewards.Discrete([0.0, 5.0], [[[0.5, 0.5], [1.0, 0.0]]] * 3),
        rewards.Corrupted(LAW, 0.25, rewards.NormalReward([[9.0, 8.0], [7.0, 6.0], [5.0, 4.0]])),
    ],
)
def test_rewards_follow_the_law_of_label_and_action(law):
    check_law(law, law.mean, law.std)


def test_each_label_and_action_may_have_a_law_of_its_own():
    normal, click = rewards.NormalReward(3.0, 0.5), rewards.Bernoulli(0.2)
    table = [[normal, click], [click, rewards.NormalReward(-1.0, 2.0)], rewards.Poisson([2.0, 4.0])]
    means, variances = [[3, 0.2], [0.2, -1], [2, 4]], [[0.25, 0.16], [0.16, 4], [2, 4]]
    check_law(table, np.array(means), np.sqrt(variances))


def check_law(law, means, stds):
    size = 200_000
    env = ClassificationBandit(CONTEXTS, LABELS, law, batch_size=size, replace=True, seed=0)
    labels = LABELS[env.reset().observation[:, 0].astype(int)]
    action = np.arange(size) % 2
    assert (env.expected_rewards() == means[labels]).all()
    assert (env.optimal_action() == means[labels].argmax(axis=1)).all()
    reward = env.step(action).reward
    for label in range(3):
        for arm in range(2):
            drawn = reward[(labels == label) & (action == arm)]
            error = stds[label, arm] / len(drawn) ** 0.5
            assert drawn.mean() == pytest.approx(means[label, arm], abs=5 * error + 1e-7)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((CONTEXTS * np.nan, LABELS), "contexts"),
        ((CONTEXTS, LABELS[:-1]), "labels"),
        ((CONTEXTS, LABELS - 1), "labels"),
        ((CONTEXTS, LABELS / 2), "labels"),
        ((CONTEXTS, LABELS, rewards.NormalReward([0.0, 1.0])), "reward_distribution"),
        ((CONTEXTS, LABELS, rewards.NormalReward([[0.0, 1.0]] * 2)), "reward_distribution"),
        ((CONTEXTS, LABELS, [LAW, LAW]), "reward_distribution"),
        ((CONTEXTS, LABELS, np.eye(3)), "reward_distribution"),
    ],
)
def test_bad_data_are_refused(arguments, name):
    with pytest.raises((TypeError, ValueError), match=name):
        ClassificationBandit(*arguments)
