"""TF-Agents: our environments as its own, and drop-in replacements of its own."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"
# ruff: noqa: E402

import contextlib
import importlib.util
import inspect
import os
import warnings
from collections.abc import Callable
from typing import Any

import gin
import numpy as np
import tensorflow as tf

_LEGACY = os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("1", "true")
if not _LEGACY and tuple(map(int, tf.__version__.split(".")[:2])) >= (2, 16):
    warnings.warn("set TF_USE_LEGACY_KERAS=1 before TensorFlow is imported", stacklevel=2)
elif _LEGACY and importlib.util.find_spec("tf_keras") is None:
    raise ImportError("unset TF_USE_LEGACY_KERAS, or install tf_keras", name="tf_keras")

from tf_agents.bandits.environments import bandit_py_environment
from tf_agents.environments import py_environment, tf_py_environment
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents_baselines import STEPPING, OptimumOfStep
from bandit_envs.adapters.tf_agents_movielens import movielens, movielens_per_arm
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.py_environment import PyEnvironment, read_only_time_step
from bandit_envs.base.state import Seed
from bandit_envs.environments import ranking, wheel
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.specs import ArraySpec, BoundedArraySpec, Nest, map_structure
from bandit_envs.trajectories import no_reward


class TFAgentsEnvironment(py_environment.PyEnvironment):
    """An environment with episodes, as a `PyEnvironment` of TF-Agents; see `as_tf_agents`.

    From now on, use `env` through this one only.
    """

    _upstream = bandit_py_environment.BanditPyEnvironment
    observation_spec, action_spec = _upstream.observation_spec, _upstream.action_spec
    reward_spec, name = _upstream.reward_spec, _upstream.name
    batched: Any = True

    def __init__(self, env: PyEnvironment) -> None:
        py_environment.PyEnvironment.__init__(self, handle_auto_reset=not _is_endless(env))
        specs = env.observation_spec(), env.action_spec(), env.reward_spec()
        converted = (map_structure(_converted, spec) for spec in specs)
        self._observation_spec, self._action_spec, self._reward_spec = converted
        self._name = env.name
        self._env: Any = env
        self._take_time_step()

    @property
    def _current_time_step(self) -> Any:
        """The memory of TF-Agents' methods, which hands out new read-only views each time."""
        return None if self._kept is None else read_only_time_step(self._kept)

    @_current_time_step.setter
    def _current_time_step(self, time_step: Any) -> None:
        self._kept = time_step

    @property
    def batch_size(self) -> Any:
        return self._env.batch_size

    def wrapped_env(self) -> Any:
        """Returns the environment of this package."""
        return self._env

    def seed(self, seed: Seed = None) -> Any:
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

    def _take_time_step(self) -> None:
        try:
            self._kept = ts.TimeStep(*self._env.current_time_step())
        except ValueError:  # there has been none yet
            self._kept = None

    def _reset(self) -> Any:
        return ts.TimeStep(*self._env.reset())

    def _step(self, action: Nest) -> Any:
        return ts.TimeStep(*self._env.step(action))


class TFAgentsBanditEnvironment(TFAgentsEnvironment, bandit_py_environment.BanditPyEnvironment):
    """A bandit without a horizon, as a `BanditPyEnvironment` of TF-Agents; see `as_tf_agents`.

    As in TF-Agents, a subclass may override `_observe` and `_apply_action`.
    """

    def _reset(self) -> Any:
        return super()._reset()._replace(observation=self._observe())

    def _step(self, action: Nest) -> Any:
        reward = self._apply_action(action)
        reward = map_structure(lambda s, r: np.asarray(r, s.dtype), self._reward_spec, reward)
        time_step = ts.TimeStep(*self._env.current_time_step())
        return time_step._replace(reward=reward, observation=self._observe())

    def _observe(self) -> Nest:
        return self._env.current_time_step().observation

    def _apply_action(self, action: Nest) -> Nest:
        with STEPPING:
            return self._env.step(action).reward


def as_tf_agents(env: PyEnvironment) -> TFAgentsEnvironment:
    """Returns `env` as an environment of TF-Agents.

    A bandit without a horizon becomes a `BanditPyEnvironment`, from which TF-Agents' drivers make
    episodes of one step. They recognize it in one wrapper of TF-Agents, but not in two: wrap `env`
    instead. Python drivers end by `max_episodes` only. Any other environment becomes a
    `PyEnvironment`. After `set_state`, a `TFPyEnvironment` is right from its next `step` on.

    >>> from bandit_envs import KArmedTestbed
    >>> env = as_tf_agents(KArmedTestbed(k=3, batch_size=2, seed=0))
    >>> env.reset().is_first(), env.step(np.array([0, 2])).is_last()
    (array([ True,  True]), array([ True,  True]))
    """
    if not isinstance(env, PyEnvironment):
        raise TypeError(f"env is {env!r}; expected a PyEnvironment of bandit_envs")
    return (TFAgentsBanditEnvironment if _is_endless(env) else TFAgentsEnvironment)(env)


class _Piecewise(TFAgentsBanditEnvironment):
    """What TF-Agents' piecewise bandits have beside their signature."""

    @property
    def _current_piece(self) -> Any:
        return self._env.current_piece

    def _apply_action(self, action: Nest) -> Nest:
        one = np.shape(action) == (1,)
        return super()._apply_action(np.repeat(action, self.batch_size) if one else action)


class _Ranking(TFAgentsBanditEnvironment):
    """What TF-Agents' ranking environment has beside its signature."""

    def _cascading_to_scorevector(self, chosen_items: Any, chosen_values: Any) -> Any:
        return self._env._cascading_to_scorevector(chosen_items, chosen_values)


class _MovieLens(TFAgentsBanditEnvironment):
    """What TF-Agents' MovieLens environments have beside their signature."""

    def compute_optimal_action(self) -> Any:
        return self.get_info()["optimal_action"]

    def compute_optimal_reward(self) -> Any:
        return self.get_info()["optimal_reward"]


def drop_in(core_class: type[PyEnvironment], base: Any = TFAgentsBanditEnvironment) -> Any:
    """Returns the replacement of TF-Agents' environment of the same name and signature.

    gin configures it under its bare name. As in TF-Agents, unavailable actions are rewarded too,
    and slates may show an item twice.
    """

    class Core(core_class):  # type: ignore[valid-type]
        def _check_available(self, action: Any) -> None:
            """Accepts it."""

    replacement = _replacement(core_class.__name__, Core, base)
    replacement.core = Core
    Core.__name__ = core_class.__name__
    Core.__qualname__ = f"{core_class.__name__}.core"  # where pickle looks for it
    return replacement


def _replacement(name: str, make: Callable[..., Any], base: Any) -> Any:
    """Returns a class whose constructor has the arguments of `make`, but for the horizon."""
    signature = inspect.signature(make)
    parameters = [p for p in signature.parameters.values() if p.name != "horizon"]
    signature = signature.replace(parameters=parameters)
    own = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *parameters]

    class DropIn(base):
        __module__ = None  # type: ignore[assignment]  # so that gin takes the bare name
        __doc__ = f"The replacement of TF-Agents' `{name}`."

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            arguments = signature.bind(*args, **kwargs).arguments
            base.__init__(self, make(**arguments))
            self._name: Any = arguments.get("name", self._env.name)

        # For gin.
        __init__.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]

    DropIn.__name__ = DropIn.__qualname__ = name
    gin.configurable(DropIn)
    DropIn.__module__ = __name__
    return DropIn


_BASES = {"PiecewiseBernoulliPyEnvironment": _Piecewise, "RankingPyEnvironment": _Ranking}
_classes = {entry.upstream: entry.environment for entry in ENVIRONMENTS.values() if entry.upstream}
for _name, _class in _classes.items():
    globals()[_name] = drop_in(_class, _BASES.get(_name, TFAgentsBanditEnvironment))
MovieLensPyEnvironment = _replacement("MovieLensPyEnvironment", movielens, _MovieLens)
MovieLensPerArmPyEnvironment = _replacement(
    "MovieLensPerArmPyEnvironment", movielens_per_arm, _MovieLens
)

compute_optimal_action = wheel.compute_optimal_action
compute_optimal_reward = wheel.compute_optimal_reward
ClickModel, FeedbackModel = ranking.ClickModel, ranking.FeedbackModel


def optimal_reward_fn(env: Any) -> Callable[[Nest], tf.Tensor]:
    """Returns the baseline of TF-Agents' `RegretMetric`: the largest expected reward of each row.

    The bandit, adapted or not, has no horizon and knows its expected rewards, which are numbers.
    Where the observation determines them, the baseline is a function of it. Elsewhere it is what
    was optimal at the last step, or now if a reset came after it: call it once after each step.
    """
    return _baseline(env, "optimal_reward", np.float32, lambda means: means.max(axis=1))


def optimal_action_fn(env: Any) -> Callable[[Nest], tf.Tensor]:
    """Returns the same of TF-Agents' `SuboptimalArmsMetric`: the first optimal action of a row."""
    return _baseline(env, "optimal_action", np.int32, lambda means: means.argmax(axis=1))


def _baseline(env: Any, key: str, dtype: Any, best: Any) -> Callable[[Nest], tf.Tensor]:
    env = env.pyenv if isinstance(env, tf_py_environment.TFPyEnvironment) else env
    env = env.wrapped_env() if isinstance(env, TFAgentsEnvironment) else env
    bandit: Any = env
    if not isinstance(env, PyEnvironment):
        raise TypeError(f"env is {env!r}; expected an environment of bandit_envs, adapted or not")
    if not _is_endless(bandit):
        raise ValueError(f"{bandit.name} has a horizon; expected a bandit without one")
    spec = bandit.observation_spec()
    of_a_row = bandit.action_spec().shape if key == "optimal_action" else ()

    is_determined = False
    with contextlib.suppress(NotImplementedError):
        is_determined = bandit.expected_rewards_for(no_reward(spec, 1)).ndim == 2
    if not is_determined:
        state = bandit.get_state()
        try:
            bandit.reset()
            bandit.optimal_reward()  # raises an error if it is not known
        finally:
            bandit.set_state(state)

    def baseline(observation: Nest) -> tf.Tensor:
        of_step = OptimumOfStep(bandit, key)

        def function(*leaves: Any) -> Any:
            seen = tf.nest.pack_sequence_as(spec, leaves)
            known = best(bandit.expected_rewards_for(seen)) if is_determined else of_step(seen)
            return known.astype(dtype)

        optima = tf.numpy_function(function, tf.nest.flatten(observation), dtype)
        optima.set_shape([None, *of_a_row])
        return optima

    return baseline


def _is_endless(env: Any) -> bool:
    return is_bandit(env) and env.horizon is None


def _converted(spec: ArraySpec) -> Any:
    if isinstance(spec, BoundedArraySpec):
        bounds = spec.minimum, spec.maximum
        return array_spec.BoundedArraySpec(spec.shape, spec.dtype, *bounds, spec.name)
    return array_spec.ArraySpec(spec.shape, spec.dtype, spec.name)
