"""Environments in the interface of OpenAI's gym, 0.21 to 0.25: four values a step, `seed`."""

# gym has no types that hold over these versions: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from typing import Any

import gym

from bandit_envs.adapters.randomized_env import RandomizedEnv
from bandit_envs.adapters.spaces import Adapter
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Seed

__all__ = ["GymEnv", "RandomizedEnv"]


class GymEnv(Adapter, gym.Env):
    """An environment with a batch of one, in gym's interface.

    `done` is terminated or truncated; `info` has `TimeLimit.truncated` if it is truncated.

    Source: gym's `Env`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = GymEnv(KArmedTestbed(k=3, horizon=100))
    >>> observation = env.reset(seed=0)
    >>> env.step(1)[2:]
    (False, {})
    """

    _spaces = gym.spaces

    def __init__(self, env: PyEnvironment, expected_rewards: bool = False) -> None:
        super().__init__(env, None, expected_rewards)

    def seed(self, seed: Seed = None) -> Any:
        return self._env.seed(seed)

    def reset(
        self, *, seed: Seed = None, return_info: bool = False, options: dict[str, Any] | None = None
    ) -> Any:
        """Starts a new episode; returns its observation or, with `return_info`, also its info."""
        observation, info = super().reset(seed=seed)
        return (observation, info) if return_info else observation

    def step(self, action: Any) -> Any:
        """Returns the observation, the reward, `done` and the info."""
        observation, reward, terminated, truncated, info = super().step(action)
        if truncated:
            info["TimeLimit.truncated"] = True
        return observation, reward, terminated or truncated, info

    def render(self, mode: str = "human") -> Any:
        return self._env.render(mode)
