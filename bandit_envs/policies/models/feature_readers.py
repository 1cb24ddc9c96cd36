"""Features of an observation, as one array of finite numbers."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping

import numpy as np

from bandit_envs.arrays import NUMBERS, Array, Floats, Indices, as_numbers
from bandit_envs.base.checks import MAX_REWARD
from bandit_envs.nests import Nest, flatten, join_leaves, map_structure
from bandit_envs.specs import ArraySpec

AVAILABILITY = ("mask", "num_actions")
"""The entries of an observation that tell which actions are available."""


def shows_items(observation: Nest) -> bool:
    """Returns whether an observation, or its spec, has features of each action, `per_arm`."""
    return isinstance(observation, Mapping) and "per_arm" in observation


class FeatureReader:
    """Joins a nest of features to one array [n, ..., D], and refuses what does not fit its spec.

    Args:
        spec: a nest of specs of the features of one row. Arrays are flattened and joined in order.
        leading: how many dimensions of a row stay, such as 1 for features of each action, [K, D].

    Raises:
        ValueError: a spec is not of numbers, or the leading dimensions differ.
    """

    def __init__(self, spec: Nest, leading: int = 0) -> None:
        self._spec = spec
        self._leading = leading
        leaves = flatten(spec)
        if not all(isinstance(leaf, ArraySpec) and leaf.dtype.kind in NUMBERS for leaf in leaves):
            raise ValueError("expected arrays of numbers")
        shapes = {leaf.shape[:leading] for leaf in leaves}
        if len(shapes) != 1 or len(min(shapes)) != leading:
            raise ValueError("expected arrays of numbers")
        dim = sum(math.prod(leaf.shape[leading:]) for leaf in leaves)
        self.shape: tuple[int, ...] = (*min(shapes), dim)  #: of a row: [D], or [K, D]
        self._is_plain = isinstance(spec, ArraySpec) and spec.shape == self.shape

    def with_actions(self, num_actions: int) -> FeatureReader:
        """Returns a reader of features of so many actions, which are the first dimension."""

        def resize(leaf: ArraySpec) -> ArraySpec:
            return ArraySpec((num_actions, *leaf.shape[1:]), leaf.dtype, leaf.name)

        return FeatureReader(map_structure(resize, self._spec), self._leading)

    def read(self, features: Nest, size: int) -> Array:
        """Returns the features of `size` rows, [size, ..., D], in their own dtype.

        Raises:
            ValueError: they do not fit the spec.
        """
        is_plain = self._is_plain and type(features) is np.ndarray  # the common kind
        if is_plain and features.shape == (size, *self.shape) and features.dtype.kind in NUMBERS:
            return features  # type: ignore[no-any-return]

        def check(leaf: ArraySpec, values: Nest) -> Array:
            array = as_numbers("found", values)
            if array.shape != (size, *leaf.shape):
                raise ValueError(f"found shape {array.shape}; expected {(size, *leaf.shape)}")
            return array

        try:
            return join_leaves(map_structure(check, self._spec, features), 1 + self._leading)
        except (TypeError, ValueError) as error:
            raise ValueError(f"observation has bad features: {error}") from None


class ContextReader:
    """Reads the context [n, D] of observations without features of actions.

    The context is the observation, or the entry `observation` of one with a mask beside it; of any
    other dict, all entries but those that tell which actions are available.

    Args:
        observation_spec: of the environment.

    Raises:
        ValueError: the context is not of numbers.
    """

    def __init__(self, observation_spec: Nest) -> None:
        try:
            self._reader = FeatureReader(_context_of(observation_spec))
        except ValueError as error:
            raise ValueError(f"observation_spec is {observation_spec}; {error}") from None
        (self.dim,) = self._reader.shape  #: D, the number of features

    def read(self, observation: Nest, size: int) -> Floats:
        """Returns the context of `size` rows, [size, D]; ValueError if it does not fit the spec."""
        is_context = type(observation) is np.ndarray  # the common kind
        context = observation if is_context else _context_of(observation)
        return as_finite(self._reader.read(context, size))


class ItemReader:
    """Reads features x = [global, per_arm] of the actions that an observation describes.

    The observation has the keys `global` [B, G] and `per_arm` [B, K, P], or nests of arrays
    [B, ...] and [B, K, ...], which are flattened and joined in their order.

    Raises:
        ValueError: the spec has no such keys, or they are not of numbers.
    """

    def __init__(self, observation_spec: Nest) -> None:
        try:
            self._context = FeatureReader(observation_spec["global"])
            self._actions = FeatureReader(observation_spec["per_arm"], leading=1)
        except (LookupError, TypeError, ValueError):
            found = f"observation_spec is {observation_spec}"
            expected = "expected global (G,) and per_arm (K, P)"
            raise ValueError(f"{found}; {expected}") from None
        (self.global_dim,) = self._context.shape  #: G
        self.num_actions, self.arm_dim = self._actions.shape  #: K and P

    def with_actions(self, num_actions: int) -> ItemReader:
        """Returns a reader of the features of so many actions."""
        copied = copy.copy(self)
        copied._actions = self._actions.with_actions(num_actions)
        copied.num_actions = num_actions
        return copied

    def read(self, observation: Nest, size: int) -> tuple[Floats, Floats]:
        """Returns the features of the context [size, G] and of the actions [size, K, P]."""
        context, actions = self._read(observation, size)
        return as_finite(context), as_finite(actions)

    def read_chosen(self, observation: Nest, action: Indices) -> Floats:
        """Returns x of actions [n], or of slates [n, S], one below the other: [n * S, G + P]."""
        size = len(action)
        slates = action.reshape(size, -1, 1)  # [n, S, 1]
        context, actions = self._read(observation, size)
        chosen = np.take_along_axis(actions, slates, axis=1)
        shared = np.repeat(context[:, np.newaxis], slates.shape[1], axis=1)
        features = as_finite(np.concatenate((shared, chosen), axis=2))
        return features.reshape(slates.size, features.shape[2])

    def _read(self, observation: Nest, size: int) -> tuple[Array, Array]:
        found = observation if isinstance(observation, Mapping) else {}
        context = self._context.read(found.get("global"), size)
        return context, self._actions.read(found.get("per_arm"), size)


def item_products(weights: Floats, context: Floats, actions: Floats) -> Floats:
    """Returns w . [context, action] of every action: [B, K].

    Args:
        weights: [1, G + P], or different ones for each row, [B, G + P].
        context: [B, G].
        actions: [B, K, P].
    """
    dim = context.shape[1]
    shared = np.sum(context * weights[:, :dim], axis=-1, keepdims=True)
    return np.asarray(shared + (actions @ weights[:, dim:, np.newaxis])[..., 0])


def as_finite(features: Array) -> Floats:
    """Returns features as float64; ValueError if one is NaN or too large."""
    floats = features.astype(np.float64, copy=False)
    # A sum of squares within bounds proves all of them good. In a narrow dtype, it may overflow.
    is_finite = float(np.vdot(features, features)) < MAX_REWARD
    if not (is_finite or float(np.vdot(floats, floats)) < MAX_REWARD):
        raise ValueError("observation has features that are NaN, infinite or too large")
    return floats


def _context_of(observation: Nest) -> Nest:
    """Returns the context of an observation, which may be a dict that tells available actions."""
    if not isinstance(observation, Mapping):
        return observation
    if "observation" in observation:
        return observation["observation"]
    return {key: entry for key, entry in observation.items() if key not in AVAILABILITY}
