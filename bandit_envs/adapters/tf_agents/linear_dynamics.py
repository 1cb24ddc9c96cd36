"""Dynamics whose expected rewards are linear, of distributions of TensorFlow Probability."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tf_agents.specs import tensor_spec

from bandit_envs.adapters.tf_agents.numpy_calls import as_it_is
from bandit_envs.adapters.tf_agents.tf_environment import Clock
from bandit_envs.adapters.tf_agents.tfp_distributions import (
    Distribution,
    DistributionSampler,
    check_distribution,
)
from bandit_envs.arrays import Array
from bandit_envs.environments.contexts.drifting_linear import DriftingLinearBandit
from bandit_envs.environments.contexts.piecewise_linear import PiecewiseLinearBandit


class LinearDynamics:
    """Dynamics whose expected rewards are linear in the observation.

    It is what `NonStationaryStochasticEnvironment` is made of, and knows what is optimal.

    Args:
        bandit: the bandit that steps.
    """

    def __init__(self, bandit: DriftingLinearBandit | PiecewiseLinearBandit) -> None:
        self.bandit = bandit
        self.clock = Clock()

    @property
    def batch_size(self) -> int:
        """The number of rows, B."""
        return self.bandit.batch_size

    @property
    def observation_spec(self) -> tf.TensorSpec:
        """The spec of one row's observation."""
        spec = self.bandit.observation_spec()
        return tensor_spec.TensorSpec(spec.shape, spec.dtype, "observation_spec")

    @property
    def action_spec(self) -> tensor_spec.BoundedTensorSpec:
        """The spec of one row's action."""
        last = self.bandit.num_actions - 1
        return tensor_spec.BoundedTensorSpec((), tf.int32, 0, last, "action")

    @as_it_is
    def compute_optimal_reward(self, observation: tf.Tensor) -> tf.Tensor:
        """Returns the largest expected reward of each row of an observation [B, d]: [B].

        Weights and additive rewards are those of the last step. TF-Agents' function leaves the mean
        of the additive rewards out.
        """

        def largest(contexts: Array) -> Array:
            return np.asarray(self._means_of_last_step(contexts).max(axis=1))

        return self.clock.run_for_rows(largest, observation, tf.float32)

    @as_it_is
    def compute_optimal_action(self, observation: tf.Tensor) -> tf.Tensor:
        """Returns the action with the largest expected reward, as `compute_optimal_reward`: [B]."""

        def best(contexts: Array) -> Array:
            return np.asarray(self._means_of_last_step(contexts).argmax(axis=1))

        return self.clock.run_for_rows(best, observation, tf.int32)

    def _means_of_last_step(self, contexts: Array) -> Array:
        """Returns the expected rewards of contexts [B, d] at the last step, or now: [B, K]."""
        now = self.bandit.bandit_state()
        state = now.state if now.action is None else now.previous
        return self.bandit.means_in(state._replace(context=contexts), len(contexts)).table


def linear_samplers(
    observations: Distribution, weights: Distribution, additive: Distribution
) -> tuple[DistributionSampler, DistributionSampler]:
    """Returns the samplers of contexts and weights; ValueError if the shapes do not fit."""
    context_sampler = DistributionSampler("observation_distribution", observations)
    weights_sampler = DistributionSampler("observation_to_reward_distribution", weights)
    check_distribution("additive_reward_distribution", additive)
    for name, distribution, rank in (
        ("observation_distribution", observations, 2),
        ("additive_reward_distribution", additive, 1),
    ):
        found = distribution.batch_shape
        if len(found) != rank:
            raise ValueError(f"`{name}` must have batch shape with length {rank}; got {found}.")
    if additive.dtype != tf.float32:
        raise ValueError(f"Reward must have dtype float32; got {additive.dtype}")
    expected = (observations.batch_shape[1], additive.batch_shape[0])
    if tuple(weights.batch_shape) != expected:
        found = tuple(weights.batch_shape)
        raise ValueError(f"Observation to reward has {expected} as expected shape; got {found}")
    return context_sampler, weights_sampler
