"""What a policy that looks for the best action reports of one test."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.names.visible import visible


@dataclasses.dataclass(frozen=True, eq=False)
class BestArmReport:
    """What is known of each action in one row, with intervals that hold whenever one looks.

    With a probability of `confidence`, the intervals of all actions hold after every step at once.
    So they hold after a stop, too, which depends on the rewards. The means do not allow for it: at
    a stop, that of the recommended action is too large on average, and those of others are too
    small.

    `print` shows it as a table.
    """

    names: tuple[str, ...]  #: of the actions
    recommended: int  #: the action that looks best
    has_stopped: bool  #: whether the row has stopped
    steps: int  #: from how many rewards it has learned
    counts: Floats  #: how many of them are each action's, [K]
    means: Floats  #: of these rewards, [K]; 0 without any
    low: Floats | None  #: the lower ends of the intervals, [K]; None if no law of rewards is known
    high: Floats | None  #: the upper ends, [K]
    confidence: float  #: the probability with which all intervals hold

    def __str__(self) -> str:
        state = "stopped" if self.has_stopped else "not stopped"
        names = [visible(name) for name in self.names]
        lines = [f"{state} after {self.steps} rewards; best: {names[self.recommended]}"]
        width = max(6, *map(len, names))
        share = f"{100.0 * self.confidence:.6g}%"
        interval = f"{share} interval" if self.low is not None else "no interval"
        lines.append(f"{'action':<{width}}  {'rewards':>8}  {'mean':>8}  {interval}")
        for action, name in enumerate(names):
            count = f"{self.counts[action]:.0f}"
            row = f"{name:<{width}}  {count:>8}  {self._mean(action):>8}  {self._interval(action)}"
            lines.append(row.rstrip())
        if self.low is None:
            lines.append(
                "No law of rewards is known: give reward_std, 0.5 for rewards from 0 to 1."
            )
        else:
            lines.append("All intervals hold at once, after every step and at the stop.")
            lines.append("They and the stop assume that mean rewards stay the same over time.")
        lines.append("Means are biased by a stop: the best one's is too large on average.")
        return "\n".join(lines)

    def _mean(self, action: int) -> str:
        return f"{self.means[action]:.4g}" if self.counts[action] else "-"

    def _interval(self, action: int) -> str:
        if self.low is None or self.high is None:
            return ""
        return f"{self.low[action]:.4g} to {self.high[action]:.4g}"


def names_of(
    names: Sequence[str] | None, known: Sequence[str], num_actions: int
) -> tuple[str, ...]:
    """Returns the names of all actions.

    Args:
        names: that the user gives; None for those that are known.
        known: of the first actions. The others have their numbers as names.
        num_actions: the number of actions, K.
    """
    if names is None:
        return (*known, *map(str, range(len(known), num_actions)))
    if len(names) != num_actions:
        raise ValueError(f"names has {len(names)} names; expected {num_actions}")
    return tuple(map(str, names))


def log_term_of(confidence: float, num_actions: int) -> float:
    """Returns ln(1 / alpha) of one of K intervals that hold at once."""
    return float(np.log(num_actions / (1.0 - confidence)))
