"""The replacement of TF-Agents' ranking environment."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from numpy.typing import ArrayLike

from bandit_envs import environments
from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.arrays import Array, Indices
from bandit_envs.base.checks import check_indices
from bandit_envs.environments.slates.ranking import ClickModel, FeedbackModel
from bandit_envs.nests import Nest
from bandit_envs.sampling import SamplingFunction
from bandit_envs.seeding import Seed


class _RankingOfAnySlate(environments.RankingPyEnvironment):
    """The ranking bandit that also takes slates with an item twice, as TF-Agents' does."""

    def _check_action(self, action: Nest) -> Indices:
        slots = self.action_kind.spec.shape
        return check_indices(action, self._batch_size, self.num_actions, slots)

    def _state_owner(self) -> str:
        return environments.RankingPyEnvironment.__name__


@configurable("ranking_environment")
class RankingPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `RankingPyEnvironment`.

    As there, a slate may show an item twice.

    The arguments are those of `bandit_envs.RankingPyEnvironment`.
    """

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        global_sampling_fn: SamplingFunction,
        item_sampling_fn: SamplingFunction,
        num_items: int,
        num_slots: int,
        scores_weight_matrix: ArrayLike,
        feedback_model: int = FeedbackModel.CASCADING,
        click_model: int = ClickModel.GHOST_ACTIONS,
        real_cascade: bool = False,
        distance_threshold: float | None = None,
        batch_size: int = 1,
        name: str | None = "ranking_environment",
        *,
        seed: Seed = None,
    ) -> None:
        self._ranking = _RankingOfAnySlate(
            global_sampling_fn,
            item_sampling_fn,
            num_items,
            num_slots,
            scores_weight_matrix,
            feedback_model,
            click_model,
            real_cascade,
            distance_threshold,
            batch_size,
            name,
            seed=seed,
        )
        super().__init__(self._ranking)
        self._name = name

    def _cascading_to_scorevector(self, chosen_items: Array, chosen_values: Array) -> Array:
        """Returns the same feedback as a vector of scores; TF-Agents' tests call it."""
        return self._ranking._cascading_to_scorevector(chosen_items, chosen_values)
