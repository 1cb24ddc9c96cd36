"""Estimates with their uncertainty: means, and sums of a mean and a ratio of means."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import statistics
import warnings
from collections.abc import Iterable, Iterator

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_confidence
from bandit_envs.logged.estimators.bootstrap import PoissonBootstrap
from bandit_envs.logged.estimators.sums import ActionSums, MeanSums, RatioSums, WeightSums
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.seeding import Seed

SMALL_SAMPLE = 100.0  # effective rows, below which an estimate is unreliable
FAR = 4.0  # standard errors between a mean weight and 1
BIASED = 3.0  # standard errors between an estimated bias and 0
ROUNDING = 1e-6  # of propensities, which may be stored in single precision


@dataclasses.dataclass(frozen=True)
class Terms:
    """What each of n rows adds to an estimate.

        value = mean(direct) + mean(weighted) / mean(normaliser)

    Args:
        direct: [n], what the policy earns by the predicted rewards; zeros without predictions.
        weighted: [n], weighted rewards, or weighted errors of the predictions; or [S, n], of slots
            each of which is divided by the mean of its own normaliser.
        weights: [S, n], of S slots, before any change; S is 1 but for slates.
        normaliser: the weights of a self-normalised estimator, as `weighted`; None for ones.
        left_out: [n], what a change of the weights takes from `weighted`; None for nothing.
        actions: which actions the log has, and the policy takes; None for slates.
        estimator: names what made the terms, with its parameters; "" if it is not known.
    """

    direct: Floats
    weighted: Floats
    weights: Floats
    normaliser: Floats | None = None
    left_out: Floats | None = None
    actions: ActionSums | None = None
    estimator: str = ""

    def __len__(self) -> int:
        return len(self.direct)

    def columns(self) -> Floats:
        """Returns the totals of the rows [1, n], or, with a normaliser, all terms [1 + 2 S, n]."""
        if self.normaliser is None:
            return np.asarray(self.direct + self.weighted)[np.newaxis]
        return np.vstack([self.direct, self.weighted, self.normaliser])

    def sums(self) -> EstimateSums:
        """Returns the sums over the rows, which merge with those of other rows."""
        kind = MeanSums if self.normaliser is None else RatioSums
        return EstimateSums(
            main=kind.from_columns(self.columns()),
            weights=WeightSums.from_weights(self.weights),
            left_out=None if self.left_out is None else Statistics.from_values(self.left_out),
            actions=self.actions,
            estimator=self.estimator,
        )


@dataclasses.dataclass(frozen=True)
class EstimateSums:
    """All that an estimate is made of. The sums of parts of a log merge to those of the whole.

    Args:
        main: the sums of the value and its error.
        weights: what the weights say of the log.
        left_out: what a change of the weights takes from what each row adds; None for nothing.
        actions: of the log and the policy; None for slates.
        estimator: names what made the terms, with its parameters; "" if it is not known.
    """

    main: MeanSums | RatioSums
    weights: WeightSums
    left_out: Statistics | None = None
    actions: ActionSums | None = None
    estimator: str = ""

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.weights.means.count

    def merge(self, other: EstimateSums) -> EstimateSums:
        """Returns the sums of the rows of both, which must be of one estimator and one policy.

        Raises:
            TypeError: the sums are of different estimators.
            ValueError: the logs differ in their number of actions.
        """
        if self.estimator != other.estimator:
            found = f"{self.estimator} and {other.estimator}"
            raise TypeError(f"sums are of {found}; expected those of one estimator")
        left_out = self.left_out
        if left_out is not None and other.left_out is not None:
            left_out = left_out.merge(other.left_out)
        actions = self.actions
        if actions is not None and other.actions is not None:
            actions = actions.merge(other.actions)
        return EstimateSums(
            main=_merge_main(self.main, other.main),
            weights=self.weights.merge(other.weights),
            left_out=left_out,
            actions=actions,
            estimator=self.estimator,
        )

    def standard_error(self) -> float:
        """Returns the standard error of the estimate, of a ratio by the delta method."""
        return math.sqrt(self.main.squared_influence() / self.size / (self.size - 1))

    def bias(self) -> float:
        """Returns the mean of (changed w - w) residual; negative if the value is too low."""
        return 0.0 if self.left_out is None else 0.0 - float(self.left_out.mean)

    def find_problems(self) -> list[str]:
        """Returns the reasons to distrust the estimate."""
        found = (
            self._find_unlogged_actions(),
            self._find_bias(),
            self._find_few_rows(),
            self._find_wrong_mean_weight(),
        )
        return list(itertools.chain(*found))

    def estimate(self, terms: Iterable[Terms] = (), stacklevel: int = 2) -> Estimate:
        """Returns the estimate of the rows, at least two.

        Args:
            terms: those that were summed, of all parts of the log in order, which can be passed
                over again. Bootstrap intervals need them, and Bernstein intervals of
                self-normalised estimators.
            stacklevel: of warnings, as for `warnings.warn`.

        Warns:
            UserWarning: for each reason to distrust the estimate.
        """
        if self.size < 2:
            raise ValueError(f"log has {self.size} rows; expected at least two")
        for problem in self.find_problems():
            warnings.warn(problem, stacklevel=stacklevel)
        return Estimate(
            value=self.main.value(),
            standard_error=self.standard_error(),
            effective_sample_size=self.weights.effective_sample_size(),
            max_weight=self.weights.largest,
            share_of_large_weights=self.weights.share_of_large(),
            bias=self.bias(),
            sums=self,
            terms=terms,
        )

    def _find_unlogged_actions(self) -> Iterator[str]:
        unlogged = [] if self.actions is None else self.actions.find_unlogged()
        if unlogged:
            found = f"the policy takes actions that were never logged: {unlogged[:10]}"
            yield f"{found}; the log cannot tell their value"

    def _find_bias(self) -> Iterator[str]:
        """Yields a text if what changed weights leave out exceeds its noise and the error."""
        if self.left_out is None:
            return
        bias = float(self.left_out.mean)
        noise = math.sqrt(float(self.left_out.squared_deviation)) / self.size
        if abs(bias) > max(BIASED * noise, self.standard_error()):
            direction = "low" if bias > 0.0 else "high"
            found = f"the estimate is about {abs(bias):.4g} too {direction}"
            yield f"{found}: its weights leave out that much; its interval does not show it"

    def _find_few_rows(self) -> Iterator[str]:
        effective = self.weights.effective_sample_size()
        if effective < SMALL_SAMPLE:
            found = f"the effective sample size is {effective:.1f} of {self.size} rows"
            yield f"{found}; the estimate is unreliable"

    def _find_wrong_mean_weight(self) -> Iterator[str]:
        """Yields a text if the mean weight is not near its expectation, 1."""
        mean = float(self.weights.means.mean)
        error = math.sqrt(float(self.weights.means.squared_deviation)) / self.size
        if abs(mean - 1.0) > FAR * error + ROUNDING:
            found = f"the mean weight is {mean:.4g}, more than {FAR:g} standard errors from 1"
            reason = "propensities may be wrong, or what the policy does was never logged"
            yield f"{found}; {reason}"


@dataclasses.dataclass(frozen=True)
class Estimate:
    """An estimated value with its uncertainty, and what the weights say of the data."""

    value: float
    standard_error: float  #: of a ratio, by the delta method
    effective_sample_size: float  #: (sum w)^2 / sum w^2; of slates, the mean over the slots
    max_weight: float  #: before any clipping
    share_of_large_weights: float  #: of rows whose weight exceeds 100
    bias: float  #: expected value less the truth, by changed weights; negative if it is too low
    sums: EstimateSums = dataclasses.field(repr=False, compare=False)
    terms: Iterable[Terms] = dataclasses.field(repr=False, compare=False)

    def normal_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the ends of a confidence interval, if estimates are normally distributed."""
        return normal_interval(self.value, self.standard_error, confidence)

    def bernstein_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the ends of an interval by the empirical Bernstein bound, for the observed range.

        Source: Maurer & Pontil, Empirical Bernstein bounds and sample variance penalization (2009).
        """
        log_term = math.log(4.0 / (1.0 - check_confidence(confidence)))
        radius = self.standard_error * math.sqrt(2.0 * log_term)
        radius += 7.0 * self._observed_range() * log_term / (3.0 * (self.sums.size - 1))
        return self.value - radius, self.value + radius

    def bootstrap_interval(
        self, confidence: float = 0.95, resamples: int = 1000, seed: Seed = 0
    ) -> tuple[float, float]:
        """Returns the ends of an interval from percentiles of estimates from resampled rows.

        In a resample, a row counts as often as a draw from the Poisson distribution with mean 1
        says, which its number and the seed determine.

        Source: Chamandy et al., Estimating uncertainty for massive data streams (2012).
        """
        level = check_confidence(confidence)
        bootstrap = PoissonBootstrap(resamples, seed)
        for columns in self._pass_again():
            bootstrap.add(columns)
        values = self.sums.main.values_at(bootstrap.means())
        low, high = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        return float(low), float(high)

    def _observed_range(self) -> float:
        """Returns the largest less the smallest of how far rows move the estimate."""
        main = self.sums.main
        if isinstance(main, MeanSums):
            return main.highest - main.lowest
        lowest = math.inf
        highest = -math.inf
        for columns in self._pass_again():
            influence = main.influence(columns)
            lowest = float(influence.min(initial=lowest))
            highest = float(influence.max(initial=highest))
        return highest - lowest

    def _pass_again(self) -> Iterator[Floats]:
        """Yields the columns of all terms, in parts; ValueError if they are not those summed."""
        rows = 0
        for terms in self.terms:
            rows += len(terms)
            yield terms.columns()
        if rows != self.sums.size:
            raise ValueError(
                f"terms have {rows} rows; this interval needs all {self.sums.size} again"
            )


def merge_sums(parts: Iterable[EstimateSums]) -> EstimateSums:
    """Returns the sums of all parts of a log, at least one."""
    sums = list(parts)
    if not sums:
        raise ValueError("parts is empty; expected the sums of at least one part")
    return functools.reduce(EstimateSums.merge, sums)


def normal_interval(value: float, standard_error: float, confidence: float) -> tuple[float, float]:
    """Returns the ends of the confidence interval of a normally distributed estimate."""
    level = check_confidence(confidence)
    radius = statistics.NormalDist().inv_cdf((1.0 + level) / 2.0) * standard_error
    return value - radius, value + radius


def _merge_main(left: MeanSums | RatioSums, right: MeanSums | RatioSums) -> MeanSums | RatioSums:
    if isinstance(left, MeanSums) and isinstance(right, MeanSums):
        return left.merge(right)
    if isinstance(left, RatioSums) and isinstance(right, RatioSums):
        return left.merge(right)
    raise TypeError("sums are of different estimators; expected those of one")
