"""The inputs of a model of rewards: a context, or the features of each action with it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.nests import Nest
from bandit_envs.policies.features import ContextReader, ItemReader


class ActionFeatures:
    """Reads what a model of rewards is given, whatever kind of context there is.

    An observation with the keys `global` [B, G] and `per_arm` [B, K, P] has features of actions.
    Then the inputs are [B, K, G + P], and one model with a single output predicts for all actions.
    Any other observation is a context [B, D], or has one in its entry `observation` beside a mask.
    Then there is an output, or a model, for each action.

    Args:
        observation_spec: of the environment.
        num_actions: the number of actions, K.

    Raises:
        ValueError: the observation is not of numbers, or has features of another number of actions.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> ActionFeatures(spec, num_actions=4).dim
    5
    """

    def __init__(self, observation_spec: Nest, num_actions: int) -> None:
        self._num_actions = num_actions
        self.are_of_actions = (
            isinstance(observation_spec, Mapping) and "per_arm" in observation_spec
        )
        """Whether each action has features."""
        if not self.are_of_actions:
            self._context = ContextReader(observation_spec)
            self.dim = self._context.dim  #: D, the number of inputs
            return
        self._items = ItemReader(observation_spec)
        found = self._items.num_actions
        if found != num_actions:
            expected = f"expected {found}, as many as have features in the observation"
            raise ValueError(f"num_actions is {num_actions}; {expected}")
        self.dim = self._items.global_dim + self._items.arm_dim

    @property
    def num_outputs(self) -> int:
        """How many numbers a model predicts: one for each action; 1 if actions have features."""
        return 1 if self.are_of_actions else self._num_actions

    def read(self, observation: Nest, size: int) -> Floats:
        """Returns the inputs of `size` rows: [size, D], or [size, K, D] with features of actions.

        Raises:
            ValueError: the observation does not fit its spec, or has a number that is not finite.
        """
        if not self.are_of_actions:
            return self._context.read(observation, size)
        context, actions = self._items.read(observation, size)
        repeated = np.repeat(context[:, np.newaxis], self._num_actions, axis=1)
        return np.concatenate((repeated, actions), axis=2)

    def read_chosen(self, observation: Nest, action: Indices) -> tuple[Floats, Indices]:
        """Returns the inputs [n, D] of actions [n] that were chosen, and their outputs [n]."""
        if not self.are_of_actions:
            return self._context.read(observation, len(action)), action
        return self._items.read_chosen(observation, action), np.zeros_like(action)
