"""Replacements of TF-Agents' environments: the same names, arguments and order of arguments."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import os
from typing import Any, TypeVar

import gin
import numpy as np
from numpy.typing import ArrayLike
from tf_agents.trajectories import time_step as ts

from bandit_envs import environments
from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.arrays import Array
from bandit_envs.datasets import load_movielens, ratings_matrix
from bandit_envs.environments.slates.ranking import ClickModel, FeedbackModel
from bandit_envs.nests import Nest
from bandit_envs.rewards.actions import ActionRewards
from bandit_envs.rewards.contextual import RewardFunction
from bandit_envs.sampling import SamplingFunction
from bandit_envs.seeding import Seed

DropIn = TypeVar("DropIn", bound=type)


def configurable(drop_in: DropIn) -> DropIn:
    """Makes gin configure a class under its bare name.

    gin puts the module in front of a name. Then the bare name could also be TF-Agents' class.
    """
    module = drop_in.__module__
    drop_in.__module__ = None  # type: ignore[assignment]
    gin.configurable(drop_in)
    drop_in.__module__ = module
    return drop_in


@configurable
class BernoulliPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `BernoulliPyEnvironment`.

    Args:
        means, batch_size, seed, name: as for `bandit_envs.BernoulliPyEnvironment`.
    """

    def __init__(
        self,
        means: ArrayLike,
        batch_size: int = 1,
        *,
        seed: Seed = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            environments.BernoulliPyEnvironment(means, batch_size, seed=seed, name=name)
        )


@configurable
class PiecewiseBernoulliPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `PiecewiseBernoulliPyEnvironment`.

    As there, one action for a batch is taken in all rows.

    Args:
        piece_means, change_duration_generator, batch_size, restart_on_reset, seed, name: as for
            `bandit_envs.PiecewiseBernoulliPyEnvironment`.
    """

    def __init__(
        self,
        piece_means: ArrayLike,
        change_duration_generator: Any,
        batch_size: int = 1,
        *,
        restart_on_reset: bool = False,
        seed: Seed = None,
        name: str | None = None,
    ) -> None:
        self._piecewise = environments.PiecewiseBernoulliPyEnvironment(
            piece_means,
            change_duration_generator,
            batch_size,
            restart_on_reset=restart_on_reset,
            seed=seed,
            name=name,
        )
        super().__init__(self._piecewise)

    @property
    def _current_piece(self) -> int:
        """The index of the current piece, under the name that TF-Agents' tests read."""
        return self._piecewise.current_piece

    def _step(self, action: Nest) -> ts.TimeStep:
        if np.shape(action) == (1,):
            action = np.repeat(action, self.batch_size)
        return super()._step(action)


@configurable
class StationaryStochasticPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `StationaryStochasticPyEnvironment`.

    Args:
        context_sampling_fn, reward_fns, constraint_fns, batch_size, name, seed: as for
            `bandit_envs.StationaryStochasticPyEnvironment`.
    """

    def __init__(
        self,
        context_sampling_fn: SamplingFunction,
        reward_fns: ActionRewards,
        constraint_fns: ActionRewards | None = None,
        batch_size: int = 1,
        name: str | None = "stationary_stochastic",
        *,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            environments.StationaryStochasticPyEnvironment(
                context_sampling_fn, reward_fns, constraint_fns, batch_size, name, seed=seed
            )
        )
        self._name = name


class _PerArmOfAnyAction(environments.StationaryStochasticPerArmPyEnvironment):
    """The per-arm bandit that also rewards the actions beyond `num_actions`, as TF-Agents' does."""

    def _check_available(self, action: Array) -> None:
        """Accepts every action."""

    def _state_owner(self) -> str:
        return environments.StationaryStochasticPerArmPyEnvironment.__name__


@configurable
class StationaryStochasticPerArmPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `StationaryStochasticPerArmPyEnvironment`.

    As there, actions beyond `num_actions` are rewarded too.

    The arguments are those of `bandit_envs.StationaryStochasticPerArmPyEnvironment`.
    """

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        global_context_sampling_fn: SamplingFunction,
        arm_context_sampling_fn: SamplingFunction,
        max_num_actions: int,
        reward_fn: RewardFunction,
        num_actions_fn: SamplingFunction | None = None,
        batch_size: int = 1,
        name: str | None = "stationary_stochastic_per_arm",
        *,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            _PerArmOfAnyAction(
                global_context_sampling_fn,
                arm_context_sampling_fn,
                max_num_actions,
                reward_fn,
                num_actions_fn,
                batch_size,
                name,
                seed=seed,
            )
        )
        self._name = name


@configurable
class StationaryStochasticStructuredPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `StationaryStochasticStructuredPyEnvironment`.

    The arguments are those of `bandit_envs.StationaryStochasticStructuredPyEnvironment`.
    """

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        global_context_sampling_fn: Nest,
        arm_context_sampling_fn: Nest,
        num_actions: int,
        reward_fn: Any,
        batch_size: int = 1,
        name: str | None = "stationary_stochastic_structured",
        *,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            environments.StationaryStochasticStructuredPyEnvironment(
                global_context_sampling_fn,
                arm_context_sampling_fn,
                num_actions,
                reward_fn,
                batch_size,
                name,
                seed=seed,
            )
        )
        self._name = name


@configurable
class WheelPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `WheelPyEnvironment`.

    Args:
        delta, mu_base, std_base, mu_high, std_high, batch_size, name, seed: as for
            `bandit_envs.WheelPyEnvironment`.
    """

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        delta: float,
        mu_base: ArrayLike,
        std_base: ArrayLike,
        mu_high: float,
        std_high: float,
        batch_size: int | None = None,
        name: str | None = "wheel",
        *,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            environments.WheelPyEnvironment(
                delta, mu_base, std_base, mu_high, std_high, batch_size, name, seed=seed
            )
        )
        self._name = name


class _RankingOfAnySlate(environments.RankingPyEnvironment):
    """The ranking bandit that also takes slates with an item twice, as TF-Agents' does."""

    def _check_available(self, action: Array) -> None:
        """Accepts every slate."""

    def _state_owner(self) -> str:
        return environments.RankingPyEnvironment.__name__


@configurable
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


class _PositionalBiasOfAnySlate(environments.ExplicitPositionalBiasRankingEnvironment):
    """The bandit that also takes slates with an item twice, as TF-Agents' does."""

    def _check_available(self, action: Array) -> None:
        """Accepts every slate."""

    def _state_owner(self) -> str:
        return environments.ExplicitPositionalBiasRankingEnvironment.__name__


@configurable
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


@configurable
class MovieLensPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `MovieLensPyEnvironment`.

    Movies and users without ratings do not count; in TF-Agents, there are always 1,682 and 943.

    Args:
        data_dir: the file of ratings, such as `u.data`.
        rank_k: the number of features of a user.
        batch_size: B.
        num_movies: the number of actions: the first movies of the file.
        csv_delimiter: what separates the columns of the file.
        name, seed: as for `bandit_envs.RatingsBandit`.
    """

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        data_dir: str | os.PathLike[str],
        rank_k: int,
        batch_size: int = 1,
        num_movies: int = 20,
        csv_delimiter: str = ",",
        name: str | None = "movielens",
        *,
        seed: Seed = None,
    ) -> None:
        first = ratings_matrix(load_movielens(data_dir, csv_delimiter))[:, :num_movies]
        rated = first[first.any(axis=1)]
        super().__init__(
            environments.RatingsBandit(rated, rank_k, batch_size, seed=seed, name=name)
        )
        self._name = name

    def compute_optimal_action(self) -> Array:
        """Returns the best action at the last step: [B]."""
        return np.asarray(self.get_info()["optimal_action"])

    def compute_optimal_reward(self) -> Array:
        """Returns the reward of the best action at the last step: [B]."""
        return np.asarray(self.get_info()["optimal_reward"])


@configurable
class MovieLensPerArmPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `MovieLensPerArmPyEnvironment`.

    Args:
        data_dir, rank_k, batch_size, csv_delimiter, name, seed: as for `MovieLensPyEnvironment`.
        num_actions: the number of movies on offer.
    """

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        data_dir: str | os.PathLike[str],
        rank_k: int,
        batch_size: int = 1,
        num_actions: int = 50,
        csv_delimiter: str = ",",
        name: str | None = "movielens_per_arm",
        *,
        seed: Seed = None,
    ) -> None:
        ratings = ratings_matrix(load_movielens(data_dir, csv_delimiter))
        super().__init__(
            environments.per_arm_ratings(
                ratings, rank_k, num_actions, batch_size, seed=seed, name=name
            )
        )
        self._name = name

    def compute_optimal_action(self) -> Array:
        """Returns the best action at the last step: [B]."""
        return np.asarray(self.get_info()["optimal_action"])

    def compute_optimal_reward(self) -> Array:
        """Returns the reward of the best action at the last step: [B]."""
        return np.asarray(self.get_info()["optimal_reward"])
