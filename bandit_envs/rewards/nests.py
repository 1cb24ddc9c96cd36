"""Reward models of nests of features."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import as_numbers, check_array
from bandit_envs.rewards.contextual import RewardModel, RowReward, as_reward_model
from bandit_envs.specs import ArraySpec, Nest, flatten, map_structure


class FlatReward(RewardModel):
    """A reward model of two vectors, applied to the leaves of two nests in their order.

    Args:
        model: takes the leaves of the user, flattened and joined, and those of the item.

    >>> from bandit_envs.rewards import LinearReward
    >>> reward = FlatReward(LinearReward([1.0, 1.0, 10.0]))
    >>> reward.mean({"a": np.array([[3.0]]), "b": np.array([[2.0]])}, np.array([[[1.0], [2.0]]]))
    array([[15., 25.]])
    """

    def __init__(self, model: RewardModel) -> None:
        self._model = model

    @property
    def spec(self) -> ArraySpec:
        return self._model.spec

    def mean(self, global_features: Nest, arm_features: Nest) -> NDArray[Any]:
        """Returns [B, K], for leaves [B, ...] and [B, K, ...]."""
        return self._model.mean(_flat(global_features, 1), _flat(arm_features, 2))

    def draw(
        self, rng: np.random.Generator, global_features: Nest, arm_features: Nest
    ) -> NDArray[Any]:
        return self._model.draw(rng, _flat(global_features, 1), _flat(arm_features, 1))


class RowNestReward(RowReward):
    """A function of TF-Agents' kind: it draws a reward from the nests of one user and one item.

    Source: TF-Agents' `StationaryStochasticStructuredPyEnvironment`.
    """

    _function: Callable[..., Any]

    def draw(
        self, rng: np.random.Generator, global_features: Nest, arm_features: Nest
    ) -> NDArray[Any]:
        nests = map_structure(np.copy, (global_features, arm_features))
        rows = len(flatten(arm_features)[0])
        inputs = [map_structure(lambda leaf: leaf[row], nests) for row in range(rows)]  # noqa: B023
        drawn = [self._function(*each) for each in inputs]
        return check_array(self._returned, as_numbers(self._returned, drawn), (rows,))


def as_nest_reward_model(
    name: str, function: RewardModel | Callable[..., Any], user: Nest, item: Nest
) -> RewardModel:
    """Returns `function` as a reward model of nests; a model is tried on zeros of the two specs."""
    if not isinstance(function, RewardModel):
        return RowNestReward(function, name)
    zeros = map_structure(lambda spec: np.zeros((1, *spec.shape), spec.dtype), (user, item))
    return as_reward_model(name, function, *zeros)


def _flat(nest: Nest, dims: int) -> NDArray[Any]:
    flat = [
        leaf.reshape(*leaf.shape[:dims], math.prod(leaf.shape[dims:])) for leaf in flatten(nest)
    ]
    return flat[0] if len(flat) == 1 else np.concatenate(flat, axis=-1)
