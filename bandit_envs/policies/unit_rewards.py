"""Rewards of policies whose theory is about rewards from 0 to 1."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def check_unit_rewards(reward: NDArray[Any]) -> NDArray[Any]:
    """Returns `reward` [B]; ValueError if a number is not from 0 to 1."""
    bad = (reward < 0.0) | (reward > 1.0)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"reward[{row}] is {reward[row]}; expected a number from 0 to 1")
    return reward
