"""The replacement of TF-Agents' module `movielens_py_environment`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import os

import numpy as np

from bandit_envs import environments
from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.arrays import Array
from bandit_envs.datasets import load_movielens, ratings_matrix
from bandit_envs.seeding import Seed

__all__ = ["MovieLensPyEnvironment"]


@configurable("movielens_py_environment")
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
