"""Actions that were hardly tried go first, whatever the rule."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Mask, Rng
from bandit_envs.base.checks import check_integer
from bandit_envs.policies.draws import argmax_random_ties, uniform
from bandit_envs.policies.models.inputs import Items
from bandit_envs.policies.policy import Actions
from bandit_envs.policies.rules.rule import Predictions
from bandit_envs.policies.rules.rule_around import RuleAround


class PullCounts(NamedTuple):
    """What `FirstPulls` keeps.

    Fields:
        counts: [R, K], the rewards of each action.
        rule: what its rule keeps.
    """

    counts: Floats
    rule: Any


@dataclasses.dataclass(frozen=True)
class FirstPulls(RuleAround):
    """Chooses among the actions with fewer than `pulls` rewards, and by a rule once there are none.

    Where actions have features of their own, one model predicts for all of them, and they may be
    others in each step: there, it chooses by the rule from the start.

    Args:
        rule: how to choose then.
        pulls: how many rewards of an action are enough.

    Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018), there initial pulls.

    >>> from bandit_envs.policies.rules import Greedy
    >>> FirstPulls(Greedy(), pulls=10)
    FirstPulls(rule=Greedy(), pulls=10)
    """

    pulls: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("pulls", self.pulls, minimum=0)

    @property
    def keeps_state(self) -> bool:
        """True: it counts."""
        return True

    def initial(self, num_rows: int, num_actions: int) -> PullCounts:
        counts = np.zeros((num_rows, num_actions))
        return PullCounts(counts, self.rule.initial(num_rows, num_actions))

    def after(self, seen: Predictions, available: Mask | None, action: Actions) -> PullCounts:
        counts: Floats = seen.state.counts
        if isinstance(seen.num_rewards, np.ndarray):
            counts[np.arange(len(action)), action] += 1.0
        else:
            counts[0] += np.bincount(action, minlength=counts.shape[1])
        inner = seen._replace(state=seen.state.rule)
        return PullCounts(counts, self.rule.after(inner, available, action))

    def select(self, rng: Rng, seen: Predictions, available: Mask | None) -> Actions:
        chosen = self.rule.select(rng, seen._replace(state=seen.state.rule), available)
        untried = self._untried(seen, available)
        rows = np.flatnonzero(untried.any(axis=1))
        if rows.size == 0:
            return chosen
        chosen = chosen.copy()
        chosen[rows] = argmax_random_ties(rng, untried[rows].astype(np.float64))
        return chosen

    def probabilities(self, seen: Predictions, available: Mask | None) -> Floats:
        table = self.rule.probabilities(seen._replace(state=seen.state.rule), available)
        untried = self._untried(seen, available)
        rows = untried.any(axis=1)
        if not rows.any():
            return table
        table = table.copy()
        table[rows] = uniform(untried[rows])
        return table

    def _untried(self, seen: Predictions, available: Mask | None) -> Mask:
        """Returns which available actions go first: [B, K]."""
        if isinstance(seen.inputs, Items):
            return np.zeros(seen.shape, np.bool_)
        untried = np.broadcast_to(seen.state.counts < self.pulls, seen.shape)
        return untried if available is None else untried & available
