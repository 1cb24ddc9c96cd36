"""The base of wrappers under which another action may be the best."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import read_only
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Memo
from bandit_envs.specs import ArraySpec
from bandit_envs.wrappers.wrapper import Wrapper


class RankingWrapper(Wrapper):
    """A wrapper under which another action may be the best.

    What is optimal follows from the wrapper's own `expected_rewards` and `_last_choice`.

    Args:
        env: a bandit whose action is one integer.
        name: as for `Wrapper`.
    """

    def __init__(self, env: PyEnvironment, *, name: str | None = None) -> None:
        super().__init__(env, name=name)
        spec = env.action_spec()
        if not is_bandit(env) or not isinstance(spec, ArraySpec) or spec.shape:
            raise TypeError(f"env is {env.name}; expected a bandit whose action is one integer")
        self._num_actions = env.num_actions
        self._info = Memo()

    def optimal_action(self) -> NDArray[np.int32]:
        """Returns the first action with the largest expected reward now: [B]."""
        return read_only(self._best(self.expected_rewards()).astype(np.int32))

    def optimal_reward(self) -> NDArray[Any]:
        return read_only(self.expected_rewards().max(axis=1))

    def get_info(self) -> dict[str, NDArray[Any]] | None:
        info: dict[str, NDArray[Any]] | None = self._info.of(self._state, self._describe)
        return None if info is None else {key: read_only(info[key]) for key in info}

    def _describe(self, state: Any) -> dict[str, NDArray[Any]] | None:
        choice = self._last_choice()
        if choice is None:
            return None
        means, action = choice
        best = self._best(means)
        return {
            "expected_reward": means[np.arange(len(means)), action],
            "optimal_reward": means.max(axis=1),
            "optimal_action": best.astype(np.int32),
        }

    def _best(self, means: NDArray[Any]) -> NDArray[np.intp]:
        if means.ndim != 2:
            raise NotImplementedError(f"{self._name} does not know its optimal actions")
        return np.asarray(means.argmax(axis=1))
