"""Data sets: labelled examples, ratings, decisions, outcomes. Most need the extra `datasets`."""

from bandit_envs.datasets.dataset import Dataset as Dataset
from bandit_envs.datasets.dataset import from_bunch as from_bunch
from bandit_envs.datasets.dataset import from_columns as from_columns
from bandit_envs.datasets.dataset import from_frame as from_frame
from bandit_envs.datasets.dataset import load_breast_cancer as load_breast_cancer
from bandit_envs.datasets.dataset import load_digits as load_digits
from bandit_envs.datasets.dataset import load_wine as load_wine
from bandit_envs.datasets.dataset import read_dataset as read_dataset
from bandit_envs.datasets.files import load_adult as load_adult
from bandit_envs.datasets.files import load_covertype as load_covertype
from bandit_envs.datasets.files import load_movielens as load_movielens
from bandit_envs.datasets.files import load_mushroom as load_mushroom
from bandit_envs.datasets.files import load_statlog_shuttle as load_statlog_shuttle
from bandit_envs.datasets.files import mushroom_rewards as mushroom_rewards
from bandit_envs.datasets.files import ratings_matrix as ratings_matrix
from bandit_envs.datasets.open_bandit import load_open_bandit as load_open_bandit
from bandit_envs.datasets.outcomes import Outcomes as Outcomes
from bandit_envs.datasets.outcomes import hash_texts as hash_texts
from bandit_envs.datasets.outcomes import read_outcomes as read_outcomes
from bandit_envs.datasets.outcomes import read_routerbench as read_routerbench
