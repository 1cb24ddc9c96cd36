"""Ratings as bandits: the low-rank model, who is drawn, exact optima."""

import numpy as np
import pytest

from bandit_envs import RatingsBandit
from bandit_envs.datasets import ratings_matrix
from bandit_envs.environments import per_arm_ratings
from tests.statistical import has_probabilities, within_standard_errors

USERS, ITEMS, RANK = 12, 6, 3
RATINGS = np.random.default_rng(0).integers(0, 6, (USERS, ITEMS)).astype(float)
U, S, V = np.linalg.svd(RATINGS)
MODEL = (U[:, :RANK] * S[:RANK]) @ V[:RANK]


def test_all_ratings_of_the_low_rank_model_are_paid():
    env = RatingsBandit(RATINGS, RANK, batch_size=USERS, seed=0)
    env.reset()
    means = env.expected_rewards()
    assert means[np.lexsort(means.T)] == pytest.approx(MODEL[np.lexsort(MODEL.T)])
    assert (env.optimal_action() == means.argmax(axis=1)).all()
    assert env.optimal_reward() == pytest.approx(means.max(axis=1))
    action = np.arange(USERS) % ITEMS
    assert env.step(action).reward == pytest.approx(means[np.arange(USERS), action])


def test_the_full_rank_pays_the_ratings_themselves():
    env = RatingsBandit(RATINGS, ITEMS, batch_size=USERS, seed=0)
    env.reset()
    assert sorted(env.expected_rewards().round().tolist()) == sorted(RATINGS.tolist())


def test_the_observation_determines_the_means():
    env = RatingsBandit(RATINGS, RANK, batch_size=4, seed=0)
    observation = env.reset().observation
    assert (env.expected_rewards_for(observation[:2]) == env.expected_rewards()[:2]).all()


def test_the_users_of_a_step_are_different_and_uniform():
    env = RatingsBandit(RATINGS, RANK, batch_size=5, seed=0)
    counts = {}
    observation = env.reset().observation
    for _ in range(2000):
        users = {tuple(row) for row in observation}
        assert len(users) == 5
        for user in users:
            counts[user] = counts.get(user, 0) + 1
        observation = env.step([0] * 5).observation
    expected = 2000 * 5 / USERS
    assert len(counts) == USERS
    assert within_standard_errors([*counts.values()], expected, expected**0.5)


def test_items_on_offer_are_different_uniform_and_rated_by_the_model():
    size = 10_000
    env = per_arm_ratings(RATINGS, RANK, 4, batch_size=size, seed=0)
    observation = env.reset().observation
    users = observation["global"]
    items = observation["per_arm"]
    user = np.abs(users[:, np.newaxis] - U[:, :RANK]).sum(axis=2).argmin(axis=1)
    item = np.abs(items[:, :, np.newaxis] - V[:RANK].T).sum(axis=3).argmin(axis=2)
    assert (np.diff(np.sort(item), axis=1) > 0).all()
    for place in item.T:
        assert has_probabilities(np.bincount(place), np.full(ITEMS, 1 / ITEMS))
    assert has_probabilities(np.bincount(user), np.full(USERS, 1 / USERS))
    means = MODEL[user[:, np.newaxis], item]
    assert env.expected_rewards() == pytest.approx(means, abs=1e-4)
    assert env.optimal_reward() == pytest.approx(means.max(axis=1), abs=1e-4)
    action = np.arange(size) % 4
    reward = env.step(action).reward
    assert reward == pytest.approx(means[np.arange(size), action], abs=1e-4)


def test_without_ratings_synthetic_ones_are_drawn_from_the_seed():
    envs = [per_arm_ratings(batch_size=3, seed=seed) for seed in (0, 0, 1)]
    first, again, other = (env.reset().observation["per_arm"] for env in envs)
    assert first.shape == (3, 20, 5)
    np.testing.assert_array_equal(first, again)
    assert not np.isin(first, other).any()


def test_a_table_of_users_items_and_ratings_becomes_a_matrix():
    users, items = np.nonzero(RATINGS)
    table = np.column_stack([users, items, RATINGS[users, items]])
    shuffled = np.random.default_rng(0).permutation(table)
    assert (ratings_matrix(shuffled) == RATINGS).all()
    assert (ratings_matrix(shuffled * [10, 7, 1]) == RATINGS).all()
