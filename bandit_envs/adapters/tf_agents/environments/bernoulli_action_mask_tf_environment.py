"""The replacement of TF-Agents' module `bernoulli_action_mask_tf_environment`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tf_agents.environments import tf_py_environment

from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.adapters.tf_agents.tf_environment import BanditTFPyEnvironment, bandit_of
from bandit_envs.adapters.tf_agents.wrappers import JoinedMask, JoinFunction
from bandit_envs.arrays import Indices
from bandit_envs.base.checks import check_available, check_indices
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest
from bandit_envs.wrappers import RandomActionMask

__all__ = ["BernoulliActionMaskTFEnvironment"]


class ActionNotAllowedError(tf.errors.InvalidArgumentError, ValueError):
    """An action is not available in its row, as TF-Agents and this package say it."""


class _JoinedRandomMask(JoinedMask):
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
            return check_available(checked, self._masked.current_time_step().observation["mask"])
        except ValueError as error:
            message = f"Action not in allowed action set: {error}"
            raise ActionNotAllowedError(None, None, message) from error


@configurable("bernoulli_action_mask_tf_environment")
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
