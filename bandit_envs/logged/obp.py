"""Logs as feedback dicts of the Open Bandit Pipeline (OBP)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.base.checks import short_repr
from bandit_envs.logged.log import BanditLog

REQUIRED = {"n_rounds", "n_actions", "context", "action", "reward", "pscore"}
OPTIONAL = {"pi_b", "expected_reward", "action_context", "position"}
EMBEDDINGS = {"action_embed", "p_e_a", "q_x_e"}
"""What OBP knows of embeddings of actions: those of the actions taken, their law, and rewards."""


def to_obp(log: BanditLog) -> dict[str, Any]:
    """Returns the feedback dict of the Open Bandit Pipeline; the observation must be [n, d].

    Raises:
        ValueError: the log has a column that feedback cannot hold; `BanditLog.drop` leaves it out.
    """
    refuse_columns(log, "available", "step", "row")
    table = log.action_probabilities
    return {
        "n_rounds": len(log),
        "n_actions": log.num_actions,
        "context": check_features(log.observation, ndim=2),
        "action_context": None,
        "action": log.action,
        "position": None,
        "reward": log.reward,
        "pscore": log.propensity,
        "pi_b": None if table is None else table[:, :, np.newaxis],
        "expected_reward": log.expected_rewards,
        **({} if log.embedding is None else {"action_embed": log.embedding}),
    }


def from_obp(feedback: Mapping[str, Any]) -> BanditLog:
    """Returns the log in a feedback dict of the Open Bandit Pipeline.

    `action_embed` becomes the log's `embedding`. What else is known of embeddings is not of single
    rows, and is left out: `p_e_a`, which `likelihoods_of_embeddings` takes, `q_x_e`, and with them
    `action_context`.

    Raises:
        ValueError: the feedback lacks a key or has an unknown one, a `position` is not 0, or
            `action_context` is not one-hot though there are no embeddings.
    """
    missing = REQUIRED - feedback.keys()
    unknown = feedback.keys() - REQUIRED - OPTIONAL - EMBEDDINGS
    if missing or unknown:
        raise ValueError(f"feedback has no {sorted(missing)} and unknown {sorted(unknown)}")
    position = feedback.get("position")
    if position is not None and np.any(position):
        raise ValueError("position is not 0 everywhere; a log has one action a row")
    _check_action_context(feedback)
    table = feedback.get("pi_b")
    return BanditLog(
        observation=feedback["context"],
        action=feedback["action"],
        reward=feedback["reward"],
        propensity=feedback["pscore"],
        num_actions=feedback["n_actions"],
        action_probabilities=None if table is None else np.squeeze(table, axis=2),
        expected_rewards=feedback.get("expected_reward"),
        embedding=feedback.get("action_embed"),
    )


def _check_action_context(feedback: Mapping[str, Any]) -> None:
    """Refuses features of actions that would be lost."""
    features = feedback.get("action_context")
    if features is None or EMBEDDINGS & feedback.keys():
        return
    if not np.array_equal(features, np.eye(feedback["n_actions"])):
        raise ValueError("action_context is not one-hot; put it into the observation")


def refuse_columns(log: BanditLog, *names: str) -> None:
    """Raises ValueError if the log has one of some columns, which a format cannot hold."""
    found = [name for name in names if name in log.columns()]
    if found:
        raise ValueError(f"the format has no {found[0]}; use log.drop(*{found})")


def check_features(array: Any, ndim: int) -> Array:
    """Returns an observation that is one array of numbers with `ndim` dimensions."""
    if isinstance(array, np.ndarray) and array.ndim == ndim and array.dtype.kind in "biuf":
        return array
    raise ValueError(
        f"observation has {short_repr(array)}; expected numbers with {ndim} dimensions"
    )
