"""What policies share that choose the leader and its strongest rival in turn."""

from __future__ import annotations

import abc
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.policies.best_arm.best_arm_policy import BestArmPolicy, Pulls, Search, among
from bandit_envs.policies.draws import rows_of


class Pair(NamedTuple):
    """The actions that are chosen next, -1 for none; [B] and updated in place."""

    first: Indices  # in this step
    second: Indices  # in the step after


class PairPolicy(BestArmPolicy):
    """Chooses two actions in turn: the leader, and the other one with the largest upper bound.

    The leader has the largest mean reward. The policy stops when its lower bound is above that
    upper bound. Bounds are compared after every second step. Actions never chosen come first.

    A subclass implements `_upper_bounds` and `_lower_bounds`.
    """

    @abc.abstractmethod
    def _upper_bounds(self, pulls: Pulls) -> Floats:
        """Returns the upper bounds of the means of n rows: [n, K]."""

    @abc.abstractmethod
    def _lower_bounds(self, pulls: Pulls, actions: Indices) -> Floats:
        """Returns the lower bounds of the means of one action [n] in each of n rows: [n]."""

    def _initial_plan(self) -> Pair:
        return Pair(np.full(self.batch_size, -1), np.full(self.batch_size, -1))

    def _exploration_scores(self, search: Search) -> Floats:
        scores = -search.pulls.counts
        rows = np.flatnonzero(search.plan.first >= 0)
        scores[rows, search.plan.first[rows]] = 1.0
        return scores

    def _update(self, search: Search, rows: Indices) -> None:
        plan: Pair = search.plan
        second = plan.second[rows]
        plan.first[rows] = second
        plan.second[rows] = -1
        compared = search.compared(rows)
        is_ready = _is_ready(search.pulls.counts[rows], compared)
        deciding = np.flatnonzero((second < 0) & is_ready)
        if deciding.size:
            self._decide(search, rows[deciding], rows_of(compared, deciding))

    def _with_pending(self, learned: Search, pending: Indices) -> Search:
        """Plans the action of the pair that was chosen less often, by bounds as of now.

        As long as an action that counts has no reward in a row, all are chosen in turn there.
        """
        search: Search = super()._with_pending(learned, pending)
        first = np.full(self.batch_size, -1)
        compared = learned.compared()
        rows = np.flatnonzero(_is_ready(learned.pulls.counts, compared) & ~learned.stopped)
        if rows.size:
            pulls = search.pulls.take(rows)
            leaders, rivals, _ = self._pairs(pulls, rows_of(compared, rows))
            at = np.arange(len(rows))
            is_led = pulls.counts[at, leaders] > pulls.counts[at, rivals]
            first[rows] = np.where(is_led, rivals, leaders)
        return search._replace(plan=learned.plan._replace(first=first))

    def _decide(self, search: Search, rows: Indices, compared: Mask | None) -> None:
        """Chooses the next two of the compared actions [n, K] of some rows, or stops."""
        pulls = search.pulls.take(rows)
        leaders, rivals, rival_bounds = self._pairs(pulls, compared)
        search.stopped[rows] = rival_bounds < self._lower_bounds(pulls, leaders)
        search.plan.first[rows] = leaders
        search.plan.second[rows] = rivals

    def _pairs(self, pulls: Pulls, compared: Mask | None) -> tuple[Indices, Indices, Floats]:
        """Returns the leaders of n rows, their rivals, and the upper bounds of these: [n] each."""
        rows = np.arange(len(pulls.steps))
        leaders = pulls.leaders(compared)
        tried = pulls._replace(counts=np.maximum(pulls.counts, 1.0))
        bounds = among(self._upper_bounds(tried), compared, -np.inf)
        bounds[rows, leaders] = -np.inf
        rivals = bounds.argmax(axis=1)
        return leaders, rivals, bounds[rows, rivals]


def _is_ready(counts: Floats, compared: Mask | None) -> Mask:
    """Returns in which rows two actions or more count, and all that do have rewards: [n]."""
    if compared is None:
        return np.asarray(counts.all(axis=1))
    is_tried = (counts > 0.0) | ~compared
    return np.asarray(is_tried.all(axis=1) & (compared.sum(axis=1) > 1))
