"""What was optimal at the steps of a bandit, as baselines of TF-Agents' metrics."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
import tensorflow as tf
from numpy.typing import DTypeLike
from tf_agents.environments import py_environment, tf_py_environment

from bandit_envs.adapters.tf_agents.environment import STEPPING, is_endless
from bandit_envs.adapters.tf_agents.numpy_calls import as_it_is, numpy_function
from bandit_envs.adapters.tf_agents.tf_environment import bandit_of
from bandit_envs.arrays import Array
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import no_reward
from bandit_envs.wrappers import Wrapper

AnyEnvironment: TypeAlias = (
    "PyEnvironment | py_environment.PyEnvironment | tf_py_environment.TFPyEnvironment"
)

AnyBandit: TypeAlias = "BanditPyEnvironment[Any] | Wrapper"


def optimal_reward_fn(env: AnyEnvironment) -> Callable[[Nest], tf.Tensor]:
    """Returns the baseline of TF-Agents' `RegretMetric`: the largest expected reward of each row.

    Where the observation determines the expected rewards, the baseline is a function of it.
    Elsewhere it is what was optimal at the last step, or now if a reset came after it: call it once
    after each step.

    Args:
        env: a bandit without a horizon that knows its expected rewards, which are numbers; adapted
            or not, or in a `TFPyEnvironment`.
    """
    bandit = _bandit_of(env)

    def largest(observation: Nest) -> Array:
        return np.asarray(bandit.expected_rewards_for(observation).max(axis=1))

    return _baseline(bandit, "optimal_reward", largest, np.float32, ())


def optimal_action_fn(env: AnyEnvironment) -> Callable[[Nest], tf.Tensor]:
    """Returns the baseline of TF-Agents' `SuboptimalArmsMetric`: a row's first optimal action.

    Args:
        env: as for `optimal_reward_fn`.
    """
    bandit = _bandit_of(env)

    def first_largest(observation: Nest) -> Array:
        return np.asarray(bandit.expected_rewards_for(observation).argmax(axis=1))

    return _baseline(bandit, "optimal_action", first_largest, np.int32, bandit.action_spec().shape)


class OptimumOfStep:
    """Returns what was optimal at a step.

    TensorFlow does not order the call after the step. The call came first if its observation is
    still the current one, and the call before it was about the last step; or if there was no step
    since the last reset. Then what is optimal now is returned.

    Args:
        bandit: the bandit that is stepped.
        key: the name of the method that returns the optimum, and of the same in `get_info`.
    """

    def __init__(self, bandit: AnyBandit, key: str) -> None:
        self._bandit = bandit
        self._unwrapped = cast("BanditPyEnvironment[Any]", bandit.unwrapped)
        self._key = key
        self._met: object = object()  # the state that the step of the last call met

    def __call__(self, observation: Nest) -> Array:
        with STEPPING:
            info = self._bandit.get_info()
            bandit_state = self._unwrapped.bandit_state()
            now = self._bandit.current_time_step().observation
            is_now = all(flatten(map_structure(np.array_equal, observation, now)))
            is_early = info is None or (is_now and bandit_state.previous is self._met)
            if is_early:
                self._met = bandit_state.state
                return np.asarray(getattr(self._bandit, self._key)())
            self._met = bandit_state.previous
            return np.asarray(info[self._key])


def _bandit_of(env: AnyEnvironment) -> AnyBandit:
    """Returns the bandit of this package in `env`, or raises TypeError or ValueError."""
    bandit = bandit_of("env", env)
    if not isinstance(bandit, (BanditPyEnvironment, Wrapper)) or not is_endless(bandit):
        raise ValueError(f"{bandit.name} has a horizon; expected a bandit without one")
    return bandit


def _is_determined_by_observation(bandit: AnyBandit) -> bool:
    """Whether the observation of `bandit` determines its expected rewards, which are numbers."""
    with contextlib.suppress(NotImplementedError):
        means = bandit.expected_rewards_for(no_reward(bandit.observation_spec(), 1))
        return bool(means.ndim == 2)
    return False


def _check_optimum(bandit: AnyBandit) -> None:
    """Raises NotImplementedError if what is optimal is not known."""
    state = bandit.get_state()
    try:
        bandit.reset()
        bandit.optimal_reward()
    finally:
        bandit.set_state(state)


def _as_bandit_shows_it(spec: ArraySpec, leaf: Array) -> Array:
    """Returns a leaf of an observation, with booleans where TF-Agents sees 0 and 1."""
    return leaf.astype(np.bool_) if spec.dtype == np.bool_ else leaf


def _baseline(
    bandit: AnyBandit,
    key: str,
    of_observation: Callable[[Nest], Array],
    dtype: DTypeLike,
    shape: tuple[int, ...],
) -> Callable[[Nest], tf.Tensor]:
    """Returns a function of tensors [B, ...] that returns optima [B, *shape].

    It is `of_observation` where that determines the expected rewards, and else what was optimal at
    the step, by the method `key` of the bandit.
    """
    spec = bandit.observation_spec()
    is_determined = _is_determined_by_observation(bandit)
    if not is_determined:
        _check_optimum(bandit)

    @as_it_is
    def baseline(observation: Nest) -> tf.Tensor:
        # Each graph that calls it remembers on its own which step its last call was about.
        optimum = of_observation if is_determined else OptimumOfStep(bandit, key)

        def on_arrays(*leaves: Array) -> Array:
            seen = tf.nest.pack_sequence_as(spec, leaves)
            observation = map_structure(_as_bandit_shows_it, spec, seen)
            return optimum(observation).astype(dtype)

        optima = numpy_function(on_arrays, tf.nest.flatten(observation), dtype)
        optima.set_shape([None, *shape])
        return optima

    return baseline
