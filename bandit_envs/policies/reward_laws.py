"""Laws of rewards with one parameter, their mean: what bounds and tests of means are made of."""

from __future__ import annotations

import abc

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_PARAMETER, MAX_REWARD, MIN_STD, check_positive
from bandit_envs.policies.kl_ucb import kl_upper_bounds

NEAR_0 = 1e-300


class RewardLaw(abc.ABC):
    """A family of laws of rewards, one for each mean. All functions are of arrays of one shape."""

    reward_range: tuple[float, float]
    """The smallest and the largest reward."""

    margin: float
    """How far means are kept from the ends of the range, where divergences are infinite."""

    @abc.abstractmethod
    def divergence(self, p: Floats, q: Floats) -> Floats:
        """Returns the Kullback-Leibler divergence of the law of mean p from that of mean q."""

    @abc.abstractmethod
    def variance(self, mean: Floats) -> Floats:
        """Returns the variance of the rewards."""

    @abc.abstractmethod
    def potential(self, mean: Floats) -> Floats:
        """Returns the convex function A of which the divergence is the excess over a tangent.

        divergence(p, q) = A(p) - A(q) - A'(q) (p - q)
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

    def divergence(self, p: Floats, q: Floats) -> Floats:
        difference = p - q
        found: Floats = p * np.log1p(difference / q)
        found += (1.0 - p) * np.log1p(-difference / (1.0 - q))
        return found

    def variance(self, mean: Floats) -> Floats:
        return mean * (1.0 - mean)

    def potential(self, mean: Floats) -> Floats:
        rest = 1.0 - mean
        found: Floats = mean * np.log(np.maximum(mean, NEAR_0))
        found += rest * np.log(np.maximum(rest, NEAR_0))
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
        self._variance = check_positive("reward_std", std, MIN_STD, MAX_PARAMETER) ** 2

    def divergence(self, p: Floats, q: Floats) -> Floats:
        return (p - q) ** 2 / (2.0 * self._variance)

    def variance(self, mean: Floats) -> Floats:
        return np.full_like(mean, self._variance)

    def potential(self, mean: Floats) -> Floats:
        return mean**2 / (2.0 * self._variance)

    def upper_bounds(self, mean: Floats, level: Floats) -> Floats:
        return mean + np.sqrt(2.0 * self._variance * level)

    def lower_bounds(self, mean: Floats, level: Floats) -> Floats:
        return mean - np.sqrt(2.0 * self._variance * level)


def law_of(reward_std: float | None) -> RewardLaw:
    """Returns the law of rewards of 1 or 0, or of normal ones with a standard deviation."""
    return BernoulliLaw() if reward_std is None else NormalLaw(reward_std)
