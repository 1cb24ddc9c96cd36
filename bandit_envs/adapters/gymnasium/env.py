"""A batch of one as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from bandit_envs.adapters.batch_of_one import (
    RENDER_MODES,
    batch_of_one,
    checked_batch_of_one,
    info,
)
from bandit_envs.adapters.gymnasium.shared import (
    UNKNOWN_SEED,
    checked_render_mode,
    known_seed,
    last_time_step,
    render_nothing,
)
from bandit_envs.adapters.gymnasium.spaces import space_from_spec, take_row
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Seed
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
        env: what to adapt.
        render_mode: "rgb_array", "human" or "ansi"; None to show nothing.

    Attributes:
        env: the environment adapted.
        reward_range: the smallest and the largest reward.

    Raises:
        TypeError: `env` is no `PyEnvironment`.
        ValueError: its batch size is not 1, or `render_mode` is another one.

    Source: Gymnasium's `Env`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = GymnasiumEnv(KArmedTestbed(k=3, horizon=100))
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(info["best_arm"])
    >>> terminated, truncated, env.action_space
    (False, False, Discrete(3))
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 4}  # noqa: RUF012

    def __init__(self, env: PyEnvironment, render_mode: str | None = None) -> None:
        self.env = checked_batch_of_one(env)
        self.render_mode = checked_render_mode(render_mode, self.metadata)
        self.action_space = space_from_spec(env.action_spec())
        self.observation_space = space_from_spec(env.observation_spec())
        self.reward_range = env.reward_range
        self._np_random_seed = UNKNOWN_SEED

    @property
    def _np_random(self) -> np.random.Generator:
        return self.env.np_random

    @_np_random.setter
    def _np_random(self, value: np.random.Generator) -> None:
        self.env.seed(value)

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
            self.env.seed(seed)
            self._np_random_seed = known_seed(seed)
        time_step = self.env.reset()
        if self.render_mode == "human":
            self.render()
        return self._observation(time_step), info(self.env)

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
        last_time_step(self.env)
        time_step = self.env.step(batch_of_one(self.env.action_spec(), action))
        if self.render_mode == "human":
            self.render()
        last = bool(time_step.step_type[0] == StepType.LAST)
        terminated = last and bool(time_step.discount[0] == 0.0)
        truncated = last and not terminated
        reward = float(time_step.reward[0])
        return self._observation(time_step), reward, terminated, truncated, info(self.env)

    def render(self) -> Any:
        """Returns an image or a text, or shows a window, as `render_mode` says.

        Raises:
            NotImplementedError: the environment cannot be shown.
            ResetNeeded: there has been no `reset` yet.
        """
        if self.render_mode is None:
            render_nothing()
            return None
        last_time_step(self.env)
        return self.env.render(self.render_mode)

    def close(self) -> None:
        self.env.close()

    def _observation(self, time_step: TimeStep) -> Any:
        return take_row(self.observation_space, time_step.observation, 0)
