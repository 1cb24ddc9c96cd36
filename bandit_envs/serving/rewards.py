"""Checks and writes the rewards of a service, and further ones by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bandit_envs.base.checks import MAX_REWARD, check_number, short_repr
from bandit_envs.serving.action_table import check_id, check_text
from bandit_envs.serving.session import Session
from bandit_envs.serving.stored_rows import Event


def add_rewards(session: Session, rewards: Iterable[tuple[str, float]]) -> list[bool]:
    """Writes all rewards or none, and returns whether each is the first of its decision."""
    pairs = [(check_id(name), value) for name, value in _check_pairs("rewards", rewards)]
    with session.transaction():
        are_new = [_add_reward(session, name, value) for name, value in pairs]
        session.keeper.finish()
    return are_new


def add_measures(
    session: Session, measures: Iterable[tuple[str, Mapping[str, float]]]
) -> list[bool]:
    """Writes all further rewards or none, and returns whether all of a decision are new."""
    given = _check_pairs("measures", measures)
    pairs = [(check_id(name), _check_measures(values)) for name, values in given]
    with session.transaction():
        return [_add_measures(session, name, values) for name, values in pairs]


def _add_reward(session: Session, name: str, value: float) -> bool:
    """Writes a reward, and returns whether it is the first of its decision."""
    row = session.require(name)
    number = _check_value("reward", value)
    policy = session.keeper.policy
    low, high = policy.reward_range
    if not low <= number <= high:
        expected = f"expected a number from {low:g} to {high:g}, which the policy takes"
        raise ValueError(f"reward is {number:g}; {expected}: rescale all in the same way")
    policy.check_feedback([row.action], [number])
    is_over = session.schedule.is_over(row.time, session.store.time)
    if is_over or session.store.has_ended(row.number):
        return False
    session.store.add_event(Event("reward", row.number, value=number))
    return True


def _add_measures(session: Session, name: str, values: Mapping[str, float]) -> bool:
    """Writes further rewards, and returns whether each is the first of its name."""
    number = session.require(name).number
    are_new = [session.store.add_measure(number, *each) for each in values.items()]
    return all(are_new)


def _check_pairs(argument: str, rows: Any) -> list[tuple[Any, Any]]:
    """Returns pairs of an id and what the decision gets; TypeError if one is not a pair."""
    pairs = [*rows]
    for place, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            expected = "expected a tuple of an id and a value"
            raise TypeError(f"{argument}[{place}] is {short_repr(pair)}; {expected}")
    return pairs


def _check_measures(values: Any) -> dict[str, float]:
    """Returns further rewards by their names."""
    if not isinstance(values, Mapping):
        raise TypeError(f"values is {short_repr(values)}; expected a dict of numbers by names")
    for name in values:
        if not isinstance(name, str) or name in ("", "reward"):
            expected = "a str that is neither empty nor 'reward'"
            raise ValueError(f"a name in values is {short_repr(name)}; expected {expected}")
        check_text("a name in values", name)
    return {name: _check_value(f"values[{name!r}]", each) for name, each in values.items()}


def _check_value(what: str, value: Any) -> float:
    """Returns a reward as a number; a bool is 0 or 1."""
    number = float(value) if isinstance(value, (bool, np.bool_)) else value
    return check_number(what, number, -MAX_REWARD, MAX_REWARD)
