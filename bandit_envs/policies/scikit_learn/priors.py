"""What is believed of the mean rewards of models that have seen too little yet."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Rng
from bandit_envs.base.checks import MIN_STD
from bandit_envs.base.extras import import_extra


class SeenRewards(NamedTuple):
    """Sums over the rewards of each of M models, updated in place: [M] each."""

    counts: Floats
    totals: Floats
    squares: Floats

    @classmethod
    def initial(cls, num_models: int) -> SeenRewards:
        """Returns the sums before the first reward."""
        return cls(np.zeros(num_models), np.zeros(num_models), np.zeros(num_models))

    def add(self, models: Indices, rewards: Floats) -> None:
        """Adds rewards [n] of models [n]."""
        np.add.at(self.counts, models, 1.0)
        np.add.at(self.totals, models, rewards)
        np.add.at(self.squares, models, np.square(rewards))


class Prior(abc.ABC):
    """A posterior of the mean reward of each model, given the sums of its rewards."""

    @abc.abstractmethod
    def quantile(self, sums: SeenRewards, level: Any) -> Floats:
        """Returns the quantiles of a level between 0 and 1, [M], or of levels [B, 1]: [B, M]."""

    @abc.abstractmethod
    def draw(self, rng: Rng, sums: SeenRewards, size: int) -> Floats:
        """Draws from the posteriors: [size, M]."""


class BetaPrior(Prior):
    """Beta posteriors of means of rewards from 0 to 1.

        mean ~ Beta(successes + sum of r, failures + sum of (1 - r))

    Args:
        successes: of the prior.
        failures: of the prior.
    """

    def __init__(self, successes: float, failures: float) -> None:
        self._successes = successes
        self._failures = failures

    def quantile(self, sums: SeenRewards, level: Any) -> Floats:
        special = import_extra("scipy.special", "scikit-learn")
        return np.asarray(special.betaincinv(*self._parameters(sums), level))

    def draw(self, rng: Rng, sums: SeenRewards, size: int) -> Floats:
        return rng.beta(*self._parameters(sums), size=(size, len(sums.counts)))

    def _parameters(self, sums: SeenRewards) -> tuple[Floats, Floats]:
        successes = self._successes + sums.totals
        failures = self._failures + (sums.counts - sums.totals)
        return successes, failures


class NormalPrior(Prior):
    """Normal posteriors of means of any rewards.

    The prior has the mean and the variance of all rewards so far, or 0 and 1 before the first two,
    and counts as one reward.
    """

    def quantile(self, sums: SeenRewards, level: Any) -> Floats:
        means, deviations = self._means_and_deviations(sums)
        special = import_extra("scipy.special", "scikit-learn")
        return np.asarray(means + deviations * special.ndtri(level))

    def draw(self, rng: Rng, sums: SeenRewards, size: int) -> Floats:
        means, deviations = self._means_and_deviations(sums)
        return means + deviations * rng.standard_normal((size, len(means)))

    def _means_and_deviations(self, sums: SeenRewards) -> tuple[Floats, Floats]:
        count = sums.counts.sum()
        mean = 0.0
        variance = 1.0
        if count > 1.0:
            mean = sums.totals.sum() / count
            variance = max(sums.squares.sum() / count - mean**2, MIN_STD)
        means = (mean + sums.totals) / (1.0 + sums.counts)
        return means, np.sqrt(variance / (1.0 + sums.counts))
