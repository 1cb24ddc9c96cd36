"""Laws of rewards with one parameter, their mean: what bounds and tests of means are made of."""

from __future__ import annotations

import abc

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_PARAMETER, MAX_REWARD, MIN_STD, check_positive
from bandit_envs.policies.arms.kl_ucb import kl_upper_bounds

NEAR_0 = 1e-300


class RewardLaw(abc.ABC):
    """A family of laws of rewards, one for each mean. All functions are of arrays of one shape."""

    reward_range: tuple[float, float]
    """The smallest and the largest reward."""

    margin: float
    """How far means are kept from the ends of the range, where divergences are infinite."""

    smallest_gap: float
    """By so much, the best action is taken as better than others: T* is infinite without a gap."""

    @abc.abstractmethod
    def divergence(self, p: Floats, q: Floats) -> Floats:
        """Returns the Kullback-Leibler divergence of the law of mean p from that of mean q."""

    @abc.abstractmethod
    def variance(self, mean: Floats) -> Floats:
        """Returns the variance of the rewards."""

    @abc.abstractmethod
    def likelihood_ratio(self, n: Floats, p: Floats, m: Floats, q: Floats) -> Floats:
        """Returns how much more likely two means are than a common one: a logarithm.

            n kl(p, r) + m kl(q, r),    r = (n p + m q) / (n + m)

        Args:
            n: the number of rewards with the mean p.
            p: their mean.
            m: the number of rewards with the mean q.
            q: their mean.
        """

    @abc.abstractmethod
    def upper_bounds(self, mean: Floats, level: Floats) -> Floats:
        """Returns the largest q whose divergence from the law of `mean` is at most `level`."""

    @abc.abstractmethod
    def lower_bounds(self, mean: Floats, level: Floats) -> Floats:
        """Returns the smallest such q."""


class BernoulliLaw(RewardLaw):
    """Rewards of 1 or 0."""

    reward_range = 0.0, 1.0
    margin = 1e-9
    smallest_gap = 1e-6

    def divergence(self, p: Floats, q: Floats) -> Floats:
        difference = p - q
        found: Floats = difference / q
        np.log1p(found, out=found)
        found *= p
        difference /= q - 1.0
        np.log1p(difference, out=difference)
        difference *= 1.0 - p
        found += difference
        return found

    def variance(self, mean: Floats) -> Floats:
        return mean * (1.0 - mean)

    def likelihood_ratio(self, n: Floats, p: Floats, m: Floats, q: Floats) -> Floats:
        total = n + m
        between = (n * p + m * q) / np.maximum(total, 1.0)
        found: Floats = n * _negative_entropy(p) + m * _negative_entropy(q)
        found -= total * _negative_entropy(between)
        return found

    def upper_bounds(self, mean: Floats, level: Floats) -> Floats:
        return kl_upper_bounds(mean, level)

    def lower_bounds(self, mean: Floats, level: Floats) -> Floats:
        return 1.0 - kl_upper_bounds(1.0 - mean, level)


class NormalLaw(RewardLaw):
    """Rewards with a normal distribution of known variance.

    Args:
        std: their standard deviation, above 0.
    """

    reward_range = -MAX_REWARD, MAX_REWARD
    margin = 0.0

    def __init__(self, std: float) -> None:
        checked = check_positive("reward_std", std, MIN_STD, MAX_PARAMETER)
        self._variance = checked**2
        self.smallest_gap = 1e-6 * checked

    def divergence(self, p: Floats, q: Floats) -> Floats:
        return (p - q) ** 2 / (2.0 * self._variance)

    def variance(self, mean: Floats) -> Floats:
        return np.full_like(mean, self._variance)

    def likelihood_ratio(self, n: Floats, p: Floats, m: Floats, q: Floats) -> Floats:
        pairs = n * m / np.maximum(n + m, 1.0)
        return pairs * self.divergence(p, q)

    def upper_bounds(self, mean: Floats, level: Floats) -> Floats:
        return mean + np.sqrt(2.0 * self._variance * level)

    def lower_bounds(self, mean: Floats, level: Floats) -> Floats:
        return mean - np.sqrt(2.0 * self._variance * level)


def _negative_entropy(mean: Floats) -> Floats:
    """Returns the expected logarithm of the likelihood of rewards of 1 or 0."""
    rest = 1.0 - mean
    found: Floats = mean * np.log(np.maximum(mean, NEAR_0))
    found += rest * np.log(np.maximum(rest, NEAR_0))
    return found


def law_of(reward_std: float | None) -> RewardLaw:
    """Returns the law of rewards of 1 or 0, or of normal ones with a standard deviation."""
    return BernoulliLaw() if reward_std is None else NormalLaw(reward_std)
