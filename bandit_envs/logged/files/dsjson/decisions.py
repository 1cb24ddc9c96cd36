"""Some decisions of a log of dsjson, in arrays that take few bytes."""

from __future__ import annotations

import array
from collections.abc import Mapping

import numpy as np

from bandit_envs.arrays import Indices
from bandit_envs.logged.files.dsjson.json_features import Features
from bandit_envs.logged.files.dsjson.lines import DsjsonLine, number_of


class Decisions:
    """Decisions in the order of their lines.

    Attributes:
        context: the features of contexts, a row a decision.
        items: those of actions, a row each.
        names: what tells actions apart, their names or numbers, in order of first sight.
    """

    def __init__(self) -> None:
        self.context = Features()
        self.items = Features()
        self.names: dict[str, int] = {}
        self.drop()

    def drop(self) -> None:
        """Drops all decisions; what their features have in common stays."""
        self.context.drop_rows()
        self.items.drop_rows()
        self.lines = array.array("q")
        self.actions = array.array("q")
        self.costs = array.array("d")
        self.propensities = array.array("d")
        self.weights = array.array("d")
        self.stops = array.array("q", [0])  # before and behind the actions of each decision
        self.probabilities = array.array("d")  # of all actions, if every line has them
        self.known = array.array("q")  # which of the names each action has

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def num_bytes(self) -> int:
        """How much memory they take, about."""
        own = 8 * (6 * len(self.lines) + len(self.probabilities) + len(self.known))
        return own + self.context.num_bytes + self.items.num_bytes

    def add(self, decision: DsjsonLine, are_numbers: bool) -> int:
        """Adds a decision; returns how many keys the objects of its features have.

        Args:
            decision: the decision.
            are_numbers: whether actions without names have numbers.
        """
        keys = self.context.add(len(self.lines), decision.context)
        for row, features in enumerate(decision.items, start=self.stops[-1]):
            keys += self.items.add(row, features)
        names = self.names
        if decision.tags:
            self.known.extend([names.setdefault(tag, len(names)) for tag in decision.tags])
        elif are_numbers:
            numbers = [str(number_of(item)) for item in decision.items]
            self.known.extend([names.setdefault(number, len(names)) for number in numbers])
        if decision.probabilities is not None:
            self.probabilities.extend(decision.probabilities)
        self.lines.append(decision.number)
        self.actions.append(decision.action)
        self.costs.append(decision.cost)
        self.propensities.append(decision.propensity)
        self.weights.append(decision.weight)
        self.stops.append(self.stops[-1] + len(decision.items))
        return keys

    def number_actions(self, numbers: Mapping[str, int], first: int, last: int) -> Indices:
        """Returns the numbers of some actions, by what tells them apart.

        Args:
            numbers: by names.
            first: the row of the first of the actions.
            last: the row behind them.
        """
        known = np.array([numbers[name] for name in self.names], np.intp)
        return np.take(known, self.known[first:last])
