"""Data sets: labelled examples, ratings, decisions, outcomes. Most need the extra `datasets`."""

from bandit_envs.datasets.dataset import (
    Dataset,
    load_breast_cancer,
    load_digits,
    load_wine,
    read_dataset,
)
from bandit_envs.datasets.open_bandit import load_open_bandit
from bandit_envs.datasets.outcomes import Outcomes, read_outcomes
from bandit_envs.datasets.published import (
    load_adult,
    load_covertype,
    load_movielens,
    load_mushroom,
    load_statlog_shuttle,
    mushroom_rewards,
    ratings_matrix,
)

__all__ = [
    "Dataset",
    "Outcomes",
    "load_adult",
    "load_breast_cancer",
    "load_covertype",
    "load_digits",
    "load_movielens",
    "load_mushroom",
    "load_open_bandit",
    "load_statlog_shuttle",
    "load_wine",
    "mushroom_rewards",
    "ratings_matrix",
    "read_dataset",
    "read_outcomes",
]
