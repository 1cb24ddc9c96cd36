"""TF-Agents: our environments as its own, and drop-in replacements of its own.

from bandit_envs.adapters import tf_agents as adapter

environment = tf_py_environment.TFPyEnvironment(adapter.as_tf_agents(env))
"""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"
# ruff: noqa: E402

from __future__ import annotations

import copy
import importlib.util
import inspect
import os
import warnings
from collections.abc import Callable
from typing import Any

import gin
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

_KERAS_2 = os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("1", "true")
if not _KERAS_2 and not tf.__version__.startswith("2.15."):
    warnings.warn("set TF_USE_LEGACY_KERAS=1 before TensorFlow is imported", stacklevel=2)
elif _KERAS_2 and importlib.util.find_spec("tf_keras") is None:
    raise ImportError("unset TF_USE_LEGACY_KERAS, or install tf_keras")

from tf_agents.bandits.environments import bandit_py_environment
from tf_agents.environments import py_environment
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, is_bandit
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Seed
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.specs import ArraySpec, BoundedArraySpec, Nest, map_structure, read_only_nest
from bandit_envs.trajectories import no_reward


class TFAgentsAdapter(py_environment.PyEnvironment):
    """What both kinds of adapted environment share: everything is passed on to ours."""

    _env: PyEnvironment
    _kept: Any = None

    @property
    def _current_time_step(self) -> Any:
        """TF-Agents' memory. Whatever it hands out from here are new read-only views."""
        return None if self._kept is None else read_only_nest(self._kept)

    @_current_time_step.setter
    def _current_time_step(self, time_step: Any) -> None:
        self._kept = time_step

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
        self._adapt(self._env)

    def get_info(self) -> Any:
        return self._env.get_info()

    def render(self, mode: str = "rgb_array") -> Any:
        return self._env.render(mode)

    def close(self) -> None:
        self._env.close()

    def _adapt(self, env: PyEnvironment) -> None:
        self._env = env
        try:
            self._kept = ts.TimeStep(*env.current_time_step())
        except ValueError:  # there has been none yet
            self._kept = None

    def _reset(self) -> Any:
        return ts.TimeStep(*self._env.reset())

    def _step(self, action: Nest) -> Any:
        return ts.TimeStep(*self._env.step(action))


class TFAgentsEnvironment(TFAgentsAdapter):
    """An environment with episodes, as a `PyEnvironment` of TF-Agents; see `as_tf_agents`.

    Args:
        env: the environment; from now on, it is to be used through this one only.
    """

    def __init__(self, env: PyEnvironment) -> None:
        super().__init__(handle_auto_reset=True)
        self._adapt(env)

    @property
    def name(self) -> str:
        """The environment's name."""
        return self._env.name

    def observation_spec(self) -> Nest:
        return _tf_agents_spec(self._env.observation_spec())

    def action_spec(self) -> Nest:
        return _tf_agents_spec(self._env.action_spec())

    def reward_spec(self) -> Nest:
        return _tf_agents_spec(self._env.reward_spec())


class TFAgentsBanditEnvironment(TFAgentsAdapter, bandit_py_environment.BanditPyEnvironment):
    """A bandit without a horizon, as a `BanditPyEnvironment` of TF-Agents; see `as_tf_agents`.

    As in TF-Agents, a subclass may override `_observe` and `_apply_action`.

    Args:
        env: the environment; from now on, it is to be used through this one only.
    """

    def __init__(self, env: PyEnvironment) -> None:
        specs = (env.observation_spec(), env.action_spec(), env.reward_spec())
        super().__init__(*map(_tf_agents_spec, specs), env.name)
        self._adapt(env)

    def _reset(self) -> Any:
        return super()._reset()._replace(observation=self._observe())

    def _step(self, action: Nest) -> Any:
        reward = self._apply_action(action)
        if isinstance(self._reward_spec, array_spec.ArraySpec):
            reward = np.asarray(reward, self._reward_spec.dtype)
        time_step = ts.TimeStep(*self._env.current_time_step())
        return time_step._replace(reward=reward, observation=self._observe())

    def _observe(self) -> Nest:
        return self._env.current_time_step().observation

    def _apply_action(self, action: Nest) -> Nest:
        return self._env.step(action).reward


def as_tf_agents(env: PyEnvironment) -> TFAgentsEnvironment | TFAgentsBanditEnvironment:
    """Returns `env` as an environment of TF-Agents.

    A bandit without a horizon becomes a `BanditPyEnvironment`, from which TF-Agents' drivers make
    episodes of one step; any other environment a `PyEnvironment`, which is reset after a LAST. A
    `TFPyEnvironment` keeps a time step of its own: after `set_state`, it shows the new one from its
    next `step` or `reset` on.

    Wrap `env` before you adapt it, as often as you like. Without a horizon, TF-Agents' drivers work
    through one wrapper of TF-Agents, but do not end with two; and its Python drivers end by
    `max_episodes` only.

    Raises:
        ValueError: `env` is not batched.

    Source: TF-Agents' `TFPyEnvironment` and `DynamicStepDriver`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = as_tf_agents(KArmedTestbed(k=3, batch_size=2, seed=0))
    >>> env.reset().is_first(), env.step(np.array([0, 2])).is_last()
    (array([ True,  True]), array([ True,  True]))
    """
    if not isinstance(env, PyEnvironment):
        raise TypeError(f"env is {env!r}; expected a PyEnvironment of bandit_envs")
    if not env.batched:
        raise ValueError(f"{env.name} is not batched; expected a batch, be it of one row")
    return TFAgentsBanditEnvironment(env) if _has_no_horizon(env) else TFAgentsEnvironment(env)


def drop_in(core_class: type[BanditPyEnvironment]) -> type[TFAgentsBanditEnvironment]:
    """Returns the replacement of TF-Agents' environment of the same name and signature.

    A script of TF-Agents runs with its import changed. As there, an action beyond `num_actions` is
    rewarded like any other. gin configures the class under its bare name.
    """
    name = core_class.__name__
    parameters = inspect.signature(core_class).parameters
    signature = inspect.Signature([parameters[key] for key in parameters if key != "horizon"])

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        arguments = signature.bind(*args, **kwargs).arguments
        TFAgentsBanditEnvironment.__init__(self, self.core(**arguments))
        self._name = arguments.get("name", self._name)

    self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    init.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[self, *signature.parameters.values()]
    )
    core = type(name, (core_class,), {"_check_available": lambda self, action: None})
    text = f"TF-Agents' environment of this name; see `{core_class.__module__}.{name}`."
    # Without a module, gin takes the bare name.
    members = {"__init__": init, "__doc__": text, "__module__": None, "core": core}
    replacement = gin.configurable(type(name, (TFAgentsBanditEnvironment,), members))
    replacement.__module__ = core.__module__ = __name__
    core.__qualname__ = f"{name}.core"  # where pickle finds it
    return replacement


globals().update({e.upstream: drop_in(e.environment) for e in ENVIRONMENTS.values() if e.upstream})


def optimal_reward_fn(env: Any) -> Callable[[Nest], tf.Tensor]:
    """Returns the baseline of TF-Agents' `RegretMetric`: the largest expected reward of each row.

    If the observation determines the expected rewards, it is a function of any observation, as in a
    per-arm environment. If not, it is what is optimal now. If that changes from step to step,
    calling the baseline is an error, as TensorFlow may call it before or after the step.

    Args:
        env: a bandit without a horizon, adapted or not.

    Raises:
        TypeError: `env` is something else, such as a `TFPyEnvironment`.
        ValueError: `env` has a horizon: the resets would count as steps.
        NotImplementedError: the expected rewards are not known.
    """
    return _baseline(env, "optimal_reward", np.float32, lambda means: means.max(axis=1))


def optimal_action_fn(env: Any) -> Callable[[Nest], tf.Tensor]:
    """Returns the baseline of TF-Agents' `SuboptimalArmsMetric`: an optimal action of each row.

    Of several, it is the first. All else is as for `optimal_reward_fn`.
    """
    return _baseline(env, "optimal_action", np.int32, lambda means: means.argmax(axis=1))


def _baseline(
    env: Any, key: str, dtype: Any, best: Callable[[NDArray[Any]], NDArray[Any]]
) -> Callable[[Nest], tf.Tensor]:
    bandit: Any = env.wrapped_env() if isinstance(env, TFAgentsAdapter) else env
    if not isinstance(bandit, PyEnvironment):
        raise TypeError(f"env is {env!r}; expected an environment of bandit_envs, adapted or not")
    if not _has_no_horizon(bandit):
        raise ValueError(f"{bandit.name} has a horizon; expected a bandit without one")
    spec = bandit.observation_spec()

    def of_observation(*leaves: NDArray[Any]) -> NDArray[Any]:
        means = bandit.expected_rewards_for(tf.nest.pack_sequence_as(spec, leaves))
        return best(means).astype(dtype)

    def of_present(*leaves: NDArray[Any]) -> NDArray[Any]:
        optimum: NDArray[Any] = getattr(bandit, key)()
        info = bandit.get_info()
        if info is not None and not np.array_equal(info[key], optimum):
            raise ValueError(f"the {key} of {bandit.name} changes from step to step")
        return optimum.astype(dtype)

    function = of_observation
    try:
        bandit.expected_rewards_for(no_reward(spec, 1))
    except NotImplementedError:
        function = of_present
        probe = copy.deepcopy(bandit)
        probe.reset()
        probe.optimal_reward()  # raises NotImplementedError if it is not known

    def baseline(observation: Nest) -> tf.Tensor:
        best_of_rows = tf.numpy_function(function, tf.nest.flatten(observation), dtype)
        best_of_rows.set_shape([None])
        return best_of_rows

    return baseline


def _has_no_horizon(env: PyEnvironment) -> bool:
    return is_bandit(env) and env.horizon is None


def _tf_agents_spec(spec: Nest) -> Nest:
    def convert(leaf: ArraySpec) -> Any:
        if isinstance(leaf, BoundedArraySpec):
            bounds = leaf.minimum, leaf.maximum
            return array_spec.BoundedArraySpec(leaf.shape, leaf.dtype, *bounds, leaf.name)
        return array_spec.ArraySpec(leaf.shape, leaf.dtype, leaf.name)

    return map_structure(convert, spec)
