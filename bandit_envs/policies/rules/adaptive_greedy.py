"""Greedy choice where a prediction is good enough, and any choice elsewhere."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Mask
from bandit_envs.base.checks import check_integer, check_number, check_positive
from bandit_envs.policies.draws import largest_values, uniform
from bandit_envs.policies.policy import Actions
from bandit_envs.policies.rules.rule import Predictions, Rule


class Window(NamedTuple):
    """What `AdaptiveGreedy` keeps.

    Fields:
        largest: [R, window], the largest predictions for the last rows.
        threshold: [R], below it, actions are drawn.
    """

    largest: Floats
    threshold: Floats


@dataclasses.dataclass(frozen=True)
class AdaptiveGreedy(Rule):
    """Chooses the action that is predicted best, if that is above a threshold; else any.

        argmax_a f(x, a)    if max_a f(x, a) > threshold

    The threshold is at first 1 / (2 sqrt(K)). After each `window` rows, it becomes a percentile of
    the largest predictions for them, made before they were learned from. The percentile of n rows
    is percentile * decay^n.

    Args:
        percentile: from 0 to 100.
        decay: above 0 and at most 1.
        window: at least 1.

    Source: Cortes, Adapting Multi-Armed Bandits Policies to Contextual Bandits Scenarios (2018),
    there ContextualAdaptiveGreedy.

    >>> AdaptiveGreedy(window=100)
    AdaptiveGreedy(percentile=30.0, decay=0.9998, window=100)
    """

    percentile: float = 30.0
    decay: float = 0.9998
    window: int = 500

    def __post_init__(self) -> None:
        check_number("percentile", self.percentile, 0.0, 100.0)
        check_positive("decay", self.decay, maximum=1.0)
        check_integer("window", self.window, minimum=1, maximum=2**31)

    def initial(self, num_rows: int, num_actions: int) -> Window:
        threshold = 0.5 / np.sqrt(num_actions)
        return Window(np.zeros((num_rows, self.window)), np.full(num_rows, threshold))

    def after(self, seen: Predictions, available: Mask | None, action: Actions) -> Window:
        _, largest = largest_values(_only(seen.means(), available))
        window: Window = seen.state
        if not isinstance(seen.num_rewards, np.ndarray):
            self._add(window, 0, largest[:, 0], int(seen.num_rewards))
            return window
        for row, before in enumerate(seen.num_rewards.astype(np.intp).tolist()):
            self._add(window, row, largest[row], before)
        return window

    def _add(self, window: Window, row: int, largest: Floats, num_rewards: int) -> None:
        """Adds largest predictions [n] to the window of a row, in place."""
        while len(largest) > 0:
            place = num_rewards % self.window
            part = largest[: self.window - place]
            window.largest[row, place : place + len(part)] = part
            num_rewards += len(part)
            if num_rewards % self.window == 0:
                percentile = self.percentile * self.decay**num_rewards
                window.threshold[row] = np.percentile(window.largest[row], percentile)
            largest = largest[len(part) :]

    def probabilities(self, seen: Predictions, available: Mask | None) -> Floats:
        values = _only(seen.means(), available)
        _, largest = largest_values(values)
        is_low = largest <= seen.state.threshold[:, np.newaxis]
        return uniform(np.where(is_low, values > -np.inf, values == largest))


def _only(values: Floats, available: Mask | None) -> Floats:
    """Returns values [n, K], with -inf in place of those of actions that are not available."""
    return values if available is None else np.where(available, values, -np.inf)
