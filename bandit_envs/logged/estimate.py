"""Estimates with their uncertainty: means, and sums of a mean and a ratio of means."""

from __future__ import annotations

import dataclasses
import math
import statistics
import warnings

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_integer, check_number
from bandit_envs.seeding import Seed, generator

LARGE_WEIGHT = 100.0
SMALL_SAMPLE = 100.0  # effective rows, below which an estimate is unreliable
FAR = 4.0  # standard errors between a mean weight and 1
BIASED = 3.0  # standard errors between an estimated bias and 0
ROUNDING = 1e-6  # of propensities, which may be stored in single precision
TINY = 1e-300  # in place of a sum of squares that is 0


@dataclasses.dataclass(frozen=True)
class Terms:
    """What each of n rows adds to an estimate.

        value = mean(direct) + mean(weighted) / mean(normaliser)

    Args:
        direct: [n], what the policy earns by the predicted rewards; zeros without predictions.
        weighted: [n], weighted rewards, or weighted errors of the predictions.
        normaliser: [n], the weights of a self-normalised estimator; None for ones.
    """

    direct: Floats
    weighted: Floats
    normaliser: Floats | None = None

    def __len__(self) -> int:
        return len(self.weighted)

    def take(self, rows: NDArray[np.int32]) -> Terms:
        """Returns the terms of some rows."""
        normaliser = None if self.normaliser is None else self.normaliser.take(rows)
        return Terms(self.direct.take(rows), self.weighted.take(rows), normaliser)

    def value(self) -> float:
        """Returns the estimate."""
        bottom = 1.0 if self.normaliser is None else float(self.normaliser.mean())
        ratio = float(self.weighted.mean()) / (bottom or 1.0)  # 0 / 0 is 0: no row has a weight
        return float(self.direct.mean()) + ratio

    def influence(self) -> Floats:
        """Returns how far each row moves the estimate: [n], with mean 0.

        Its standard deviation over sqrt(n) is the standard error, of a ratio by the delta method.
        """
        if self.normaliser is None:
            total = self.direct + self.weighted
            return np.asarray(total - total.mean())
        bottom = float(self.normaliser.mean()) or 1.0
        ratio = float(self.weighted.mean()) / bottom
        change = (self.weighted - ratio * self.normaliser) / bottom
        return np.asarray(change + (self.direct - self.direct.mean()))


@dataclasses.dataclass(frozen=True)
class Estimate:
    """An estimated value with its uncertainty, and what the weights say of the data."""

    value: float
    standard_error: float  #: of a ratio, by the delta method
    effective_sample_size: float  #: (sum w)^2 / sum w^2; of slates, the mean over the slots
    max_weight: float  #: before any clipping
    share_of_large_weights: float  #: of rows whose weight exceeds 100
    bias: float  #: what the estimate is estimated to lack, as its weights are changed
    terms: Terms = dataclasses.field(repr=False, compare=False)

    @classmethod
    def from_terms(cls, terms: Terms, weights: Floats, left_out: Floats | None = None) -> Estimate:
        """Returns the estimate from the terms of n rows.

        Args:
            terms: of n rows, at least two.
            weights: [S, n], of S slots, before any change; S is 1 but for slates.
            left_out: [n], what a change of the weights takes from the terms; None for nothing.

        Warns:
            UserWarning: the effective sample size is small, the mean weight is not near 1, or
                what is left out makes a difference.
        """
        size = len(terms)
        if size < 2:
            raise ValueError(f"log has {size} rows; expected at least two")
        influence = terms.influence()
        error = math.sqrt(float(influence @ influence) / size / (size - 1))
        bias = 0.0
        if left_out is not None:
            bias = float(left_out.mean())
            _warn_of_bias(left_out, error)
        effective = float(np.mean(_effective_sample_sizes(weights)))
        _warn_of_few_rows(effective, size)
        _warn_of_mean_weight(weights)
        return cls(
            value=terms.value(),
            standard_error=error,
            effective_sample_size=effective,
            max_weight=float(weights.max()),
            share_of_large_weights=float(np.mean(weights > LARGE_WEIGHT)),
            bias=bias,
            terms=terms,
        )

    def normal_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the ends of a confidence interval, if estimates are normally distributed."""
        level = check_confidence(confidence)
        radius = statistics.NormalDist().inv_cdf((1.0 + level) / 2.0) * self.standard_error
        return self.value - radius, self.value + radius

    def bernstein_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the ends of an interval by the empirical Bernstein bound, for the observed range.

        Source: Maurer & Pontil, Empirical Bernstein bounds and sample variance penalization (2009).
        """
        log_term = math.log(4.0 / (1.0 - check_confidence(confidence)))
        observed_range = float(np.ptp(self.terms.influence()))
        radius = self.standard_error * math.sqrt(2.0 * log_term)
        radius += 7.0 * observed_range * log_term / (3.0 * (len(self.terms) - 1))
        return self.value - radius, self.value + radius

    def bootstrap_interval(
        self, confidence: float = 0.95, resamples: int = 1000, seed: Seed = 0
    ) -> tuple[float, float]:
        """Returns the ends of an interval from percentiles of estimates from resampled rows."""
        level = check_confidence(confidence)
        rng = generator(seed)
        size = len(self.terms)
        values = []
        for _ in range(check_integer("resamples", resamples, minimum=2)):
            rows = rng.integers(size, size=size, dtype=np.int32)
            values.append(self.terms.take(rows).value())
        low, high = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        return float(low), float(high)


def check_confidence(confidence: float) -> float:
    """Returns a confidence above 0 and below 1."""
    level = check_number("confidence", confidence, 0.0, 1.0)
    if not 0.0 < level < 1.0:
        raise ValueError(f"confidence is {level:g}; expected a number above 0 and below 1")
    return level


def _effective_sample_sizes(weights: Floats) -> Floats:
    """Returns how many rows of equal weight would tell as much, of weights [S, n]: [S]."""
    sums = weights.sum(axis=1)
    squares = np.einsum("sn,sn->s", weights, weights)
    return np.asarray(sums**2 / np.maximum(squares, TINY))


def _warn_of_few_rows(effective: float, size: int) -> None:
    if effective < SMALL_SAMPLE:
        found = f"the effective sample size is {effective:.1f} of {size} rows"
        warnings.warn(f"{found}; the estimate is unreliable", stacklevel=4)


def _warn_of_mean_weight(weights: Floats) -> None:
    """Warns if the mean weight of S slots, [S, n], is not near its expectation, 1."""
    means = weights[0] if len(weights) == 1 else weights.mean(axis=0)
    mean = float(means.mean())
    error = float(means.std()) / math.sqrt(len(means))
    if abs(mean - 1.0) > FAR * error + ROUNDING:
        found = f"the mean weight is {mean:.4g}, more than {FAR:g} standard errors from 1"
        reason = "propensities may be wrong, or what the policy does was never logged"
        warnings.warn(f"{found}; {reason}", stacklevel=4)


def _warn_of_bias(left_out: Floats, standard_error: float) -> None:
    """Warns if what changed weights leave out, [n], is not noise and exceeds the standard error."""
    bias = float(left_out.mean())
    noise = float(left_out.std()) / math.sqrt(len(left_out))
    if abs(bias) > max(BIASED * noise, standard_error):
        direction = "low" if bias > 0.0 else "high"
        found = f"the estimate is about {abs(bias):.4g} too {direction}"
        reason = "its weights leave out that much; its interval does not show it"
        warnings.warn(f"{found}: {reason}", stacklevel=4)
