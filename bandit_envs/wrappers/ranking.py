"""The base of wrappers under which another action may be the best."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import read_only
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.specs import ArraySpec
from bandit_envs.wrappers.wrapper import Wrapper


class RankingWrapper(Wrapper):
    """A wrapper under which another action may be the best.

    What is optimal follows from the wrapper's own `expected_rewards` and `_last_choice`. `env` is a
    bandit whose action is one integer.
    """

    def __init__(self, env: PyEnvironment, *, name: str | None = None) -> None:
        super().__init__(env, name=name)
        spec = env.action_spec()
        if not is_bandit(env) or not isinstance(spec, ArraySpec) or spec.shape:
            raise TypeError(f"env is {env.name}; expected a bandit whose action is one integer")
        self._num_actions = env.num_actions

    def optimal_action(self) -> NDArray[np.int32]:
        """Returns the first action with the largest expected reward now: [B]."""
        return self._optimum(self.expected_rewards())[0]

    def optimal_reward(self) -> NDArray[Any]:
        return self._optimum(self.expected_rewards())[1]

    def get_info(self) -> dict[str, NDArray[Any]] | None:
        choice = self._last_choice()
        if choice is None:
            return None
        means, action = choice
        optimal_action, optimal_reward = self._optimum(means)
        return {
            "expected_reward": read_only(means[np.arange(len(means)), action]),
            "optimal_reward": optimal_reward,
            "optimal_action": optimal_action,
        }

    def _optimum(self, means: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
        if means.ndim != 2:
            raise NotImplementedError(f"{self._name} does not know its optimal actions")
        return read_only(means.argmax(axis=1).astype(np.int32)), read_only(means.max(axis=1))
