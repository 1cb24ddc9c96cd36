"""Distributions of the rewards of arms, without context."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from bandit_envs.arrays import Array, Floats, Indices, Rng, as_numbers, read_only, take_actions
from bandit_envs.base.checks import MAX_PARAMETER, check_numbers, check_parameters, short_repr
from bandit_envs.specs import ArraySpec, BoundedArraySpec
from bandit_envs.trajectories import REWARD_SPEC

MAX = MAX_PARAMETER
MIN_POSITIVE = 1e-37
"""The smallest parameter of a distribution whose parameters are above 0."""


class RewardDistribution(abc.ABC):
    """The distribution of the reward of each arm.

    A subclass passes the moments to the constructor and implements `draw`. A parameter of the
    distributions of this module is one number, or an array [K], or [B, K] if rows differ, for K
    arms in B rows. A name that `sampling` has, too, ends in `Reward` here.

    Args:
        mean: of the rewards: a number, [K] or [B, K]. Infinite or NaN if it does not exist.
        std: the standard deviation, in the same way.
        support: the smallest and the largest reward, which become the bounds of `spec`.

    >>> arms = NormalReward([0.0, 10.0], std=0.0)
    >>> arms.draw(np.random.default_rng(0), np.array([1, 0])).tolist()
    [10.0, 0.0]
    """

    def __init__(
        self,
        mean: ArrayLike,
        std: ArrayLike,
        support: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf),
    ) -> None:
        means, stds = np.broadcast_arrays(mean, std)
        self.mean: Array = read_only(means.copy())
        self.std: Array = read_only(stds.copy())
        low = float(np.min(support[0]))
        high = float(np.max(support[1]))
        self.support = (low, high)
        self.spec: ArraySpec = REWARD_SPEC
        if np.isfinite(low) or np.isfinite(high):
            self.spec = BoundedArraySpec((), np.float32, low, high, "reward")

    def means(self, batch_size: int) -> Floats:
        """Returns the means of all arms of all rows: [batch_size, K]."""
        mean = np.atleast_1d(self.mean)
        if mean.shape[:-1] not in ((), (batch_size,)):
            raise ValueError(f"batch_size is {batch_size}, but the arms have shape {mean.shape}")
        return np.array(np.broadcast_to(mean, (batch_size, mean.shape[-1])), np.float64)

    @abc.abstractmethod
    def draw(self, rng: Rng, action: Indices, row: Indices | None = None) -> Array:
        """Draws a reward for each `action` [B]: [B].

        Where parameters are [B, K], `row` [B] says which of their rows to use; by default, each
        action uses its own.
        """


class ParametricDistribution(RewardDistribution):
    """A distribution with parameters. `_draw` gets those of the actions, each one number or [B].

    Args:
        parameters: each a number, [K] or [B, K], as `check_parameters` returns them.
        mean: as for `RewardDistribution`, as are `std` and `support`.
    """

    _dtype: ClassVar[DTypeLike] = np.float64
    """The dtype of the parameters that `_draw` gets."""

    def __init__(
        self,
        parameters: Sequence[Array],
        mean: Array,
        std: Array,
        support: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf),
    ) -> None:
        super().__init__(mean, std, support)
        self.parameters = tuple(parameters)
        self._tables = [self._as_table(parameter) for parameter in self.parameters]

    def draw(self, rng: Rng, action: Indices, row: Indices | None = None) -> Array:
        parameters = [_at_actions(table, action, row) for table in self._tables]
        return self._draw(rng, len(action), parameters)

    @abc.abstractmethod
    def _draw(self, rng: Rng, size: int, parameters: list[Array]) -> Array:
        """Draws `size` rewards for parameters that are numbers, or arrays [size]."""

    def _as_table(self, parameter: Array) -> Array:
        """Returns a parameter as a number, [K] or [B, K] of the right dtype."""
        if parameter.shape in ((), self.mean.shape[-1:]):
            return parameter.astype(self._dtype)
        return np.broadcast_to(parameter, self.mean.shape).astype(self._dtype)


def _at_actions(table: Array, action: Indices, row: Indices | None) -> Array:
    """Returns the entries of a parameter, a number, [K] or [B, K], for actions [B]."""
    if table.ndim == 0:
        return table
    if table.ndim == 1:
        return np.asarray(table.take(action))
    return take_actions(table, action) if row is None else np.asarray(table[row, action])


class NormalReward(ParametricDistribution):
    """Rewards N(mean, std^2), drawn in float32.

    Args:
        mean: a number, [K] or [B, K].
        std: at least 0.
    """

    _dtype = np.float32

    def __init__(self, mean: ArrayLike, std: ArrayLike = 1.0) -> None:
        means, stds = check_parameters(mean=(mean, -MAX, MAX), std=(std, 0.0, MAX))
        super().__init__((means, stds), means, stds)

    def _draw(self, rng: Rng, size: int, parameters: list[Array]) -> Array:
        means, stds = parameters
        rewards = rng.standard_normal(size, np.float32)
        rewards *= stds
        rewards += means
        return rewards


class Bernoulli(ParametricDistribution):
    """Rewards of 1 with a probability, else of 0.

    Args:
        probability: from 0 to 1: a number, [K] or [B, K].
    """

    def __init__(self, probability: ArrayLike) -> None:
        (p,) = check_parameters(probability=(probability, 0.0, 1.0))
        super().__init__([p], p, np.sqrt(p * (1.0 - p)), (0.0, 1.0))

    def _draw(self, rng: Rng, size: int, parameters: list[Array]) -> Array:
        return np.asarray(rng.random(size) < parameters[0])


class Beta(ParametricDistribution):
    """Rewards from 0 to 1, of density proportional to r^(alpha - 1) (1 - r)^(beta - 1).

    Args:
        alpha: above 0: a number, [K] or [B, K].
        beta: above 0.
    """

    def __init__(self, alpha: ArrayLike, beta: ArrayLike) -> None:
        a, b = check_parameters(alpha=(alpha, MIN_POSITIVE, MAX), beta=(beta, MIN_POSITIVE, MAX))
        mean = a / (a + b)
        std = np.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
        super().__init__((a, b), mean, std, (0.0, 1.0))

    def _draw(self, rng: Rng, size: int, parameters: list[Array]) -> Array:
        alpha, beta = parameters
        return rng.beta(alpha, beta, size)


class Exponential(ParametricDistribution):
    """Rewards of density exp(-r / scale) / scale.

    Args:
        scale: the mean, at least 0: a number, [K] or [B, K].
    """

    def __init__(self, scale: ArrayLike) -> None:
        (mean,) = check_parameters(scale=(scale, 0.0, MAX))
        super().__init__([mean], mean, mean, (0.0, np.inf))

    def _draw(self, rng: Rng, size: int, parameters: list[Array]) -> Array:
        return rng.exponential(parameters[0], size)


class Gamma(ParametricDistribution):
    """Rewards of density proportional to r^(shape - 1) exp(-r / scale).

    Args:
        shape: at least 0: a number, [K] or [B, K].
        scale: at least 0.
    """

    def __init__(self, shape: ArrayLike, scale: ArrayLike = 1.0) -> None:
        k, theta = check_parameters(shape=(shape, 0.0, MAX), scale=(scale, 0.0, MAX))
        super().__init__((k, theta), k * theta, np.sqrt(k) * theta, (0.0, np.inf))

    def _draw(self, rng: Rng, size: int, parameters: list[Array]) -> Array:
        shape, scale = parameters
        return rng.gamma(shape, scale, size)


class Poisson(ParametricDistribution):
    """Counts n with probability exp(-rate) rate^n / n!.

    Args:
        rate: the mean, from 0 to 1e18: a number, [K] or [B, K].
    """

    def __init__(self, rate: ArrayLike) -> None:
        (mean,) = check_parameters(rate=(rate, 0.0, 1e18))
        super().__init__([mean], mean, np.sqrt(mean), (0.0, np.inf))

    def _draw(self, rng: Rng, size: int, parameters: list[Array]) -> Array:
        return rng.poisson(parameters[0], size)


class Geometric(ParametricDistribution):
    """Counts n = 1, 2, ... of trials up to the first success, with p(n) = p (1 - p)^(n - 1).

    Args:
        probability: p, from 1e-12 to 1: a number, [K] or [B, K].
    """

    def __init__(self, probability: ArrayLike) -> None:
        (p,) = check_parameters(probability=(probability, 1e-12, 1.0))
        super().__init__([p], 1.0 / p, np.sqrt(1.0 - p) / p, (1.0, np.inf))

    def _draw(self, rng: Rng, size: int, parameters: list[Array]) -> Array:
        return rng.geometric(parameters[0], size)


class UniformReward(ParametricDistribution):
    """Rewards uniform from `low` to `high`.

    Args:
        low: a number, [K] or [B, K].
        high: at least `low`.
    """

    def __init__(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> None:
        a, b = check_parameters(low=(low, -MAX, MAX), high=(high, -MAX, MAX))
        if (b < a).any():
            raise ValueError(
                f"high is {short_repr(high)}; expected at least low, {short_repr(low)}"
            )
        super().__init__((a, b), (a + b) / 2.0, (b - a) / 12**0.5, (a, b))

    def _draw(self, rng: Rng, size: int, parameters: list[Array]) -> Array:
        low, high = parameters
        return rng.uniform(low, high, size)


class Discrete(RewardDistribution):
    """Rewards of N values.

    Args:
        values: [N].
        probabilities: [N], [K, N] or [B, K, N]; those of an arm sum to 1.
    """

    def __init__(self, values: ArrayLike, probabilities: ArrayLike) -> None:
        value = check_numbers("values", values, ndim=1).astype(np.float64)
        p = as_numbers("probabilities is", probabilities).astype(np.float64)
        if p.shape[-1:] != value.shape or (p < 0.0).any() or not np.allclose(p.sum(-1), 1.0):
            expected = f"{len(value)} floats of sum 1 for each arm"
            raise ValueError(f"probabilities is {short_repr(probabilities)}; expected {expected}")
        mean = p @ value
        variance = (p * (value - mean[..., np.newaxis]) ** 2).sum(-1)
        super().__init__(mean, np.sqrt(variance), (value, value))
        self._values = value
        self._bounds = p.cumsum(-1)[..., :-1]

    def draw(self, rng: Rng, action: Indices, row: Indices | None = None) -> Array:
        above = rng.random((len(action), 1)) >= self._bounds_of(action, row)
        return np.asarray(self._values.take(np.count_nonzero(above, axis=1)))

    def _bounds_of(self, action: Indices, row: Indices | None) -> Floats:
        """Returns the cumulative probabilities for actions [B]: [B, N - 1], or [N - 1] for all."""
        if self.mean.ndim == 0:
            return self._bounds
        if self.mean.ndim == 1:
            return np.asarray(self._bounds[action])
        rows = np.arange(len(action)) if row is None else row
        return np.asarray(self._bounds[rows, action])
