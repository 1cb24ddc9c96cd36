"""What policies are made for, where a log shows what they see and no environment does."""

from __future__ import annotations

from typing import Any

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest
from bandit_envs.trajectories import TimeStep


class SpecsOfLog(PyEnvironment):
    """The specs of the observations and actions of a log; it takes no steps.

    Args:
        observation_spec: of a row.
        action_spec: of an action, such as a price or a slate.
        num_actions: the number of actions or items, K; 0 if actions are real numbers.
    """

    def __init__(self, observation_spec: Nest, action_spec: Nest, num_actions: int) -> None:
        self.num_actions = num_actions  #: K
        self._observation_spec = observation_spec
        self._action_spec = action_spec
        super().__init__(batch_size=1)

    def action_spec(self) -> Nest:
        return self._action_spec

    def observation_spec(self) -> Nest:
        return self._observation_spec

    def _reset(self) -> tuple[Any, TimeStep]:
        raise NotImplementedError("a log takes no steps")

    def _step(self, action: Nest) -> tuple[Any, TimeStep]:
        raise NotImplementedError("a log takes no steps")
