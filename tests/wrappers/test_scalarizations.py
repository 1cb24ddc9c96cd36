import numpy as np
import pytest

from bandit_envs import (
    ChebyshevScalarization,
    HypervolumeScalarization,
    KArmedTestbed,
    LinearScalarization,
    RandomActionMask,
)
from bandit_envs.testing import EnvironmentContract
from bandit_envs.wrappers import AffineReward
from tests.cases import for_each
from tests.contracts import one_test
from tests.wrappers.examples import Vectors


class ScalarizedContract(EnvironmentContract):
    num_steps = 5
    num_rewards = 2000


@one_test
class TestLinear(ScalarizedContract):
    def make_environment(self, seed):
        return LinearScalarization(Vectors(seed=seed), [2.0, -1.0])


@pytest.mark.slow
@one_test
class TestLinearOfMaskedVectors(ScalarizedContract):
    def make_environment(self, seed):
        masked = RandomActionMask(Vectors(seed=seed, horizon=3), 0.5)
        return AffineReward(LinearScalarization(masked, [0.0, -1.0]), 2.0)


@pytest.mark.slow
@one_test
class TestChebyshev(ScalarizedContract):
    def make_environment(self, seed):
        return ChebyshevScalarization(Vectors(seed=seed), [1.0, 2.0], [-5.0, -5.0])


@one_test
class TestChebyshevOfDeterministicRewards(ScalarizedContract):
    num_rewards = 400

    def make_environment(self, seed):
        vectors = Vectors(noise_std=0.0, seed=seed)
        return ChebyshevScalarization(vectors, [1.0, 2.0], [-5.0, -5.0], deterministic=True)


@one_test
class TestHypervolumeOfDeterministicRewards(ScalarizedContract):
    num_rewards = 400

    def make_environment(self, seed):
        vectors = Vectors(noise_std=0.0, seed=seed)
        direction, slopes, offsets = [3.0, 4.0], [1.0, 0.5], [1.0, 1.0]
        return HypervolumeScalarization(vectors, direction, slopes, offsets, deterministic=True)


def chebyshev(values):
    return min(1.0 * (values[0] + 3.0), 2.0 * (values[1] + 4.0))


def hypervolume(values):
    return min(max(values[0] + 1.0, 0.0) / 0.6, max(0.5 * values[1] + 1.0, 0.0) / 0.8)


def only_the_first(values):
    return max(2.0 * values[0] + 1.0, 0.0)


KINDS = {
    "linear": (lambda env: LinearScalarization(env, [2.0, -1.0]), lambda v: 2 * v[0] - v[1]),
    "chebyshev": (
        lambda env: ChebyshevScalarization(env, [1.0, 2.0], [-3.0, -4.0], deterministic=True),
        chebyshev,
    ),
    "hypervolume": (
        lambda env: HypervolumeScalarization(
            env, [3.0, 4.0], [1.0, 0.5], [1.0, 1.0], deterministic=True
        ),
        hypervolume,
    ),
    "a direction along an axis": (
        lambda env: HypervolumeScalarization(
            env, [5.0, 0.0], [2.0, 1.0], [1.0, 0.0], deterministic=True
        ),
        only_the_first,
    ),
}


@for_each("kind", KINDS)
def test_rewards_and_expected_rewards_are_those_of_the_formula(kind):
    make, formula = KINDS[kind]
    vectors = Vectors(batch_size=20, noise_std=0.0, seed=0)
    env = make(vectors)
    assert env.reset().reward.tolist() == [0.0] * 20
    for _ in range(3):
        means = np.apply_along_axis(formula, 2, vectors.expected_rewards())
        assert np.allclose(env.expected_rewards(), means)
        assert np.array_equal(env.optimal_action(), means.argmax(axis=1))
        seen = env.current_time_step().observation
        assert np.allclose(env.expected_rewards_for(seen), means)
        reward = env.step(np.arange(20) % 3).reward
        assert reward.dtype == np.float32
        assert np.allclose(reward, means[np.arange(20), np.arange(20) % 3])
        info = env.get_info()
        assert np.allclose(info["optimal_reward"], means.max(axis=1))
        assert np.allclose(info["expected_reward"], reward)


def test_linear_scalarizations_know_the_means_of_noisy_rewards():
    vectors = Vectors(batch_size=4, noise_std=3.0, seed=0)
    env = LinearScalarization(vectors, [1.0, 1.0])
    env.reset()
    assert np.allclose(env.expected_rewards(), vectors.expected_rewards().sum(axis=2))


def test_others_know_them_of_deterministic_rewards_only():
    env = ChebyshevScalarization(Vectors(seed=0), [1.0, 1.0], [0.0, 0.0])
    env.reset()
    for method in (env.expected_rewards, env.optimal_action, env.optimal_reward):
        with pytest.raises(NotImplementedError, match="deterministic"):
            method()
    assert env.get_info() is None
    env.step([0, 1, 2])
    with pytest.raises(NotImplementedError):
        env.get_info()


@for_each(
    ("make", "name"),
    [
        (lambda: LinearScalarization(Vectors(), [1.0]), "weights"),
        (lambda: LinearScalarization(Vectors(), [1.0, np.nan]), "weights"),
        (lambda: LinearScalarization(KArmedTestbed(), [1.0, 1.0]), "reward_spec"),
        (lambda: ChebyshevScalarization(Vectors(), [1.0, 1.0], [0.0]), "reference"),
        (
            lambda: HypervolumeScalarization(Vectors(), [1.0, -1.0], [1, 1], [0, 0]),
            "direction",
        ),
        (lambda: HypervolumeScalarization(Vectors(), [0, 0], [1, 1], [0, 0]), "direction"),
        (lambda: HypervolumeScalarization(Vectors(), [1, 0], 1.0, [0, 0]), "slopes"),
    ],
)
def test_bad_arguments_are_refused_by_name(make, name):
    with pytest.raises((TypeError, ValueError), match=name):
        make()
