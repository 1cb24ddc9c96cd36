"""Bayes-UCB: quantiles of Beta posteriors as upper confidence bounds."""

from __future__ import annotations

import math
import typing

import numpy as np

from bandit_envs.base.arrays import Floats
from bandit_envs.policies.beta import BetaPolicy
from bandit_envs.policies.beta_quantiles import Tails, lower_bounds, upper_quantiles
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.policy import Actions, Parts
from bandit_envs.specs import map_structure
from bandit_envs.trajectories import TimeStep, Trajectory


class Quantiles(typing.NamedTuple):
    """The posteriors and what is known of their quantiles, and the steps so far.

    The arrays are [B, K] and updated in place.
    """

    successes: Floats  # the first parameter of the posterior
    failures: Floats  # the second one
    tails: Tails  # where a tail of the posterior is known
    bounds: Floats  # log odds of the quantile for the row's largest; at least that for others
    steps: int

    @property
    def level(self) -> float:
        """The level of the quantiles, ln t."""
        return math.log(self.steps + 1)


class BayesUCBPolicy(IndexPolicy, BetaPolicy):
    """Chooses the action whose posterior has the largest quantile.

        A_t = argmax_a q(1 - 1 / t, Beta(prior_successes + S(a), prior_failures + F(a)))

    Here q(p, law) is the quantile of p, S the sum of the action's rewards and F that of 1 - R.
    Rewards are numbers from 0 to 1. Quantiles are compared exactly, to 1e-10.

    Source: Kaufmann, Cappé & Garivier (2012), without the factor (ln T)^c.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> BayesUCBPolicy(num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def _initial(self) -> Quantiles:
        successes, failures = super()._initial()
        level, prior = math.log(2.0), (successes[0, :1], failures[0, :1])
        start = Tails(np.log(prior[0] / prior[1]), np.zeros(1), np.full(1, level))
        quantile, tails = upper_quantiles(level, *prior, start)
        tables = [np.full(self._table_shape, value) for value in (*tails, quantile)]
        return Quantiles(successes, failures, Tails(*tables[:3]), tables[3], 0)

    def _scores(self, learned: Quantiles, time_step: TimeStep) -> Floats:
        available = self._available(time_step.observation)
        if available is None:
            return learned.bounds
        learned = map_structure(np.copy, learned)
        learned.bounds[~available] = -np.inf
        self._find_largest(learned)
        return learned.bounds

    def _learn(self, learned: Quantiles, trajectory: Trajectory) -> Quantiles:
        reward = trajectory.reward
        chosen = self._row_offsets + trajectory.action
        a, b, (y, ratio, log) = _taken(learned, chosen)
        x, rest = 1.0 / (1.0 + np.exp(-y)), 1.0 / (1.0 + np.exp(y))
        # A reward of 1 adds density / a to the tail; a reward of 0 takes density / b from it.
        success, failure = reward / a, (1.0 - reward) / b
        tail = 1.0 + (success - failure) / ratio
        exact = ((reward == 0.0) | (reward == 1.0)) & (tail > 1e-3)
        tail = np.maximum(tail, 1e-3)
        log -= np.log(tail)
        ratio *= tail / ((a + b) * (success * x + failure * rest))
        a += reward
        b += 1.0 - reward
        tables = *learned.tails[1:], *learned[:2]
        for table, values in zip(tables, (ratio, log, a, b)):
            table.reshape(-1)[chosen] = values
        learned = learned._replace(steps=learned.steps + 1)
        _extend(learned)
        lower = lower_bounds(learned.level, a, b, Tails(y, ratio, log))
        if not exact.all():
            rows = np.flatnonzero(~exact)
            lower[rows] = self._sharpen(learned, chosen[rows])
        self._decide(learned, lower, chosen[exact & (np.abs(learned.level - log) > 1.0)])
        return learned

    def _learn_rows(self, learned: Quantiles, parts: Parts) -> Quantiles:
        learned = super()._learn_rows(learned, parts)
        if [rows.all() for _, rows in parts] != [True]:  # some bounds are of another level
            _extend(learned)
            self._find_largest(learned)
        return learned

    def _find_largest(self, learned: Quantiles) -> None:
        best = self._row_offsets + learned.bounds.argmax(axis=1)
        self._decide(learned, lower_bounds(learned.level, *_taken(learned, best)), best[:0])

    def _decide(self, learned: Quantiles, lower: Floats, also: Actions) -> None:
        """Makes bounds exact where that takes to know the largest quantile of each row.

        Args:
            learned: changed.
            lower: lower bounds of the largest quantile of each row, [B]; changed.
            also: [n], where bounds become exact, too.
        """
        above = np.flatnonzero(learned.bounds >= lower[:, np.newaxis])
        rivals = self._of_rows_with_several(above)
        rows = rivals // self._num_actions
        np.maximum.at(lower, rows, lower_bounds(learned.level, *_taken(learned, rivals)))
        rivals = rivals[learned.bounds.reshape(-1).take(rivals) >= lower.take(rows)]
        self._sharpen(learned, np.concatenate([self._of_rows_with_several(rivals), also]))

    def _of_rows_with_several(self, places: Actions) -> Actions:
        rows = places // self._num_actions
        return places[np.bincount(rows, minlength=self._batch_size).take(rows) > 1]

    def _sharpen(self, learned: Quantiles, places: Actions) -> Floats:
        """Makes the bounds at `places` [n] exact and returns them."""
        quantiles, tails = upper_quantiles(learned.level, *_taken(learned, places))
        for table, values in zip((*learned.tails, learned.bounds), (*tails, quantiles)):
            table.reshape(-1)[places] = values
        return quantiles


def _extend(learned: Quantiles) -> None:
    """Makes all bounds at least the quantiles at the level, from where the tails are known."""
    bounds = np.subtract(learned.level, learned.tails.log, out=learned.bounds)
    bounds *= learned.tails.ratio
    bounds += learned.tails.at


def _taken(learned: Quantiles, places: Actions) -> tuple[Floats, Floats, Tails]:
    """Returns the parameters and the tails of the posteriors at `places`, [n]."""
    a, b, *tails = (table.reshape(-1).take(places) for table in (*learned[:2], *learned.tails))
    return a, b, Tails(*tails)
