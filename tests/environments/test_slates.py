"""Bandits whose actions are slates: click models, exact expected rewards and optima."""

import itertools

import numpy as np
import pytest

from bandit_envs import (
    CascadeBandit,
    ExplicitPositionalBiasRankingEnvironment,
    PositionBasedBandit,
    RankingPyEnvironment,
)
from bandit_envs.environments import ClickModel, FeedbackModel
from bandit_envs.rewards import LogisticReward
from bandit_envs.sampling import BatchFunction, Catalog, Normal
from tests.cases import for_each
from tests.statistical import is_near

ATTRACTIONS = [0.1, 0.6, 0.3, 0.5]
LOOKS = [0.4, 0.9, 0.6]
MATRIX = np.random.default_rng(0).normal(size=(3, 2))
SLATES = np.array(list(itertools.permutations(range(4), 3)))


def ranking(**keywords):
    return RankingPyEnvironment(Normal(2), Normal(3), 4, 3, MATRIX, **keywords)


def biased(relevance_fn, **keywords):
    return ExplicitPositionalBiasRankingEnvironment(
        Normal(2), Normal(3), relevance_fn, 4, LOOKS, **keywords
    )


def distance(**keywords):
    return ranking(click_model=ClickModel.DISTANCE_BASED, distance_threshold=0.5, **keywords)


THETA = np.array([1.0, -1.0, 0.5, 2.0, -0.5])
MAKERS = {
    "cascade": lambda **kw: CascadeBandit(ATTRACTIONS, 3, **kw),
    "position": lambda **kw: PositionBasedBandit(ATTRACTIONS, LOOKS, **kw),
    "ghosts": ranking,
    "ghost vectors": lambda **kw: ranking(feedback_model=FeedbackModel.SCORE_VECTOR, **kw),
    "distance": distance,
    "real cascade": lambda **kw: distance(real_cascade=True, **kw),
    "biased": lambda **kw: biased(LogisticReward(THETA), **kw),
}


def clicks(reward):
    return reward["chosen_value"] if isinstance(reward, dict) else reward.sum(axis=1)


def means_of_all_slates(env):
    """The expected rewards of all slates in the first state of `env`: [slates, B]."""
    state = env.get_state()
    means = []
    for slate in SLATES:
        env.set_state(state)
        env.step(np.tile(slate, (env.batch_size, 1)))
        means.append(env.get_info()["expected_reward"])
    env.set_state(state)
    return np.array(means)


@for_each("name", MAKERS)
def test_the_mean_number_of_clicks_is_the_expected_reward(name):
    env = MAKERS[name](batch_size=2, seed=0)
    env.reset()
    state = env.get_state()
    expected = means_of_all_slates(env)
    slate = np.tile(SLATES[11], (2, 1))
    drawn = []
    for seed in range(250):
        env.set_state(state)
        env.seed(seed)
        drawn.append(clicks(env.step(slate).reward))
    assert is_near(drawn, expected[11])


@for_each("name", MAKERS)
def test_the_optimal_slate_has_the_largest_expected_reward_of_all(name):
    env = MAKERS[name](batch_size=20, seed=0)
    env.reset()
    assert env.optimal_reward() == pytest.approx(means_of_all_slates(env).max(axis=0), abs=1e-6)


def test_clicks_are_from_0_to_1():
    for name in ("cascade", "position", "ghost vectors", "biased"):
        assert MAKERS[name]().reward_range == (0.0, 1.0)


@for_each("name", MAKERS)
def test_a_slate_with_an_item_twice_is_refused_and_changes_nothing(name):
    env = MAKERS[name](batch_size=2, seed=0)
    twin = MAKERS[name](batch_size=2, seed=0)
    env.reset()
    twin.reset()
    with pytest.raises(ValueError, match=r"action\[1\].*twice"):
        env.step([[0, 1, 2], [2, 1, 2]])
    good = [[0, 1, 2], [3, 1, 2]]
    assert clicks(env.step(good).reward).tolist() == clicks(twin.step(good).reward).tolist()


def test_a_cascade_ends_at_the_first_item_that_attracts():
    env = CascadeBandit([1.0, 0.0, 1.0], 3, batch_size=2, seed=0)
    env.reset()
    assert env.step([[1, 2, 0], [0, 1, 2]]).reward.tolist() == [[0, 1, 0], [1, 0, 0]]


@for_each(
    ("name", "expected"),
    [("cascade", [0.6, 0.4 * 0.1, 0.4 * 0.9 * 0.5]), ("position", [0.4 * 0.6, 0.9 * 0.1, 0.3])],
)
def test_each_slot_is_clicked_with_its_probability(name, expected):
    env = MAKERS[name](batch_size=40_000, seed=0)
    env.reset()
    reward = env.step(np.tile([1, 0, 3], (40_000, 1))).reward
    assert set(reward.ravel()) == {0.0, 1.0}
    assert is_near(reward == 1.0, expected)
    assert name == "position" or reward.sum(axis=1).max() == 1.0


def test_rows_may_be_problems_of_their_own():
    env = PositionBasedBandit([[1.0, 0.0, 0.5], [0.0, 0.5, 1.0]], [0.5, 1.0], 2, seed=0)
    env.reset()
    assert env.optimal_action().tolist() == [[2, 0], [1, 2]]
    assert env.optimal_reward() == pytest.approx([1.25, 1.25])


def test_a_user_clicks_the_closest_item_or_the_first_close_enough():
    for real_cascade in (False, True):
        env = distance(batch_size=500, real_cascade=real_cascade, seed=0)
        contexts = env.reset().observation
        scores = np.einsum("bkp,pg,bg->bk", contexts["per_arm"], MATRIX, contexts["global"])[:, :3]
        reward = env.step(np.tile([0, 1, 2], (500, 1))).reward
        reaches = scores >= 0.5
        slot = reaches.argmax(axis=1) if real_cascade else scores.argmax(axis=1)
        assert (reward["chosen_index"] == np.where(reaches.any(axis=1), slot, 3)).all()
        assert (reward["chosen_value"] == reaches.any(axis=1)).all()


def test_relevances_may_be_a_function_and_are_clipped_with_a_warning():
    env = biased(lambda user, item: 0.5 + item[0], batch_size=50, seed=0)
    items = env.reset().observation["per_arm"]
    with pytest.warns(UserWarning, match="relevance_fn"):
        env.step(np.tile([0, 1, 2], (50, 1)))
    relevance = (0.5 + items[:, :3, 0].astype(float)).clip(0, 1)
    with pytest.warns(UserWarning, match="relevance_fn"):
        assert env.get_info()["expected_reward"] == pytest.approx((relevance * LOOKS).sum(axis=1))


def test_clicks_are_rare_or_not_whatever_the_size_of_the_scores():
    env = RankingPyEnvironment(Normal(1), Normal(1), 6, 3, [[-10.0]], batch_size=5_000, seed=0)
    env.reset()
    is_clicked = clicks(env.step(np.tile([0, 1, 2], (5_000, 1))).reward)
    assert is_near(is_clicked, env.get_info()["expected_reward"].mean(), 0.5)


SIZE = 4000
"""Rows, so that a click has a standard error of 0.008."""


@pytest.mark.parametrize("scale", [-200.0, -1000.0, -1e6])
def test_clicks_keep_their_probabilities_if_all_scores_are_very_low(scale):
    users = BatchFunction(lambda rng, size: np.ones((*size, 1)), 1)
    items = Catalog(np.array([[1.0], [1.000001], [1.000002]], np.float32))
    env = RankingPyEnvironment(users, items, 3, 2, [[scale]], batch_size=SIZE, seed=0)
    env.reset()
    reward = env.step(np.tile([0, 1], (SIZE, 1))).reward
    expected = env.get_info()["expected_reward"]
    # Two items and a ghost, whose scores are nearly the same at all scales but the largest.
    assert np.isfinite(expected).all()
    assert is_near(reward["chosen_value"], expected.mean(), std=0.5)
    if scale > -1e6:
        assert np.allclose(expected, 2 / 3, atol=1e-3)
