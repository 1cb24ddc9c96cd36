"""The replacement of TF-Agents' environment of random rewards."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec

from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.adapters.tf_agents.tf_environment import BanditTFPyEnvironment
from bandit_envs.adapters.tf_agents.tfp_distributions import (
    Distribution,
    check_distribution,
    sampler_of,
)
from bandit_envs.adapters.tf_agents.users import from_tf_agents_spec
from bandit_envs.arrays import Array, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.nests import Nest, map_structure
from bandit_envs.seeding import Seed
from bandit_envs.specs import ArraySpec


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
        self._draw_observation = sampler_of(observations)
        self._draw_reward = sampler_of(rewards)

    def _state_owner(self) -> str:
        return "RandomBanditEnvironment"

    def _initial_state(self, rng: Rng) -> Array:
        return self._draw_observation(rng, ())

    def _observe(self, state: Array) -> Array:
        return state

    def _draw_rewards(self, rng: Rng, state: Array, action: Nest) -> Array:
        return self._draw_reward(rng, ())

    def _next_state(self, rng: Rng, state: Array, action: Nest) -> Array:
        return self._draw_observation(rng, ())


@configurable("random_bandit_environment")
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
