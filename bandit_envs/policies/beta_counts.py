"""Beta posteriors of success probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.base.checks import check_number
from bandit_envs.policies.learned import Spread, Warm, mean_of_known, spread_of_known


class BetaCounts(NamedTuple):
    """Beta posteriors of the success probability of every action; [B, K] and updated in place.

    p(a) ~ Beta(successes(a), failures(a))
    """

    successes: Floats
    failures: Floats

    @classmethod
    def from_prior(
        cls, shape: tuple[int, int], prior_successes: float, prior_failures: float
    ) -> BetaCounts:
        """Returns Beta(prior_successes, prior_failures) for every action."""
        return cls(np.full(shape, prior_successes), np.full(shape, prior_failures))

    def add(self, places: Indices, reward: Any) -> None:
        """Adds rewards from 0 to 1, of the actions at `places` of the flat tables, [B] each."""
        self.successes.reshape(-1)[places] += reward
        self.failures.reshape(-1)[places] += 1.0 - reward

    def start_warm(self, known: int, warm: Warm) -> None:
        """Starts the actions from `known` on, which have the prior, warm; in place."""
        prior = float(self.successes[0, known])
        strength = prior + float(self.failures[0, known])
        successes = self.successes[:, :known]
        totals = successes + self.failures[:, :known]
        counts = totals - strength
        seen = counts > 1e-9
        means = mean_of_known(successes / totals, seen, prior / strength)
        strengths = np.full(len(means), strength)
        if warm == "empirical_bayes":
            rows = np.flatnonzero(seen.sum(axis=1) >= 2)
            found = _spread_of_shares(successes - prior, counts, seen)
            means[rows] = found.mean[rows]
            most = np.where(found.excess > 0.0, np.inf, np.where(seen, counts, np.inf).min(axis=1))
            limited = np.minimum(found.mean * (1.0 - found.mean) / found.variance - 1.0, most)
            strengths[rows] = np.maximum(limited, strength)[rows]
        start = means * strengths
        self.successes[:, known:] = start[:, np.newaxis]
        self.failures[:, known:] = (strengths - start)[:, np.newaxis]

    def decay(self, gamma: float, prior_successes: float, prior_failures: float) -> None:
        """Gives what was seen so far the weight gamma; the prior keeps its weight."""
        successes, failures = self
        successes *= gamma
        successes += (1.0 - gamma) * prior_successes
        failures *= gamma
        failures += (1.0 - gamma) * prior_failures


def _spread_of_shares(sums: Floats, counts: Floats, seen: Mask) -> Spread:
    """Returns how the success probabilities of actions with rewards are spread.

    Of an action that always paid 0, or always 1, half a success and half a failure are added.

    Args:
        sums: of the rewards of each action, [B, K].
        counts: how many there are, [B, K].
        seen: which actions have rewards, [B, K].
    """
    counts = np.where(seen, counts, 1.0)
    shares = sums / counts
    is_extreme = (shares <= 0.0) | (shares >= 1.0)
    shares = np.where(is_extreme, (sums + 0.5) / (counts + 1.0), shares)
    return spread_of_known(shares, shares * (1.0 - shares) / counts, seen)


def check_prior(prior_successes: Any, prior_failures: Any) -> tuple[float, float]:
    """Returns the parameters of a Beta prior, from 0.1 to 1e6."""
    successes = check_number("prior_successes", prior_successes, 0.1, 1e6)
    failures = check_number("prior_failures", prior_failures, 0.1, 1e6)
    return successes, failures
