import numpy as np
import pytest

from bandit_envs import KArmedBandit, RandomActionMask, RescaleReward, rewards
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.testing import EnvironmentContract


class TestDefault(EnvironmentContract):
    def make_environment(self, seed):
        return KArmedBandit(rewards.NormalReward([0.0, 2.0, -3.0], [1.0, 0.5, 2.0]), 4, seed=seed)


class TestMixedArms(EnvironmentContract):
    def make_environment(self, seed):
        arms = [
            rewards.Gamma(2.0),
            rewards.NormalReward(1.0),
            rewards.Corrupted(rewards.Bernoulli(0.5), 0.1, rewards.Poisson(9.0)),
        ]
        return KArmedBandit(arms, 3, horizon=4, seed=seed)


@pytest.mark.parametrize(
    "law",
    [
        rewards.Bernoulli([0.2, 0.9]),
        rewards.Beta([2.0, 1.0], 1.5),
        rewards.Exponential([1.0, 4.0]),
        rewards.Poisson([[3.0, 1.0]] * 50_000),
        rewards.Discrete([0.0, 9.0], [[0.5, 0.5], [0.1, 0.9]]),
    ],
)
def test_rewards_have_the_expected_rewards_as_means(law):
    env = KArmedBandit(law, 50_000, seed=0)
    env.reset()
    action = np.arange(50_000) % 2
    reward = env.step(action).reward
    for arm in (0, 1):
        values = reward[action == arm].astype(float)
        mean = env.expected_rewards()[arm, arm]
        assert abs(values.mean() - mean) < 5 * values.std() / np.sqrt(len(values))
    assert (env.optimal_action() == law.mean.reshape(-1, 2)[0].argmax()).all()


class Twos(rewards.RewardDistribution):
    """A law of one's own, of two arms that always pay 2."""

    def __init__(self):
        super().__init__(mean=[2, 2], std=0)

    def draw(self, rng, action):
        return np.full(len(action), 2)


def test_a_law_of_ones_own_may_be_masked_though_its_means_are_integers():
    env = RandomActionMask(KArmedBandit(Twos(), 3, seed=0), 0.5)
    mask = env.reset().observation["mask"]
    assert np.array_equal(env.expected_rewards(), np.where(mask, 2.0, -np.inf))
    assert env.step(mask.argmax(axis=1)).reward.tolist() == [2.0] * 3


def test_one_law_of_one_arm_is_a_bandit_of_one_arm():
    env = KArmedBandit(rewards.NormalReward(3.0), 2, seed=0)
    env.reset()
    assert env.num_actions == 1
    assert env.expected_rewards().tolist() == [[3.0], [3.0]]
    assert env.step([0, 0]).reward.shape == (2,)


def test_means_that_are_not_finite_are_unknown():
    stats = pytest.importorskip("scipy.stats")
    env = KArmedBandit([stats.cauchy(), rewards.NormalReward(0.0)], 2, seed=0)
    env.reset()
    assert np.isfinite(env.step([0, 0]).reward).all()
    with pytest.raises(NotImplementedError, match="finite mean"):
        env.expected_rewards()


def test_bounded_rewards_can_be_rescaled_exactly():
    env = RescaleReward(KArmedBandit(rewards.UniformReward([0.0, 1.0], 3.0), seed=0), (0.0, 1.0))
    env.reset()
    assert np.allclose(env.expected_rewards(), [[0.5, 2 / 3]])


def test_presets_are_those_of_rlberry():
    env = ENVIRONMENTS["k_armed"].make([0.0, 1.0], [2.0, 3.0], batch_size=2, seed=0)
    env.reset()
    assert env.expected_rewards().tolist() == [[0.0, 1.0]] * 2
    env = ENVIRONMENTS["corrupted_k_armed"].make([0.0, 1.0], 1.0, 0.25, batch_size=9999, seed=0)
    env.reset()
    assert env.expected_rewards()[0].tolist() == [250.0, 250.75]
    assert abs(np.mean(env.step(np.zeros(9999, int)).reward > 500) - 0.25) < 0.02


def test_rows_of_parameters_must_fit_the_batch():
    for shape in ((3, 2), (1, 2, 2)):
        with pytest.raises(ValueError, match="batch_size"):
            KArmedBandit(rewards.NormalReward(np.zeros(shape)), 2)
