"""Environments of this package in the interface of TF-Agents."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
from tf_agents.bandits.environments import bandit_py_environment
from tf_agents.environments import py_environment, tf_environment
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.restart import start_anew
from bandit_envs.arrays import read_only
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.checks import short_repr
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest, map_structure
from bandit_envs.seeding import Seed
from bandit_envs.specs import ArraySpec, BoundedArraySpec
from bandit_envs.trajectories import TimeStep
from bandit_envs.wrappers.delays import max_delay_of

STEPPING = threading.RLock()
"""Held during the steps of adapted bandits: graphs step and read them in several threads."""


class TFAgentsEnvironment(py_environment.PyEnvironment):
    """An environment with episodes, as a `PyEnvironment` of TF-Agents; see `as_tf_agents`.

    Args:
        env: the environment. From now on, use it through this one only.
    """

    def __init__(self, env: PyEnvironment) -> None:
        # By name, as the next class in the order of a bandit's bases takes other arguments.
        py_environment.PyEnvironment.__init__(self)
        self._env = env
        self._name: str | None = env.name
        self._observation_spec = observation_spec_for_tf_agents(env)
        self._action_spec = map_structure(to_tf_agents_spec, env.action_spec())
        self._reward_spec = map_structure(to_tf_agents_spec, env.reward_spec())
        self._start = env.get_state()
        self._current_time_step = self._known_time_step()

    @property
    def batched(self) -> bool:
        """True: every array has a batch dimension."""
        return True

    @property
    def batch_size(self) -> int:
        """The number of rows."""
        return self._env.batch_size

    @property
    def name(self) -> str | None:
        """The environment's name."""
        return self._name

    def observation_spec(self) -> Nest:
        return self._observation_spec

    def action_spec(self) -> Nest:
        return self._action_spec

    def reward_spec(self) -> Nest:
        return self._reward_spec

    def discount_spec(self) -> Nest:
        return map_structure(to_tf_agents_spec, self._env.discount_spec())

    def time_step_spec(self) -> ts.TimeStep:
        return super().time_step_spec()._replace(discount=self.discount_spec())

    def should_reset(self, current_time_step: ts.TimeStep) -> bool:
        seen = TimeStep(*current_time_step)
        return bool(super().should_reset(current_time_step)) or self._env.should_reset(seen)

    def wrapped_env(self) -> PyEnvironment:
        """Returns the environment of this package."""
        return self._env

    def seed(self, seed: Seed = None) -> list[Any]:
        """Starts anew with another generator; the next `step` resets. Returns what core's does.

        What goes on through resets, such as drifting weights, starts anew as well.
        """
        used = start_anew(self._env, self._start, seed)
        self._current_time_step = self._known_time_step()
        return used

    def get_state(self) -> Any:
        """Returns the state of the environment, for `set_state` and `save_state`."""
        return self._env.get_state()

    def set_state(self, state: Any) -> None:
        """Returns to a `state` of `get_state`."""
        self._env.set_state(state)
        self._current_time_step = self._known_time_step()

    def get_info(self) -> Any:
        return self._env.get_info()

    def render(self, mode: str = "rgb_array") -> Any:
        return self._env.render(mode)

    def close(self) -> None:
        self._env.close()

    def _known_time_step(self) -> ts.TimeStep | None:
        """Returns the current time step, or None if there has been none yet."""
        try:
            return to_tf_agents_time_step(self._env.current_time_step())
        except ValueError:
            return None

    def _reset(self) -> ts.TimeStep:
        return to_tf_agents_time_step(self._env.reset())

    def _step(self, action: Nest) -> ts.TimeStep:
        return to_tf_agents_time_step(self._env.step(action))


class TFAgentsBanditEnvironment(TFAgentsEnvironment, bandit_py_environment.BanditPyEnvironment):
    """A bandit without a horizon, as a `BanditPyEnvironment` of TF-Agents; see `as_tf_agents`.

    As in TF-Agents, a subclass may override `_observe` and `_apply_action`.

    Args:
        env: as for `TFAgentsEnvironment`.
    """

    def __init__(self, env: PyEnvironment) -> None:
        if not isinstance(env, PyEnvironment) or not is_endless(env):
            expected = "expected a bandit of bandit_envs without a horizon"
            raise ValueError(f"env is {short_repr(env)}; {expected}")
        super().__init__(env)

    def _reset(self) -> ts.TimeStep:
        time_step = super()._reset()
        return self._with_own_observation(time_step)

    def _step(self, action: Nest) -> ts.TimeStep:
        if type(self)._apply_action is TFAgentsBanditEnvironment._apply_action:
            with STEPPING:
                return self._with_own_observation(super()._step(action))
        reward = self._apply_action(action)
        time_step = to_tf_agents_time_step(self._env.current_time_step())
        cast = map_structure(lambda spec, r: np.asarray(r, spec.dtype), self._reward_spec, reward)
        return self._with_own_observation(time_step._replace(reward=cast))

    def _known_time_step(self) -> ts.TimeStep | None:
        time_step = super()._known_time_step()
        return None if time_step is None else self._with_own_observation(time_step)

    def _with_own_observation(self, time_step: ts.TimeStep) -> ts.TimeStep:
        """Returns the time step, with what `_observe` returns if a subclass overrides it."""
        if type(self)._observe is TFAgentsBanditEnvironment._observe:
            return time_step
        return time_step._replace(observation=self._observe())

    def _observe(self) -> Nest:
        return with_integer_mask(self._env.current_time_step().observation)

    def _apply_action(self, action: Nest) -> Nest:
        with STEPPING:
            return self._env.step(action).reward


def as_tf_agents(env: PyEnvironment) -> TFAgentsEnvironment:
    """Returns `env` as an environment of TF-Agents.

    A bandit without a horizon becomes a `BanditPyEnvironment`, from which TF-Agents' drivers make
    episodes of one step. They recognize it in one wrapper of TF-Agents, but not in two: wrap `env`
    instead. Python drivers end by `max_episodes` only.

    Any other environment becomes a `PyEnvironment`. If it is a bandit with a horizon, a warning
    says that it is not for TF-Agents' bandit agents, which would learn from resets as from steps.

    The `mask` of an observation, if it has one, is an array of 0 and 1 (int32), as TF-Agents' own
    environments show it: most of its agents take no booleans.

    To TF-Agents, a row is a user of one problem, whom all others teach: its agents learn one model
    from the whole batch. A warning says so if the rows are problems of their own; in a
    `wrappers.OneProblem` they are not.

    Agents of TF-Agents take a reward for that of the last action. A warning says so if rewards come
    later, as those of `DelayedRewards` do.

    A `TFPyEnvironment` keeps a time step of its own, which `set_state` does not change: save and
    restore a run through `TrackableEnvironment`.

    Args:
        env: an environment of this package, or your own.

    >>> from bandit_envs import KArmedTestbed
    >>> env = as_tf_agents(KArmedTestbed(k=3, seed=0))
    >>> env.reset().is_first(), env.step(np.array([2])).is_last()
    (array([ True]), array([ True]))
    """
    warn_of_misuse(env)
    return TFAgentsBanditEnvironment(env) if is_endless(env) else TFAgentsEnvironment(env)


def remedy_for(env: Any) -> str:
    """Returns how an environment of TF-Agents becomes one of this package, for an error message."""
    if isinstance(env, TFAgentsEnvironment):
        return ", such as its wrapped_env()"
    if isinstance(env, py_environment.PyEnvironment):
        return ", such as from_tf_agents(env)"
    return ""


def warn_of_misuse(env: PyEnvironment) -> None:
    """Warns the caller of its caller of what agents of TF-Agents cannot learn from.

    Raises:
        TypeError: `env` is not an environment of this package.
    """
    if isinstance(env, (py_environment.PyEnvironment, tf_environment.TFEnvironment)):
        found = f"env is a {type(env).__name__}, which is an environment of TF-Agents already"
        raise TypeError(f"{found}; expected a PyEnvironment of bandit_envs{remedy_for(env)}")
    if not isinstance(env, PyEnvironment):
        raise TypeError(f"env is {env!r}; expected a PyEnvironment of bandit_envs")
    if env.independent_rows and env.batch_size > 1:
        warnings.warn(
            f"each of the {env.batch_size} rows of {env.name} is a problem of its own, but agents "
            "of TF-Agents learn one model from all rows; give them a OneProblem of "
            "bandit_envs.wrappers, with other wrappers around it, or a batch_size of 1",
            stacklevel=3,
        )
    if max_delay_of(env.observation_spec()) >= 0:
        warnings.warn(
            f"rewards of {env.name} come later, but agents of TF-Agents take each for that of the "
            "last action; give them the environment without DelayedRewards, or let "
            "as_policy(agent) learn through DelayedLearning in a driver of bandit_envs",
            stacklevel=3,
        )
    name = env.name
    if not is_endless(env) and is_bandit(env):
        warnings.warn(
            f"{name} has a horizon, so bandit agents of TF-Agents would also learn from the "
            "resets between episodes; give them a bandit without a horizon",
            stacklevel=3,
        )


def is_endless(env: PyEnvironment) -> bool:
    """Whether `env` is a bandit without a horizon, every step of which is an episode."""
    return is_bandit(env) and env.horizon is None


def to_tf_agents_spec(spec: ArraySpec) -> array_spec.ArraySpec:
    """Returns the spec of TF-Agents that says the same as one of this package."""
    if isinstance(spec, BoundedArraySpec):
        return array_spec.BoundedArraySpec(
            spec.shape, spec.dtype, spec.minimum, spec.maximum, spec.name
        )
    return array_spec.ArraySpec(spec.shape, spec.dtype, spec.name)


def observation_spec_for_tf_agents(env: PyEnvironment) -> Nest:
    """Returns the spec of the observations that TF-Agents sees of an environment."""
    return map_structure(to_tf_agents_spec, with_integer_mask(env.observation_spec()))


def to_tf_agents_time_step(time_step: TimeStep) -> ts.TimeStep:
    """Returns the time step of TF-Agents that says the same as one of this package."""
    step_type, reward, discount, observation = time_step
    return ts.TimeStep(step_type, reward, discount, with_integer_mask(observation))


def with_integer_mask(observation: Nest) -> Nest:
    """Returns an observation, or its spec, whose mask is one of int32 if it was one of bool."""
    if not isinstance(observation, dict) or "mask" not in observation:
        return observation
    mask = observation["mask"]
    if mask.dtype != np.bool_:
        return observation
    if isinstance(mask, ArraySpec):
        return {**observation, "mask": mask.replace(dtype=np.int32)}
    return {**observation, "mask": read_only(mask.astype(np.int32))}


def with_boolean_mask(observation: Nest) -> Nest:
    """Returns an observation of arrays whose mask is one of bool, as this package has them."""
    if not isinstance(observation, dict) or "mask" not in observation:
        return observation
    return {**observation, "mask": np.asarray(observation["mask"], np.bool_)}
