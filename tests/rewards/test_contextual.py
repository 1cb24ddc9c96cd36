"""Reward models of users and items."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs.rewards import (
    FlatReward,
    FunctionReward,
    LinearReward,
    LogisticReward,
    RowNestReward,
    RowReward,
    as_reward_model,
)
from bandit_envs.specs import ArraySpec
from tests.cases import for_each
from tests.statistical import is_near, is_near_std

USER = ArraySpec((2,), np.float64)
ITEM = ArraySpec((3,), np.float64)
RNG = np.random.default_rng(0)


def features(rows, num_arms, num_global, num_arm, dtype=np.float64):
    rng = np.random.default_rng(7)
    return (
        rng.normal(size=(rows, num_global)).astype(dtype),
        rng.normal(size=(rows, num_arms, num_arm)).astype(dtype),
    )


@given(*(st.integers(1, 5),) * 2, *(st.integers(0, 4),) * 2)
def test_a_linear_mean_is_the_product_of_concatenated_features(rows, num_arms, num_global, num_arm):
    users, items = features(rows, num_arms, num_global, num_arm)
    theta = np.arange(num_global + num_arm) - 1.5
    tiled = np.repeat(users[:, np.newaxis], num_arms, axis=1)
    expected = np.concatenate([tiled, items], axis=2) @ theta
    reward = LinearReward(theta)
    np.testing.assert_allclose(reward.mean(users, items), expected, atol=1e-12)
    np.testing.assert_allclose(reward.mean(users, items[:, 0]), expected[:, 0], atol=1e-12)


@for_each("dtype", [np.float32, np.float64, np.int32, np.int64, np.bool_])
def test_a_linear_mean_takes_features_of_any_dtype(dtype):
    users, items = features(3, 4, 2, 2, np.int8)
    reward = LinearReward([1.0, 2.0, 3.0, 4.0])
    users, items = users.astype(dtype), items.astype(dtype)
    expected = users @ [1.0, 2.0] + items[:, 1] @ [3.0, 4.0]
    np.testing.assert_allclose(reward.mean(users, items)[:, 1], expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_a_linear_mean_of_nests_is_that_of_their_joined_leaves(dtype):
    rng, theta = np.random.default_rng(0), np.arange(8.0)
    user = {"a": rng.normal(size=(4, 2)), "b": rng.integers(3, size=4).astype(dtype)}
    item = {"c": rng.normal(size=(4, 3, 2, 2)), "d": rng.integers(3, size=(4, 3)).astype(dtype)}
    users = np.concatenate((user["a"], user["b"][:, np.newaxis]), axis=1)
    items = np.concatenate((item["c"].reshape(4, 3, 4), item["d"][..., np.newaxis]), axis=2)
    found = FlatReward(LinearReward(theta)).mean(user, item)
    np.testing.assert_allclose(found, LinearReward(theta).mean(users, items), rtol=1e-6)


def test_float32_features_are_not_widened():
    users, items = features(3, 4, 2, 2, np.float32)
    assert LinearReward([1.0, 2.0, 3.0, 4.0]).mean(users, items).dtype == np.float32


def test_a_linear_draw_has_its_mean_and_noise():
    users, items = np.full((100_000, 1), 2.0), np.full((100_000, 1), 3.0)
    draws = LinearReward([1.0, -1.0], noise_std=0.5).draw(np.random.default_rng(1), users, items)
    assert is_near(draws, -1.0, std=0.5)
    assert is_near_std(draws, 0.5)


@pytest.mark.parametrize("noise_std", [0.0, 1.0, 3.0])
def test_a_linear_draw_takes_one_normal_a_row(noise_std):
    users, items = features(5, 1, 2, 2)
    model = LinearReward(np.ones(4), noise_std)
    rng = np.random.default_rng(4)
    same = np.random.default_rng(4)
    draws = model.draw(rng, users, items[:, 0])
    noise = noise_std * same.standard_normal(5, np.float32)
    np.testing.assert_allclose(draws, model.mean(users, items[:, 0]) + noise, rtol=1e-6)
    assert rng.bit_generator.state == same.bit_generator.state


def test_a_function_without_noise_draws_its_means_and_no_numbers():
    rng, users, items = np.random.default_rng(0), np.ones((3, 1)), np.arange(6.0).reshape(3, 2)
    drawn = FunctionReward(lambda x: x.sum(axis=1), noise_std=0.0).draw(rng, users, items)
    assert drawn.tolist() == [2.0, 6.0, 10.0]
    assert rng.random() == np.random.default_rng(0).random()


def test_a_logistic_draw_is_0_or_1_with_its_probability():
    users, items = np.full((100_000, 1), 1.0), np.full((100_000, 1), 0.5)
    model = LogisticReward([-2.0, 2.0])
    draws = model.draw(np.random.default_rng(1), users, items)
    probability = 1 / (1 + np.e)
    np.testing.assert_allclose(model.mean(users[:1], items[:1]), probability)
    assert is_near(draws, probability)
    assert set(draws.astype(float)) == {0.0, 1.0}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_logistic_mean_neither_overflows_nor_loses_small_probabilities(dtype):
    users = np.array([[-2000.0], [-80.0], [0.0], [2000.0]], dtype)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        mean = LogisticReward([1.0]).mean(users, np.zeros((4, 0), dtype))
    np.testing.assert_allclose(mean, [0.0, np.exp(-80.0), 0.5, 1.0], rtol=1e-4)


def test_a_row_function_sees_one_concatenated_vector_a_row_in_order():
    seen = []

    def reward(vector):
        seen.append(vector)
        return len(seen)

    draws = RowReward(reward).draw(RNG, np.array([[1, 2], [3, 4]]), np.array([[0.5], [0.25]]))
    np.testing.assert_array_equal(seen, [[1.0, 2.0, 0.5], [3.0, 4.0, 0.25]])
    np.testing.assert_array_equal(draws, [1, 2])


def test_a_row_function_may_change_its_argument():
    users = np.ones((2, 2))

    def reward(vector):
        vector[:] = 0.0
        return 1.0

    RowReward(reward).draw(RNG, users, np.ones((2, 1)))
    assert users.min() == 1.0


@for_each("number", [1, True, 0.5, np.float32(2.0), np.array(3.0), np.inf])
def test_a_row_function_may_return_any_number(number):
    draws = RowReward(lambda vector: number).draw(RNG, np.ones((2, 1)), np.ones((2, 1)))
    np.testing.assert_array_equal(draws, [number, number])


@for_each(
    ("rows", "returned"),
    itertools.product([RowReward, RowNestReward], [[0.5], (0.5,), np.array([0.5], np.float32)]),
)
def test_a_row_function_may_return_a_list_of_one_number(rows, returned):
    draws = rows(lambda *features: returned).draw(RNG, np.ones((2, 1)), np.ones((2, 1)))
    np.testing.assert_array_equal(draws, [0.5, 0.5])
    assert draws.shape == (2,)


def test_a_function_is_not_called_before_it_is_needed():
    def never(vector):
        raise AssertionError

    as_reward_model("reward_fn", never, USER, ITEM)


def test_a_model_keeps_its_own_theta():
    theta = np.ones(2)
    model = LinearReward(theta, noise_std=0.0)
    theta[:] = 5.0
    np.testing.assert_array_equal(model.mean(np.ones((1, 1)), np.ones((1, 1))), [2.0])


def test_half_precision_weights_are_taken_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearReward(np.ones(2, np.float16), noise_std=0.0)
    np.testing.assert_array_equal(model.mean(np.ones((1, 1)), np.ones((1, 1))), [2.0])
