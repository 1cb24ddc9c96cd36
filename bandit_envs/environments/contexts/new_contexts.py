"""What bandits with new contexts at every step are made of."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Protocol

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Rng
from bandit_envs.nests import Nest
from bandit_envs.sampling import SamplingFunction, as_sampler
from bandit_envs.specs import add_outer_dims_nest

Observation = dict[str, Array]
"""Users `global` [B, G] and items `per_arm` [B, K, P]."""

CONTEXT = "context_sampling_fn"
WEIGHTS = "weights_sampling_fn"
NAMES = ("global_context_sampling_fn", "arm_context_sampling_fn")
ITEM_NAMES = ("global_sampling_fn", "item_sampling_fn")


class NewContexts(abc.ABC):
    """The hooks of a bandit whose state is its observation, which every step draws anew.

    It stands before `BanditPyEnvironment` among the bases of such a bandit.
    """

    @abc.abstractmethod
    def _initial_state(self, rng: Rng) -> Nest:
        """Draws an observation."""

    def _observe(self, state: Nest) -> Nest:
        return state

    def _state_of(self, observation: Nest) -> Nest:
        return observation

    def _next_state(self, rng: Rng, state: Nest, action: Indices) -> Nest:
        return self._initial_state(rng)


class AnySampler(Protocol):
    """Draws contexts: a `ContextSampler`, or what draws nests of them."""

    @property
    def spec(self) -> Nest: ...
    def sample(self, rng: Rng, size: tuple[int, ...], name: str) -> Nest: ...


class UsersAndItems:
    """Draws users and, for each of them, `num_items` items.

    Args:
        names: what messages call the samplers of users and of items.
        users: a `ContextSampler`, or a function that returns one context [G].
        items: the same for an item: [P].
        num_items: K.
        as_sampler: makes samplers of both; `as_nest_sampler` does so of nests of features.
    """

    def __init__(
        self,
        names: tuple[str, str],
        users: SamplingFunction | Nest,
        items: SamplingFunction | Nest,
        num_items: int,
        as_sampler: Callable[[str, Nest, tuple[int, ...]], AnySampler] = as_sampler,
    ) -> None:
        self._name_of_users, self._name_of_items = names
        self._num_items = num_items
        self.users = as_sampler(self._name_of_users, users, (1,))
        self.items = as_sampler(self._name_of_items, items, (1, num_items))
        self.spec: dict[str, Nest] = {
            "global": self.users.spec,
            "per_arm": add_outer_dims_nest(self.items.spec, (num_items,)),
        }

    def draw(self, rng: Rng, batch_size: int) -> Observation:
        """Returns users `global` [B, G] and items `per_arm` [B, K, P]."""
        of_users = (batch_size,)
        of_items = (batch_size, self._num_items)
        return {
            "global": self.users.sample(rng, of_users, self._name_of_users),
            "per_arm": self.items.sample(rng, of_items, self._name_of_items),
        }


class LinearContexts:
    """Draws contexts x [B, d], and weights W [d, K] that all rows share.

    Args:
        contexts: a `ContextSampler`, or a function that returns one context.
        weights: the same for a row of W, of K numbers.
    """

    def __init__(self, contexts: SamplingFunction, weights: SamplingFunction) -> None:
        self._contexts = as_sampler(CONTEXT, contexts, (1,))
        self.spec = self._contexts.spec
        (self.dim,) = self.spec.shape
        self._weights = as_sampler(WEIGHTS, weights, (self.dim,))
        (self.num_actions,) = self._weights.spec.shape

    def draw_contexts(self, rng: Rng, batch_size: int) -> Array:
        """Draws x: [B, d]."""
        return self._contexts.sample(rng, (batch_size,), CONTEXT)

    def draw_weights(self, rng: Rng) -> Floats:
        """Draws W: [d, K]."""
        return self._weights.sample(rng, (self.dim,), WEIGHTS).astype(np.float64)


def multiply(contexts: Array, weights: Floats) -> Array:
    """Returns x . W [B, K], in float32 if x [B, d] is."""
    if contexts.dtype == np.float32:
        weights = weights.astype(np.float32)
    return np.asarray(contexts.dot(weights))
