"""A batch as a vectorized Gymnasium environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from bandit_envs.adapters.gymnasium.shared import (
    UNKNOWN_SEED,
    bandit_info,
    checked_environment,
    checked_render_mode,
    is_bandit,
    is_stream,
    known_seed,
    last_time_step,
    render_nothing,
)
from bandit_envs.adapters.gymnasium.spaces import (
    copy_batch,
    space_from_spec,
    split_batch,
    stack_rows,
)
from bandit_envs.base.checks import checked_mask
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Seed
from bandit_envs.trajectories import TimeStep, read_only

Step = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


class GymnasiumVectorEnv(VectorEnv[Any, Any, NDArray[Any]]):
    """An environment in Gymnasium's vectorized interface: its rows are the sub-environments.

    A LAST with discount 0 is a termination, a LAST with discount 1 a truncation. What follows is
    for `autoreset_mode` to say:

        NEXT_STEP    the next `step` resets the row: its action is ignored, its reward is 0
        SAME_STEP    the same `step` resets the row; what it ended with is in the infos, under
                     `final_obs` and `final_info`
        DISABLED     the row is not stepped before `reset(options={"reset_mask": rows})`

    A bandit stream, which has no horizon, loses no step to this: its rows go on without a reset.
    Each of its steps is a termination and its observation starts the next episode. Only in
    NEXT_STEP, where a termination announces a step without a reward, it is one endless episode.

    The infos of a bandit whose expected rewards are known have, with masks, the `best_arm` [B] and
    the `expected_rewards` [B, K] of the state that the observation was made in; they are read-only.

    There is one random stream, for all rows. No later call changes what was returned.

    Shapes:
        B: the environment's batch size, `num_envs`.

    Args:
        env: what to adapt.
        autoreset_mode: an `AutoresetMode`, or its value.
        render_mode: "rgb_array" or "ansi"; None to show nothing.

    Attributes:
        env: the environment adapted.
        reward_range: the smallest and the largest reward.

    Raises:
        TypeError: `env` is no `PyEnvironment`.
        ValueError: `autoreset_mode` or `render_mode` is another one.

    Source: Gymnasium's `VectorEnv` and its page on autoreset modes.

    >>> from bandit_envs import KArmedTestbed
    >>> env = GymnasiumVectorEnv(KArmedTestbed(k=3, batch_size=2, horizon=100))
    >>> observations, infos = env.reset(seed=0)
    >>> observations, rewards, terminations, truncations, infos = env.step(infos["best_arm"])
    >>> rewards.shape, terminations
    ((2,), array([False, False]))
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        env: PyEnvironment,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        self.env = checked_environment(env)
        self.num_envs = env.batch_size
        self.render_mode = checked_render_mode(render_mode, self.metadata)
        self.metadata = {**self.metadata, "autoreset_mode": _checked_autoreset_mode(autoreset_mode)}
        self.single_action_space = space_from_spec(env.action_spec())
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.single_observation_space = space_from_spec(env.observation_spec())
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.reward_range = env.reward_range
        self._np_random_seed = UNKNOWN_SEED
        self._no_rows = np.zeros(self.num_envs, np.bool_)
        self._all_rows = read_only(np.ones(self.num_envs, np.bool_))
        self._is_bandit = is_bandit(env)
        self._is_stream = is_stream(env)

    @property
    def _np_random(self) -> np.random.Generator:
        return self.env.np_random

    @_np_random.setter
    def _np_random(self, value: np.random.Generator) -> None:
        self.env.seed(value)

    def reset(
        self, *, seed: Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts a new episode in all rows, or in some.

        Args:
            seed: whatever `numpy.random.default_rng` takes, for all rows together; None to go on
                with the generator.
            options: may have, under "reset_mask", an array [B] bool of the rows to reset.

        Returns:
            The observations and infos of all rows.

        Raises:
            NotImplementedError: the environment cannot reset some of its rows only.
            TypeError: `seed` is no source of randomness, or the mask is no boolean array.
            ValueError: `seed` is a negative integer, the mask is not of shape [B], or it selects
                no row.
        """
        rows = self._reset_mask(options)
        if seed is not None:
            self.env.seed(seed)
            self._np_random_seed = known_seed(seed)
        time_step = self._restarted(rows)
        return self._observations(time_step), self._infos()

    def step(self, actions: Any) -> Step:
        """Takes one action in every row.

        Args:
            actions: [B], an element of `action_space`.

        Returns:
            The observations, and [B] each the rewards, whether the episode has terminated, and
            whether it was truncated; and the infos.

        Raises:
            NotImplementedError: some rows have ended and others not, and the environment cannot
                reset some of its rows only.
            ResetNeeded: there has been no `reset` yet; or, with DISABLED, a row has ended.
            TypeError: `actions` is of a wrong type. Nothing has changed.
            ValueError: `actions` is no element of `action_space`. Nothing has changed.
        """
        mode = self.metadata["autoreset_mode"]
        current = last_time_step(self.env)
        ended = self._no_rows if self._is_stream else current.is_last()
        if not ended.any():
            time_step = self.env.step(self._batch(actions))
        elif mode is AutoresetMode.DISABLED:
            raise ResetNeeded(f"rows {np.flatnonzero(ended)} have ended; reset them first")
        else:
            if not ended.all():
                self.env.step(self._batch(actions))
            time_step = self._restarted(ended)
        rewards = np.array(time_step.reward, np.float64)
        last = time_step.is_last()
        if not last.any():
            return self._observations(time_step), rewards, last, last.copy(), self._infos()
        terminations = last & (time_step.discount == 0.0)
        truncations = last & ~terminations
        final = {}
        if mode is AutoresetMode.SAME_STEP:
            final = self._final(time_step, last)
            if not self._is_stream:
                time_step = self._restarted(last)
        elif mode is AutoresetMode.NEXT_STEP and self._is_stream:
            terminations[:] = False
        infos = final | self._infos()
        return self._observations(time_step), rewards, terminations, truncations, infos

    def render(self) -> tuple[Any, ...] | None:
        """Returns an image or a text of every row, as `render_mode` says.

        Raises:
            NotImplementedError: the environment cannot be shown.
            ResetNeeded: there has been no `reset` yet.
        """
        if self.render_mode is None:
            render_nothing()
            return None
        last_time_step(self.env)
        return tuple(self.env.render(self.render_mode, row) for row in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        self.env.close()

    def _restarted(self, rows: NDArray[np.bool_]) -> TimeStep:
        return self.env.reset() if rows.all() else self.env.reset_rows(rows)

    def _reset_mask(self, options: dict[str, Any] | None) -> NDArray[np.bool_]:
        if options is None or "reset_mask" not in options:
            return np.ones(self.num_envs, np.bool_)
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray):
            raise TypeError(f"options['reset_mask'] is {mask!r}; expected a NumPy array")
        rows = checked_mask("options['reset_mask']", mask, (self.num_envs,))
        if not rows.any():
            raise ValueError(f"options['reset_mask'] is {mask}; expected at least one True")
        return rows

    def _batch(self, actions: Any) -> Any:
        if self._is_bandit:
            return actions
        if not self.action_space.contains(actions):
            raise ValueError(f"actions is {actions!r}; expected an element of {self.action_space}")
        return stack_rows(self.env.action_spec(), actions, self.num_envs)

    def _observations(self, time_step: TimeStep) -> Any:
        return copy_batch(self.observation_space, time_step.observation)

    def _infos(self, rows: NDArray[np.bool_] | None = None) -> dict[str, Any]:
        """Returns the infos of some rows, with zeros for the others; default: of all."""
        infos: dict[str, Any] = {}
        for key, values in bandit_info(self.env).items():
            infos[key], infos[f"_{key}"] = values, self._all_rows
            if rows is not None:
                infos[key] = np.zeros_like(values)
                infos[key][rows] = values[rows]
                infos[f"_{key}"] = rows.copy()
        return infos

    def _final(self, time_step: TimeStep, rows: NDArray[np.bool_]) -> dict[str, Any]:
        observations = split_batch(self.single_observation_space, self._observations(time_step))
        final = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(rows).tolist():
            final[row] = observations[row]
        return {
            "final_obs": final,
            "_final_obs": rows.copy(),
            "final_info": self._infos(rows),
            "_final_info": rows.copy(),
        }


def _checked_autoreset_mode(autoreset_mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(autoreset_mode)
    except ValueError:
        modes = [mode.value for mode in AutoresetMode]
        raise ValueError(f"autoreset_mode is {autoreset_mode!r}; expected one of {modes}") from None
