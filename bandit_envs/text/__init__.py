"""Bandits as text, for agents that read prompts and answer them.

Experimental: these names may change in any minor version.
"""

from bandit_envs.text.answers import (
    ANSWER_ONLY,
    STEP_BY_STEP,
    ActionProbabilities,
    OneAction,
    UnreadableAnswerError,
)
from bandit_envs.text.calls import AnswerCache, Meter
from bandit_envs.text.history import LastRounds, Summary
from bandit_envs.text.scenarios import ADVERTS, BUTTONS, Scenario
from bandit_envs.text.text_policy import TextPolicy

__all__ = [
    "ADVERTS",
    "ANSWER_ONLY",
    "BUTTONS",
    "STEP_BY_STEP",
    "ActionProbabilities",
    "AnswerCache",
    "LastRounds",
    "Meter",
    "OneAction",
    "Scenario",
    "Summary",
    "TextPolicy",
    "UnreadableAnswerError",
]
