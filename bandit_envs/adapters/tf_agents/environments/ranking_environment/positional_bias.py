"""The replacement of TF-Agents' ranking environment with a bias for each slot."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from bandit_envs import environments
from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.arrays import Indices
from bandit_envs.base.checks import check_indices
from bandit_envs.nests import Nest
from bandit_envs.sampling import SamplingFunction
from bandit_envs.seeding import Seed


class _PositionalBiasOfAnySlate(environments.ExplicitPositionalBiasRankingEnvironment):
    """The bandit that also takes slates with an item twice, as TF-Agents' does."""

    def _check_action(self, action: Nest) -> Indices:
        slots = self.action_kind.spec.shape
        return check_indices(action, self._batch_size, self.num_actions, slots)

    def _state_owner(self) -> str:
        return environments.ExplicitPositionalBiasRankingEnvironment.__name__


@configurable("ranking_environment")
class ExplicitPositionalBiasRankingEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `ExplicitPositionalBiasRankingEnvironment`.

    As there, a slate may show an item twice.

    The arguments are those of `bandit_envs.ExplicitPositionalBiasRankingEnvironment`.
    """

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        global_sampling_fn: SamplingFunction,
        item_sampling_fn: SamplingFunction,
        relevance_fn: Any,
        num_items: int,
        observation_probs: ArrayLike,
        batch_size: int = 1,
        name: str | None = None,
        *,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            _PositionalBiasOfAnySlate(
                global_sampling_fn,
                item_sampling_fn,
                relevance_fn,
                num_items,
                observation_probs,
                batch_size,
                name,
                seed=seed,
            )
        )
        self._name = name
