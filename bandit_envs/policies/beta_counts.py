"""Beta posteriors of success probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.checks import check_number


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

    def decay(self, gamma: float, prior_successes: float, prior_failures: float) -> None:
        """Gives what was seen so far the weight gamma; the prior keeps its weight."""
        successes, failures = self
        successes *= gamma
        successes += (1.0 - gamma) * prior_successes
        failures *= gamma
        failures += (1.0 - gamma) * prior_failures


def check_prior(prior_successes: Any, prior_failures: Any) -> tuple[float, float]:
    """Returns the parameters of a Beta prior, from 0.1 to 1e6."""
    successes = check_number("prior_successes", prior_successes, 0.1, 1e6)
    failures = check_number("prior_failures", prior_failures, 0.1, 1e6)
    return successes, failures
