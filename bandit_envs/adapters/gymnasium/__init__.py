"""Our environments in Gymnasium's interface. Importing this module registers their ids.

An id imports it by itself: `gymnasium.make("bandit_envs.adapters.gymnasium:bandit_envs/<id>")`.
"""

import gymnasium

from bandit_envs.adapters.gymnasium.env import GymnasiumEnv
from bandit_envs.adapters.gymnasium.k_armed_testbed import KArmedTestbed, k_armed_testbed_vector_env
from bandit_envs.adapters.gymnasium.stationary_stochastic_per_arm import (
    StationaryStochasticPerArm,
    stationary_stochastic_per_arm_vector_env,
)
from bandit_envs.adapters.gymnasium.vector_env import GymnasiumVectorEnv

__all__ = [
    "GymnasiumEnv",
    "GymnasiumVectorEnv",
    "KArmedTestbed",
    "StationaryStochasticPerArm",
    "k_armed_testbed_vector_env",
    "stationary_stochastic_per_arm_vector_env",
]

gymnasium.register(
    id="bandit_envs/KArmedTestbed-v0",
    entry_point=f"{__name__}:KArmedTestbed",
    vector_entry_point=f"{__name__}:k_armed_testbed_vector_env",
    max_episode_steps=KArmedTestbed.n_steps,
)
gymnasium.register(
    id="bandit_envs/StationaryStochasticPerArm-v0",
    entry_point=f"{__name__}:StationaryStochasticPerArm",
    vector_entry_point=f"{__name__}:stationary_stochastic_per_arm_vector_env",
    max_episode_steps=StationaryStochasticPerArm.n_steps,
)
