"""What `render` shows of one row of a bandit, as data and as text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.rendering.knowledge import Knowledge

TEXT_WIDTH = 61


class Arms(NamedTuple):
    """What `render` shows of one row: its arms, or the items that slates are made of."""

    title: str  # the environment's name
    values: NDArray[Any]  # [K], the expected reward of each arm; -inf for one not available
    optimal: list[int]  # the optimal arm, or the items of the optimal slate
    reward_std: float | None  # the standard deviation of the rewards, if they are normal
    steps: int  # the number of steps in this episode
    action: list[int]  # of the last step: an arm, or a slate; empty if there was none
    reward: list[float]  # of the last step, or of its slots; empty if it is not of numbers

    def progress(self) -> str:
        """Returns a phrase on the steps so far and the last reward."""
        text = "1 step" if self.steps == 1 else f"{self.steps} steps"
        if self.action:
            kind = "slate" if len(self.action) > 1 else "action"
            text += f"; last {kind} {', '.join(map(str, self.action))}"
        return text + (f", reward {sum(self.reward):.2f}" if self.reward else "")

    def reward_limits(self, num_stds: float) -> tuple[float, float]:
        """Returns the ends of an axis that shows 0 and all values, with `num_stds` deviations."""
        spread = num_stds * (self.reward_std or 0.0)
        known = self.values[np.isfinite(self.values)]
        shown = [0.0, known.min() - spread, known.max() + spread]
        if self.reward_std:
            shown += self.reward
        low, high = float(min(shown)), float(max(shown))
        return (low, high) if low < high else (low - 1.0, high + 1.0)


def text(arms: Arms, knowledge: Knowledge | None = None) -> str:
    """Returns arms as lines of text.

    The value of an arm is an o, or a * if it is optimal. Dashes show one standard deviation on both
    sides of it, or if that is unknown, the way to 0, which is a |. The last reward is an x. Columns
    at the right show what a policy knows.
    """
    low, high = arms.reward_limits(num_stds=2.0)
    width = TEXT_WIDTH // 2
    what = "item   value" if len(arms.optimal) > 1 else " arm    mean"
    header = f"{what}  {low:<{width}.2f}{high:>{TEXT_WIDTH - width}.2f}"
    lines = [f"{arms.title}: {arms.progress()}", header]
    for arm, value in enumerate(arms.values.tolist()):
        if value == -np.inf:
            lines.append(f"{arm:4d}          not available")
        else:
            marks = _marks(arms, arm, value, low, high)
            lines.append(f"{arm:4d} {value:7.2f}  {marks}".rstrip())
    if knowledge is not None:
        lines[0] += f"; {knowledge.title}"
        lines[1:] = _append_columns(lines[1:], knowledge)
    return "\n".join(lines)


def _append_columns(lines: list[str], knowledge: Knowledge) -> list[str]:
    """Returns a header and a line for each arm, with columns of what a policy knows."""
    for heading, texts in knowledge.columns():
        cells = [heading, *texts]
        length = max(map(len, lines))
        width = max(map(len, cells)) + 2
        lines = [f"{line:<{length}}{cell:>{width}}" for line, cell in zip(lines, cells)]
    return lines


def _marks(arms: Arms, arm: int, value: float, low: float, high: float) -> str:
    def column(reward: float) -> int:
        return round((reward - low) / (high - low) * (TEXT_WIDTH - 1))

    std = arms.reward_std
    first, last = (value - std, value + std) if std else (min(value, 0.0), max(value, 0.0))
    marks = [" "] * TEXT_WIDTH
    marks[column(first) : column(last) + 1] = "-" * (column(last) + 1 - column(first))
    marks[column(0.0)] = "|"
    marks[column(value)] = "*" if arm in arms.optimal else "o"
    if std and arms.reward and arms.action == [arm]:
        marks[column(arms.reward[0])] = "x"
    return "".join(marks)
