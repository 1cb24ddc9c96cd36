"""The per-arm bandit keeps the contract of all environments, whatever it is made of."""

import numpy as np

from bandit_envs.environments import StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward, LogisticReward
from bandit_envs.sampling import BatchFunction, Catalog, Integers, Normal
from bandit_envs.testing import EnvironmentContract

B, K, G, P = 3, 3, 1, 2
THETA = np.array([0.5, -1.0, 1.0])


# What functions of TF-Agents' kind draw cannot be replayed, so these draw nothing.


def user():
    return [1.0]


def item():
    return np.array([1.0, 2.0], np.float32)


def two():
    return 2


def reward(vector):
    return vector @ THETA


def uniform_items(rng, size):
    return rng.random((*size, P))


class Samplers(EnvironmentContract):
    num_steps = 6
    num_rewards = 5000
    horizon = None
    users, items, rewards = Normal(G), BatchFunction(uniform_items, P), LinearReward(THETA)
    num_actions_fn = None

    def make_environment(self, seed):
        return StationaryStochasticPerArmPyEnvironment(
            self.users,
            self.items,
            K,
            self.rewards,
            self.num_actions_fn,
            B,
            seed=seed,
            horizon=self.horizon,
        )


class Functions(Samplers):
    users, items, rewards = staticmethod(user), staticmethod(item), staticmethod(reward)


class TestSamplers(Samplers):
    pass


class TestSamplersWithAHorizon(Samplers):
    horizon = 2


class TestSamplersWithNumActions(Samplers):
    num_actions_fn = Integers(1, 0, K + 2)


class TestSamplersWithNumActionsAndAHorizon(Samplers):
    num_actions_fn = Integers(1, 0, K + 2)
    horizon = 2


class TestFunctions(Functions):
    pass


class TestFunctionsWithAHorizon(Functions):
    horizon = 2


class TestFunctionsWithNumActions(Functions):
    num_actions_fn = staticmethod(two)


class TestFunctionsWithNumActionsAndAHorizon(Functions):
    num_actions_fn = staticmethod(two)
    horizon = 2


class TestAShopWithClicks(Samplers):
    items, rewards = Catalog(np.random.default_rng(0).normal(size=(9, P))), LogisticReward(THETA)
    num_actions_fn = Integers(1, 2, K + 1)
