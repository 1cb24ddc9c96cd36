"""A per-arm bandit of samplers, and what its rewards should be."""

import numpy as np

from bandit_envs.environments import StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Normal

B, K, G, P = 4, 5, 2, 3
THETA = np.array([1.0, -1.0, 2.0, 0.5, -0.5])


def make(*, users=None, items=None, num_arms=K, reward=None, num_actions=None, **keywords):
    """An environment of samplers, where nothing else is asked for."""
    return StationaryStochasticPerArmPyEnvironment(
        Normal(G) if users is None else users,
        Normal(P) if items is None else items,
        num_arms,
        LinearReward(THETA, noise_std=0.0) if reward is None else reward,
        num_actions,
        **{"batch_size": B, "seed": 0, **keywords},
    )


def means(observation):
    """The expected rewards of `THETA`, from concatenated features."""
    users, items = observation["global"], observation["per_arm"]
    tiled = np.repeat(users[:, np.newaxis], items.shape[1], axis=1)
    return np.concatenate([tiled, items], axis=2) @ THETA
