"""The bandit whose weights are redrawn now and then."""

import numpy as np
import pytest

from bandit_envs import PiecewiseLinearBandit
from bandit_envs.sampling import BatchFunction, Integers, Normal
from bandit_envs.testing import assert_identical
from tests.statistical import has_probabilities, is_near, is_near_std

D, K, B = 4, 3, 5


def piecewise(interval, batch_size=B, horizon=None, additive=None):
    env = PiecewiseLinearBandit(
        Normal(D), interval, Normal(K), additive or Normal(K), batch_size, seed=0, horizon=horizon
    )
    env.reset()
    return env


def test_the_weights_change_after_every_interval_and_only_then():
    env = piecewise(4)
    weights = []
    for _ in range(20):
        weights.append(env.weights)
        env.step([0] * B)
    for step in range(1, 20):
        same = weights[step] == weights[step - 1]
        assert same.all() if step % 4 else not same.any()


def test_time_goes_on_through_resets():
    env = piecewise(10, horizon=3)
    weights = []
    for _ in range(60):
        env.reset()
        weights.append(env.weights)
        env.step([0] * B)
    changes = np.flatnonzero((np.diff(weights, axis=0) != 0.0).any(axis=(1, 2))) + 1
    assert changes.tolist() == [10, 20, 30, 40, 50]


def test_the_last_piece_stays_after_the_last_interval():
    env = piecewise([2, 3])
    weights = [(env.weights, env.step([0] * B))[0] for _ in range(9)]
    changes = np.flatnonzero((np.diff(weights, axis=0) != 0.0).any(axis=(1, 2))) + 1
    assert changes.tolist() == [2]


def test_drawn_intervals_have_their_distribution():
    env = piecewise(Integers(1, 1, 4), batch_size=1)
    lengths = [0]
    weights = env.weights
    while len(lengths) <= 3000:
        env.step(0)
        lengths[-1] += 1
        if (env.weights != weights).any():
            lengths.append(0)
            weights = env.weights
    assert set(lengths[:-1]) == {1, 2, 3}
    assert has_probabilities(np.bincount(lengths[:-1])[1:], np.full(3, 1 / 3))


def test_the_optimum_includes_the_additive_rewards():
    additive = BatchFunction(lambda rng, size: np.array([[0.0, 90.0, 0.0]]), K)
    env = piecewise(5, batch_size=1000, additive=additive)
    means = env.current_time_step().observation @ env.weights + [0.0, 90.0, 0.0]
    np.testing.assert_allclose(env.expected_rewards(), means, rtol=1e-4, atol=1e-4)
    assert (env.optimal_action() == 1).all()


def test_a_reward_is_its_mean():
    env = piecewise(2, batch_size=1000)
    for _ in range(5):
        means = env.expected_rewards()
        action = np.arange(1000) % K
        assert_identical(env.step(action).reward, means[np.arange(1000), action])


def test_weights_and_additive_rewards_are_drawn_from_their_samplers():
    env = piecewise(1, batch_size=1, additive=Normal(K, loc=3.0))
    weights = []
    additive = []
    for _ in range(2000):
        weights.append(env.weights)
        additive.append(env.expected_rewards() - env.current_time_step().observation @ env.weights)
        env.step(0)
    for values, mean in ((weights, 0.0), (additive, 3.0)):
        assert is_near(np.ravel(values), mean, 1.0)
        assert is_near_std(np.ravel(values), 1.0)


def test_intervals_that_never_end_a_piece_are_refused():
    with pytest.raises(ValueError, match="interval_sampling_fn"):
        piecewise(0)
