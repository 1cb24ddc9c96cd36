"""Users' own environments of TF-Agents as environments of this package."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.bandits.environments import bandit_py_environment
from tf_agents.specs import array_spec, tensor_spec
from tf_agents.trajectories import time_step as ts

from bandit_envs.arrays import Array, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.nests import Nest, map_structure
from bandit_envs.specs import ArraySpec, BoundedArraySpec


def from_tf_agents(env: bandit_py_environment.BanditPyEnvironment) -> BanditPyEnvironment:
    """Returns a user's own bandit of TF-Agents as a bandit of this package.

    Drivers, wrappers, policies and recorders of this package take it. Its state is a copy of the
    whole environment. What the environment draws from NumPy's global generator is not in the state,
    so a saved run repeats only if the environment has a generator of its own. Its expected rewards
    are unknown.

    Args:
        env: an instance of a class that derives from TF-Agents' `BanditPyEnvironment`. From now on,
            use it through the result only.

    >>> import numpy as np
    >>> from tf_agents.bandits.environments import bandit_py_environment
    >>> from tf_agents.specs import array_spec
    >>> class Signs(bandit_py_environment.BanditPyEnvironment):
    ...     def __init__(self):
    ...         number = array_spec.ArraySpec((1,), np.float32)
    ...         super().__init__(number, array_spec.BoundedArraySpec((), np.int32, 0, 2))
    ...     def _observe(self):
    ...         return np.ones((1, 1), np.float32)
    ...     def _apply_action(self, action):
    ...         return np.asarray(action, np.float32) - 1
    >>> from_tf_agents(Signs()).step([2]).is_first()
    array([ True])
    """
    if not isinstance(env, bandit_py_environment.BanditPyEnvironment):
        expected = "expected a BanditPyEnvironment of TF-Agents"
        raise TypeError(f"env is {env!r}; {expected}")
    return UsersBandit(env)


class _UsersState(NamedTuple):
    """The environment, which changes in place, and its last time step."""

    env: bandit_py_environment.BanditPyEnvironment
    time_step: ts.TimeStep


class UsersBandit(BanditPyEnvironment):
    """A user's own bandit of TF-Agents; see `from_tf_agents`.

    Args:
        env: the environment.
    """

    def __init__(self, env: bandit_py_environment.BanditPyEnvironment) -> None:
        reward_spec = env.time_step_spec().reward
        super().__init__(
            map_structure(from_tf_agents_spec, env.observation_spec()),
            reward_spec=map_structure(from_tf_agents_spec, reward_spec),
            action_spec=map_structure(from_tf_agents_spec, env.action_spec()),
            batch_size=env.batch_size or 1,
            name=env.name or type(env).__name__,
        )
        self._users_env = env

    def _initial_state(self, rng: Rng) -> _UsersState:
        return _UsersState(self._users_env, self._users_env.reset())

    def _next_episode(self, rng: Rng, state: _UsersState) -> _UsersState:
        return _UsersState(state.env, state.env.reset())

    def _observe(self, state: _UsersState) -> Nest:
        spec = self.observation_spec()
        observation = state.time_step.observation
        return map_structure(self._with_rows, spec, observation)

    def _draw_rewards(self, rng: Rng, state: _UsersState, action: Nest) -> Nest:
        shaped = map_structure(self._as_upstream, self.action_spec(), action)
        time_step = state.env.step(shaped)
        return map_structure(self._with_rows, self.reward_spec(), time_step.reward)

    def _next_state(self, rng: Rng, state: _UsersState, action: Nest) -> _UsersState:
        return _UsersState(state.env, state.env.current_time_step())

    def _as_upstream(self, spec: ArraySpec, action: Array) -> Array:
        return action.astype(spec.dtype)

    def _with_rows(self, spec: ArraySpec, array: Array) -> Array:
        """Returns an array [B, ...], also if a batch of one has no dimension of rows."""
        return np.asarray(array, spec.dtype).reshape(self.batch_size, *spec.shape)


def from_tf_agents_spec(spec: Any) -> ArraySpec:
    """Returns the spec of this package that says the same as one of TF-Agents."""
    shape = tuple(spec.shape)
    dtype = spec.dtype.as_numpy_dtype if isinstance(spec.dtype, tf.DType) else spec.dtype
    if isinstance(spec, (array_spec.BoundedArraySpec, tensor_spec.BoundedTensorSpec)):
        return BoundedArraySpec(shape, dtype, spec.minimum, spec.maximum, spec.name)
    return ArraySpec(shape, dtype, spec.name)
