"""Wrappers that change observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import first_nan
from bandit_envs.base.availability import available_actions
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.specs import (
    ArraySpec,
    BoundedArraySpec,
    Nest,
    add_outer_dims_nest,
    assert_arrays_nest,
    map_structure,
)
from bandit_envs.wrappers.wrapper import Wrapper

NUM_ACTIONS = "num_actions"
ACTION_MASK = "action_mask"


class TransformObservation(Wrapper):
    """Applies a function to the observations.

    Shapes:
        B: batch_size.

    Args:
        env, name: as for `Wrapper`.
        func: a pure function of an observation, a nest of read-only arrays [B, ...], to another.
        observation_spec: the nest of specs of one row of what `func` returns.

    Source: Gymnasium's `TransformObservation`.

    >>> from bandit_envs import ArraySpec, KArmedTestbed
    >>> testbed = KArmedTestbed(batch_size=2)
    >>> env = TransformObservation(testbed, lambda x: 2 * x, ArraySpec((1,), np.float32))
    >>> env.reset().observation.tolist()
    [[2.0], [2.0]]
    """

    def __init__(
        self,
        env: PyEnvironment,
        func: Callable[[Nest], Nest],
        observation_spec: Nest,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(env, name=name)
        if not callable(func):
            raise TypeError(f"func is {func!r}; expected a function of an observation")
        self._func = func
        self._observation_spec = observation_spec
        try:
            self._batched_spec = add_outer_dims_nest(observation_spec, (env.batch_size,))
        except (AttributeError, TypeError):
            raise TypeError(
                f"observation_spec is {observation_spec!r}; expected a nest of specs"
            ) from None

    def observation_spec(self) -> Nest:
        return self._observation_spec

    def _map_observation(self, observation: Nest) -> Nest:
        mapped = self._func(observation)
        try:
            assert_arrays_nest(mapped, self._batched_spec)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"func of {self._name} returned a bad observation: {error}"
            ) from error
        map_structure(self._refuse_nan, mapped)
        return mapped

    def _refuse_nan(self, array: NDArray[Any]) -> None:
        index = first_nan(array)
        if index is not None:
            raise ValueError(f"func returned NaN for row {index[0]} of {self._name}")


class AddActionMask(Wrapper):
    """Adds a mask of the available actions to an observation with `num_actions`.

        action_mask[b, a] = a < num_actions[b]

    Shapes:
        B: batch_size.
        K: the number of actions. `action_mask` is [B, K] bool, `num_actions` [B].

    Args:
        env: its actions are integers from 0 to K - 1, its observation a dict with `num_actions`.
        name: as for `Wrapper`.

    Source: the masks of TF-Agents' `observation_and_action_constraint_splitter`.

    >>> from bandit_envs import rewards, sampling
    >>> from bandit_envs.environments import StationaryStochasticPerArmPyEnvironment
    >>> user, reward = sampling.Normal(1), rewards.LinearReward(np.ones(2))
    >>> available = sampling.Integers(1, 1, 4)
    >>> bandit = StationaryStochasticPerArmPyEnvironment(user, user, 3, reward, available, seed=0)
    >>> observation = AddActionMask(bandit).reset().observation
    >>> bool(observation["action_mask"].sum() == observation["num_actions"][0])
    True
    """

    def __init__(self, env: PyEnvironment, *, name: str | None = None) -> None:
        super().__init__(env, name=name)
        action = env.action_spec()
        if not isinstance(action, BoundedArraySpec) or action.shape or action.minimum != 0:
            raise ValueError(f"env has action_spec {action}; expected integers from 0 to K - 1")
        spec = env.observation_spec()
        if not isinstance(spec, dict) or NUM_ACTIONS not in spec:
            raise ValueError(f"env has observation_spec {spec}; expected a dict with num_actions")
        if ACTION_MASK in spec:
            raise ValueError("env has an action_mask in its observation already")
        self._num_actions = int(action.maximum) + 1
        self._observation_spec = {
            **spec,
            ACTION_MASK: ArraySpec((self._num_actions,), np.bool_, ACTION_MASK),
        }

    def observation_spec(self) -> Nest:
        return self._observation_spec

    def _map_observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        return {**observation, ACTION_MASK: available_actions(observation, self._num_actions)}
