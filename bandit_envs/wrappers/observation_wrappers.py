"""Wrappers that change observations."""

from collections.abc import Callable

import numpy as np

from bandit_envs.arrays import check_array
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest, map_structure
from bandit_envs.specs import ArraySpec, add_outer_dims_nest, assert_arrays_nest
from bandit_envs.wrappers.shared import with_entries
from bandit_envs.wrappers.wrapper import Wrapper


class TransformObservation(Wrapper):
    """Applies a function to the observations.

    Args:
        env: the environment.
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
        self, env: PyEnvironment, func: Callable[[Nest], Nest], observation_spec: Nest
    ) -> None:
        super().__init__(env)
        self._func = func
        self._shown = f"func of {self._name} returned"
        self._observation_spec = observation_spec
        self._batched_spec = add_outer_dims_nest(observation_spec, (env.batch_size,))

    def _map_observation(self, observation: Nest) -> Nest:
        mapped = self._func(observation)
        assert_arrays_nest(mapped, self._batched_spec, f"{self._shown} a bad observation: ")
        map_structure(lambda array: check_array(self._shown, array, array.shape), mapped)
        return mapped


class AddActionMask(Wrapper):
    """Adds a `mask` [B, K] of the available actions to an observation with `num_actions` [B].

        mask[b, a] = a < num_actions[b]

    Args:
        env: a bandit whose observation is a dict with `num_actions` and without `mask`.

    Source: the masks of TF-Agents' `observation_and_action_constraint_splitter`.

    >>> from bandit_envs import rewards, sampling
    >>> from bandit_envs.environments import StationaryStochasticPerArmPyEnvironment
    >>> user, reward = sampling.Normal(1), rewards.LinearReward(np.ones(2))
    >>> available = sampling.Integers(1, 1, 4)
    >>> bandit = StationaryStochasticPerArmPyEnvironment(user, user, 3, reward, available, seed=0)
    >>> observation = AddActionMask(bandit).reset().observation
    >>> bool(observation["mask"].sum() == observation["num_actions"][0])
    True
    """

    def __init__(self, env: PyEnvironment) -> None:
        super().__init__(env)
        spec = env.observation_spec()
        if not isinstance(spec, dict) or "num_actions" not in spec or "mask" in spec:
            raise ValueError(f"env has observation_spec {spec}; expected num_actions, and no mask")
        mask = ArraySpec((self.num_actions,), np.bool_, "mask")
        self._observation_spec = with_entries(spec, mask=mask)

    def _map_observation(self, observation: Nest) -> Nest:
        return with_entries(observation, mask=available_actions(observation, self.num_actions))
