"""A batch of one as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from bandit_envs.adapters.gymnasium.shared import (
    UNKNOWN_SEED,
    bandit_info,
    checked_environment,
    checked_render_mode,
    is_bandit,
    known_seed,
    last_time_step,
    render_nothing,
)
from bandit_envs.adapters.gymnasium.spaces import space_from_spec, stack_rows, take_row
from bandit_envs.py_environment import PyEnvironment
from bandit_envs.state import Seed
from bandit_envs.trajectories import StepType, TimeStep


class GymnasiumEnv(gymnasium.Env[Any, Any]):
    """An environment with a batch of one, in Gymnasium's interface.

    A LAST with discount 0 is `terminated`, a LAST with discount 1 `truncated`. So every step of a
    bandit stream is `terminated`: each pull is an episode, and its observation is the one to choose
    the next pull from. A stream need not be reset in between, and a testbed should not, for `reset`
    draws its arms anew; give it a horizon where something else decides when to reset.

    The `info` of a bandit whose expected rewards are known has the `best_arm` and, [K], the
    `expected_rewards` of the state that the observation was made in: the next action meets them.

    What is returned is the caller's own: no later call changes it, and it may be written.

    Args:
        environment: what to adapt.
        render_mode: "rgb_array", "human" or "ansi"; None to show nothing.

    Attributes:
        environment: the environment adapted.
        reward_range: the smallest and the largest reward.

    Raises:
        TypeError: `environment` is no `PyEnvironment`.
        ValueError: its batch size is not 1, or `render_mode` is another one.

    Source: Gymnasium's `Env`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = GymnasiumEnv(KArmedTestbed(k=3, horizon=100))
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(info["best_arm"])
    >>> terminated, truncated, env.action_space
    (False, False, Discrete(3))
    """

    metadata = {"render_modes": ["rgb_array", "human", "ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, environment: PyEnvironment, render_mode: str | None = None) -> None:
        self.environment = checked_environment(environment)
        if environment.batch_size != 1:
            raise ValueError(f"environment has batch_size {environment.batch_size}; expected 1")
        self.render_mode = checked_render_mode(render_mode, self.metadata)
        self.action_space = space_from_spec(environment.action_spec())
        self.observation_space = space_from_spec(environment.observation_spec())
        self.reward_range = environment.reward_range
        self._np_random_seed = UNKNOWN_SEED
        self._is_bandit = is_bandit(environment)

    @property
    def _np_random(self) -> np.random.Generator:
        return self.environment.np_random

    @_np_random.setter
    def _np_random(self, value: np.random.Generator) -> None:
        self.environment.seed(value)

    def reset(
        self, *, seed: Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts a new episode and returns its observation and info.

        Args:
            seed: whatever `numpy.random.default_rng` takes; None to go on with the generator.
            options: not used.

        Raises:
            TypeError: `seed` is no source of randomness.
            ValueError: `seed` is a negative integer.
        """
        if seed is not None:
            self.environment.seed(seed)
            self._np_random_seed = known_seed(seed)
        time_step = self.environment.reset()
        if self.render_mode == "human":
            self.render()
        return self._observation(time_step), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes one action.

        Args:
            action: an element of `action_space`.

        Returns:
            The observation, the reward, whether the episode has terminated, whether it was
            truncated, and the info.

        Raises:
            ResetNeeded: there has been no `reset` yet.
            TypeError: `action` is of a wrong type. Nothing has changed.
            ValueError: `action` is no element of `action_space`. Nothing has changed.
        """
        last_time_step(self.environment)
        time_step = self.environment.step(self._batch_of_one(action))
        if self.render_mode == "human":
            self.render()
        last = bool(time_step.step_type[0] == StepType.LAST)
        terminated = last and bool(time_step.discount[0] == 0.0)
        truncated = last and not terminated
        reward = float(time_step.reward[0])
        return self._observation(time_step), reward, terminated, truncated, self._info()

    def render(self) -> Any:
        """Returns an image or a text, or shows a window, as `render_mode` says.

        Raises:
            NotImplementedError: the environment cannot be shown.
        """
        if self.render_mode is None:
            render_nothing()
            return None
        return self.environment.render(self.render_mode)

    def close(self) -> None:
        self.environment.close()

    def _batch_of_one(self, action: Any) -> Any:
        if self._is_bandit:
            return action
        if not self.action_space.contains(action):
            raise ValueError(f"action is {action!r}; expected an element of {self.action_space}")
        return stack_rows(self.environment.action_spec(), action, batch_size=1)

    def _observation(self, time_step: TimeStep) -> Any:
        return take_row(self.observation_space, time_step.observation, 0)

    def _info(self) -> dict[str, Any]:
        info = bandit_info(self.environment)
        if not info:
            return {}
        return {
            "best_arm": int(info["best_arm"][0]),
            "expected_rewards": info["expected_rewards"][0].copy(),
        }
