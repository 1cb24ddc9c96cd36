import numpy as np
import pytest

from bandit_envs import KArmedBandit, RandomActionMask, RescaleReward, rewards
from bandit_envs.environments.registry import ENVIRONMENTS
from tests.cases import for_each
from tests.statistical import is_near


@for_each(
    "distribution",
    [
        rewards.Bernoulli([0.2, 0.9]),
        rewards.Beta([2.0, 1.0], 1.5),
        rewards.Exponential([1.0, 4.0]),
        rewards.Poisson([[3.0, 1.0]] * 50_000),
        rewards.Discrete([0.0, 9.0], [[0.5, 0.5], [0.1, 0.9]]),
    ],
)
def test_rewards_have_the_expected_rewards_as_means(distribution):
    env = KArmedBandit(distribution, 50_000, seed=0)
    env.reset()
    action = np.arange(50_000) % 2
    reward = env.step(action).reward
    for arm in (0, 1):
        assert is_near(reward[action == arm].astype(float), env.expected_rewards()[arm, arm])
    assert (env.optimal_action() == distribution.mean.reshape(-1, 2)[0].argmax()).all()


class Twos(rewards.RewardDistribution):
    """A distribution of one's own, of two arms that always pay 2."""

    def __init__(self):
        super().__init__(mean=[2, 2], std=0)

    def draw(self, rng, action):
        return np.full(len(action), 2)


def test_a_distribution_of_ones_own_may_be_masked_though_its_means_are_integers():
    env = RandomActionMask(KArmedBandit(Twos(), 3, seed=0), 0.5)
    mask = env.reset().observation["mask"]
    assert np.array_equal(env.expected_rewards(), np.where(mask, 2.0, -np.inf))
    assert env.step(mask.argmax(axis=1)).reward.tolist() == [2.0] * 3


def test_one_distribution_of_one_arm_is_a_bandit_of_one_arm():
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
