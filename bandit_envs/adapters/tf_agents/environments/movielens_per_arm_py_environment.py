"""The replacement of TF-Agents' module `movielens_per_arm_py_environment`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import os

import numpy as np
from tf_agents.bandits.environments.movielens_per_arm_py_environment import (
    GLOBAL_KEY,
    PER_ARM_KEY,
)

from bandit_envs import environments
from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.arrays import Array
from bandit_envs.datasets import load_movielens, ratings_matrix
from bandit_envs.seeding import Seed

__all__ = ["GLOBAL_KEY", "PER_ARM_KEY", "MovieLensPerArmPyEnvironment"]


@configurable("movielens_per_arm_py_environment")
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
