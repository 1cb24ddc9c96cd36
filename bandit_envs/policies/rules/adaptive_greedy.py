"""Greedy choice where a prediction is good enough, and any choice elsewhere."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.base.checks import check_integer, check_number, check_positive
from bandit_envs.policies.draws import largest_values, uniform
from bandit_envs.policies.policy import Actions
from bandit_envs.policies.rules.rule import Predictions, Rule


class Threshold(NamedTuple):
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

    def initial(self, num_rows: int, num_actions: int) -> Threshold:
        threshold = 0.5 / np.sqrt(num_actions)
        return Threshold(np.zeros((num_rows, self.window)), np.full(num_rows, threshold))

    def after(self, seen: Predictions, available: Mask | None, action: Actions) -> Threshold:
        _, largest = largest_values(_only(seen.means(), available))
        kept: Threshold = seen.state
        if isinstance(seen.num_rewards, np.ndarray):
            self._add_one_each(kept, largest[:, 0], seen.num_rewards.astype(np.intp))
        else:
            self._add(kept, largest[:, 0], int(seen.num_rewards))
        return kept

    def _add(self, kept: Threshold, largest: Floats, num_rewards: int) -> None:
        """Adds largest predictions [n] to the only window, in place."""
        while len(largest) > 0:
            place = num_rewards % self.window
            part = largest[: self.window - place]
            kept.largest[0, place : place + len(part)] = part
            num_rewards += len(part)
            if num_rewards % self.window == 0:
                self._set_threshold(kept, 0, num_rewards)
            largest = largest[len(part) :]

    def _add_one_each(self, kept: Threshold, largest: Floats, num_rewards: Indices) -> None:
        """Adds one largest prediction to the window of each row [R], in place."""
        kept.largest[np.arange(len(largest)), num_rewards % self.window] = largest
        after = num_rewards + 1
        for row in np.flatnonzero(after % self.window == 0).tolist():
            self._set_threshold(kept, row, int(after[row]))

    def _set_threshold(self, kept: Threshold, row: int, num_rewards: int) -> None:
        """Sets the threshold of a row whose window is full, in place."""
        percentile = self.percentile * self.decay**num_rewards
        kept.threshold[row] = np.percentile(kept.largest[row], percentile)

    def probabilities(self, seen: Predictions, available: Mask | None) -> Floats:
        values = _only(seen.means(), available)
        _, largest = largest_values(values)
        is_low = largest <= seen.state.threshold[:, np.newaxis]
        return uniform(np.where(is_low, values > -np.inf, values == largest))


def _only(values: Floats, available: Mask | None) -> Floats:
    """Returns values [n, K], with -inf in place of those of actions that are not available."""
    return values if available is None else np.where(available, values, -np.inf)
