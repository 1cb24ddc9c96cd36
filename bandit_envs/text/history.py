"""What prompts tell of earlier rounds: a summary of each action, or the last rounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats
from bandit_envs.base.checks import check_integer
from bandit_envs.policies.policy import Actions
from bandit_envs.text.scenarios import Scenario


class Totals(NamedTuple):
    """How often each action was taken, and the sums of its rewards: [B, K]; updated in place."""

    counts: Floats
    sums: Floats


class RecentRounds(NamedTuple):
    """The last H rounds, the latest last; updated in place."""

    action: NDArray[np.int64]  # [B, H], -1 before the first round
    reward: Floats  # [B, H]
    context: Floats  # [B, H, D]


class History(Protocol):
    """What prompts tell of earlier rounds."""

    def initial(self, batch_size: int, num_actions: int, context_dim: int) -> Any:
        """Returns what is known before the first round."""

    def add(self, known: Any, context: Floats, action: Actions, reward: Array) -> None:
        """Adds a round of every row, in place."""

    def tell(self, known: Any, row: int, scenario: Scenario, names: Sequence[str]) -> list[str]:
        """Returns what is known in one row, in lines."""


@dataclasses.dataclass(frozen=True)
class Summary:
    """Tells how often each action was taken, and its mean reward with `digits` digits."""

    digits: int = 3

    def initial(self, batch_size: int, num_actions: int, context_dim: int) -> Totals:
        """Returns what is known before the first round."""
        shape = batch_size, num_actions
        return Totals(np.zeros(shape), np.zeros(shape))

    def add(self, known: Totals, context: Floats, action: Actions, reward: Array) -> None:
        """Adds a round of every row, in place."""
        rows = np.arange(len(action))
        known.counts[rows, action] += 1.0
        known.sums[rows, action] += reward

    def tell(self, known: Totals, row: int, scenario: Scenario, names: Sequence[str]) -> list[str]:
        """Returns what is known in one row, in lines."""
        counts = known.counts[row]
        lines = [f"You have played {counts.sum():.0f} rounds:"]
        for number, name in enumerate(names):
            line = f"{name}: {scenario.chosen} {counts[number]:.0f} times"
            if counts[number]:
                mean = known.sums[row, number] / counts[number]
                line += f", average reward {mean:.{self.digits}g}"
            lines.append(line)
        return lines


@dataclasses.dataclass(frozen=True)
class LastRounds:
    """Tells the last `count` rounds one by one; rewards and contexts have `digits` digits."""

    count: int = 100
    digits: int = 3

    def __post_init__(self) -> None:
        check_integer("count", self.count, minimum=1)

    def initial(self, batch_size: int, num_actions: int, context_dim: int) -> RecentRounds:
        """Returns what is known before the first round."""
        shape = batch_size, self.count
        return RecentRounds(
            np.full(shape, -1, np.int64), np.zeros(shape), np.zeros((*shape, context_dim))
        )

    def add(self, known: RecentRounds, context: Floats, action: Actions, reward: Array) -> None:
        """Adds a round of every row, in place."""
        for column, latest in zip(known, (action, reward, context)):
            column[:, :-1] = column[:, 1:]
            column[:, -1] = latest

    def tell(
        self, known: RecentRounds, row: int, scenario: Scenario, names: Sequence[str]
    ) -> list[str]:
        """Returns what is known in one row, in lines."""
        lines = []
        for action, reward, context in zip(*(column[row] for column in known)):
            if action < 0:
                continue
            seen = f"{describe_features(context, self.digits)}: " if len(context) else ""
            outcome = f"reward {reward:.{self.digits}g}"
            lines.append(f"{seen}{scenario.chosen} {names[action]}, {outcome}")
        return ["You have played no round yet."] if not lines else ["The last rounds:", *lines]


def describe_features(features: Floats, digits: int = 3) -> str:
    """Returns numbers [D] as text, such as "x1=0.2, x2=-1"."""
    return ", ".join(f"x{place}={value:.{digits}g}" for place, value in enumerate(features, 1))
