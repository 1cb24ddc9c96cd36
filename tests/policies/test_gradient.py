import math

import numpy as np
import pytest

from bandit_envs import GradientBanditPolicy
from bandit_envs.trajectories import Trajectory, restart, termination
from tests.cases import for_each


def reference_probabilities(actions, rewards, num_actions, step_size, baseline):
    """The book's stochastic gradient ascent, written out for one row after the other."""
    probabilities = []
    for row in range(actions.shape[1]):
        h, seen = [0.0] * num_actions, []
        for action, reward in zip(actions[:, row].tolist(), rewards[:, row].tolist()):
            seen.append(reward)
            mean = sum(seen) / len(seen) if baseline else 0.0
            total = sum(math.exp(value) for value in h)
            pi = [math.exp(value) / total for value in h]
            for a in range(num_actions):
                direction = 1.0 - pi[a] if a == action else -pi[a]
                h[a] += step_size * (reward - mean) * direction
        total = sum(math.exp(value) for value in h)
        probabilities.append([math.exp(value) / total for value in h])
    return probabilities


@for_each("baseline", [True, False])
@for_each("step_size", [0.1, 0.4])
def test_probabilities_are_those_of_the_book(teach, learned, lesson, step_size, baseline):
    policy = GradientBanditPolicy(step_size, baseline, num_actions=4, batch_size=7)
    teach(policy, *lesson)
    expected = reference_probabilities(*lesson, 4, step_size, baseline)
    np.testing.assert_allclose(learned(policy).probabilities, expected, rtol=1e-10)


def test_the_current_reward_counts_in_the_baseline(teach, learned):
    policy = GradientBanditPolicy(0.5, num_actions=2, batch_size=1)
    teach(policy, [[1]], [[100.0]])  # the mean is 100, and so nothing is learned
    np.testing.assert_array_equal(learned(policy).preferences, [[0.0, 0.0]])
    teach(policy, [[1]], [[102.0]])  # the mean is 101
    np.testing.assert_allclose(learned(policy).preferences, [[-0.25, 0.25]])


def test_actions_are_drawn_from_the_probabilities(teach, learned, time_step, chi_square):
    size = 40_000
    policy = GradientBanditPolicy(0.5, False, num_actions=4, batch_size=size, seed=0)
    for action, reward in enumerate([0.0, 2.0, -1.0, 1.0]):
        teach(policy, np.full((1, size), action), np.full((1, size), reward))
    counts = np.bincount(policy.action(time_step(size)), minlength=4)
    # Three degrees of freedom: 6 standard deviations above the mean.
    probabilities = learned(policy).probabilities[0]
    assert chi_square(counts, probabilities) < 3 + 6 * np.sqrt(6)
    assert chi_square(counts, np.full(4, 1 / 4)) > 1000


@for_each("baseline", [True, False])
@pytest.mark.parametrize("scale", [1e3, 1e9, 1e30])
def test_probabilities_sum_to_one_whatever_the_rewards(teach, lesson, time_step, scale, baseline):
    actions, rewards = lesson
    policy = GradientBanditPolicy(0.4, baseline, num_actions=4, batch_size=7, seed=0)
    for action, reward in zip(actions, rewards):
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            teach(policy, [action], [reward * scale])
            chosen = policy.action(time_step(7))
        probabilities = policy.probabilities(time_step(7))
        assert np.all(probabilities >= 0.0)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
        assert np.all(probabilities[np.arange(7), chosen] > 0.0)


def test_only_available_actions_count_in_the_softmax(teach, learned):
    policy = GradientBanditPolicy(0.5, False, num_actions=3, batch_size=1)
    before = restart({"mask": np.array([[True, False, True]])}, 1)
    after = termination(before.observation, [1.0])
    policy(Trajectory.from_transition(before, [2], after))
    np.testing.assert_allclose(learned(policy).preferences, [[-0.25, 0.0, 0.25]])
    np.testing.assert_allclose(
        policy.probabilities(before), np.array([[1.0, 0.0, np.exp(0.5)]]) / (1.0 + np.exp(0.5))
    )
