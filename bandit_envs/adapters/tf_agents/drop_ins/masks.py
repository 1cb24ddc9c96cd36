"""Replacements of TF-Agents' environments with masks, and of its environment of random rewards."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tf_agents.environments import py_environment, tf_py_environment
from tf_agents.specs import tensor_spec

from bandit_envs.adapters.tf_agents.distributions import Distribution, check_distribution, draw
from bandit_envs.adapters.tf_agents.drop_ins.bandits import configurable
from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.adapters.tf_agents.tf_environment import BanditTFPyEnvironment, bandit_of
from bandit_envs.adapters.tf_agents.users import from_tf_agents_spec
from bandit_envs.arrays import Array, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.checks import check_available, check_indices
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest, map_structure
from bandit_envs.seeding import Seed
from bandit_envs.specs import ArraySpec
from bandit_envs.wrappers import ExtraDisabledActions, RandomActionMask, Wrapper

JoinFunction = Callable[[Nest, Nest], Nest]
"""Joins an observation, or its spec, with a mask, or its spec."""


class _JoinedMask(Wrapper):
    """Joins the entries `observation` and `mask` of an observation by a user's function.

    Args:
        env: a bandit whose observation has a `mask`.
        join: returns the observation.
        dtype: of the mask that `join` gets.
    """

    def __init__(self, env: PyEnvironment, join: JoinFunction, dtype: type[np.integer]) -> None:
        super().__init__(env)
        self._join = join
        self._dtype = dtype
        mask_spec = ArraySpec((self.num_actions,), dtype, "mask")
        self._observation_spec = join(_without_mask(env.observation_spec()), mask_spec)

    def _state_owner(self) -> str:
        return self._env._state_owner()

    def _map_observation(self, observation: Nest) -> Nest:
        mask = observation["mask"].astype(self._dtype)
        return map_structure(np.asarray, self._join(_without_mask(observation), mask))


def _without_mask(observation: Nest) -> Nest:
    """Returns an observation, or its spec, as it was before a mask was added."""
    others = {key: entry for key, entry in observation.items() if key != "mask"}
    return others["observation"] if others.keys() == {"observation"} else others


class ActionNotAllowedError(tf.errors.InvalidArgumentError, ValueError):
    """An action is not available in its row, as TF-Agents and this package say it."""


class _JoinedRandomMask(_JoinedMask):
    """Refuses actions by the class of error that TF-Agents has for it.

    Args:
        env: a bandit.
        action_probability: the probability that an action is allowed.
        join: returns the observation.
    """

    def __init__(self, env: PyEnvironment, action_probability: float, join: JoinFunction) -> None:
        self._masked = RandomActionMask(env, action_probability)
        super().__init__(self._masked, join, np.int32)

    def _check_action(self, action: Nest) -> Indices:
        checked = check_indices(action, self._batch_size, self._masked.num_actions)
        try:
            return check_available(checked, self._masked._mask_now())
        except ValueError as error:
            raise ActionNotAllowedError(None, None, str(error)) from error


@configurable
class BernoulliActionMaskTFEnvironment(BanditTFPyEnvironment):
    """The replacement of TF-Agents' `BernoulliActionMaskTFEnvironment`, on `RandomActionMask`.

    Args:
        original_environment: a bandit of this package in a `TFPyEnvironment`, such as the
            replacements of TF-Agents' environments. From now on, use it through this one only.
        action_constraint_join_fn: takes an observation, or its spec, and a mask [B, K] of 0 and 1,
            or its spec, and returns the observation of this environment, or its spec.
        action_probability: the probability that an action is allowed. If none would be, one is.
    """

    def __init__(
        self,
        original_environment: tf_py_environment.TFPyEnvironment,
        action_constraint_join_fn: JoinFunction,
        action_probability: float,
    ) -> None:
        env = bandit_of("original_environment", original_environment)
        super().__init__(_JoinedRandomMask(env, action_probability, action_constraint_join_fn))
        self._original_environment = original_environment

    @property
    def original_environment(self) -> tf_py_environment.TFPyEnvironment:
        """The environment without masks."""
        return self._original_environment


@configurable
class ExtraDisabledActionsWrapper(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `ExtraDisabledActionsWrapper`, on `ExtraDisabledActions`.

    The observation is a pair of the wrapped one and a mask [B, K] of 0 and 1.

    Args:
        env: a bandit of this package, adapted or not. From now on, use it through this one only.
        num_extra_actions: how many actions to add, which are never available.
        handle_auto_reset: as in TF-Agents; a bandit without a horizon never needs a reset.
    """

    def __init__(
        self,
        env: py_environment.PyEnvironment,
        num_extra_actions: int,
        handle_auto_reset: bool = False,
    ) -> None:
        wrapped = ExtraDisabledActions(bandit_of("env", env), num_extra_actions)
        super().__init__(_JoinedMask(wrapped, _pair, np.int64))
        self._handle_auto_reset = bool(handle_auto_reset)


def _pair(observation: Nest, mask: Nest) -> tuple[Nest, Nest]:
    return observation, mask


class _RandomBandit(BanditPyEnvironment[Array]):
    """A bandit whose observations and rewards come from distributions, whatever the action.

    Args:
        observations: with batch shape [B].
        rewards: with batch shape [B] and event shape [].
        action_spec: the spec of an action.
        seed: as for `BanditPyEnvironment`.
    """

    def __init__(
        self, observations: Distribution, rewards: Distribution, action_spec: Nest, seed: Seed
    ) -> None:
        seen = ArraySpec(tuple(observations.event_shape), observations.dtype.as_numpy_dtype)
        super().__init__(
            seen, action_spec=action_spec, batch_size=int(observations.batch_shape[0]), seed=seed
        )
        self._observations = observations
        self._rewards = rewards

    def _state_owner(self) -> str:
        return "RandomBanditEnvironment"

    def _initial_state(self, rng: Rng) -> Array:
        return draw(rng, self._observations)

    def _observe(self, state: Array) -> Array:
        return state

    def _draw_rewards(self, rng: Rng, state: Array, action: Nest) -> Array:
        return draw(rng, self._rewards)

    def _next_state(self, rng: Rng, state: Array, action: Nest) -> Array:
        return draw(rng, self._observations)


class RandomBanditEnvironment(BanditTFPyEnvironment):
    """The replacement of TF-Agents' `RandomBanditEnvironment`: actions do not affect rewards.

    As there, actions [B, ...] of any shape are taken; they count as the least one.

    Args:
        observation_distribution: of TensorFlow Probability, with batch shape [B].
        reward_distribution: with batch shape [B], event shape [] and dtype float32.
        action_spec: a spec of TF-Agents; by default, an action is one number.
        seed: of all draws. TF-Agents draws with TensorFlow's seed.
    """

    def __init__(
        self,
        observation_distribution: Distribution,
        reward_distribution: Distribution,
        action_spec: tensor_spec.TensorSpec | None = None,
        *,
        seed: Seed = None,
    ) -> None:
        check_distribution("observation_distribution", observation_distribution)
        check_distribution("reward_distribution", reward_distribution)
        for name, distribution in (
            ("observation_distribution", observation_distribution),
            ("reward_distribution", reward_distribution),
        ):
            found = distribution.batch_shape
            if len(found) != 1:
                raise ValueError(
                    f"`{name}` must have batch shape with length 1; got {found}. Consider using "
                    "`tensorflow_probability.distributions.Independent`."
                )
        event_shape = reward_distribution.event_shape
        if len(event_shape) != 0:
            raise ValueError(f"`reward_distribution` must have event_shape (); got {event_shape}")
        dtype = reward_distribution.dtype
        if dtype != tf.float32:
            raise ValueError(f"`reward_distribution` must have dtype float32; got {dtype}")
        rows = reward_distribution.batch_shape
        if rows != observation_distribution.batch_shape:
            raise ValueError(
                "`reward_distribution` and `observation_distribution` must have the same batch "
                f"shape; got {rows} and {observation_distribution.batch_shape}"
            )
        spec: Nest = ArraySpec((), np.float32, "action")
        if action_spec is not None:
            spec = map_structure(from_tf_agents_spec, action_spec)
        super().__init__(_RandomBandit(observation_distribution, reward_distribution, spec, seed))

    def _taken(self, spec: tf.TensorSpec, action: tf.Tensor) -> tf.Tensor:
        given = tf.convert_to_tensor(action)
        shape = [self.batch_size, *spec.shape]
        if given.shape.is_compatible_with(shape) or given.shape[:1] != shape[:1]:
            return super()._taken(spec, given)
        least = spec.minimum if tensor_spec.is_bounded(spec) else 0
        return super()._taken(spec, tf.broadcast_to(least, shape))
