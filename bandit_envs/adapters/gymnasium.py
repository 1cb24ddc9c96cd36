"""Environments in Gymnasium's interface. Importing this module registers their ids.

An id imports it by itself: `gymnasium.make("bandit_envs.adapters.gymnasium:bandit_envs/<id>")`.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from bandit_envs import environments
from bandit_envs.adapters.spaces import Adapter, ending, slates
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.checks import check_integer
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.environments.registry import ENVIRONMENTS, find_environment
from bandit_envs.seeding import Seed
from bandit_envs.specs import BoundedArraySpec
from bandit_envs.trajectories import TimeStep


@batch_space.register(slates(gymnasium.spaces))
def _batch_of_slates(space: Any, n: int = 1) -> Any:
    return type(space)(np.tile(space.nvec, (n, 1)))


class GymnasiumEnv(Adapter, gymnasium.Env[Any, Any]):  # type: ignore[misc]
    """An environment with a batch of one, in Gymnasium's interface; see `Adapter`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = GymnasiumEnv(KArmedTestbed(k=3, horizon=100), expected_rewards=True)
    >>> observation, info = env.reset(seed=0)
    >>> env.step(info["best_arm"])[2:4], env.action_space
    ((False, False), Discrete(3))
    """

    _spaces = gymnasium.spaces

    def reset(self, *, seed: Seed = None, options: dict[str, Any] | None = None) -> Any:
        return self._shown(super().reset(seed=seed, options=options))

    def step(self, action: Any) -> Any:
        return self._shown(super().step(action))

    def _shown(self, result: Any) -> Any:
        if self.render_mode == "human":
            self.render()
        return result


class GymnasiumVectorEnv(Adapter, VectorEnv[Any, Any, Any]):  # type: ignore[misc]
    """A batch in Gymnasium's vectorized interface: its rows are the sub-environments.

    Rows share one random stream and end together; `step` raises NotImplementedError if they do not.
    `autoreset_mode` says what resets them: NEXT_STEP, SAME_STEP, or DISABLED for nothing. A bandit
    without a horizon needs no reset: every step is a termination, except in NEXT_STEP, which would
    lose every other step to a reset.

    Args:
        env, expected_rewards: as for `Adapter`, with a batch of any size.
        autoreset_mode: an `AutoresetMode`, or its value.
        render_mode: "rgb_array" or "ansi"; None to show nothing.

    >>> from bandit_envs import KArmedTestbed
    >>> env = GymnasiumVectorEnv(KArmedTestbed(k=3, batch_size=2, horizon=100))
    >>> observations, infos = env.reset(seed=0)
    >>> env.step([0, 1])[1].shape
    (2,)
    """

    metadata: Any = {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}  # noqa: RUF012
    _spaces = gymnasium.spaces
    _row = None
    close = VectorEnv.close

    def __init__(
        self,
        env: PyEnvironment,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        expected_rewards: bool = False,
    ) -> None:
        super().__init__(env, render_mode, expected_rewards)
        self._mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self._mode}
        self.num_envs = env.batch_size
        self.single_observation_space = self.observation_space
        self.single_action_space = self.action_space
        self.observation_space = batch_space(self.observation_space, self.num_envs)
        self.action_space = batch_space(self.action_space, self.num_envs)
        self._needs_no_reset = is_bandit(env) and env.horizon is None

    def reset(self, *, seed: Seed = None, options: dict[str, Any] | None = None) -> Any:
        """Starts a new episode in all rows; in none if the "reset_mask" of `options` is False."""
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_)))
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or mask.any() != mask.all():
            expected = f"{self.num_envs} booleans, all alike, because rows are reset together"
            raise ValueError(f"options['reset_mask'] is {mask}; expected {expected}")
        if mask.all():
            return super().reset(seed=seed)
        self._seed(seed)
        return self._observed(self._env.current_time_step()), self._info()

    def step(self, actions: Any) -> Any:
        is_over = self._has_ended(self._env.current_time_step())
        if is_over and self._mode is AutoresetMode.DISABLED:
            raise ResetNeeded("the episode has ended; call reset() first")
        time_step = self._env.reset() if is_over else self._take(actions)
        rewards = self._paid(time_step).astype(np.float64)
        terminations, truncations = ending(time_step.step_type, time_step.discount)
        infos: dict[str, Any] = {}
        if self._mode is AutoresetMode.SAME_STEP and time_step.is_last().any():
            infos = self._final(time_step)
            if self._has_ended(time_step):
                time_step = self._env.reset()
        elif self._mode is AutoresetMode.NEXT_STEP and self._needs_no_reset:
            terminations[:] = False
        infos |= self._info()
        return self._observed(time_step), rewards, terminations, truncations, infos

    def render(self) -> Any:
        rows, mode = range(self.num_envs), self.render_mode
        return None if mode is None else tuple(self._env.render(mode, row) for row in rows)

    def close_extras(self, **kwargs: Any) -> None:
        self._env.close()

    def _has_ended(self, time_step: TimeStep) -> bool:
        if self._needs_no_reset or not (last := time_step.is_last()).any():
            return False
        if not last.all():
            raise NotImplementedError("some rows have ended, but rows are reset together")
        return True

    def _info(self) -> dict[str, Any]:
        return self._masked(self._means())

    def _final(self, time_step: TimeStep) -> dict[str, Any]:
        final = np.empty(self.num_envs, dtype=object)
        for row in range(self.num_envs):
            final[row] = self._copied(self.single_observation_space, time_step.observation, row)
        return self._masked({"final_obs": final, "final_info": self._info()})

    def _masked(self, infos: dict[str, Any]) -> dict[str, Any]:
        return infos | {f"_{key}": np.ones(self.num_envs, np.bool_) for key in infos}


class _ObservedTestbed(environments.KArmedTestbed):
    """The testbed, with 0 or the best arm as its observation."""

    def __init__(self, k: int = 10, observe_best_arm: bool = False, **kwargs: Any) -> None:
        super().__init__(k, **{"dtype": np.float64, **kwargs})
        largest = k - 1 if observe_best_arm else 0
        self._observation_spec = BoundedArraySpec((), np.int32, 0, largest, "observation")
        self._nothing = None if observe_best_arm else np.zeros(self._batch_size, np.int32)

    def _observe(self, state: NDArray[Any]) -> NDArray[Any]:
        return self._find_optimum(state)[0] if self._nothing is None else self._nothing


class KArmedTestbed(GymnasiumEnv):
    """river's k-armed testbed: the same seed draws the same arms and rewards.

    A step costs what river's does, as it draws one number by the core's law; not with a render
    mode, `expected_rewards`, `drift_std` or `dtype`, nor once `env` has been read: before that, the
    state of `env` is that of the last reset.

    Args:
        **kwargs: `observe_best_arm`, to observe the best arm in place of 0; and the arguments of
            `bandit_envs.KArmedTestbed`, with float64 as the default `dtype`.

    Source: river's `bandit.envs.KArmedTestbed`.

    >>> env = KArmedTestbed(k=10, observe_best_arm=True)
    >>> env.reset(seed=42)[0], env.step(arm=0)[1]
    (3, 1.1841150546172599)
    """

    n_steps = 1000

    def __init__(
        self, k: int = 10, render_mode: Any = None, expected_rewards: bool = False, **kwargs: Any
    ) -> None:
        env = _ObservedTestbed(k, horizon=sys.maxsize, **kwargs)
        super().__init__(env, render_mode, expected_rewards)
        self.k = env.num_actions
        self._is_slow = render_mode or expected_rewards or kwargs.keys() & {"drift_std", "dtype"}
        self._values: list[float] = []

    @property
    def env(self) -> Any:
        self._is_slow, self._values = True, []
        return super().env

    def reset(self, *, seed: Seed = None, options: dict[str, Any] | None = None) -> Any:
        self._seen, info = super().reset(seed=seed)
        self._values = [] if self._is_slow else self._env.expected_rewards()[0].tolist()
        return self._seen, info

    def step(self, action: Any = None, arm: Any = None) -> Any:
        """As for `GymnasiumEnv`; river calls the action `arm`."""
        action = arm if action is None else action
        if type(action) in (int, np.int64) and 0 <= action < len(self._values):
            reward = self._env.pay(self._env.np_random, self._values[action])
            return self._seen, reward, False, False, {}
        return super().step(action)


def make_env(environment: str, **kwargs: Any) -> Any:
    """Returns the environment of an id, for `gymnasium.make`."""
    if environment == "testbed":
        return KArmedTestbed(**kwargs)
    return _make(GymnasiumEnv, environment, 1, sys.maxsize, kwargs)


make_env.metadata = GymnasiumEnv.metadata  # type: ignore[attr-defined]  # Gymnasium looks for it


def make_vector_env(
    environment: str, num_envs: int = 1, max_episode_steps: int | None = None, **kwargs: Any
) -> Any:
    """Returns the vectorized environment of an id, for `gymnasium.make_vec`."""
    steps = sys.maxsize if max_episode_steps is None else max_episode_steps
    return _make(GymnasiumVectorEnv, environment, num_envs, steps, kwargs)


def register(id: str, environment: str, max_episode_steps: int = 1000) -> None:  # noqa: A002
    """Registers an environment for `gymnasium.make` and `gymnasium.make_vec`.

    These take the parameters of its preset, or of its class. What a preset draws once, such as
    weights, depends on the parameter `seed` only, 0 by default: an id stands for one problem.

    Args:
        id: such as "mine/Bernoulli-v0".
        environment: an id of `bandit_envs.environments.registry`, or your own `module:Class`.
        max_episode_steps: the steps in an episode.
    """
    gymnasium.register(
        id,
        entry_point=f"{__name__}:make_env",
        vector_entry_point=f"{__name__}:make_vector_env",
        max_episode_steps=check_integer("max_episode_steps", max_episode_steps, minimum=1),
        kwargs={"environment": find_environment(environment).id},
    )


def _make(adapter: Any, name: str, num_envs: int, horizon: int, kwargs: dict[str, Any]) -> Any:
    arguments: dict[str, Any] = {"seed": 0, **kwargs}
    names = arguments.keys() & {"autoreset_mode", "render_mode", "expected_rewards"}
    options = {key: arguments.pop(key) for key in names}
    entry = find_environment(name)
    of_class = inspect.signature(entry.environment).parameters.keys() - entry.parameters().keys()
    make: Any = entry.environment if arguments.keys() & (of_class - {"seed"}) else entry.make
    make = _ObservedTestbed if name == "testbed" else make
    env = make(batch_size=num_envs, horizon=horizon, **arguments)
    env.seed()
    return adapter(env, **options)


for _entry in ENVIRONMENTS.values():
    if _entry.gymnasium_id is not None:
        register(_entry.gymnasium_id, _entry.id)
