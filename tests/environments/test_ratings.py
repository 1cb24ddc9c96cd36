"""Ratings as bandits: the low-rank law, who is drawn, exact optima."""

import numpy as np
import pytest

from bandit_envs import RatingsBandit
from bandit_envs.datasets import ratings_matrix
from bandit_envs.environments import PerArmRatingsBandit
from bandit_envs.testing import EnvironmentContract

USERS, ITEMS, RANK = 12, 6, 3
RATINGS = np.random.default_rng(0).integers(0, 6, (USERS, ITEMS)).astype(float)
U, S, V = np.linalg.svd(RATINGS)
MODEL = (U[:, :RANK] * S[:RANK]) @ V[:RANK]


class TestRatings(EnvironmentContract):
    num_steps = 7

    def make_environment(self, seed):
        return RatingsBandit(RATINGS, RANK, batch_size=4, seed=seed, horizon=3)


class TestPerArm(EnvironmentContract):
    num_steps = 7

    def make_environment(self, seed):
        return PerArmRatingsBandit(RATINGS, RANK, 4, batch_size=4, seed=seed, horizon=3)


def test_all_ratings_of_the_low_rank_model_are_paid():
    env = RatingsBandit(RATINGS, RANK, batch_size=USERS, seed=0)
    env.reset()
    means, best = env.expected_rewards(), env.optimal_action()
    order = np.lexsort(means.T), np.lexsort(MODEL.T)
    assert means[order[0]] == pytest.approx(MODEL[order[1]])
    assert (best == means.argmax(axis=1)).all()
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
    env, counts = RatingsBandit(RATINGS, RANK, batch_size=5, seed=0), {}
    observation = env.reset().observation
    for _ in range(2000):
        users = {tuple(row) for row in observation}
        assert len(users) == 5
        for user in users:
            counts[user] = counts.get(user, 0) + 1
        observation = env.step([0] * 5).observation
    expected = 2000 * 5 / USERS
    assert len(counts) == USERS
    assert np.array([*counts.values()]) == pytest.approx(expected, abs=5 * expected**0.5)


def test_items_on_offer_are_different_uniform_and_rated_by_the_model():
    env = PerArmRatingsBandit(RATINGS, RANK, 4, batch_size=30_000, seed=0)
    observation = env.reset().observation
    users, items = observation["global"], observation["per_arm"]
    user = np.abs(users[:, np.newaxis] - U[:, :RANK]).sum(axis=2).argmin(axis=1)
    item = np.abs(items[:, :, np.newaxis] - V[:RANK].T).sum(axis=3).argmin(axis=2)
    assert (np.diff(np.sort(item), axis=1) > 0).all()
    for place in item.T:
        assert np.bincount(place) == pytest.approx(5000, abs=5 * 65)
    assert np.bincount(user) == pytest.approx(2500, abs=5 * 48)
    means = MODEL[user[:, np.newaxis], item]
    assert env.expected_rewards() == pytest.approx(means, abs=1e-4)
    assert env.optimal_reward() == pytest.approx(means.max(axis=1), abs=1e-4)
    action = np.arange(30_000) % 4
    reward = env.step(action).reward
    assert reward == pytest.approx(means[np.arange(30_000), action], abs=1e-4)


def test_a_table_of_users_items_and_ratings_becomes_a_matrix():
    users, items = np.nonzero(RATINGS)
    table = np.column_stack([users, items, RATINGS[users, items]])
    shuffled = np.random.default_rng(0).permutation(table)
    assert (ratings_matrix(shuffled) == RATINGS).all()
    assert (ratings_matrix(shuffled * [10, 7, 1]) == RATINGS).all()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: RatingsBandit(np.full((3, 3), np.nan), 1), "ratings"),
        (lambda: RatingsBandit(RATINGS[0], 1), "ratings"),
        (lambda: RatingsBandit(RATINGS[:0], 1), "rank"),
        (lambda: RatingsBandit(RATINGS, ITEMS + 1), "rank"),
        (lambda: RatingsBandit(RATINGS, 0), "rank"),
        (lambda: RatingsBandit(RATINGS, 2, USERS + 1), "batch_size"),
        (lambda: PerArmRatingsBandit(RATINGS, 2, ITEMS + 1), "num_actions"),
        (lambda: ratings_matrix(RATINGS), "table"),
        (lambda: ratings_matrix([[0, 0, np.nan]]), "table"),
        (lambda: ratings_matrix(np.empty((0, 3))), "table"),
    ],
)
def test_bad_arguments_are_refused(make, name):
    with pytest.raises(ValueError, match=name):
        make()
