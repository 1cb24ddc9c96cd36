"""Environments that replay data: labelled examples and tables of outcomes."""

from bandit_envs.environments.data.classification import ClassificationBandit
from bandit_envs.environments.data.outcome_table import OutcomeStream, OutcomeTableBandit

__all__ = [
    "ClassificationBandit",
    "OutcomeStream",
    "OutcomeTableBandit",
]
