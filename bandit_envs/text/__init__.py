"""Bandits as text, for agents that read prompts and answer them.

Experimental: these names may change in any minor version.
"""

from bandit_envs.text.answers import (
    ANSWER_ONLY,
    STEP_BY_STEP,
    ActionProbabilities,
    AnswerFormat,
    OneAction,
    UnreadableAnswerError,
    parse_answer,
)
from bandit_envs.text.calls import AnswerCache, Complete, Meter, Usage
from bandit_envs.text.history import History, LastRounds, Summary, describe_features
from bandit_envs.text.scenarios import ADVERTS, BUTTONS, Scenario
from bandit_envs.text.text_policy import Prompter, TextPolicy

__all__ = [
    "ADVERTS",
    "ANSWER_ONLY",
    "BUTTONS",
    "STEP_BY_STEP",
    "ActionProbabilities",
    "AnswerCache",
    "AnswerFormat",
    "Complete",
    "History",
    "LastRounds",
    "Meter",
    "OneAction",
    "Prompter",
    "Scenario",
    "Summary",
    "TextPolicy",
    "UnreadableAnswerError",
    "Usage",
    "describe_features",
    "parse_answer",
]
