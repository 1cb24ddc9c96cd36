"""Bayes-UCB: quantiles of Beta posteriors as upper confidence bounds."""

from __future__ import annotations

import math
import typing

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.nests import map_structure
from bandit_envs.policies.beta_laws import UNKNOWN, Tails, lower_bounds, upper_quantiles
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.policy import Actions, Parts
from bandit_envs.policies.thompson import BetaPolicy
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
        """The level of the quantiles, ln t; at the first step, all levels choose the same."""
        return math.log(max(self.steps + 1, 2))


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
        start = Tails(np.zeros(1), np.full(1, UNKNOWN), np.zeros(1))
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
        reward = trajectory.reward.astype(np.float64)
        chosen = self._row_offsets + trajectory.action
        a, b, (y, ratio, log) = _taken(learned, chosen)
        odds = np.exp(y)
        # A reward of 1 adds density / a to the tail; a reward of 0 takes density / b from it.
        success, failure = reward / a, (1.0 - reward) / b
        tail = 1.0 + (success - failure) / ratio
        lost = ((reward > 0.0) & (reward < 1.0)) | (tail < 1e-3) | (ratio > 1e3)
        log -= np.log(np.maximum(tail, 1e-3, out=tail))
        ratio *= tail * (1.0 + odds) / ((a + b) * (success * odds + failure))
        a += reward
        b += 1.0 - reward
        ratio[lost] = UNKNOWN
        tables = *learned.tails[1:], *learned[:2]
        for table, values in zip(tables, (ratio, log, a, b)):
            table.reshape(-1)[chosen] = values
        learned = learned._replace(steps=learned.steps + 1)
        _extend(learned)
        lower = lower_bounds(learned.level, a, b, Tails(y, ratio, log))
        if lost.any():
            lower[lost] = self._sharpen(learned, chosen[lost])
        # Tails that fell far have lost digits.
        self._decide(learned, lower, chosen[log > max(16.0, learned.level + 3.0)])
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
        """Makes bounds exact at `also` [n], and where the largest quantile of a row is not clear.

        `lower` [B] is at most the largest quantile of each row.
        """
        above = np.flatnonzero(learned.bounds >= lower[:, np.newaxis])
        rows = np.flatnonzero(np.bincount(above // self.num_actions) > 1)
        places = rows[:, np.newaxis] * self.num_actions + np.arange(self.num_actions)
        bounds, lower = learned.bounds.reshape(-1).take(places), lower.take(rows)[:, np.newaxis]
        found = lower_bounds(learned.level, *_taken(learned, places))
        below = np.where(bounds >= lower, found, lower).max(axis=1, keepdims=True)
        is_rival = bounds >= below
        is_rival[is_rival.sum(axis=1) == 1] = False
        self._sharpen(learned, np.concatenate([places[is_rival], also]))

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
    """Returns the parameters and the tails of the posteriors at `places`."""
    a, b, *tails = (table.reshape(-1).take(places) for table in (*learned[:2], *learned.tails))
    return a, b, Tails(*tails)
