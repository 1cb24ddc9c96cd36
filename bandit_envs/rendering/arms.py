"""What `render` shows of one row of a bandit, as data and as text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

TEXT_WIDTH = 61


class Arms(NamedTuple):
    """What `render` shows of one row."""

    title: str  # the environment's name
    expected_rewards: NDArray[Any]  # [K], the mean of each arm; -inf for an arm not available
    reward_std: float | None  # the standard deviation of the rewards, if they are normal
    steps: int  # the number of steps in this episode
    action: int | None  # of the last step; None if there was none
    reward: float | None  # of the last step; None if there was none, or if it is not one number

    def progress(self) -> str:
        """Returns a phrase on the steps so far and the last reward."""
        steps = "1 step" if self.steps == 1 else f"{self.steps} steps"
        action = "" if self.action is None else f"; last action {self.action}"
        return steps + action + ("" if self.reward is None else f", reward {self.reward:.2f}")

    def reward_limits(self, num_stds: float) -> tuple[float, float]:
        """Returns the ends of an axis that shows 0 and all means, with `num_stds` deviations."""
        spread = num_stds * (self.reward_std or 0.0)
        known = self.expected_rewards[np.isfinite(self.expected_rewards)]
        shown = [0.0, known.min() - spread, known.max() + spread]
        if self.reward is not None and self.reward_std:
            shown.append(self.reward)
        low, high = float(min(shown)), float(max(shown))
        return (low, high) if low < high else (low - 1.0, high + 1.0)


def text(arms: Arms) -> str:
    """Returns arms as lines of text.

    The mean of an arm is an o, or a * if it is the largest. Dashes show one standard deviation on
    both sides of it, or if that is unknown, the way to 0, which is a |. The last reward is an x.
    """
    low, high = arms.reward_limits(num_stds=2.0)
    width = TEXT_WIDTH // 2
    header = f" arm    mean  {low:<{width}.2f}{high:>{TEXT_WIDTH - width}.2f}"
    lines = [f"{arms.title}: {arms.progress()}", header]
    for arm, mean in enumerate(arms.expected_rewards.tolist()):
        if mean == -np.inf:
            lines.append(f"{arm:4d}          not available")
        else:
            lines.append(f"{arm:4d} {mean:7.2f}  {_marks(arms, arm, mean, low, high)}".rstrip())
    return "\n".join(lines)


def _marks(arms: Arms, arm: int, mean: float, low: float, high: float) -> str:
    def column(reward: float) -> int:
        return round((reward - low) / (high - low) * (TEXT_WIDTH - 1))

    std = arms.reward_std
    first, last = (mean - std, mean + std) if std else (min(mean, 0.0), max(mean, 0.0))
    marks = [" "] * TEXT_WIDTH
    marks[column(first) : column(last) + 1] = "-" * (column(last) + 1 - column(first))
    marks[column(0.0)] = "|"
    marks[column(mean)] = "*" if arm == arms.expected_rewards.argmax() else "o"
    if std and arms.reward is not None and arm == arms.action:
        marks[column(arms.reward)] = "x"
    return "".join(marks)
