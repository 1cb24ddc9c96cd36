"""Laws of arms: the distribution of the reward of each arm, without context."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from bandit_envs.base.arrays import Array, Indices, Rng, read_only
from bandit_envs.base.checks import MAX_PARAMETER, check_numbers, check_parameters, shown
from bandit_envs.specs import BoundedArraySpec
from bandit_envs.trajectories import REWARD_SPEC

MIN, MAX = 1e-37, MAX_PARAMETER


class Law(abc.ABC):
    """The distribution of the reward of each arm.

    A subclass passes the moments to the constructor and implements `draw`. A parameter of the laws
    of this module is one number, or an array [K], or [B, K] if rows differ, for K arms in B rows.

    Args:
        mean, std: of the rewards: numbers, [K] or [B, K]. Infinite or NaN if they do not exist.
        support: the smallest and the largest reward, which become the bounds of `spec`.

    >>> Normal([0.0, 10.0], std=0.0).draw(np.random.default_rng(0), np.array([1, 0])).tolist()
    [10.0, 0.0]
    """

    def __init__(
        self, mean: ArrayLike, std: ArrayLike, support: tuple[Any, Any] = (-np.inf, np.inf)
    ) -> None:
        self.mean, self.std = map(read_only, np.broadcast_arrays(mean, std))
        self.support = low, high = float(np.min(support[0])), float(np.max(support[1]))
        self.spec = REWARD_SPEC
        if np.isfinite((low, high)).any():
            self.spec = BoundedArraySpec((), np.float32, low, high, "reward")

    def means(self, batch_size: int) -> Array:
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


class Family(Law):
    """A law with parameters. `_draw` gets those of the actions, each one number or [B]."""

    _method: ClassVar[str]
    _dtype: ClassVar[DTypeLike] = np.float64

    def __init__(self, parameters: tuple[Array, ...], *moments: Any) -> None:
        super().__init__(*moments)
        self.parameters, shape = parameters, self.mean.shape
        self._offsets = np.arange(shape[0]) * shape[1] if len(shape) == 2 else 0
        fitting = (), shape[-1:]
        self._tables = [
            np.broadcast_to(p, p.shape if p.shape in fitting else shape).astype(self._dtype)
            for p in parameters
        ]

    def draw(self, rng: Rng, action: Indices, row: Indices | None = None) -> Array:
        if not self.mean.ndim:
            return self._draw(rng, len(action), *self._tables)
        is_table = row is not None and self.mean.ndim == 2
        offsets = row * self.mean.shape[1] if is_table else self._offsets
        chosen = [
            t.take(offsets + action if t.ndim == 2 else action) if t.ndim else t
            for t in self._tables
        ]
        return self._draw(rng, len(action), *chosen)

    def _draw(self, rng: Rng, size: int, *parameters: Any) -> Array:
        return np.asarray(getattr(rng, self._method)(*parameters, size))


class Normal(Family):
    """Rewards N(mean, std^2), drawn in float32."""

    _dtype = np.float32

    def __init__(self, mean: ArrayLike, std: ArrayLike = 1.0) -> None:
        mean, std = check_parameters(mean=(mean, -MAX, MAX), std=(std, 0.0, MAX))
        super().__init__((mean, std), mean, std)

    def _draw(self, rng: Rng, size: int, *parameters: Any) -> Array:
        rewards = rng.standard_normal(size, np.float32)
        rewards *= parameters[1]
        rewards += parameters[0]
        return rewards


class Bernoulli(Family):
    """Rewards of 1 with a probability, else of 0."""

    def __init__(self, probability: ArrayLike) -> None:
        (p,) = check_parameters(probability=(probability, 0.0, 1.0))
        super().__init__((p,), p, np.sqrt(p * (1.0 - p)), (0.0, 1.0))

    def _draw(self, rng: Rng, size: int, *parameters: Any) -> Array:
        return np.asarray(rng.random(size) < parameters[0])


class Beta(Family):
    """Rewards from 0 to 1, of density proportional to r^(alpha - 1) (1 - r)^(beta - 1)."""

    _method = "beta"

    def __init__(self, alpha: ArrayLike, beta: ArrayLike) -> None:
        a, b = check_parameters(alpha=(alpha, MIN, MAX), beta=(beta, MIN, MAX))
        mean = a / (a + b)
        super().__init__((a, b), mean, np.sqrt(mean * (1.0 - mean) / (a + b + 1.0)), (0.0, 1.0))


class Exponential(Family):
    """Rewards of density exp(-r / scale) / scale, of mean `scale`."""

    _method = "exponential"

    def __init__(self, scale: ArrayLike) -> None:
        (mean,) = check_parameters(scale=(scale, 0.0, MAX))
        super().__init__((mean,), mean, mean, (0.0, np.inf))


class Gamma(Family):
    """Rewards of density proportional to r^(shape - 1) exp(-r / scale)."""

    _method = "gamma"

    def __init__(self, shape: ArrayLike, scale: ArrayLike = 1.0) -> None:
        k, theta = check_parameters(shape=(shape, 0.0, MAX), scale=(scale, 0.0, MAX))
        super().__init__((k, theta), k * theta, np.sqrt(k) * theta, (0.0, np.inf))


class Poisson(Family):
    """Counts n with probability exp(-rate) rate^n / n!."""

    _method = "poisson"

    def __init__(self, rate: ArrayLike) -> None:
        (mean,) = check_parameters(rate=(rate, 0.0, 1e18))
        super().__init__((mean,), mean, np.sqrt(mean), (0.0, np.inf))


class Geometric(Family):
    """Counts n = 1, 2, ... of trials up to the first success, with p(n) = p (1 - p)^(n - 1)."""

    _method = "geometric"

    def __init__(self, probability: ArrayLike) -> None:
        (p,) = check_parameters(probability=(probability, 1e-12, 1.0))
        super().__init__((p,), 1.0 / p, np.sqrt(1.0 - p) / p, (1.0, np.inf))


class Uniform(Family):
    """Rewards uniform from `low` to `high`."""

    _method = "uniform"

    def __init__(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> None:
        a, b = check_parameters(low=(low, -MAX, MAX), high=(high, -MAX, MAX))
        if (b < a).any():
            raise ValueError(f"high is {shown(high)}; expected at least low, {shown(low)}")
        super().__init__((a, b), (a + b) / 2.0, (b - a) / 12**0.5, (a, b))


class Discrete(Law):
    """Rewards of N values, [N], with probabilities [N], [K, N] or [B, K, N]."""

    def __init__(self, values: ArrayLike, probabilities: ArrayLike) -> None:
        self._values = value = check_numbers("values", values, ndim=1).astype(np.float64)
        p = np.array(probabilities, np.float64)
        if p.shape[-1:] != value.shape or (p < 0.0).any() or not np.allclose(p.sum(-1), 1.0):
            expected = f"{len(value)} floats of sum 1 for each arm"
            raise ValueError(f"probabilities is {shown(probabilities)}; expected {expected}")
        mean = p @ value
        variance = (p * (value - mean[..., np.newaxis]) ** 2).sum(-1)
        super().__init__(mean, np.sqrt(variance), (value, value))
        self._bounds = p.cumsum(-1)[..., :-1]

    def draw(self, rng: Rng, action: Indices, row: Indices | None = None) -> Array:
        places = (np.arange(len(action)) if row is None else row, action)[2 - self.mean.ndim :]
        above = rng.random((len(action), 1)) >= self._bounds[places]
        return np.asarray(self._values.take(np.count_nonzero(above, axis=1)))
