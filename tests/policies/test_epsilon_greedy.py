import numpy as np
import pytest

from bandit_envs import DecayingEpsilonGreedyPolicy, EpsilonGreedyPolicy
from bandit_envs.base.state import put_content
from bandit_envs.trajectories import Trajectory, restart, termination
from tests.cases import for_each


def reference_values(actions, rewards, num_actions, initial_value, step_size):
    """The book's incremental update, written out for one row after the other."""
    values, counts = [], []
    for row in range(actions.shape[1]):
        q, n = [initial_value] * num_actions, [0] * num_actions
        for action, reward in zip(actions[:, row].tolist(), rewards[:, row].tolist()):
            n[action] += 1
            alpha = 1.0 / n[action] if step_size is None else step_size
            q[action] += alpha * (reward - q[action])
        values.append(q)
        counts.append(n)
    return values, counts


@for_each(
    ("initial_value", "step_size"), [(0.0, None), (5.0, None), (0.0, 0.1), (5.0, 0.1), (-1.5, 1.0)]
)
def test_values_are_those_of_the_book(teach, learned, lesson, initial_value, step_size):
    policy = EpsilonGreedyPolicy(0.1, initial_value, step_size, num_actions=4, batch_size=7)
    teach(policy, *lesson)
    values, counts = reference_values(*lesson, 4, initial_value, step_size)
    found = learned(policy)
    np.testing.assert_allclose(found.values, values, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(found.counts, counts)


def test_the_sample_average_is_the_mean_of_the_rewards(teach, learned, lesson):
    policy = EpsilonGreedyPolicy(0.1, 9.0, num_actions=4, batch_size=7)
    teach(policy, *lesson)
    actions, rewards = lesson
    for row, values in enumerate(learned(policy).values):
        for action, value in enumerate(values):
            seen = rewards[actions[:, row] == action, row].astype(np.float64)
            assert value == pytest.approx(seen.mean() if len(seen) else 9.0, rel=1e-12)


def taught(epsilon, best, batch_size, teach):
    """A policy that has seen action `best` of 5 rewarded in every row."""
    policy = EpsilonGreedyPolicy(epsilon, num_actions=5, batch_size=batch_size, seed=0)
    teach(policy, np.full((1, batch_size), best, np.int32), np.ones((1, batch_size)))
    return policy


def test_epsilon_is_the_probability_of_a_random_action(teach, time_step, chi_square):
    size, epsilon = 50_000, 0.3
    policy = taught(epsilon, best=2, batch_size=size, teach=teach)
    counts = np.bincount(policy.action(time_step(size)), minlength=5)
    other = epsilon * 4 / 5
    assert abs(1 - counts[2] / size - other) < 4 * np.sqrt(other * (1 - other) / size)
    # Explored actions are uniform. Three degrees of freedom: 6 standard deviations.
    assert chi_square(np.delete(counts, 2), np.full(4, 1 / 4)) < 3 + 6 * np.sqrt(6)


@for_each(("epsilon", "found"), [(0.0, {2}), (1.0, {0, 1, 2, 3, 4})])
def test_the_extremes_of_epsilon(teach, time_step, epsilon, found):
    assert set(taught(epsilon, 2, 1000, teach).action(time_step(1000))) == found


def test_at_first_greedy_chooses_uniformly(time_step, chi_square):
    policy = EpsilonGreedyPolicy(0.0, num_actions=6, batch_size=30_000, seed=0)
    counts = np.bincount(policy.action(time_step(30_000)), minlength=6)
    assert chi_square(counts, np.full(6, 1 / 6)) < 5 + 6 * np.sqrt(10)


def test_optimism_tries_every_action_before_any_twice(teach, time_step):
    policy = EpsilonGreedyPolicy(0.0, 5.0, 0.1, num_actions=4, batch_size=3, seed=0)
    tried = []
    for _ in range(4):
        tried.append(policy.action(time_step(3)))
        teach(policy, [tried[-1]], [np.zeros(3)])
    np.testing.assert_array_equal(np.sort(tried, axis=0), np.tile(np.arange(4), (3, 1)).T)


@pytest.mark.parametrize("step_size", [None, 0.5, 1.0])
def test_the_greedy_actions_are_those_of_the_values_at_every_step(step_size, time_step, teach):
    """Rewards are 0, 1 or 2, so that values rise, fall and tie all the time."""
    rng = np.random.default_rng(0)
    policy = EpsilonGreedyPolicy(0.3, 1.0, step_size, num_actions=3, batch_size=200, seed=1)
    for _ in range(60):
        values = policy.get_state().content.learned.values
        best = values == values.max(axis=1, keepdims=True)
        greedy = EpsilonGreedyPolicy(0.0, num_actions=3, batch_size=200, seed=rng)
        put_content(greedy, policy.get_state().content)
        seen = np.zeros((200, 3), bool)
        for _ in range(12):
            seen[np.arange(200), greedy.action(time_step(200))] = True
        assert not (seen & ~best).any()
        assert (seen == best).mean() > 0.9
        action = policy.action(time_step(200))
        teach(policy, [action], [rng.integers(0, 3, 200).astype(np.float64)])


def test_ties_stay_random_as_long_as_they_last(teach, time_step, chi_square):
    policy = EpsilonGreedyPolicy(0.0, num_actions=3, batch_size=20_000, seed=0)
    teach(policy, np.zeros((1, 20_000), int), -np.ones((1, 20_000)))
    for _ in range(3):
        counts = np.bincount(policy.action(time_step(20_000)), minlength=3)
        assert counts[0] == 0
        assert chi_square(counts[1:], [0.5, 0.5]) < 1 + 6 * np.sqrt(2)
        teach(policy, np.zeros((1, 20_000), int), -np.ones((1, 20_000)))


def test_each_row_explores_less_the_more_it_has_learned(chi_square):
    size = 40_000
    policy = DecayingEpsilonGreedyPolicy(0.1, 0.5, num_actions=4, batch_size=size, seed=0)
    before, half = restart(np.ones((size, 1)), size), np.arange(size) < size // 2
    step = Trajectory.from_transition(
        before, np.full(size, 2), termination(before.observation, np.ones(size))
    )
    for rows in (None, half, half):
        policy.learn(step, rows)
    counts = [np.bincount(rows, minlength=4) for rows in np.split(policy.action(before), 2)]
    for found, t in zip(counts, (4, 2)):
        told = policy.probabilities(before)[0 if t == 4 else -1]
        np.testing.assert_allclose(told, np.full(4, 0.4 / t) + (1 - 1.6 / t) * (np.arange(4) == 2))
        assert chi_square(found, told) < 3 + 6 * np.sqrt(6)  # three degrees of freedom
    actions = np.arange(size) % 4
    told = policy.probabilities(before)[np.arange(size), actions]
    np.testing.assert_allclose(policy.probability_of(before, actions), told)
