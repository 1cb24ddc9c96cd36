"""Every wrapper passes the contract, alone and on top of others."""

import itertools

import numpy as np
import pytest

from bandit_envs import KArmedTestbed, OutcomeStream
from bandit_envs.environments import KnapsackBandit
from bandit_envs.testing import EnvironmentContract
from bandit_envs.wrappers import (
    AddActionMask,
    AffineReward,
    Budget,
    ClipReward,
    RescaleReward,
    TransformObservation,
)
from tests.contracts import one_test
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


class WrapperContract(EnvironmentContract):
    num_steps = 6
    num_rewards = 2000


@one_test
class TestUnchanged(WrapperContract):
    def make_environment(self, seed):
        return Unchanged(KArmedTestbed(k=4, batch_size=3, horizon=4, seed=seed))


@one_test
class TestWhatIsNotABandit(WrapperContract):
    def make_environment(self, seed):
        env = AffineReward(Payer([1.0, 2.0, 4.0], 0.0, 8.0), scale=0.5)
        env.seed(seed)
        return env


@one_test
class TestRescaleReward(WrapperContract):
    def make_environment(self, seed):
        return RescaleReward(Coins(seed=seed), (2.0, 4.0))


@one_test
class TestClipReward(WrapperContract):
    def make_environment(self, seed):
        return ClipReward(KArmedTestbed(k=4, seed=seed, horizon=2), (0.5, 1.0))


@one_test
class TestBudget(WrapperContract):
    def make_environment(self, seed):
        ones = np.ones((12, 3))
        return Budget(OutcomeStream(ones, ones, costs=ones, seed=seed), budget=13.0)


@one_test
class TestKnapsackBandit(WrapperContract):
    def make_environment(self, seed):
        return KnapsackBandit(budget=3, rounds=5, batch_size=3, seed=seed)


@one_test
class TestKnapsackBanditOfEpisodes(WrapperContract):
    def make_environment(self, seed):
        return KnapsackBandit(budget=2, rounds=5, batch_size=3, horizon=6, seed=seed)


@one_test
class TestTransformObservation(WrapperContract):
    def make_environment(self, seed):
        return TransformObservation(per_arm_bandit(seed), concatenated, CONCATENATED)


def make_composed(seed):
    bandit = per_arm_bandit(seed)
    env = TransformObservation(bandit, rounded, bandit.observation_spec())
    return AddActionMask(AffineReward(RewardSoFar(AffineReward(env, 0.5)), shift=-1.0))


@one_test
class TestComposed(WrapperContract):
    def make_environment(self, seed):
        return make_composed(seed)


def transformed(env):
    return TransformObservation(env, rounded, env.observation_spec())


ENVIRONMENTS = {
    "testbed": lambda horizon: KArmedTestbed(k=4, batch_size=3, horizon=horizon),
    "coins": lambda horizon: Coins(horizon=horizon),
    "per-arm": lambda horizon: per_arm_bandit(horizon=horizon),
}
WRAPPERS = {
    "unchanged": Unchanged,
    "with memory": RewardSoFar,
    "with memory twice": lambda env: RewardSoFar(RewardSoFar(env)),
    "affine": lambda env: AffineReward(env, 2.0, 1.0),
    "rescaled": lambda env: RescaleReward(env, (-1.0, 1.0)),
    "clipped": lambda env: ClipReward(env, (-0.5, 1.0)),
    "transformed": transformed,
}
COMBINATIONS = [*itertools.product(ENVIRONMENTS, WRAPPERS), ("per-arm", "with a mask")]
WRAPPERS["with a mask"] = AddActionMask

for (environment, wrapper), horizon in itertools.product(COMBINATIONS, (None, 1, 3)):

    class Combination(WrapperContract):
        make = staticmethod(ENVIRONMENTS[environment])
        wrap = staticmethod(WRAPPERS[wrapper])
        horizon = horizon

        def make_environment(self, seed):
            env = self.wrap(self.make(self.horizon))
            env.seed(seed)
            return env

    name = f"Test {environment}, {wrapper}, horizon {horizon}"
    Combination.__name__ = name
    globals()[name] = pytest.mark.slow(one_test(Combination))
