"""Logs as feedback dicts of the Open Bandit Pipeline (OBP)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Indices, as_numbers, check_array
from bandit_envs.base.checks import short_repr
from bandit_envs.datasets.dataset import one_hot
from bandit_envs.logged.columns import check_each
from bandit_envs.logged.log import BanditLog
from bandit_envs.nests import Nest

REQUIRED = {"n_rounds", "n_actions", "context", "action", "reward", "pscore"}
OPTIONAL = {"pi_b", "expected_reward", "action_context", "position"}
EMBEDDINGS = {"action_embed", "p_e_a", "q_x_e"}
"""What OBP knows of embeddings of actions: those of the actions taken, their law, and rewards."""


def to_obp(log: BanditLog) -> dict[str, Any]:
    """Returns the feedback dict of the Open Bandit Pipeline; the observation must be [n, d].

    Raises:
        ValueError: the log has a column that feedback cannot hold; `BanditLog.drop` leaves it out.
    """
    refuse_columns(log, "available", "step", "row", "weight", "info")
    table = log.action_probabilities
    return {
        "n_rounds": len(log),
        "n_actions": log.num_actions,
        "context": check_feature_array(log.observation, ndim=2),
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
    """Returns the log in a feedback dict of the Open Bandit Pipeline, its real feedback included.

    A `position` is a part of the context, as a row has one action: propensities, and `pi_b`, are
    those of the row's position. If it varies, the observation has a feature for each position,
    after those of `context`. If there is an `action_context` that is not one-hot, the observation
    has the context as `global`, and the features of the actions as `per_arm`.

    `action_embed` becomes the log's `embedding`. What else is known of embeddings is not of single
    rows, and is left out: `p_e_a`, which `MarginalizedIPS.likelihoods_of_embeddings` takes,
    `q_x_e`, and with them `action_context`.

    Raises:
        TypeError: feedback is not a dict.
        ValueError: the feedback lacks a key or has an unknown one, or the shapes do not fit.
    """
    if not isinstance(feedback, Mapping):
        found = type(feedback).__name__
        hint = "with is_timeseries_split, OBP returns two of them"
        raise TypeError(f"feedback is a {found}; expected a dict; {hint}")
    missing = REQUIRED - feedback.keys()
    unknown = feedback.keys() - REQUIRED - OPTIONAL - EMBEDDINGS
    if missing or unknown:
        raise ValueError(f"feedback has no {sorted(missing)} and unknown {sorted(unknown)}")
    size = len(feedback["action"])
    positions = _read_positions(feedback.get("position"), size)
    table = feedback.get("pi_b")
    if table is not None and feedback.get("position") is None and np.shape(table)[2:] != (1,):
        raise ValueError(f"pi_b has shape {np.shape(table)}, and there is no position; expected 1")
    return BanditLog(
        observation=_observe(feedback, positions),
        action=feedback["action"],
        reward=feedback["reward"],
        propensity=feedback["pscore"],
        num_actions=feedback["n_actions"],
        action_probabilities=None if table is None else _at_positions(table, positions),
        expected_rewards=feedback.get("expected_reward"),
        embedding=feedback.get("action_embed"),
    )


def _read_positions(position: Any, size: int) -> Indices:
    """Returns the positions of the rows, integers from 0: [n]; without any, all are 0."""
    if position is None:
        return np.zeros(size, np.intp)
    positions = check_array("position has", as_numbers("position is", position, "iu"), (size,))
    return check_each("position", positions.astype(np.intp), positions >= 0, "at least 0")


def _at_positions(table: Any, positions: Indices) -> Array:
    """Returns the probabilities [n, K] of a table [n, K, L] at the position of each row."""
    probabilities = as_numbers("pi_b is", table)
    if probabilities.ndim != 3 or probabilities.shape[0] != len(positions):
        expected = f"({len(positions)}, K, L), for L positions"
        raise ValueError(f"pi_b has shape {probabilities.shape}; expected {expected}")
    largest = int(positions.max(initial=0))
    if largest >= probabilities.shape[2]:
        found = f"position is {largest} in a row"
        raise ValueError(f"{found}; expected less than {probabilities.shape[2]}, as pi_b has")
    return np.asarray(probabilities[np.arange(len(positions)), :, positions])


def _observe(feedback: Mapping[str, Any], positions: Indices) -> Nest:
    """Returns the observations: the context with the position, and the features of actions."""
    context = feedback["context"]
    if len(np.unique(positions)) > 1:
        context = np.column_stack([context, one_hot(positions[:, np.newaxis])])
    features = feedback.get("action_context")
    num_actions = feedback["n_actions"]
    if features is None or EMBEDDINGS & feedback.keys():
        return context
    items = as_numbers("action_context is", features)
    if items.ndim != 2 or len(items) != num_actions:
        expected = f"({num_actions}, d), as n_actions says"
        raise ValueError(f"action_context has shape {items.shape}; expected {expected}")
    if np.array_equal(items, np.eye(num_actions)):
        return context
    return {"global": context, "per_arm": np.broadcast_to(items, (len(positions), *items.shape))}


def refuse_columns(log: BanditLog, *names: str) -> None:
    """Raises ValueError if the log has one of some columns, which a format cannot hold."""
    found = [name for name in names if getattr(log, name) is not None]
    if found:
        raise ValueError(f"the format has no {found[0]}; use log.drop(*{found})")


def check_feature_array(array: Any, ndim: int) -> Array:
    """Returns an observation that is one array of numbers with `ndim` dimensions."""
    if isinstance(array, np.ndarray) and array.ndim == ndim and array.dtype.kind in "biuf":
        return array
    raise ValueError(
        f"observation has {short_repr(array)}; expected numbers with {ndim} dimensions"
    )
