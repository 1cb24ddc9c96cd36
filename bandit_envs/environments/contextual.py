"""What bandits with new contexts at every step share."""

from __future__ import annotations

from typing import Any

from bandit_envs.base.arrays import Array, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.sampling import SamplingFunction, as_sampler
from bandit_envs.specs import add_outer_dims_nest

Observation = dict[str, Array]


class ContextualBandit(BanditPyEnvironment):
    """A bandit whose state is its observation, which `_initial_state` draws anew for each step."""

    def _observe(self, state: Any) -> Any:
        return state

    def _state_of(self, observation: Any) -> Any:
        return observation

    def _next_state(self, rng: Rng, state: Any, action: Any) -> Any:
        return self._initial_state(rng)


class UsersAndItems:
    """Draws users and, for each of them, `num_items` items; `names` are for messages."""

    def __init__(
        self,
        names: tuple[str, str],
        users: SamplingFunction,
        items: SamplingFunction,
        num_items: int,
    ) -> None:
        self._names, self._num_items = names, num_items
        self.users = as_sampler(names[0], users, (1,))
        self.items = as_sampler(names[1], items, (1, num_items))
        per_arm = add_outer_dims_nest(self.items.spec, (num_items,))
        self.spec: dict[str, Any] = {"global": self.users.spec, "per_arm": per_arm}

    def draw(self, rng: Rng, batch_size: int) -> Observation:
        """Returns users `global` [B, G] and items `per_arm` [B, K, P]."""
        of_users, of_items = self._names
        return {
            "global": self.users.sample(rng, (batch_size,), of_users),
            "per_arm": self.items.sample(rng, (batch_size, self._num_items), of_items),
        }
