"""Environments of this package as environments of TF-Agents."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tf_agents.bandits.environments import bandit_py_environment
from tf_agents.environments import py_environment
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.specs import ArraySpec, BoundedArraySpec, Nest, map_structure
from bandit_envs.base.state import Seed
from bandit_envs.trajectories import TimeStep, read_only_time_step, termination


class Adapted(py_environment.PyEnvironment):
    """What both kinds of adapted environment share: everything is passed on to ours."""

    _current_time_step: Any

    def _adapt(self, env: PyEnvironment) -> None:
        self._env = env
        self._take_time_step()

    def wrapped_env(self) -> PyEnvironment:
        """Returns the environment of this package."""
        return self._env

    @property
    def batched(self) -> bool:
        return True

    @property
    def batch_size(self) -> int:
        return self._env.batch_size

    def seed(self, seed: Seed = None) -> list[Any]:
        return self._env.seed(seed)

    def get_state(self) -> Any:
        return self._env.get_state()

    def set_state(self, state: Any) -> None:
        self._env.set_state(state)
        self._take_time_step()

    def get_info(self) -> Any:
        return self._env.get_info()

    def render(self, mode: str = "rgb_array") -> Any:
        return self._env.render(mode)

    def close(self) -> None:
        self._env.close()

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        if self._current_time_step is not None:  # copies can be written; what we hand out cannot
            time_step = read_only_time_step(TimeStep(*self._current_time_step))
            self._current_time_step = _tf_agents_time_step(time_step)

    def _reset(self) -> Any:
        return _tf_agents_time_step(self._env.reset())

    def _step(self, action: Nest) -> Any:
        return _tf_agents_time_step(self._env.step(action))

    def _take_time_step(self) -> None:
        try:
            self._current_time_step = _tf_agents_time_step(self._env.current_time_step())
        except ValueError:  # there has been none yet
            self._current_time_step = None


class TFAgentsEnvironment(Adapted):
    """An environment with episodes, as a `PyEnvironment` of TF-Agents; see `as_tf_agents`.

    Args:
        env: of this package; from now on it should be used through this one only.
    """

    def __init__(self, env: PyEnvironment) -> None:
        super().__init__(handle_auto_reset=True)
        self._observation_spec = _tf_agents_spec(env.observation_spec())
        self._action_spec = _tf_agents_spec(env.action_spec())
        self._reward_spec = _tf_agents_spec(env.reward_spec())
        self._adapt(env)

    @property
    def name(self) -> str:
        """What the environment is called."""
        return self._env.name

    def observation_spec(self) -> Nest:
        return self._observation_spec

    def action_spec(self) -> Nest:
        return self._action_spec

    def reward_spec(self) -> Nest:
        return self._reward_spec


class TFAgentsBanditEnvironment(Adapted, bandit_py_environment.BanditPyEnvironment):
    """A bandit stream, as a `BanditPyEnvironment` of TF-Agents; see `as_tf_agents`.

    As in TF-Agents, a subclass may override `_observe` and `_apply_action`.

    Args:
        env: of this package; from now on it should be used through this one only.
    """

    def __init__(self, env: PyEnvironment) -> None:
        super().__init__(
            _tf_agents_spec(env.observation_spec()),
            _tf_agents_spec(env.action_spec()),
            _tf_agents_spec(env.reward_spec()),
            env.name,
        )
        self._adapt(env)

    def _reset(self) -> Any:
        return super()._reset()._replace(observation=self._observe())

    def _step(self, action: Nest) -> Any:
        reward = np.asarray(self._apply_action(action), self._reward_spec.dtype)
        time_step = _tf_agents_time_step(self._env.current_time_step())
        return time_step._replace(reward=reward, observation=self._observe())

    def _observe(self) -> Nest:
        return self._env.current_time_step().observation

    def _apply_action(self, action: Nest) -> NDArray[Any]:
        return self._env.step(action).reward


def as_tf_agents(env: PyEnvironment) -> TFAgentsEnvironment | TFAgentsBanditEnvironment:
    """Returns `env` as an environment of TF-Agents.

    A bandit without horizon, a stream, becomes a `BanditPyEnvironment`, from which TF-Agents'
    drivers make episodes of one step; any other environment a `PyEnvironment`, which is reset after
    a LAST. Both have TF-Agents' specs and time steps, and pass on `seed`, `get_state`, `set_state`,
    `get_info`, `render` and `close`. A `TFPyEnvironment` keeps a time step of its own: after
    `set_state`, it shows the new one from its next `step` or `reset` on.

    Wrap `env` before it is adapted, as often as you like. Around a stream, TF-Agents' drivers see
    through one wrapper of TF-Agents' own, and do not end with two; and its Python drivers end by
    `max_episodes` only. With a horizon, they all end.

    Args:
        env: an environment of this package, wrapped or not.

    Raises:
        TypeError: `env` is something else.
        ValueError: `env` is not batched.

    Source: TF-Agents' `TFPyEnvironment` and `DynamicStepDriver`, whose expectations are met.

    >>> from bandit_envs import KArmedTestbed
    >>> env = as_tf_agents(KArmedTestbed(k=3, batch_size=2, seed=0))
    >>> env.reset().is_first(), env.step(np.array([0, 2])).is_last()
    (array([ True,  True]), array([ True,  True]))
    """
    if not isinstance(env, PyEnvironment):
        raise TypeError(f"env is {env!r}; expected a PyEnvironment of bandit_envs")
    if not env.batched:
        raise ValueError(f"{env.name} is not batched; expected a batch, be it of one row")
    return TFAgentsBanditEnvironment(env) if is_stream(env) else TFAgentsEnvironment(env)


def is_stream(env: PyEnvironment) -> bool:
    """Whether `env` is a bandit without horizon: stepping on after a LAST is not a reset."""
    after_last = termination((), np.zeros(env.batch_size))
    return getattr(env, "horizon", 0) is None and not env.should_reset(after_last)


def _tf_agents_time_step(time_step: TimeStep) -> Any:
    return ts.TimeStep(*time_step)


def _tf_agents_spec(spec: Nest) -> Nest:
    def convert(leaf: ArraySpec) -> Any:
        if isinstance(leaf, BoundedArraySpec):
            return array_spec.BoundedArraySpec(
                leaf.shape, leaf.dtype, leaf.minimum, leaf.maximum, leaf.name
            )
        return array_spec.ArraySpec(leaf.shape, leaf.dtype, leaf.name)

    return map_structure(convert, spec)
