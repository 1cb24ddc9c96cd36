"""Environments in Gymnasium's interface. Importing this module registers their ids.

An id imports it by itself: `gymnasium.make("bandit_envs.adapters.gymnasium:bandit_envs/<id>")`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from bandit_envs import environments
from bandit_envs.adapters.adapter import Adapter, Infos, Options, RowAdapter
from bandit_envs.adapters.spaces import DistinctItems
from bandit_envs.arrays import Array, Mask
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.checks import check_integer
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.environments.registry import ENVIRONMENTS, EnvironmentEntry, find_environment
from bandit_envs.nests import Nest
from bandit_envs.seeding import Seed
from bandit_envs.specs import BoundedArraySpec
from bandit_envs.trajectories import TimeStep

__all__ = [
    "GymnasiumEnv",
    "GymnasiumVectorEnv",
    "KArmedTestbed",
    "register",
]


class SlateSpace(DistinctItems, gymnasium.spaces.MultiDiscrete):  # type: ignore[misc]
    """The space of slates, which are distinct items."""


@batch_space.register(SlateSpace)
def _batch_of_slates(space: SlateSpace, n: int = 1) -> SlateSpace:
    return SlateSpace(np.tile(space.nvec, (n, 1)))


class GymnasiumEnv(RowAdapter, gymnasium.Env[Any, Any]):  # type: ignore[misc]
    """An environment with a batch of one, in Gymnasium's interface; see `Adapter`.

    Args:
        env, render_mode, expected_rewards: as for `RowAdapter`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = GymnasiumEnv(KArmedTestbed(k=3, horizon=100), expected_rewards=True)
    >>> observation, info = env.reset(seed=0)
    >>> env.step(info["best_arm"])[2:4], env.action_space
    ((False, False), Discrete(3))
    """

    _spaces = gymnasium.spaces
    _slates = SlateSpace

    def reset(self, *, seed: Seed = None, options: Options = None) -> Any:
        result = super().reset(seed=seed, options=options)
        self._show()
        return result

    def step(self, action: Nest) -> Any:
        result = super().step(action)
        self._show()
        return result

    def _show(self) -> None:
        """Shows the environment, if the render mode is to show every step."""
        if self.render_mode == "human":
            self.render()


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

    _render_modes = ["rgb_array", "ansi"]  # noqa: RUF012
    metadata: dict[str, object] = {"render_modes": _render_modes, "render_fps": 4}  # noqa: RUF012
    _spaces = gymnasium.spaces
    _slates = SlateSpace
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

    def reset(self, *, seed: Seed = None, options: Options = None) -> Any:
        """Starts a new episode, or a new run if there is a `seed`; returns observations and infos.

        Nothing is reset or seeded if the "reset_mask" of `options` is False in every row.
        """
        mask = self._checked_mask((options or {}).get("reset_mask"))
        if not mask.all():
            return self._observed(self._env.current_time_step()), self._infos()
        if seed is not None:  # what goes on through resets, such as time, starts anew as well
            self._start_anew(seed)
        return self._observed(self._env.reset()), self._infos()

    def step(self, actions: Nest) -> Any:
        """Returns observations, rewards, terminations, truncations and infos of all rows."""
        has_ended = self._has_ended(self._env.current_time_step())
        if has_ended and self._mode is AutoresetMode.DISABLED:
            raise ResetNeeded("the episode has ended; call reset() first")
        time_step = self._env.reset() if has_ended else self._take(actions)
        rewards = self._rewards(time_step).astype(np.float64)
        last = time_step.is_last()
        terminations = last & (time_step.discount == 0.0)
        truncations = last & ~terminations
        infos: Infos = {}
        if self._mode is AutoresetMode.SAME_STEP and last.any():
            infos = self._final_infos(time_step)
            if self._has_ended(time_step):
                time_step = self._env.reset()
        elif self._mode is AutoresetMode.NEXT_STEP and self._needs_no_reset:
            terminations = np.zeros_like(terminations)
        infos |= self._infos()
        return self._observed(time_step), rewards, terminations, truncations, infos

    def render(self) -> tuple[Any, ...] | None:
        """Returns what `render` of the environment returns for each row; None without a mode."""
        if self.render_mode is None:
            return None
        return tuple(self._env.render(self.render_mode, row) for row in range(self.num_envs))

    def close_extras(self, **kwargs: object) -> None:
        self._env.close()

    def _checked_mask(self, mask: object) -> Mask:
        """Returns a mask of rows to reset, by default all; ValueError if they are not all alike."""
        checked = np.asarray(np.ones(self.num_envs, np.bool_) if mask is None else mask)
        is_mask = checked.dtype == np.bool_ and checked.shape == (self.num_envs,)
        if not is_mask or checked.any() != checked.all():
            expected = f"{self.num_envs} booleans, all alike, because rows are reset together"
            raise ValueError(f"options['reset_mask'] is {checked}; expected {expected}")
        return checked

    def _has_ended(self, time_step: TimeStep) -> bool:
        """Whether an episode that needs a reset has ended; in all rows, or NotImplementedError."""
        last = time_step.is_last()
        if self._needs_no_reset or not last.any():
            return False
        if not last.all():
            raise NotImplementedError("some rows have ended, but rows are reset together")
        return True

    def _observed(self, time_step: TimeStep) -> Nest:
        return self._batch_of(self.observation_space, time_step.observation)

    def _batch_of(self, space: Any, arrays: Nest) -> Nest:
        """Copies arrays [B, ...] into an element of the batched space."""
        if isinstance(arrays, dict):
            return {key: self._batch_of(space[key], leaf) for key, leaf in arrays.items()}
        if isinstance(arrays, (list, tuple)):
            return tuple(self._batch_of(space[i], leaf) for i, leaf in enumerate(arrays))
        return np.array(arrays, space.dtype)

    def _infos(self) -> Infos:
        return self._with_masks({**self._means()})

    def _final_infos(self, time_step: TimeStep) -> Infos:
        """Returns what infos tell of the end of an episode."""
        final = np.empty(self.num_envs, dtype=object)
        for row in range(self.num_envs):
            final[row] = self._row_of(self.single_observation_space, time_step.observation, row)
        return self._with_masks({"final_obs": final, "final_info": self._infos()})

    def _with_masks(self, infos: Infos) -> Infos:
        """Adds what Gymnasium wants beside each info: which rows have it, here all."""
        return infos | {f"_{key}": np.ones(self.num_envs, np.bool_) for key in infos}


class _ObservedTestbed(environments.KArmedTestbed):
    """The testbed, with 0 or the best arm as its observation."""

    def __init__(self, k: int = 10, observe_best_arm: bool = False, **kwargs: Any) -> None:
        kwargs.setdefault("dtype", np.float64)
        super().__init__(k, **kwargs)
        largest = k - 1 if observe_best_arm else 0
        self._observation_spec = BoundedArraySpec((), np.int32, 0, largest, "observation")
        self._nothing = None if observe_best_arm else np.zeros(self._batch_size, np.int32)

    def _observe(self, state: Array) -> Array:
        if self._nothing is not None:
            return self._nothing
        best: Array = self._known(state).optimum.action
        return best


class KArmedTestbed(GymnasiumEnv):
    """river's k-armed testbed: the same seed draws the same arms and rewards.

    A step costs what river's does, as it draws one number by the core's law; not with a render
    mode, `expected_rewards`, `drift_std` or `dtype`, nor once `env` has been read: before that, the
    state of `env` is that of the last reset.

    Args:
        k: the number of arms.
        render_mode, expected_rewards: as for `RowAdapter`.
        **kwargs: `observe_best_arm`, to observe the best arm in place of 0; and the arguments of
            `bandit_envs.KArmedTestbed`, with float64 as the default `dtype`.

    Source: river's `bandit.envs.KArmedTestbed`.

    >>> env = KArmedTestbed(k=10, observe_best_arm=True)
    >>> env.reset(seed=42)[0], env.step(arm=0)[1]
    (3, 1.1841150546172599)
    """

    n_steps = 1000

    def __init__(
        self,
        k: int = 10,
        render_mode: str | None = None,
        expected_rewards: bool = False,
        **kwargs: Any,
    ) -> None:
        self._testbed = _ObservedTestbed(k, horizon=sys.maxsize, **kwargs)
        super().__init__(self._testbed, render_mode, expected_rewards)
        self.k = self._testbed.num_actions
        is_other_law = not kwargs.keys().isdisjoint({"drift_std", "dtype"})
        self._is_slow = render_mode is not None or expected_rewards or is_other_law
        self._values: list[float] = []  # the means, if a step draws by itself

    @property
    def env(self) -> PyEnvironment:
        self._is_slow = True
        self._values = []
        return super().env

    def reset(self, *, seed: Seed = None, options: Options = None) -> Any:
        self._seen, info = super().reset(seed=seed)
        self._values = [] if self._is_slow else self._testbed.expected_rewards()[0].tolist()
        return self._seen, info

    def step(self, action: Nest = None, arm: Nest = None) -> Any:
        """As for `GymnasiumEnv`; river calls the action `arm`."""
        action = arm if action is None else action
        if type(action) in (int, np.int64) and 0 <= action < len(self._values):
            reward = self._testbed.pay(self._env.np_random, self._values[action])
            return self._seen, reward, False, False, {}
        return super().step(action)


def make_env(environment: str, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """Returns the environment of an id, for `gymnasium.make`."""
    _check_own(kwargs)
    if environment == "testbed":
        return KArmedTestbed(**kwargs)
    names = kwargs.keys() & {"render_mode", "expected_rewards"}
    options = {name: kwargs.pop(name) for name in names}
    env = _make_environment(environment, batch_size=1, horizon=sys.maxsize, arguments=kwargs)
    return GymnasiumEnv(env, **options)


make_env.metadata = GymnasiumEnv.metadata  # type: ignore[attr-defined]  # Gymnasium looks for it


def make_vector_env(
    environment: str, num_envs: int = 1, max_episode_steps: int | None = None, **kwargs: Any
) -> GymnasiumVectorEnv:
    """Returns the vectorized environment of an id, for `gymnasium.make_vec`."""
    _check_own(kwargs)
    names = kwargs.keys() & {"autoreset_mode", "render_mode", "expected_rewards"}
    options = {name: kwargs.pop(name) for name in names}
    steps = sys.maxsize if max_episode_steps is None else max_episode_steps
    env = _make_environment(environment, batch_size=num_envs, horizon=steps, arguments=kwargs)
    return GymnasiumVectorEnv(env, **options)


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


def _check_own(arguments: Mapping[str, object]) -> None:
    """Raises TypeError for an argument that Gymnasium has under another name."""
    theirs = {"horizon": "max_episode_steps", "batch_size": "num_envs, of gymnasium.make_vec"}
    for name, expected in theirs.items():
        if name in arguments:
            raise TypeError(f"{name} is not a parameter of an id; expected {expected}")


def _make_environment(
    name: str, batch_size: int, horizon: int, arguments: dict[str, Any]
) -> PyEnvironment:
    """Returns the environment of an entry of the registry, from parameters of an id."""
    entry = find_environment(name)
    make = _ObservedTestbed if name == "testbed" else _maker(entry, arguments)
    arguments.setdefault("seed", 0)
    env = make(batch_size=batch_size, horizon=horizon, **arguments)
    env.seed()
    return env


def _maker(
    entry: EnvironmentEntry, arguments: Mapping[str, object]
) -> Callable[..., PyEnvironment]:
    """Returns the preset of an entry, or its class if the arguments have some of the class alone.

    TypeError if these are some of the arguments that the class needs, but not all.
    """
    of_class = inspect.signature(entry.environment).parameters
    others = arguments.keys() - entry.parameters().keys() - entry.supplied
    alone = [argument for argument in arguments if argument in others & of_class.keys()]
    if not alone:
        preset: Callable[..., PyEnvironment] = entry.make
        return preset
    supplied = arguments.keys() | entry.supplied | {"batch_size"}
    missing = [
        name
        for name, parameter in of_class.items()
        if parameter.default is parameter.empty
        and parameter.kind is not parameter.VAR_KEYWORD
        and name not in supplied
    ]
    if missing:
        raise TypeError(
            f"{', '.join(alone)} belongs to {entry.environment.__name__}, which also needs "
            f"{', '.join(missing)}; expected these too, or only parameters of the preset: "
            f"{', '.join(entry.parameters())}"
        )
    return entry.environment


for _entry in ENVIRONMENTS.values():
    if _entry.gymnasium_id is not None:
        register(_entry.gymnasium_id, _entry.id)
