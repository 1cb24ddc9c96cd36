"""Statistics of independent values, and what a metric has seen."""

from __future__ import annotations

import dataclasses
import functools
import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.base.checks import check_confidence

ALL_KEPT = 10_000
"""Metrics keep statistics of each of so many steps, the first ones."""

ALMOST_NORMAL = 1e4
"""Degrees of freedom, above which Student's quantiles are those of an expansion."""

THINNED = 1_000
"""After these, of so many, each time the number of steps doubles."""


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Count, mean and sum of squared deviations of independent values; elementwise for arrays.

    Of values without more axes, [n], they are scalars, which `round` takes.

    Statistics of disjoint sets of values merge exactly, so that a run can be split over processes.

    Source: Chan, Golub & LeVeque, Algorithms for Computing the Sample Variance (1983).

    >>> left = Statistics.from_values(np.array([1.0, 2.0]))
    >>> merged = left.merge(Statistics.from_values(np.array([6.0])))
    >>> merged.count, float(merged.mean), round(float(merged.standard_error), 4)
    (3, 3.0, 1.5275)
    """

    count: int  #: the number of values, n
    mean: NDArray[np.float64]  #: their mean; of any shape
    squared_deviation: NDArray[np.float64]  #: the sum of (value - mean)^2; of the same shape

    @classmethod
    def from_values(cls, values: NDArray[Any]) -> Statistics:
        """Returns the statistics of `values` [n, ...] over their first axis."""
        total = np.sum(values, axis=0, dtype=np.float64)
        mean = _number_or_array(total / max(len(values), 1))
        deviation = _number_or_array(np.sum((values - mean) ** 2, axis=0))
        return cls(len(values), mean, deviation)

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """Standard error of the mean, sqrt(variance / n); NaN if there is one value only."""
        if self.count < 2:
            return _number_or_array(np.full_like(self.mean, np.nan))
        return _number_or_array(np.sqrt(self.squared_deviation / (self.count - 1) / self.count))

    def interval(self, confidence: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the ends of the mean's confidence interval, by Student's t; NaN for one value.

        Args:
            confidence: above 0 and below 1.
        """
        level = check_confidence(confidence)
        radius = student_quantile(level, max(self.count - 1, 1)) * self.standard_error
        return self.mean - radius, self.mean + radius

    def wilson_interval(
        self, confidence: float = 0.95
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the ends of Wilson's confidence interval of a probability.

        The values must be 0 or 1. The interval has a width also if all values are equal.

        Args:
            confidence: above 0 and below 1.

        Source: Wilson, Probable Inference, the Law of Succession, and Statistical Inference (1927).
        """
        z = NormalDist().inv_cdf((1.0 + check_confidence(confidence)) / 2.0)
        n = max(self.count, 1)
        center = (self.mean + z**2 / (2.0 * n)) / (1.0 + z**2 / n)
        variance = self.mean * (1.0 - self.mean) / n + (z / (2.0 * n)) ** 2
        radius = z / (1.0 + z**2 / n) * np.sqrt(np.maximum(variance, 0.0))
        low = np.clip(center - radius, 0.0, 1.0)
        return low, np.clip(center + radius, 0.0, 1.0)

    def at(self, index: Any) -> Statistics:
        """Returns the statistics of the elements at `index`."""
        return Statistics(self.count, self.mean[index], self.squared_deviation[index])

    def merge(self, other: Statistics) -> Statistics:
        """Returns the statistics of the values of both."""
        if self.count == 0 or other.count == 0:
            return self if other.count == 0 else other
        count = self.count + other.count
        difference = other.mean - self.mean
        mean = self.mean + difference * (other.count / count)
        between = difference**2 * (self.count * other.count / count)
        return Statistics(count, mean, self.squared_deviation + other.squared_deviation + between)


def _number_or_array(values: ArrayLike) -> NDArray[np.float64]:
    """Returns an array, or the number in one without axes."""
    found: NDArray[np.float64] = np.asarray(values)[()]
    return found


class MetricResult(NamedTuple):
    """What a metric has seen in T steps, with statistics of n of them.

    >>> values = np.array([[1.0, 3.0], [3.0, 5.0]])  # two rows, and a step a column
    >>> sums = values.cumsum(axis=1)
    >>> per_step, cumulative = Statistics.from_values(values), Statistics.from_values(sums)
    >>> result = MetricResult(per_step, cumulative, sums[:, -1], kept_steps(2))
    >>> result.per_step.mean, float(result.mean.mean)
    (array([2., 4.]), 3.0)
    """

    per_step: Statistics  #: over rows of the value of each step that is kept, [n]
    cumulative: Statistics  #: over rows of the sum of the row's values up to each, [n]
    totals: NDArray[np.float64]  #: the sum of each row's values over all steps, [B]
    steps: NDArray[np.int64]  #: the steps that are kept, up to the last one, T: [n]
    #: These sums after m earlier steps, [m, B], which only some studies keep.
    curves: NDArray[np.float32] = np.zeros((0, 1), np.float32)

    @property
    def num_steps(self) -> int:
        """The number of all steps, T."""
        return int(self.steps[-1]) if len(self.steps) else 0

    @property
    def mean(self) -> Statistics:
        """Statistics over rows of the row's mean over all T steps; ValueError without steps."""
        steps = self.num_steps
        if steps == 0:
            raise ValueError("the metric has seen no steps, so it has no mean")
        last = self.cumulative.at(-1)
        return Statistics(last.count, last.mean / steps, last.squared_deviation / steps**2)

    def merge(self, other: MetricResult) -> MetricResult:
        """Returns the result over the rows of both; ValueError if they differ in steps."""
        if self.num_steps != other.num_steps:
            raise ValueError(f"other has {other.num_steps} steps; expected {self.num_steps}")
        if len(self.steps) != len(other.steps):
            raise ValueError(f"other keeps {len(other.steps)} steps; expected {len(self.steps)}")
        return MetricResult(
            self.per_step.merge(other.per_step),
            self.cumulative.merge(other.cumulative),
            np.concatenate([self.totals, other.totals]),
            self.steps,
            np.concatenate([self.curves, other.curves], axis=1),
        )

    def continued(self, steps: int) -> MetricResult:
        """Returns the result after so many steps in all, with values of 0 in those not seen.

        It has statistics of the steps that a metric keeps if it is not told otherwise.
        """
        if steps == self.num_steps:
            return self
        kept = kept_steps(steps)
        place = np.searchsorted(self.steps, kept).clip(max=len(self.steps) - 1)
        is_new = kept > self.num_steps
        per_step = self.per_step.at(place)
        per_step.mean[is_new] = 0.0
        per_step.squared_deviation[is_new] = 0.0
        return self._replace(steps=kept, per_step=per_step, cumulative=self.cumulative.at(place))

    def as_one_value(self) -> MetricResult:
        """Returns the result with all rows taken as one, for rows that are not independent."""
        return MetricResult(
            per_step=_as_one_value(self.per_step),
            cumulative=_as_one_value(self.cumulative),
            totals=self.totals.mean(-1, keepdims=True),
            steps=self.steps,
            curves=self.curves.mean(-1, keepdims=True),
        )


def kept_steps(num_steps: int, every: int | None = None) -> NDArray[np.int64]:
    """Returns the steps of which a metric keeps statistics: [n].

    These are the first 10,000 steps, and another 1,000 each time the number of steps doubles:
    every 10th step up to 20,000, every 20th up to 40,000, and so on. The last step is one of them.

    Args:
        num_steps: how many steps there are.
        every: if given, every so many steps are kept, and the last one.

    >>> kept_steps(25_005)[[0, 9_999, 10_000, -3, -2, -1]]
    array([    1, 10000, 10010, 24980, 25000, 25005])
    """
    if every is not None:
        parts = [np.arange(every, num_steps + 1, every)]
    else:
        parts = [np.arange(1, min(num_steps, ALL_KEPT) + 1)]
        start = ALL_KEPT
        while start < num_steps:
            spacing = start // THINNED
            parts.append(np.arange(start + spacing, min(2 * start, num_steps) + 1, spacing))
            start *= 2
    steps = np.concatenate(parts).astype(np.int64)
    is_last_missing = num_steps > 0 and (len(steps) == 0 or steps[-1] != num_steps)
    return np.append(steps, num_steps) if is_last_missing else steps


def is_kept(step: int, every: int | None = None) -> bool:
    """Whether `kept_steps` has a step, however many steps follow."""
    if every is not None:
        return step % every == 0
    if step <= ALL_KEPT:
        return True
    doublings = ((step - 1) // ALL_KEPT).bit_length()
    spacing: int = ALL_KEPT // THINNED * 2 ** (doublings - 1)
    return step % spacing == 0


def _as_one_value(statistics: Statistics) -> Statistics:
    """Returns the statistics of one value, the mean."""
    return Statistics(1, statistics.mean, np.zeros_like(statistics.mean))


def exceed_chi_squared(value: float, freedom: int) -> float:
    """Returns the probability that a chi-squared variable exceeds a value.

    Args:
        value: at least 0.
        freedom: the degrees of freedom; with less than 1, the result is 1.
    """
    half = value / 2.0
    if freedom < 1 or half == 0.0:
        return 1.0
    power = 0.5 * (freedom % 2)  # of the first term of the series
    total = math.erfc(math.sqrt(half)) if power else 0.0
    while power < freedom / 2.0:
        total += math.exp(power * math.log(half) - half - math.lgamma(power + 1.0))
        power += 1.0
    return total


@functools.lru_cache(maxsize=1000)
def student_quantile(confidence: float, freedom: float) -> float:
    """Returns the t that |T| exceeds with probability 1 - confidence, for Student's T.

    With t = sqrt(freedom) tan(u), the density of t becomes proportional to cos(u)^(freedom - 1).
    Newton's method finds u from below, as this density falls.

    Args:
        confidence: above 0 and below 1.
        freedom: the degrees of freedom, at least 1; need not be an integer.
    """
    if freedom > ALMOST_NORMAL:
        normal = NormalDist().inv_cdf((1.0 + confidence) / 2.0)
        first = (normal**3 + normal) / 4.0
        second = (5.0 * normal**5 + 16.0 * normal**3 + 3.0 * normal) / 96.0
        third = 3.0 * normal**7 + 19.0 * normal**5 + 17.0 * normal**3 - 15.0 * normal
        return normal + (first + (second + third / 384.0 / freedom) / freedom) / freedom
    log_gammas = math.lgamma(freedom / 2.0) - math.lgamma((freedom + 1.0) / 2.0)
    wanted = confidence * math.sqrt(math.pi) / 2.0 * math.exp(log_gammas)
    nodes, weights = _gauss_legendre()
    angle = 0.0
    for _ in range(100):
        integral = weights @ np.cos(angle * (nodes + 1.0) / 2.0) ** (freedom - 1.0) * angle / 2.0
        step = (wanted - float(integral)) / math.cos(angle) ** (freedom - 1.0)
        angle = min(angle + step, math.pi / 2.0)
        if step <= 1e-15 * angle:
            break
    return math.sqrt(freedom) * math.tan(angle)


@functools.cache
def _gauss_legendre() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the nodes from -1 to 1 and the weights of an accurate quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    return nodes, weights
