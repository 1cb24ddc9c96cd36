"""The per-arm bandit, one at a time and vectorized."""

from __future__ import annotations

import numpy as np
from gymnasium.vector import AutoresetMode

from bandit_envs.adapters.gymnasium.env import GymnasiumEnv
from bandit_envs.adapters.gymnasium.shared import horizon
from bandit_envs.adapters.gymnasium.vector_env import GymnasiumVectorEnv
from bandit_envs.base.checks import checked_integer
from bandit_envs.environments import StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward, RewardFunction
from bandit_envs.sampling import Normal, SamplingFunction

USER = Normal(5)
ITEM = Normal(5)
REWARD = LinearReward(np.linspace(-1.0, 1.0, 10))


class StationaryStochasticPerArm(GymnasiumEnv):
    """The per-arm bandit: users come, and items are offered to them.

    By default, a user and an item have five standard normal features each, and the reward is linear
    in all ten, with weights from -1 to 1 and standard normal noise. It never ends by itself:
    `gymnasium.make` puts a limit of `n_steps` on its episodes.

    Args:
        global_context_sampling_fn: draws the users, as in
            `bandit_envs.environments.StationaryStochasticPerArmPyEnvironment`; so do the next four.
        arm_context_sampling_fn: draws the items.
        max_num_actions: how many items each user is offered.
        reward_fn: the reward, from the features of user and item.
        num_actions_fn: draws how many of the items are available. The action space has them all,
            but the others are refused: the observation says how many there are.
        render_mode: "rgb_array", "human" or "ansi"; None to show nothing.

    Attributes:
        n_steps: the length of an episode made by `gymnasium.make`.

    Raises:
        TypeError: an argument is of a wrong type.
        ValueError: an argument does not fit the others, or `render_mode` is another one.

    Source: TF-Agents' `StationaryStochasticPerArmPyEnvironment`.

    >>> env = StationaryStochasticPerArm(max_num_actions=7)
    >>> observation, info = env.reset(seed=0)
    >>> observation["global"].shape, observation["per_arm"].shape
    ((5,), (7, 5))
    """

    n_steps = 1000

    def __init__(
        self,
        global_context_sampling_fn: SamplingFunction = USER,
        arm_context_sampling_fn: SamplingFunction = ITEM,
        max_num_actions: int = 10,
        reward_fn: RewardFunction = REWARD,
        num_actions_fn: SamplingFunction | None = None,
        *,
        render_mode: str | None = None,
    ) -> None:
        bandit = StationaryStochasticPerArmPyEnvironment(
            global_context_sampling_fn,
            arm_context_sampling_fn,
            max_num_actions,
            reward_fn,
            num_actions_fn,
            horizon=horizon(None),
        )
        super().__init__(bandit, render_mode)


def stationary_stochastic_per_arm_vector_env(
    num_envs: int = 1,
    *,
    global_context_sampling_fn: SamplingFunction = USER,
    arm_context_sampling_fn: SamplingFunction = ITEM,
    max_num_actions: int = 10,
    reward_fn: RewardFunction = REWARD,
    num_actions_fn: SamplingFunction | None = None,
    max_episode_steps: int | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    render_mode: str | None = None,
) -> GymnasiumVectorEnv:
    """Returns the per-arm bandit for `num_envs` users at a time.

    Args:
        num_envs: how many users at a time.
        global_context_sampling_fn: as in `StationaryStochasticPerArm`; so are the next four.
        arm_context_sampling_fn: draws the items.
        max_num_actions: how many items each user is offered.
        reward_fn: the reward, from the features of user and item.
        num_actions_fn: draws how many of the items are available.
        max_episode_steps: after how many steps an episode is truncated; None for never.
        autoreset_mode: as in `GymnasiumVectorEnv`.
        render_mode: as in `GymnasiumVectorEnv`.

    Raises:
        TypeError: an argument is of a wrong type.
        ValueError: an argument does not fit the others, or a mode is another one.
    """
    bandit = StationaryStochasticPerArmPyEnvironment(
        global_context_sampling_fn,
        arm_context_sampling_fn,
        max_num_actions,
        reward_fn,
        num_actions_fn,
        batch_size=checked_integer("num_envs", num_envs, minimum=1),
        horizon=horizon(max_episode_steps),
    )
    return GymnasiumVectorEnv(bandit, autoreset_mode, render_mode)
