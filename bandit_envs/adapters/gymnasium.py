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

from bandit_envs.adapters.spaces import Adapter, ending
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.checks import check_integer
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Seed
from bandit_envs.environments.registry import ENVIRONMENTS, find_environment
from bandit_envs.specs import BoundedArraySpec, Nest
from bandit_envs.trajectories import TimeStep
from bandit_envs.wrappers import Wrapper


class GymnasiumAdapter(Adapter):
    """What the single and the vectorized environments share."""

    _spaces = gymnasium.spaces
    _has_started = False

    def render(self) -> Any:
        if self.render_mode is None:
            gymnasium.logger.warn("nothing is rendered: the environment has no render_mode")
            return None
        self._check_started()
        frames = [self._env.render(self.render_mode, row) for row in range(self._env.batch_size)]
        return frames[0] if self._takes_one_row else tuple(frames)

    def _check_started(self) -> None:
        if not self._has_started:
            try:
                self._env.current_time_step()
            except ValueError as error:
                raise ResetNeeded(str(error)) from error
            self._has_started = True


class GymnasiumEnv(GymnasiumAdapter, gymnasium.Env[Any, Any]):
    """An environment with a batch of one, in Gymnasium's interface; see `Adapter`.

    Source: Gymnasium's `Env`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = GymnasiumEnv(KArmedTestbed(k=3, horizon=100), expected_rewards=True)
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(info["best_arm"])
    >>> terminated, truncated, env.action_space
    (False, False, Discrete(3))
    """

    def reset(self, *, seed: Seed = None, options: dict[str, Any] | None = None) -> Any:
        return self._shown(super().reset(seed=seed, options=options))

    def step(self, action: Any) -> Any:
        self._check_started()
        return self._shown(super().step(action))

    def _shown(self, result: Any) -> Any:
        if self.render_mode == "human":
            self.render()
        return result


class GymnasiumVectorEnv(GymnasiumAdapter, VectorEnv[Any, Any, NDArray[Any]]):
    """An environment in Gymnasium's vectorized interface: its rows are the sub-environments.

    Rows share one random stream, end together and are reset together:

        NEXT_STEP    by the next `step`, which ignores its actions and pays 0
        SAME_STEP    by the same `step`, whose infos have the `final_obs` and the `final_info`
        DISABLED     by `reset`; until then, `step` raises `ResetNeeded`

    A bandit without a horizon needs no reset: each step is a termination, and its observation
    starts the next episode. Only in NEXT_STEP, where a step without rewards would have to follow,
    it is one endless episode.

    Args:
        env: the environment to adapt, with a batch of any size.
        autoreset_mode: an `AutoresetMode`, or its value.
        render_mode: "rgb_array" or "ansi"; None to show nothing.
        expected_rewards: as for `GymnasiumEnv`; the infos have them for all rows.

    Raises:
        NotImplementedError: from `step`, some rows have ended and others have not.

    Source: Gymnasium's `VectorEnv` and its page on autoreset modes.

    >>> from bandit_envs import KArmedTestbed
    >>> env = GymnasiumVectorEnv(KArmedTestbed(k=3, batch_size=2, horizon=100))
    >>> observations, infos = env.reset(seed=0)
    >>> observations, rewards, terminations, truncations, infos = env.step([0, 1])
    >>> rewards.shape, terminations
    ((2,), array([False, False]))
    """

    metadata: Any = {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}  # noqa: RUF012
    _takes_one_row = False
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
        self._resets_itself = is_bandit(env) and self._mode is AutoresetMode.NEXT_STEP

    def reset(self, *, seed: Seed = None, options: dict[str, Any] | None = None) -> Any:
        """Starts a new episode in all rows and returns their observations and infos.

        Args:
            seed: whatever `numpy.random.default_rng` takes, for all rows together.
            options: may have a "reset_mask" [B] bool. As rows are reset together, it selects all
                of them, or none, and then nothing is reset.
        """
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_))
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options['reset_mask'] is {mask!r}; expected a boolean NumPy array")
        if mask.shape != (self.num_envs,) or mask.any() != mask.all():
            raise ValueError(
                f"options['reset_mask'] is {mask}; expected all of {self.num_envs} rows or none, "
                "as they are reset together"
            )
        self._seed(seed)
        if not mask.all():
            self._check_started()
        time_step = self._env.reset() if mask.all() else self._env.current_time_step()
        return self._copied(self.observation_space, time_step.observation), self._infos()

    def step(self, actions: Any) -> Any:
        self._check_started()
        if self._resets_itself or not self._has_ended(self._env.current_time_step()):
            time_step = self._take(actions)
        elif self._mode is AutoresetMode.DISABLED:
            raise ResetNeeded("the episode has ended; call reset() first")
        else:
            time_step = self._env.reset()
        rewards = time_step.reward.astype(np.float64)
        terminations, truncations = ending(time_step.step_type, time_step.discount)
        infos: dict[str, Any] = {}
        if self._mode is AutoresetMode.SAME_STEP and time_step.is_last().any():
            infos = self._final(time_step)
            if self._has_ended(time_step):
                time_step = self._env.reset()
        elif self._mode is AutoresetMode.NEXT_STEP and self._needs_no_reset:
            terminations[:] = False
        observations = self._copied(self.observation_space, time_step.observation)
        return observations, rewards, terminations, truncations, infos | self._infos()

    def close_extras(self, **kwargs: Any) -> None:
        self._env.close()

    def _has_ended(self, time_step: TimeStep) -> bool:
        if self._needs_no_reset or not (last := time_step.is_last()).any():
            return False
        if not last.all():
            raise NotImplementedError("some rows have ended and others not; rows reset together")
        return True

    def _infos(self) -> dict[str, Any]:
        return self._masked(self._means())

    def _final(self, time_step: TimeStep) -> dict[str, Any]:
        final = np.empty(self.num_envs, dtype=object)
        for row in range(self.num_envs):
            final[row] = self._copied(self.single_observation_space, time_step.observation, row)
        return self._masked({"final_obs": final, "final_info": self._infos()})

    def _masked(self, infos: dict[str, Any]) -> dict[str, Any]:
        return infos | {f"_{key}": np.ones(self.num_envs, np.bool_) for key in infos}


class _RiverObservation(Wrapper):
    """Observes the best arm, as river does, or always 0."""

    def __init__(self, env: PyEnvironment, observe_best_arm: bool) -> None:
        super().__init__(env, name=env.name)
        self._nothing = None if observe_best_arm else np.zeros(env.batch_size, np.int32)
        largest = self.num_actions - 1 if observe_best_arm else 0
        self._spec = BoundedArraySpec((), np.int32, 0, largest, "observation")

    def observation_spec(self) -> Nest:
        return self._spec

    def _map_observation(self, observation: Nest) -> Nest:
        return self._bandit().optimal_action() if self._nothing is None else self._nothing


class KArmedTestbed(GymnasiumEnv):
    """river's k-armed testbed: with one seed, the same arms and rewards. It never ends by itself.

    It observes 0. A step is as fast as river's, as it draws a number in place of an array, unless
    it is rendered, `info` has the means, arms drift or `env` has been read. Until it is read, `env`
    stays in the state of the last reset, except for its generator.

    Args:
        k: number of arms.
        render_mode, expected_rewards: as for `GymnasiumEnv`.
        **kwargs: as for `bandit_envs.KArmedTestbed`, with float64 as `dtype`; and
            `observe_best_arm`, to observe the best arm, as in river.

    Source: river's `bandit.envs.KArmedTestbed`.

    >>> env = KArmedTestbed(k=10, observe_best_arm=True)
    >>> env.reset(seed=42)[0], env.step(arm=0)[1]
    (3, 1.1841150546172599)
    """

    n_steps = 1000

    def __init__(
        self, k: int = 10, render_mode: Any = None, expected_rewards: bool = False, **kwargs: Any
    ) -> None:
        env = _make("testbed", 1, None, {"k": k, **kwargs})
        super().__init__(env, render_mode, expected_rewards)
        self.k = int(self.action_space.n)
        self._core: Any = env.unwrapped
        self._values: list[float] = []
        slow = render_mode or expected_rewards or kwargs.keys() & {"drift_std", "dtype"}
        self._is_fast = not slow

    @property
    def env(self) -> PyEnvironment:
        self._is_fast, self._values = False, []
        return self._env

    def reset(self, *, seed: Seed = None, options: dict[str, Any] | None = None) -> Any:
        self._seen, info = super().reset(seed=seed, options=options)
        self._values = self._core.expected_rewards()[0].tolist() if self._is_fast else []
        return self._seen, info

    def step(self, action: Any = None, arm: Any = None) -> Any:
        """As `GymnasiumEnv.step`; river calls the action `arm`."""
        action = arm if action is None else action
        if type(action) in (int, np.int64) and 0 <= action < len(self._values):
            reward = self._core.pay(self._core.np_random, self._values[action])
            return self._seen, reward, False, False, {}
        return super().step(action)


def make_env(environment: str, **kwargs: Any) -> GymnasiumEnv:
    """Returns the environment of an id, for `gymnasium.make`."""
    if environment == "testbed":
        return KArmedTestbed(**kwargs)
    own = {key: kwargs.pop(key) for key in ("render_mode", "expected_rewards") if key in kwargs}
    return GymnasiumEnv(_make(environment, 1, None, kwargs), **own)


make_env.metadata = GymnasiumEnv.metadata  # type: ignore[attr-defined]  # Gymnasium looks for it


def make_vector_env(
    environment: str, num_envs: int = 1, max_episode_steps: int | None = None, **kwargs: Any
) -> GymnasiumVectorEnv:
    """Returns the vectorized environment of an id, for `gymnasium.make_vec`."""
    names = ("autoreset_mode", "render_mode", "expected_rewards")
    own = {key: kwargs.pop(key) for key in names if key in kwargs}
    return GymnasiumVectorEnv(_make(environment, num_envs, max_episode_steps, kwargs), **own)


def register(id: str, environment: str, max_episode_steps: int = 1000) -> None:  # noqa: A002
    """Registers an environment, for `gymnasium.make` and `gymnasium.make_vec`.

    These take the parameters of its preset, or of its class. What a preset draws once, such as
    weights, comes from its parameter `seed`, 0 by default: an id stands for one problem.

    Args:
        id: such as "mine/Bernoulli-v0".
        environment: an id of `bandit_envs.environments.registry`, or your own `module:Class`.
        max_episode_steps: the steps in an episode.
    """
    gymnasium.register(
        id,
        entry_point=f"{__name__}:make_env",
        vector_entry_point=f"{__name__}:make_vector_env",
        max_episode_steps=max_episode_steps,
        kwargs={"environment": environment},
    )


def _make(name: str, batch_size: int, steps: int | None, kwargs: dict[str, Any]) -> PyEnvironment:
    entry, is_river = find_environment(name), name == "testbed"
    arguments = {"seed": 0, **({"dtype": np.float64} if is_river else {}), **kwargs}
    observes_best_arm = is_river and arguments.pop("observe_best_arm", False)
    fits = arguments.keys() <= inspect.signature(entry.make).parameters.keys()
    env: Any = (entry.make if fits else entry.environment)(
        batch_size=check_integer("num_envs", batch_size, minimum=1),
        horizon=sys.maxsize if steps is None else steps,  # None would end an episode at each step
        **arguments,
    )
    env.seed()
    return _RiverObservation(env, observes_best_arm) if is_river else env


for _entry in ENVIRONMENTS.values():
    _name = _entry.environment.__name__.removesuffix("PyEnvironment")
    register(f"bandit_envs/{_name}-v0", _entry.id)
