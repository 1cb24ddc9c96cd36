"""What TF-Agents' metrics compare rewards and actions with."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from bandit_envs.adapters.tf_agents.adapted import Adapted, is_stream
from bandit_envs.environments import StationaryStochasticPerArmPyEnvironment
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.specs import Nest


def optimal_reward_fn(env: Any) -> Callable[[Nest], tf.Tensor]:
    """Returns the baseline of TF-Agents' `RegretMetric`: the largest expected reward of each row.

    For a per-arm environment it is a function of the observation, whenever and wherever that was
    made. The observation of any other bandit does not tell: there it is what is optimal now. If
    that changes from step to step, calling the baseline is an error, for in a graph TensorFlow may
    call it before or after the step.

    Args:
        env: a bandit without horizon, as it is or adapted.

    Raises:
        TypeError: `env` is something else, such as a `TFPyEnvironment`.
        ValueError: `env` has a horizon: the resets would count as steps.
        NotImplementedError: the expected rewards are not known.
    """
    return _baseline(env, "optimal_reward", lambda expected: expected.max(axis=1), np.float32)


def optimal_action_fn(env: Any) -> Callable[[Nest], tf.Tensor]:
    """Returns the baseline of TF-Agents' `SuboptimalArmsMetric`: an optimal action of each row.

    Of several, it is the first. The rest is as in `optimal_reward_fn`.

    Args:
        env: a bandit without horizon, as it is or adapted.

    Raises:
        TypeError: `env` is something else, such as a `TFPyEnvironment`.
        ValueError: `env` has a horizon: the resets would count as steps.
        NotImplementedError: the expected rewards are not known.
    """
    return _baseline(env, "optimal_action", lambda expected: expected.argmax(axis=1), np.int32)


def _baseline(
    env: Any, key: str, best: Callable[[NDArray[Any]], NDArray[Any]], dtype: type[np.generic]
) -> Callable[[Nest], tf.Tensor]:
    bandit = env.wrapped_env() if isinstance(env, Adapted) else env
    if not isinstance(bandit, PyEnvironment):
        raise TypeError(f"env is {env!r}; expected an environment of bandit_envs, or one adapted")
    if not is_stream(bandit):
        raise ValueError(f"{bandit.name} has a horizon; expected a bandit without one")
    if isinstance(bandit, StationaryStochasticPerArmPyEnvironment):
        function = _of_observation(bandit, best)
    else:
        function = _of_present(bandit, key)

    def typed(*observation: NDArray[Any]) -> NDArray[Any]:
        return function(*observation).astype(dtype)

    def baseline(observation: Nest) -> tf.Tensor:
        best_of_rows = tf.numpy_function(typed, tf.nest.flatten(observation), dtype)
        best_of_rows.set_shape([None])
        return best_of_rows

    return baseline


def _of_observation(
    bandit: StationaryStochasticPerArmPyEnvironment,
    best: Callable[[NDArray[Any]], NDArray[Any]],
) -> Callable[..., NDArray[Any]]:
    spec = bandit.observation_spec()
    keys = sorted(spec)  # as TensorFlow flattens a dict

    def of_observation(*arrays: NDArray[Any]) -> NDArray[Any]:
        return best(bandit.expected_rewards_for(dict(zip(keys, arrays))))

    of_observation(*(np.ones((1, *spec[key].shape), spec[key].dtype) for key in keys))  # is known
    return of_observation


def _of_present(bandit: PyEnvironment, key: str) -> Callable[..., NDArray[Any]]:
    def of_present(*_: NDArray[Any]) -> NDArray[Any]:
        best: NDArray[Any] = getattr(bandit, key)()
        info = bandit.get_info()
        if info is not None and not np.array_equal(info[key], best):
            raise ValueError(
                f"the {key} of {bandit.name} changes from step to step, and the observation does "
                f"not tell which step it is of"
            )
        return best

    return of_present
