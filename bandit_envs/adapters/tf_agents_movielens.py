"""The constructors of TF-Agents' MovieLens environments."""

import os

from bandit_envs.base.state import Seed
from bandit_envs.datasets import load_movielens, ratings_matrix
from bandit_envs.environments import PerArmRatingsBandit, RatingsBandit


def movielens(  # noqa: PLR0917 - the positional order of TF-Agents
    data_dir: str | os.PathLike[str],
    rank_k: int,
    batch_size: int = 1,
    num_movies: int = 20,
    csv_delimiter: str = ",",
    name: str | None = "movielens",
    *,
    seed: Seed = None,
) -> RatingsBandit:
    """Returns the bandit of the first movies in the file `data_dir`, and of those who rated them.

    Movies and users without ratings do not count; in TF-Agents, there are always 1,682 and 943.
    """
    first = ratings_matrix(load_movielens(data_dir, csv_delimiter))[:, :num_movies]
    rated = first[first.any(axis=1)]
    return RatingsBandit(rated, rank_k, batch_size, seed=seed, name=name)


def movielens_per_arm(  # noqa: PLR0917 - the positional order of TF-Agents
    data_dir: str | os.PathLike[str],
    rank_k: int,
    batch_size: int = 1,
    num_actions: int = 50,
    csv_delimiter: str = ",",
    name: str | None = "movielens_per_arm",
    *,
    seed: Seed = None,
) -> PerArmRatingsBandit:
    """Returns the bandit of all movies and users in the file `data_dir`, as for `movielens`."""
    ratings = ratings_matrix(load_movielens(data_dir, csv_delimiter))
    return PerArmRatingsBandit(ratings, rank_k, num_actions, batch_size, seed=seed, name=name)
