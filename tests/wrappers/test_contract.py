"""Every wrapper passes the contract, alone and on top of others."""

import numpy as np

from bandit_envs import KArmedTestbed, load_state, save_state
from bandit_envs.testing import EnvironmentContract
from bandit_envs.wrappers import (
    AddActionMask,
    AffineReward,
    ClipReward,
    RescaleReward,
    TransformObservation,
)
from tests.wrappers.examples import (
    CONCATENATED,
    Coins,
    Payer,
    RewardSoFar,
    Unchanged,
    concatenated,
    per_arm_bandit,
    rounded,
)


class TestUnchanged(EnvironmentContract):
    def make_environment(self, seed):
        return Unchanged(KArmedTestbed(k=4, batch_size=3, horizon=4, seed=seed))


class TestWhatIsNoBandit(EnvironmentContract):
    def make_environment(self, seed):
        env = AffineReward(Payer([1.0, 2.0, 4.0], 0.0, 8.0), scale=0.5)
        env.seed(seed)
        return env


class TestWithMemory(EnvironmentContract):
    num_steps = 7

    def make_environment(self, seed):
        return RewardSoFar(RewardSoFar(KArmedTestbed(k=4, batch_size=2, horizon=3, seed=seed)))


class TestRescaleRewardWithBounds(EnvironmentContract):
    def make_environment(self, seed):
        return RescaleReward(Coins(seed=seed), (2.0, 4.0))


class TestRescaleRewardWithoutBounds(EnvironmentContract):
    def make_environment(self, seed):
        return RescaleReward(KArmedTestbed(k=4, batch_size=3, seed=seed), (-1.0, 1.0))


class TestAffineReward(EnvironmentContract):
    num_steps = 5

    def make_environment(self, seed):
        return AffineReward(per_arm_bandit(seed), scale=2.0, shift=1.0)


class TestClipReward(EnvironmentContract):
    def make_environment(self, seed):
        return ClipReward(KArmedTestbed(k=4, seed=seed, horizon=2), (0.5, 1.0))


class TestTransformObservation(EnvironmentContract):
    num_steps = 5

    def make_environment(self, seed):
        return TransformObservation(per_arm_bandit(seed), concatenated, CONCATENATED)

    def draw_action(self, rng, environment):
        available = environment.wrapped_env().current_time_step().observation["num_actions"]
        return rng.integers(available).astype(np.int32)


class TestAddActionMask(EnvironmentContract):
    num_steps = 5

    def make_environment(self, seed):
        return AddActionMask(per_arm_bandit(seed))


def make_composed(seed):
    bandit = per_arm_bandit(seed)
    env = TransformObservation(bandit, rounded, bandit.observation_spec())
    return AddActionMask(AffineReward(RewardSoFar(AffineReward(env, 0.5)), shift=-1.0))


class TestComposed(EnvironmentContract):
    num_steps = 4

    def make_environment(self, seed):
        return make_composed(seed)


def test_a_token_of_wrappers_can_be_kept_in_a_file(tmp_path):
    env, restored = make_composed(seed=0), make_composed(seed=1)
    env.reset()
    env.step([0, 0, 0])
    save_state(tmp_path / "state.npz", env.get_state())
    restored.set_state(load_state(tmp_path / "state.npz"))
    assert np.array_equal(restored.step([0, 0, 0]).reward, env.step([0, 0, 0]).reward)
    assert np.array_equal(restored.get_state().own.latent, env.get_state().own.latent)
