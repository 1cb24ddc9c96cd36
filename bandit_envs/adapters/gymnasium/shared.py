"""What the single and the vectorized environments have in common."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from bandit_envs.base.checks import checked_integer
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Seed
from bandit_envs.trajectories import TimeStep

UNKNOWN_SEED = -1
"""What Gymnasium gives as the seed of a generator whose seed it does not know."""


def render_nothing() -> None:
    """Warns that an environment without a render mode was asked to render."""
    gymnasium.logger.warn("nothing is rendered: the environment was made without a render_mode")


def checked_environment(env: Any) -> PyEnvironment:
    """Returns `env`.

    Raises:
        TypeError: it is no `PyEnvironment`.
    """
    if not isinstance(env, PyEnvironment):
        raise TypeError(f"env is {env!r}; expected a PyEnvironment")
    return env


def checked_render_mode(render_mode: str | None, metadata: Mapping[str, Any]) -> str | None:
    """Returns `render_mode`.

    Raises:
        ValueError: it is neither None nor one of the render modes in `metadata`.
    """
    modes = metadata["render_modes"]
    if render_mode is not None and render_mode not in modes:
        raise ValueError(f"render_mode is {render_mode!r}; expected None or one of {modes}")
    return render_mode


def horizon(max_episode_steps: int | None) -> int:
    """Returns the horizon of episodes that end after so many steps; None for never.

    Raises:
        TypeError: `max_episode_steps` is not an integer.
        ValueError: it is less than 1.
    """
    if max_episode_steps is None:
        return sys.maxsize  # not None: that would be a stream, which ends with each pull
    return checked_integer("max_episode_steps", max_episode_steps, minimum=1)


def known_seed(seed: Seed) -> int:
    """Returns `seed` as Gymnasium's `np_random_seed`: `UNKNOWN_SEED` if it is not an integer."""
    return int(seed) if isinstance(seed, numbers.Integral) else UNKNOWN_SEED


def last_time_step(env: PyEnvironment) -> TimeStep:
    """Returns the current time step.

    Raises:
        ResetNeeded: there is none yet.
    """
    try:
        return env.current_time_step()
    except ValueError as error:
        raise ResetNeeded(str(error)) from error


def is_bandit(env: PyEnvironment) -> bool:
    """Whether it is a bandit, or a wrapper of one. A bandit checks its actions by itself."""
    return hasattr(env, "num_actions")


def is_stream(env: PyEnvironment) -> bool:
    """Whether it is a bandit without a horizon, which is not reset between its pulls."""
    return getattr(env, "horizon", math.inf) is None


def bandit_info(env: PyEnvironment) -> dict[str, NDArray[Any]]:
    """Returns the `best_arm` [B] and the `expected_rewards` [B, K] of the current state, read-only.

    Of an environment that is no bandit, or does not know them, this is an empty dict.
    """
    bandit: Any = env
    if not is_bandit(env):
        return {}
    try:
        return {
            "best_arm": bandit.optimal_action(),
            "expected_rewards": bandit.expected_rewards(),
        }
    except NotImplementedError:
        return {}
