"""Estimates with their uncertainty: means, and sums of a mean and a ratio of means."""

from __future__ import annotations

import dataclasses
import math
import statistics
import warnings

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_integer, check_number
from bandit_envs.seeding import Seed, generator

LARGE_WEIGHT, SMALL_SAMPLE, FAR, TOLERANCE = 100.0, 100.0, 4.0, 1e-6
BLOCK = 2048  # rows that stay in the processor's cache


@dataclasses.dataclass(frozen=True)
class Estimate:
    """An estimated value with its uncertainty, and what the weights say of the data.

    The `terms` [m, n] are the rows' c + u; or c, u and v, or u and v, of a self-normalised
    estimator.
    """

    value: float
    standard_error: float  #: of a ratio, by the delta method
    effective_sample_size: float  #: (sum w)^2 / sum w^2; of slates, the mean over the slots
    max_weight: float  #: before any clipping
    share_of_large_weights: float  #: of rows whose weight exceeds 100
    bias: float  #: the estimated difference to the estimator with unchanged weights
    terms: Floats = dataclasses.field(repr=False, compare=False)

    @classmethod
    def of(cls, terms: Floats, weights: Floats, lost: float = 0.0) -> Estimate:
        """Returns the estimate from `terms` [m, n] and the weights [S, n] of S slots. It may warn.

        `lost` is the sum of what changed weights leave out.
        """
        size = terms.shape[1]
        if size < 2:
            raise ValueError(f"log has {size} rows; expected at least two")
        value, slope = _value_and_slope(terms.mean(axis=1))
        error = math.sqrt(_variance(slope, terms) / (size - 1))
        sums, squares = weights.sum(axis=1), np.einsum("sn,sn->s", weights, weights)
        effective = float(np.mean(sums**2 / np.maximum(squares, 1e-300)))
        if effective < SMALL_SAMPLE:
            found = f"the effective sample size is {effective:.1f} of {size} rows"
            warnings.warn(f"{found}; the estimate is unreliable", stacklevel=3)
        mean, share = sums.mean() / size, np.full(len(weights), 1.0 / len(weights))
        if abs(mean - 1.0) > FAR * math.sqrt(_variance(share, weights) / size) + TOLERANCE:
            found = f"the mean weight is {mean:.4g}, more than {FAR:g} standard errors from 1"
            reason = "propensities may be wrong, or what the policy does was never logged"
            warnings.warn(f"{found}; {reason}", stacklevel=3)
        large = float(np.mean(weights > LARGE_WEIGHT))
        return cls(value, error, effective, float(weights.max()), large, lost / size, terms)

    def interval(
        self,
        confidence: float = 0.95,
        method: str = "normal",
        resamples: int = 1000,
        seed: Seed = 0,
    ) -> tuple[float, float]:
        """Returns the lower and the upper end of a confidence interval.

        The method is "normal"; "bootstrap", for percentiles of estimates from so many `resamples`;
        or "bernstein", the empirical Bernstein bound (Maurer & Pontil, 2009) with the observed
        range.
        """
        level = check_number("confidence", confidence, 0.0, 1.0)
        if not 0.0 < level < 1.0:
            raise ValueError(f"confidence is {level:g}; expected a number above 0 and below 1")
        size = self.terms.shape[1]
        if method == "bootstrap":
            rng, values = generator(seed), []
            for _ in range(check_integer("resamples", resamples, minimum=2)):
                rows = rng.integers(size, size=size, dtype=np.int32)
                means = np.array([term.take(rows).mean() for term in self.terms])
                values.append(_value_and_slope(means)[0])
            low, high = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
            return float(low), float(high)
        if method == "normal":
            radius = statistics.NormalDist().inv_cdf((1.0 + level) / 2.0) * self.standard_error
        elif method == "bernstein":
            _, slope = _value_and_slope(self.terms.mean(axis=1))
            spread = float(np.ptp(slope @ self.terms))
            log_term = math.log(4.0 / (1.0 - level))
            radius = self.standard_error * math.sqrt(2.0 * log_term)
            radius += 7.0 * spread * log_term / (3.0 * (size - 1))
        else:
            raise ValueError(f"method is {method!r}; expected normal, bootstrap or bernstein")
        return self.value - radius, self.value + radius


def _value_and_slope(means: Floats) -> tuple[float, Floats]:
    """Returns the value that means of terms [m] stand for, and its derivatives [m]."""
    if len(means) == 1:
        return float(means[0]), np.ones(1)
    *direct, top, bottom = means.tolist()
    bottom = bottom or 1.0  # if all weights are 0
    slope = [*[1.0] * len(direct), 1.0 / bottom, -top / bottom**2]
    return sum(direct) + top / bottom, np.array(slope)


def _variance(slope: Floats, table: Floats) -> float:
    """Returns the variance of the n numbers slope @ table, of a `table` [m, n]."""
    total, means = 0.0, table.mean(axis=1, keepdims=True)
    for start in range(0, table.shape[1], BLOCK):
        influence = slope @ (table[:, start : start + BLOCK] - means)
        total += float(influence @ influence)
    return float(total / table.shape[1])
