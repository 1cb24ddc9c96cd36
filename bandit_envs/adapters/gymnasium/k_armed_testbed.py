"""The k-armed testbed as river has it, one at a time and vectorized."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from bandit_envs import environments, rendering
from bandit_envs.adapters.batch_of_one import RENDER_MODES
from bandit_envs.adapters.gymnasium.shared import (
    checked_render_mode,
    horizon,
    known_seed,
    render_nothing,
)
from bandit_envs.adapters.gymnasium.vector_env import GymnasiumVectorEnv
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.checks import checked_index, checked_integer
from bandit_envs.specs import BoundedArraySpec
from bandit_envs.base.state import Seed, generator
from bandit_envs.trajectories import read_only

NO_ARMS = "KArmedTestbed has no arms yet; call reset() first"


class KArmedTestbed(gymnasium.Env[Any, Any]):
    """The k-armed testbed: the values of k arms are drawn at a reset, and stay until the next.

        q*(a) ~ N(0, 1),    R_t ~ N(q*(A_t), 1)

    It draws what `bandit_envs.KArmedTestbed(k, dtype=np.float64)` draws, and is that environment
    without the batch, which would take most of the time of a step. It never ends by itself:
    `gymnasium.make` puts a limit of `n_steps` on its episodes.

    The observation tells nothing: it is always 0. `info` has the `best_arm` and, [k] float64, the
    `expected_rewards`.

    Args:
        k: number of arms.
        observe_best_arm: whether to observe the best arm instead, as with river.
        render_mode: "rgb_array", "human" or "ansi"; None to show nothing.

    Attributes:
        k: number of arms.
        n_steps: the length of an episode made by `gymnasium.make`.
        reward_range: the smallest and the largest reward.

    Raises:
        TypeError: `k` is not an integer.
        ValueError: `k` is less than 1, or `render_mode` is another one.

    Source: river's `bandit.envs.KArmedTestbed`; Sutton & Barto, section 2.3.

    >>> env = KArmedTestbed(k=10)
    >>> observation, info = env.reset(seed=42)
    >>> observation, info["best_arm"]
    (0, 3)
    >>> env.step(0)[1]
    1.1841150546172599
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 4}  # noqa: RUF012
    n_steps = 1000
    reward_range = (-math.inf, math.inf)

    def __init__(
        self, k: int = 10, *, observe_best_arm: bool = False, render_mode: str | None = None
    ) -> None:
        self.k = checked_integer("k", k, minimum=1)
        self.render_mode = checked_render_mode(render_mode, self.metadata)
        self.action_space = gymnasium.spaces.Discrete(self.k)
        self.observation_space = gymnasium.spaces.Discrete(self.k if observe_best_arm else 1)
        self._observes_best_arm = bool(observe_best_arm)
        self._expected_rewards = np.empty(0)
        self._values: list[float] = []
        self._best_arm = 0
        self._observation = 0
        self._pulls: list[int] = []
        self._last: tuple[int, float] | None = None

    def reset(
        self, *, seed: Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Draws new arms and returns the observation and the info.

        Args:
            seed: whatever `numpy.random.default_rng` takes; None to go on with the generator.
            options: not used.

        Raises:
            TypeError: `seed` is no source of randomness.
            ValueError: `seed` is a negative integer.
        """
        if seed is not None:
            self._np_random, self._np_random_seed = generator(seed), known_seed(seed)
        self._expected_rewards = self.np_random.standard_normal(self.k)
        self._values = self._expected_rewards.tolist()
        self._best_arm = int(self._expected_rewards.argmax())
        self._observation = self._best_arm if self._observes_best_arm else 0
        self._pulls = [0] * self.k
        self._last = None
        if self.render_mode == "human":
            self.render()
        return self._observation, self._info()

    def step(
        self, action: int | None = None, arm: int | None = None
    ) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Pulls an arm.

        Args:
            action: the arm.
            arm: the same, under the name that river gives it.

        Returns:
            The observation, the reward, False and False, since it never ends, and the info.

        Raises:
            ResetNeeded: there has been no `reset` yet.
            TypeError: not exactly one of `action` and `arm` is given, or it is not an integer.
            ValueError: it is not from 0 to k - 1. Nothing has changed.
        """
        if arm is not None:
            if action is not None:
                raise TypeError(f"action is {action!r} and arm {arm!r}; expected one of the two")
            action = arm
        pulled = checked_index("action", action)
        if not 0 <= pulled < self.k:
            raise ValueError(f"action is {pulled}; expected 0 <= action < {self.k}")
        if self._np_random is None or not self._values:
            raise ResetNeeded(NO_ARMS)
        reward = self._values[pulled] + self._np_random.standard_normal()
        if self.render_mode is not None:
            self._remember(pulled, reward)
        return self._observation, reward, False, False, self._info()

    def render(self) -> Any:
        """Returns an image or a text, or shows a window, as `render_mode` says.

        Raises:
            ResetNeeded: there has been no `reset` yet.
        """
        if self.render_mode is None:
            render_nothing()
            return None
        if not self._values:
            raise ResetNeeded(NO_ARMS)
        return rendering.render(self._arms(), self.render_mode, owner=self)

    def close(self) -> None:
        rendering.close(owner=self)

    def _remember(self, action: int, reward: float) -> None:
        self._pulls[action] += 1
        self._last = action, reward
        if self.render_mode == "human":
            self.render()

    def _arms(self) -> rendering.Arms:
        action, reward = self._last or (None, None)
        return rendering.Arms(
            title=f"{self.k}-armed testbed",
            expected_rewards=self._expected_rewards,
            reward_std=1.0,
            pulls=sum(self._pulls),
            action=action,
            reward=reward,
            pulls_of_arms=self._pulls,
        )

    def _info(self) -> dict[str, Any]:
        return {"best_arm": self._best_arm, "expected_rewards": self._expected_rewards.copy()}


class _Problem(NamedTuple):
    values: NDArray[np.float64]
    best_arm: NDArray[np.int32]


class _Testbed(BanditPyEnvironment):
    """The core's testbed, but it observes as the class above does, and keeps its best arms.

    To look for them anew at every step would take a third of it.
    """

    def __init__(self, k: int, observe_best_arm: bool, batch_size: int, horizon: int) -> None:
        self._core = environments.KArmedTestbed(k, batch_size=batch_size, dtype=np.float64)
        super().__init__(
            BoundedArraySpec((), np.int32, 0, k - 1 if observe_best_arm else 0, "observation"),
            k,
            self._core.reward_spec(),
            batch_size=batch_size,
            horizon=horizon,
            name=self._core.name,
        )
        self._nothing = None if observe_best_arm else read_only(np.zeros(batch_size, np.int32))

    def optimal_action(self) -> NDArray[np.int32]:
        best_arm: NDArray[np.int32] = self._problem().best_arm
        return read_only(best_arm)

    def render(self, mode: str = "rgb_array", row: int = 0) -> Any:
        return rendering.render(rendering.arms_of(self, row, reward_std=1.0), mode, owner=self)

    def close(self) -> None:
        rendering.close(owner=self)

    def _initial_state(self, rng: np.random.Generator) -> _Problem:
        values = self._core._initial_state(rng)
        return _Problem(values, values.argmax(axis=1).astype(np.int32))

    def _observe(self, state: _Problem) -> NDArray[np.int32]:
        return state.best_arm if self._nothing is None else self._nothing

    def _expected_rewards(self, state: _Problem) -> NDArray[np.float64]:
        return state.values

    def _draw_rewards(
        self, rng: np.random.Generator, state: _Problem, action: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        return self._core._draw_rewards(rng, state.values, action)


def k_armed_testbed_vector_env(
    num_envs: int = 1,
    k: int = 10,
    *,
    observe_best_arm: bool = False,
    max_episode_steps: int | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    render_mode: str | None = None,
) -> GymnasiumVectorEnv:
    """Returns `num_envs` testbeds, vectorized.

    Args:
        num_envs: number of testbeds.
        k: number of arms of each.
        observe_best_arm: whether to observe the best arm, as in `KArmedTestbed`.
        max_episode_steps: after how many steps an episode is truncated; None for never.
        autoreset_mode: as in `GymnasiumVectorEnv`.
        render_mode: as in `GymnasiumVectorEnv`.

    Raises:
        TypeError: a number is not an integer.
        ValueError: a number is less than 1, or a mode is another one.
    """
    testbed = _Testbed(
        k,
        observe_best_arm,
        batch_size=checked_integer("num_envs", num_envs, minimum=1),
        horizon=horizon(max_episode_steps),
    )
    return GymnasiumVectorEnv(testbed, autoreset_mode, render_mode)
