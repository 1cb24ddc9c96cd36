"""What the adapters to Gymnasium, gym and rlberry share. It imports none of them."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from bandit_envs.adapters.restart import start_anew
from bandit_envs.adapters.spaces import space_from_spec, space_of_actions, to_arrays
from bandit_envs.arrays import Array
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.checks import short_repr
from bandit_envs.base.known_means import KnownMeans
from bandit_envs.base.py_environment import PyEnvironment, check_environment
from bandit_envs.nests import Nest
from bandit_envs.seeding import Seed, seed_of
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import TimeStep

__all__ = [
    "Adapter",
    "RowAdapter",
]

Options: TypeAlias = Mapping[str, object] | None
"""The options of a reset."""

Infos: TypeAlias = dict[str, object]
"""What is told beside a time step."""


class Adapter:
    """Base of the adapters to Gymnasium's interface.

    A LAST with discount 0 is `terminated`, a LAST with discount 1 `truncated`. So without a horizon
    every step of a bandit is `terminated`, and the next action is chosen from its observation. Give
    a testbed a horizon if something resets it after each episode: a reset draws new arms. The
    caller may write into what is returned. A slate whose reward is a vector pays its sum.

    Args:
        env: the environment to adapt; a reward is one number.
        render_mode: "rgb_array", "human" or "ansi"; None to show nothing.
        expected_rewards: whether infos have the `best_arm` and the `expected_rewards` [K] of the
            state that the next action meets; if they are unknown, `reset` raises
            NotImplementedError.
    """

    _render_modes = ["rgb_array", "human", "ansi"]  # noqa: RUF012 - Gymnasium wants a list
    metadata: dict[str, object] = {"render_modes": _render_modes, "render_fps": 4}  # noqa: RUF012
    _spaces: ModuleType
    _slates: type

    def __init__(
        self, env: PyEnvironment, render_mode: str | None = None, expected_rewards: bool = False
    ) -> None:
        super().__init__()
        check_environment(env)
        spec = env.reward_spec()
        kind = env.action_kind
        self._sums = kind.is_slate and len(getattr(spec, "shape", ())) == 1
        if not isinstance(spec, ArraySpec) or (spec.shape and not self._sums):
            expected = "one number a row, as LinearScalarization makes of vectors"
            raise ValueError(f"env has reward_spec {short_repr(spec)}; expected {expected}")
        if render_mode not in (None, *self._render_modes):
            expected = f"one of {self._render_modes}, or None"
            raise ValueError(f"render_mode is {render_mode!r}; expected {expected}")
        self._bandit: KnownMeans | None = None  # whose means infos tell
        if expected_rewards:
            if not is_bandit(env):
                expected = f"expected False, as {env.name} has none"
                raise ValueError(f"expected_rewards is True; {expected}")
            self._bandit = env
        self._env = env
        self._start = env.get_state()
        self._np_random_seed = seed_of(env.np_random)  # -1 as in Gymnasium: no integer repeats it
        self.render_mode = render_mode
        self.expected_rewards = expected_rewards
        self.reward_range = env.reward_range
        self.observation_space = space_from_spec(self._spaces, env.observation_spec())
        self.action_space = space_of_actions(self._spaces, kind, self._slates)
        # A bandit converts an action that is one array by itself.
        self._converts = not (isinstance(kind.spec, ArraySpec) and is_bandit(env))

    @property
    def env(self) -> PyEnvironment:
        """The adapted environment."""
        return self._env

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of the environment."""
        return self._env.np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._env.seed(value)
        self._np_random_seed = -1

    _np_random = np_random  # where Gymnasium's checks look for it

    def close(self) -> None:
        self._env.close()

    def _start_anew(self, seed: Seed) -> list[Any]:
        """Starts a new run from a seed, and returns what `env.seed` does."""
        used = start_anew(self._env, self._start, seed)
        self._np_random_seed = int(seed) if isinstance(seed, numbers.Integral) else -1
        return used

    def _take(self, action: Nest) -> TimeStep:
        """Takes an action, or a batch of them: an element of the action space."""
        if self._converts:
            action = to_arrays(self._env.action_spec(), action, self._env.batch_size)
        return self._env.step(action)

    def _rewards(self, time_step: TimeStep) -> Array:
        """Returns the rewards: [B]."""
        reward: Array = time_step.reward
        return self._env.action_kind.total(reward) if self._sums else reward

    def _means(self) -> dict[str, Array]:
        """Returns what infos tell of all rows: arrays [B, ...]."""
        if self._bandit is None:
            return {}
        means = self._bandit.expected_rewards().astype(np.float64)
        return {"best_arm": self._bandit.optimal_action().copy(), "expected_rewards": means}

    def _row_of(self, space: Any, arrays: Nest, row: int) -> Nest:
        """Copies one row of arrays [B, ...] into an element of a space."""
        if isinstance(arrays, dict):
            return {key: self._row_of(space[key], leaf, row) for key, leaf in arrays.items()}
        if isinstance(arrays, (list, tuple)):
            return tuple(self._row_of(space[i], leaf, row) for i, leaf in enumerate(arrays))
        if isinstance(space, self._spaces.Discrete):
            return int(arrays[row])
        return np.array(arrays[row], space.dtype)


class RowAdapter(Adapter):
    """An environment with a batch of one in Gymnasium's interface; see `Adapter`.

    Args:
        env: as for `Adapter`, with a batch of one.
        render_mode, expected_rewards: as for `Adapter`.
    """

    def __init__(
        self, env: PyEnvironment, render_mode: str | None = None, expected_rewards: bool = False
    ) -> None:
        super().__init__(env, render_mode, expected_rewards)
        if env.batch_size != 1:
            raise ValueError(f"env has batch_size {env.batch_size}; expected 1")

    def reset(self, *, seed: Seed = None, options: Options = None) -> Any:
        """Starts a new episode, or a new run if there is a `seed`; returns observation and info."""
        if seed is not None:  # what goes on through resets, such as time, starts anew as well
            self._start_anew(seed)
        return self._observed(self._env.reset()), self._info()

    def step(self, action: Nest) -> Any:
        """Returns the observation, the reward, `terminated`, `truncated` and the info."""
        time_step = self._take(action)
        is_last = time_step.step_type.item() == 2
        terminated = is_last and time_step.discount.item() == 0.0
        truncated = is_last and not terminated
        reward = self._rewards(time_step).item()
        return self._observed(time_step), reward, terminated, truncated, self._info()

    def render(self) -> Any:
        return None if self.render_mode is None else self._env.render(self.render_mode)

    def _observed(self, time_step: TimeStep) -> Nest:
        return self._row_of(self.observation_space, time_step.observation, row=0)

    def _info(self) -> Infos:
        rows = {key: values[0] for key, values in self._means().items()}
        return {key: row if row.ndim else row.item() for key, row in rows.items()}
