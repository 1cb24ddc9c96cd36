"""Users' own environments of TF-Agents as environments of this package."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import tensorflow as tf
from numpy.typing import ArrayLike
from tf_agents.environments import py_environment
from tf_agents.specs import array_spec, tensor_spec
from tf_agents.trajectories import time_step as ts

from bandit_envs.arrays import Array, Mask, Rng, as_numbers, check_array
from bandit_envs.base.actions import ActionKind
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, available_actions
from bandit_envs.base.checks import short_repr
from bandit_envs.base.kind_of_actions import kind_of_actions
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.specs import ArraySpec, BoundedArraySpec

MeansFunction: TypeAlias = "Callable[[Any, Nest], ArrayLike]"
"""Returns the means of all actions [B, K], given an environment and its observation [B, ...]."""


def from_tf_agents(
    env: py_environment.PyEnvironment, expected_rewards: MeansFunction | None = None
) -> BanditPyEnvironment[Any]:
    """Returns a user's own bandit of TF-Agents as a bandit of this package.

    Drivers, wrappers, policies and recorders of this package take it. Its state is a copy of the
    whole environment. What the environment draws from NumPy's global generator is not in the state,
    so a saved run repeats only if the environment has a generator of its own.

    With `expected_rewards`, regret is exact. The function is called after each reset and step, with
    the environment as it is then: it may read what is hidden, such as weights that drift.

    An observation says which actions are available, as for `BanditPyEnvironment`: it is a dict with
    `num_actions`, or with `mask` beside `observation`. Others are refused, and the optimum leaves
    them out. All parts of a tuple are features, as agents of TF-Agents split tuples by functions of
    their own. A warning says so if a part may be a mask.

    Args:
        env: a `PyEnvironment` of TF-Agents, batched or not, each of whose steps ends an episode, as
            those of its `BanditPyEnvironment` do. From now on, use it through the result only.
        expected_rewards: a function of the environment and its observation [B, ...], which draws
            nothing, and returns the mean reward of each action, available or not: [B, K]. A method
            of the class will do, such as `Mine.means`. By default, the means are unknown.

    >>> import numpy as np
    >>> from tf_agents.bandits.environments import bandit_py_environment
    >>> from tf_agents.specs import array_spec
    >>> class LastPays(bandit_py_environment.BanditPyEnvironment):
    ...     def _observe(self):
    ...         return np.ones(1, np.float32)
    ...     def _apply_action(self, action):
    ...         return np.float32(action == 2)
    >>> action_spec = array_spec.BoundedArraySpec((), np.int32, 0, 2)
    >>> env = from_tf_agents(LastPays(array_spec.ArraySpec((1,), np.float32), action_spec))
    >>> env.reset().observation, env.step([2]).reward
    (array([[1.]], dtype=float32), array([1.], dtype=float32))
    """
    if expected_rewards is not None and not callable(expected_rewards):
        expected = "expected a function of the environment and its observation"
        raise TypeError(f"expected_rewards is {short_repr(expected_rewards)}; {expected}")
    if not isinstance(env, py_environment.PyEnvironment):
        raise TypeError(f"env is {env!r}; expected a PyEnvironment of TF-Agents")
    bandit = UsersBandit(env, expected_rewards)
    _warn_of_tuples(bandit)
    return bandit


class _UsersState(NamedTuple):
    """The environment, which changes in place; its last time step; the means there, if known."""

    env: py_environment.PyEnvironment
    time_step: ts.TimeStep
    means: Array | None


class UsersBandit(BanditPyEnvironment[_UsersState]):
    """A user's own bandit of TF-Agents; see `from_tf_agents`.

    Args:
        env, expected_rewards: as for `from_tf_agents`.
    """

    def __init__(
        self, env: py_environment.PyEnvironment, expected_rewards: MeansFunction | None = None
    ) -> None:
        super().__init__(
            map_structure(from_tf_agents_spec, env.observation_spec()),
            reward_spec=map_structure(from_tf_agents_spec, env.time_step_spec().reward),
            action_spec=map_structure(from_tf_agents_spec, env.action_spec()),
            batch_size=env.batch_size or 1,
            name=getattr(env, "name", None) or type(env).__name__,
        )
        self._users_env = env
        self._means_in = expected_rewards
        # A property in TF-Agents' base class, and a method in some of its environments.
        self._is_batched = bool(env.batched() if callable(env.batched) else env.batched)

    def _initial_state(self, rng: Rng) -> _UsersState:
        return self._state_at(self._users_env, self._users_env.reset())

    def _next_episode(self, rng: Rng, state: _UsersState) -> _UsersState:
        return self._state_at(state.env, state.env.reset())

    def _state_at(self, env: py_environment.PyEnvironment, time_step: ts.TimeStep) -> _UsersState:
        """Returns the state at a time step, with the means there, which a step may change."""
        means = None
        if self._means_in is not None:
            what = "expected_rewards returned"
            means = as_numbers(what, self._means_in(env, self._observation_of(time_step))).copy()
            check_array(what, means, (self.batch_size, self.num_actions, *means.shape[2:]))
        return _UsersState(env, time_step, means)

    def _observe(self, state: _UsersState) -> Nest:
        return self._observation_of(state.time_step)

    def _available(self, state: _UsersState) -> Mask | None:
        return available_actions(self._observe(state), self.action_kind.num_actions)

    def _expected_rewards(self, state: _UsersState) -> Array:
        return super()._expected_rewards(state) if state.means is None else state.means

    def _draw_rewards(self, rng: Rng, state: _UsersState, action: Nest) -> Nest:
        taken = map_structure(self._without_rows, self.action_spec(), action)
        time_step = state.env.step(taken)
        if not np.all(time_step.is_last()):
            found = f"a step of {self.name} returned step_type {time_step.step_type}"
            raise ValueError(f"{found}; expected a bandit, each of whose steps is LAST")
        return self._with_rows("a reward", self.reward_spec(), time_step.reward)

    def _next_state(self, rng: Rng, state: _UsersState, action: Nest) -> _UsersState:
        return self._state_at(state.env, state.env.current_time_step())

    def _observation_of(self, time_step: ts.TimeStep) -> Nest:
        """Returns the observation of a time step of the environment: arrays [B, ...]."""
        return self._with_rows("an observation", self.observation_spec(), time_step.observation)

    def _without_rows(self, spec: ArraySpec, action: Array) -> Array:
        """Returns an action as the environment takes it: without rows if it is not batched."""
        cast = action.astype(spec.dtype)
        return cast if self._is_batched else cast[0]

    def _with_rows(self, what: str, specs: Nest, nest: Nest) -> Nest:
        """Returns what the environment returned as arrays [B, ...], or raises ValueError."""

        def with_rows(spec: ArraySpec, leaf: ArrayLike) -> Array:
            array = np.array(leaf, spec.dtype)
            shape = (self.batch_size, *spec.shape)
            if array.size != math.prod(shape):
                found = f"{what} of {self.name} has shape {array.shape}"
                raise ValueError(f"{found}; expected {shape}, as its spec and batch_size say")
            return array.reshape(shape)

        return map_structure(with_rows, specs, nest)


def _warn_of_tuples(bandit: UsersBandit) -> None:
    """Warns of a tuple that may hold a mask; the warning names the line of the user's call."""
    seen = bandit.observation_spec()
    shape = (bandit.action_kind.num_actions,)
    leaves = flatten(seen) if isinstance(seen, tuple) else []
    if any(leaf.shape == shape and leaf.dtype.kind in "biu" for leaf in leaves):
        found = f"the observation of {bandit.name} is a tuple, all of which counts as features"
        advice = 'a mask has to be the entry "mask" of a dict, beside "observation"'
        warnings.warn(f"{found}; {advice}", stacklevel=3)


def kind_of_tf_agents_actions(spec: Nest) -> ActionKind:
    """Returns what an action of TF-Agents' specs is; slates are integers there, and may repeat."""
    return kind_of_actions(tf.nest.map_structure(from_tf_agents_spec, spec))


def from_tf_agents_spec(spec: array_spec.ArraySpec | tensor_spec.TensorSpec) -> ArraySpec:
    """Returns the spec of this package that says the same as one of TF-Agents."""
    shape = tuple(spec.shape)
    dtype = spec.dtype.as_numpy_dtype if isinstance(spec.dtype, tf.DType) else spec.dtype
    if isinstance(spec, (array_spec.BoundedArraySpec, tensor_spec.BoundedTensorSpec)):
        return BoundedArraySpec(shape, dtype, spec.minimum, spec.maximum, spec.name)
    return ArraySpec(shape, dtype, spec.name)
