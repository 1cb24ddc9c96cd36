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
from bandit_envs.adapters.spaces import Adapter, SingleAdapter, ending, to_element
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.checks import check_integer
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Seed
from bandit_envs.environments.registry import ENVIRONMENTS, find_environment
from bandit_envs.specs import BoundedArraySpec, Nest
from bandit_envs.trajectories import TimeStep
from bandit_envs.wrappers import Wrapper

MAX_EPISODE_STEPS = 1000
"""The steps in an episode of an id, unless `gymnasium.make` is told otherwise."""


class GymnasiumEnv(SingleAdapter, gymnasium.Env[Any, Any]):
    """An environment with a batch of one, in Gymnasium's interface.

    Source: Gymnasium's `Env`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = GymnasiumEnv(KArmedTestbed(k=3, horizon=100), expected_rewards=True)
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(info["best_arm"])
    >>> terminated, truncated, env.action_space
    (False, False, Discrete(3))
    """

    _spaces = gymnasium.spaces

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        _current(self._env)
        return super().step(action)

    def render(self) -> Any:
        return super().render() if _can_render(self) else None


class GymnasiumVectorEnv(Adapter, VectorEnv[Any, Any, NDArray[Any]]):
    """An environment in Gymnasium's vectorized interface: its rows are the sub-environments.

    A LAST with discount 0 is a termination, a LAST with discount 1 a truncation. One random stream
    serves all rows, and they are reset together:

        NEXT_STEP    by the next `step`, which ignores its actions and pays 0
        SAME_STEP    by the same `step`, whose infos have the `final_obs` and the `final_info`
        DISABLED     by `reset`; until then, `step` raises `ResetNeeded`

    A bandit without a horizon needs no reset: each step is a termination, and its observation
    starts the next episode. Only in NEXT_STEP, where a step without rewards would have to follow,
    it is one endless episode.

    Shapes:
        B: the environment's batch size, `num_envs`.
        K: the number of actions.

    Args:
        env: the environment to adapt.
        autoreset_mode: an `AutoresetMode`, or its value.
        render_mode: "rgb_array" or "ansi"; None to show nothing.
        expected_rewards: whether the infos of a bandit have the `best_arm` [B] and the
            `expected_rewards` [B, K] of the state that the next action meets.

    Raises:
        ValueError: a row's reward is not one number.
        NotImplementedError: from `reset`, the expected rewards are not known; from `step`, some
            rows have ended and others have not.

    Source: Gymnasium's `VectorEnv` and its page on autoreset modes.

    >>> from bandit_envs import KArmedTestbed
    >>> env = GymnasiumVectorEnv(KArmedTestbed(k=3, batch_size=2, horizon=100))
    >>> observations, infos = env.reset(seed=0)
    >>> observations, rewards, terminations, truncations, infos = env.step([0, 1])
    >>> rewards.shape, terminations
    ((2,), array([False, False]))
    """

    metadata: Any = {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}
    _spaces = gymnasium.spaces

    def __init__(
        self,
        env: PyEnvironment,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        expected_rewards: bool = False,
    ) -> None:
        self._mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self._mode}
        spaces = self._adapt(env, render_mode, expected_rewards)
        self.single_observation_space, self.single_action_space = spaces
        self.num_envs = env.batch_size
        self.observation_space, self.action_space = (batch_space(s, self.num_envs) for s in spaces)
        self._all = np.ones(self.num_envs, np.bool_)
        self._needs_no_reset = is_bandit(env) and env.horizon is None

    def reset(
        self, *, seed: Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts a new episode in all rows and returns the observations and infos.

        Args:
            seed: whatever `numpy.random.default_rng` takes, for all rows together; None to
                continue the random stream.
            options: may have a "reset_mask" [B] bool. As rows are reset together, it selects all
                of them, or none and nothing is reset.

        Raises:
            TypeError: the mask is not a boolean array.
            ValueError: the mask has a wrong shape, or selects some rows only.
        """
        mask = _check_reset_mask((options or {}).get("reset_mask", self._all), self.num_envs)
        self._seed(seed)
        time_step = self._env.reset() if mask.all() else _current(self._env)
        return self._observations(time_step), self._infos()

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        if not self._has_ended(_current(self._env)):
            time_step = self._take(actions)
        elif self._mode is AutoresetMode.DISABLED:
            raise ResetNeeded("the episode has ended; call reset() first")
        else:
            time_step = self._env.reset()
        rewards = time_step.reward.astype(np.float64)
        terminations, truncations = ending(time_step.step_type, time_step.discount)
        if self._needs_no_reset and self._mode is AutoresetMode.NEXT_STEP:
            terminations[:] = False
        infos: dict[str, Any] = {}
        if self._mode is AutoresetMode.SAME_STEP and time_step.is_last().any():
            infos = self._final(time_step)
            if self._has_ended(time_step):
                time_step = self._env.reset()
        infos |= self._infos()
        return self._observations(time_step), rewards, terminations, truncations, infos

    def render(self) -> tuple[Any, ...] | None:
        if not _can_render(self):
            return None
        return tuple(self._env.render(str(self.render_mode), row) for row in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        self._env.close()

    def _has_ended(self, time_step: TimeStep) -> bool:
        last = time_step.is_last()
        if self._needs_no_reset or not last.any():
            return False
        if not last.all():
            raise NotImplementedError(
                "some rows have ended and others not; rows are reset together"
            )
        return True

    def _observations(self, time_step: TimeStep) -> Any:
        return to_element(self._env.observation_spec(), time_step.observation)

    def _infos(self) -> dict[str, Any]:
        return self._masked(self._means())

    def _final(self, time_step: TimeStep) -> dict[str, Any]:
        spec, final = self._env.observation_spec(), np.empty(self.num_envs, dtype=object)
        for row in range(self.num_envs):
            final[row] = to_element(spec, time_step.observation, row)
        return self._masked({"final_obs": final, "final_info": self._infos()})

    def _masked(self, infos: dict[str, Any]) -> dict[str, Any]:
        """Returns infos with Gymnasium's masks of the rows that they are about."""
        return infos | {f"_{key}": self._all.copy() for key in infos}


def _current(env: PyEnvironment) -> TimeStep:
    try:
        return env.current_time_step()
    except ValueError as error:
        raise ResetNeeded(str(error)) from error


def _can_render(adapter: Adapter) -> bool:
    if adapter.render_mode is None:
        gymnasium.logger.warn("nothing is rendered: the environment has no render_mode")
        return False
    _current(adapter._env)
    return True


def _check_reset_mask(mask: Any, rows: int) -> NDArray[np.bool_]:
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise TypeError(f"options['reset_mask'] is {mask!r}; expected a boolean NumPy array")
    if mask.shape != (rows,) or (mask.any() and not mask.all()):
        raise ValueError(
            f"options['reset_mask'] is {mask}; rows are reset together: expected {rows} entries, "
            "all True or all False"
        )
    return mask


class _RiverObservation(Wrapper):
    """Observes the best arm, as river does, or always 0."""

    def __init__(self, env: environments.KArmedTestbed, observe_best_arm: bool) -> None:
        super().__init__(env, name=env.name)
        self._nothing = None if observe_best_arm else np.zeros(env.batch_size, np.int32)
        largest = env.num_actions - 1 if observe_best_arm else 0
        self._observation_spec = BoundedArraySpec((), np.int32, 0, largest, "observation")

    def observation_spec(self) -> Nest:
        return self._observation_spec

    def _map_observation(self, observation: Nest) -> Nest:
        return self._bandit().optimal_action() if self._nothing is None else self._nothing


class KArmedTestbed(GymnasiumEnv):
    """river's k-armed testbed: with one seed, the same arms and rewards. Episodes do not end.

    The observation is always 0. A step is as fast as river's as long as nothing is rendered, the
    infos are empty and nobody has asked for `env`: until then, `env` is in the state of the last
    reset, except for its generator.

    Args:
        k: number of arms.
        observe_best_arm: whether to observe the best arm, as in river.
        render_mode: as for `GymnasiumEnv`.
        expected_rewards: as for `GymnasiumEnv`.
        **arguments: as for `bandit_envs.KArmedTestbed`, except that `dtype` is float64.

    Source: river's `bandit.envs.KArmedTestbed`; Sutton & Barto, section 2.3.

    >>> env = KArmedTestbed(k=10, observe_best_arm=True)
    >>> env.reset(seed=42)[0], env.step(arm=0)[1]
    (3, 1.1841150546172599)
    """

    def __init__(
        self,
        k: int = 10,
        *,
        render_mode: str | None = None,
        expected_rewards: bool = False,
        **arguments: Any,
    ) -> None:
        env = _make("testbed", 1, None, {"k": k, **arguments})
        super().__init__(env, render_mode, expected_rewards)
        self.k = int(self.action_space.n)
        self._core = env.unwrapped
        self._is_watched = render_mode is not None or expected_rewards
        self._fast: list[float] = []

    @property
    def env(self) -> PyEnvironment:
        """The adapted environment. From now on, it takes every step."""
        self._is_watched, self._fast = True, []
        return self._env

    def reset(
        self, *, seed: Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._seen, info = super().reset(seed=seed, options=options)
        if not self._is_watched and self._core.is_gaussian:
            self._fast = self._core.expected_rewards()[0].tolist()
        return self._seen, info

    def step(
        self, action: Any = None, arm: Any = None
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Pulls an arm: `action`, or `arm` as river calls it."""
        action = arm if action is None else action
        values = self._fast
        if type(action) in (int, np.int64) and 0 <= action < len(values):
            reward = self._core.rewards_about(self._core.np_random, values[action])
            return self._seen, reward, False, False, {}
        return super().step(action)


def make_env(
    environment: str,
    *,
    render_mode: str | None = None,
    expected_rewards: bool = False,
    **arguments: Any,
) -> GymnasiumEnv:
    """Returns what `gymnasium.make` returns of an id that was registered with `register`."""
    if environment == "testbed":
        return KArmedTestbed(
            render_mode=render_mode, expected_rewards=expected_rewards, **arguments
        )
    return GymnasiumEnv(_make(environment, 1, None, arguments), render_mode, expected_rewards)


make_env.metadata = GymnasiumEnv.metadata  # by which Gymnasium knows the render modes


def make_vector_env(
    environment: str,
    num_envs: int = 1,
    *,
    max_episode_steps: int | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    render_mode: str | None = None,
    expected_rewards: bool = False,
    **arguments: Any,
) -> GymnasiumVectorEnv:
    """Returns what `gymnasium.make_vec` returns of an id that was registered with `register`."""
    env = _make(environment, num_envs, max_episode_steps, arguments)
    return GymnasiumVectorEnv(env, autoreset_mode, render_mode, expected_rewards)


def register(id: str, environment: str) -> None:  # noqa: A002
    """Registers an environment for `gymnasium.make` and `gymnasium.make_vec`.

    Their keyword arguments are the parameters of the environment, those of its class if they are
    not of its preset, `expected_rewards` and `render_mode`. An episode takes 1000 steps unless
    they get `max_episode_steps`. What a preset draws once, such as weights, it draws from `seed`,
    0 by default: one problem for all that is made of an id, which `reset(seed=...)` repeats.

    Args:
        id: such as "mine/Bernoulli-v0".
        environment: an id of `bandit_envs.environments.registry`, or your own `module:Class`.
    """
    gymnasium.register(
        id,
        entry_point=f"{__name__}:make_env",
        vector_entry_point=f"{__name__}:make_vector_env",
        max_episode_steps=MAX_EPISODE_STEPS,
        kwargs={"environment": environment},
    )


def _make(
    environment: str, num_envs: int, max_episode_steps: int | None, arguments: dict[str, Any]
) -> PyEnvironment:
    entry = find_environment(environment)
    arguments = {"seed": 0, **arguments}
    if river := environment == "testbed":
        arguments = {"dtype": np.float64, **arguments}
        observe_best_arm = arguments.pop("observe_best_arm", False)
    preset = arguments.keys() <= inspect.signature(entry.make).parameters.keys()
    # Without a limit, a horizon beyond reach: with None, every step would end an episode.
    steps = sys.maxsize if max_episode_steps is None else max_episode_steps
    env: Any = (entry.make if preset else entry.environment)(
        **arguments,
        batch_size=check_integer("num_envs", num_envs, minimum=1),
        horizon=check_integer("max_episode_steps", steps, minimum=1),
    )
    env.seed()
    return _RiverObservation(env, observe_best_arm) if river else env


for _entry in ENVIRONMENTS.values():
    _name = _entry.environment.__name__.removesuffix("PyEnvironment")
    register(f"bandit_envs/{_name}-v0", _entry.id)
