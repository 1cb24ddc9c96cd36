"""What bandits with new contexts at every step share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Floats, Rng, read_only
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.nests import Nest
from bandit_envs.sampling import SamplingFunction, as_sampler
from bandit_envs.specs import add_outer_dims_nest

Observation = dict[str, Array]
"""Users `global` [B, G] and items `per_arm` [B, K, P]."""

CONTEXT = "context_sampling_fn"
WEIGHTS = "weights_sampling_fn"
NAMES = ("global_context_sampling_fn", "arm_context_sampling_fn")
ITEM_NAMES = ("global_sampling_fn", "item_sampling_fn")


class ContextualBandit(BanditPyEnvironment[Nest]):
    """A bandit whose state is its observation, which `_initial_state` draws anew for each step."""

    def _observe(self, state: Any) -> Any:
        return state

    def _state_of(self, observation: Any) -> Any:
        return observation

    def _next_state(self, rng: Rng, state: Any, action: Any) -> Any:
        return self._initial_state(rng)


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
        users: Any,
        items: Any,
        num_items: int,
        as_sampler: Callable[..., Any] = as_sampler,
    ) -> None:
        self._name_of_users, self._name_of_items = names
        self._num_items = num_items
        self.users = as_sampler(self._name_of_users, users, (1,))
        self.items = as_sampler(self._name_of_items, items, (1, num_items))
        self.spec: dict[str, Any] = {
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


class LinearBandit(BanditPyEnvironment[Any]):
    """A bandit with contexts x [B, d], and weights W [d, K] that all rows share.

    Its states have them as fields `context` and `weights`. Time goes on through `reset`.

    Args:
        contexts: a `ContextSampler`, or a function that returns one context.
        weights: the same for a row of W, of K numbers.
        options: as for `BanditPyEnvironment`.
    """

    def __init__(
        self, contexts: SamplingFunction, weights: SamplingFunction, **options: Any
    ) -> None:
        self._sampler = as_sampler(CONTEXT, contexts, (1,))
        (self._dim,) = self._sampler.spec.shape
        self._weights_sampler = as_sampler(WEIGHTS, weights, (self._dim,))
        (num_actions,) = self._weights_sampler.spec.shape
        super().__init__(self._sampler.spec, num_actions, **options)

    @property
    def weights(self) -> Floats:
        """The weights W of the coming reward: [d, K]."""
        return read_only(self._bandit_state().state.weights)

    def _next_episode(self, rng: Rng, state: Any) -> Any:
        return state._replace(context=self._contexts(rng))

    def _observe(self, state: Any) -> Array:
        return np.asarray(state.context)

    def _contexts(self, rng: Rng) -> Array:
        return self._sampler.sample(rng, self._batch_shape, CONTEXT)

    def _weights(self, rng: Rng) -> Floats:
        return self._weights_sampler.sample(rng, (self._dim,), WEIGHTS).astype(np.float64)

    def _products(self, state: Any) -> Array:
        """Returns x . W [B, K], in float32 if x is."""
        weights = state.weights
        if state.context.dtype == np.float32:
            weights = weights.astype(np.float32)
        return np.asarray(state.context.dot(weights))
