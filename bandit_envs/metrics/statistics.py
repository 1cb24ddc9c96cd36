"""Statistics of independent values, and what a metric has seen."""

from __future__ import annotations

import dataclasses
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.checks import check_confidence


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Count, mean and sum of squared deviations of independent values; elementwise for arrays.

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
        mean = np.asarray(total / max(len(values), 1))
        return cls(len(values), mean, np.asarray(np.sum((values - mean) ** 2, axis=0)))

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """Standard error of the mean, sqrt(variance / n); NaN if there is one value only."""
        if self.count < 2:
            return np.full_like(self.mean, np.nan)
        return np.asarray(np.sqrt(self.squared_deviation / (self.count - 1) / self.count))

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
        return np.asarray(low), np.asarray(np.clip(center + radius, 0.0, 1.0))

    def at(self, index: Any) -> Statistics:
        """Returns the statistics of the elements at `index`."""
        mean = np.asarray(self.mean[index])
        squared_deviation = np.asarray(self.squared_deviation[index])
        return Statistics(self.count, mean, squared_deviation)

    def merge(self, other: Statistics) -> Statistics:
        """Returns the statistics of the values of both."""
        if self.count == 0 or other.count == 0:
            return self if other.count == 0 else other
        count = self.count + other.count
        difference = other.mean - self.mean
        mean = self.mean + difference * (other.count / count)
        between = difference**2 * (self.count * other.count / count)
        return Statistics(count, mean, self.squared_deviation + other.squared_deviation + between)


class MetricResult(NamedTuple):
    """What a metric has seen in T steps.

    >>> steps = np.array([[1.0, 3.0], [3.0, 5.0]])  # two rows, and a step a column
    >>> sums = steps.cumsum(axis=1)
    >>> per_step, cumulative = Statistics.from_values(steps), Statistics.from_values(sums)
    >>> result = MetricResult(per_step, cumulative, sums[:, -1])
    >>> result.per_step.mean, float(result.mean.mean)
    (array([2., 4.]), 3.0)
    """

    per_step: Statistics  #: over rows of each step's value, [T]
    cumulative: Statistics  #: over rows of the sum of the row's values up to each step, [T]
    totals: NDArray[np.float64]  #: the sum of each row's values over all steps, [B]
    #: These sums after n earlier steps, [n, B], which only some studies keep.
    curves: NDArray[np.float32] = np.zeros((0, 1), np.float32)

    @property
    def mean(self) -> Statistics:
        """Statistics over rows of the row's mean over all T steps; ValueError without steps."""
        steps = len(self.cumulative.mean)
        if steps == 0:
            raise ValueError("the metric has seen no steps, so it has no mean")
        last = self.cumulative.at(-1)
        return Statistics(last.count, last.mean / steps, last.squared_deviation / steps**2)

    def merge(self, other: MetricResult) -> MetricResult:
        """Returns the result over the rows of both; ValueError if they differ in steps."""
        steps = len(self.per_step.mean)
        others = len(other.per_step.mean)
        if steps != others:
            raise ValueError(f"other has {others} steps; expected {steps}")
        return MetricResult(
            self.per_step.merge(other.per_step),
            self.cumulative.merge(other.cumulative),
            np.concatenate([self.totals, other.totals]),
            np.concatenate([self.curves, other.curves], axis=1),
        )

    def continued(self, steps: int) -> MetricResult:
        """Returns the result after so many steps in all, with values of 0 in those not seen."""
        missing = steps - len(self.per_step.mean)
        return self._replace(
            per_step=_padded(self.per_step, missing, "constant"),
            cumulative=_padded(self.cumulative, missing, "edge"),
        )

    def as_one_value(self) -> MetricResult:
        """Returns the result with all rows taken as one, for rows that are not independent."""
        return MetricResult(
            per_step=_as_one_value(self.per_step),
            cumulative=_as_one_value(self.cumulative),
            totals=self.totals.mean(-1, keepdims=True),
            curves=self.curves.mean(-1, keepdims=True),
        )


def _padded(statistics: Statistics, missing: int, mode: Literal["constant", "edge"]) -> Statistics:
    """Returns statistics [T] with so many more, which are 0 or the last one."""
    mean = np.pad(statistics.mean, (0, missing), mode)
    squared_deviation = np.pad(statistics.squared_deviation, (0, missing), mode)
    return Statistics(statistics.count, mean, squared_deviation)


def _as_one_value(statistics: Statistics) -> Statistics:
    """Returns the statistics of one value, the mean."""
    return Statistics(1, statistics.mean, np.zeros_like(statistics.mean))


def student_quantile(confidence: float, freedom: int) -> float:
    """Returns the t that |T| exceeds with probability 1 - confidence, for Student's T.

    With t = sqrt(freedom) tan(u), the density of t becomes proportional to cos(u)^(freedom - 1),
    which is integrated by the trapezoidal rule.
    """
    u = np.linspace(0.0, min(np.pi / 2.0, 10.0 / np.sqrt(freedom)), 20_001)
    density = np.cos(u) ** (freedom - 1)
    integral = density.cumsum() - (density + 1.0) / 2.0
    angle = np.interp(confidence * integral[-1], integral, u)
    return float(np.sqrt(freedom) * np.tan(angle))
