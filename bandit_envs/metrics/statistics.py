"""Statistics of independent values, and what a metric has seen."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.checks import check_number


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Count, mean and sum of squared deviations of independent values; elementwise for arrays.

    Statistics of disjoint sets of values merge exactly, so that a run can be split over processes.

    Source: Chan, Golub & LeVeque, Algorithms for Computing the Sample Variance (1983).

    >>> left, right = Statistics.of(np.array([1.0, 2.0])), Statistics.of(np.array([6.0]))
    >>> merged = left.merge(right)
    >>> merged.count, float(merged.mean), round(float(merged.standard_error), 4)
    (3, 3.0, 1.5275)
    """

    count: int  #: the number of values, n
    mean: NDArray[np.float64]  #: their mean; of any shape
    squared_deviation: NDArray[np.float64]  #: the sum of (value - mean)^2; of the same shape

    @classmethod
    def of(cls, values: NDArray[Any]) -> Statistics:
        """Returns the statistics of `values` [n, ...] over their first axis."""
        mean = np.asarray(np.mean(values, axis=0, dtype=np.float64))
        return cls(len(values), mean, np.asarray(np.sum((values - mean) ** 2, axis=0)))

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """Standard error of the mean, sqrt(variance / n); NaN if there is one value only."""
        if self.count < 2:
            return np.full_like(self.mean, np.nan)
        return np.asarray(np.sqrt(self.squared_deviation / (self.count - 1) / self.count))

    def interval(self, confidence: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the ends of the mean's confidence interval, by Student's t; NaN for one value."""
        check_number("confidence", confidence, 0.0, 1.0)
        # With t = sqrt(n) tan(u), the density of t becomes cos(u)^(n - 1).
        n = max(self.count - 1, 1)
        u = np.linspace(0.0, min(np.pi / 2.0, 10.0 / np.sqrt(n)), 20_001)
        density = np.cos(u) ** (n - 1)
        share = density.cumsum() - (density + 1.0) / 2.0  # by the trapezoidal rule
        radius = np.sqrt(n) * np.tan(np.interp(confidence * share[-1], share, u))
        return self.mean - radius * self.standard_error, self.mean + radius * self.standard_error

    def at(self, index: Any) -> Statistics:
        """Returns the statistics of the elements at `index`."""
        mean, squared_deviation = self.mean[index], self.squared_deviation[index]
        return Statistics(self.count, np.asarray(mean), np.asarray(squared_deviation))

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
    >>> result = MetricResult(Statistics.of(steps), Statistics.of(sums), sums[:, -1])
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
        steps, others = len(self.per_step.mean), len(other.per_step.mean)
        if steps != others:
            raise ValueError(f"other has {others} steps; expected {steps}")
        return MetricResult(
            self.per_step.merge(other.per_step),
            self.cumulative.merge(other.cumulative),
            np.concatenate([self.totals, other.totals]),
            np.concatenate([self.curves, other.curves], axis=1),
        )

    def as_one_value(self) -> MetricResult:
        """Returns the result with all rows taken as one, for rows that are not independent."""
        means = self.per_step.mean, self.cumulative.mean
        per_step, cumulative = (Statistics(1, mean, np.zeros_like(mean)) for mean in means)
        totals, curves = (sums.mean(-1, keepdims=True) for sums in (self.totals, self.curves))
        return MetricResult(per_step, cumulative, totals, curves)
