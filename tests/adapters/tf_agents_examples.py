"""Environments to adapt."""

import numpy as np

from bandit_envs import KArmedTestbed, StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Normal
from bandit_envs.wrappers import AffineReward, TransformObservation

B, K = 2, 5
THETA = np.arange(-3.0, 4.0)


def per_arm(num_actions=None, reward=None, **keywords):
    reward = LinearReward(THETA, noise_std=0.0) if reward is None else reward
    keywords = {"batch_size": B, "seed": 0, **keywords}
    return StationaryStochasticPerArmPyEnvironment(
        Normal(3), Normal(4), K, reward, num_actions, **keywords
    )


def k_armed(**keywords):
    return KArmedTestbed(K, **{"batch_size": B, "seed": 0, **keywords})


def twice_wrapped(env):
    return AffineReward(
        TransformObservation(env, lambda seen: seen, env.observation_spec()), scale=2.0
    )
