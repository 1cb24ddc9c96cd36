"""Estimates with their uncertainty: means, and sums of a mean and a ratio of means."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.checks import check_confidence
from bandit_envs.logged.estimators.bootstrap import PoissonBootstrap
from bandit_envs.logged.estimators.sums import ActionSums, MeanSums, RatioSums, WeightSums
from bandit_envs.logged.intervals.influence import InfluenceSums, hull, normal_interval
from bandit_envs.logged.intervals.tails import TailSums
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.rounding import is_rounding
from bandit_envs.seeding import Seed

SMALL_SAMPLE = 200.0  # effective rows, below which an estimate is unreliable
HEAVY = 0.5  # shape of the tail of the weights, from which on their variance is infinite
DECISIVE = 0.01  # share of one row in the sum of squared weights, as heavy tails nearly always have
FAR = 4.0  # standard errors between a mean weight and 1
BIASED = 3.0  # standard errors between an estimated bias and 0
ROUNDING = 1e-6  # of propensities, which may be stored in single precision

Main: TypeAlias = MeanSums | RatioSums
"""The sums of the value of an estimate and of its error."""


@dataclasses.dataclass(frozen=True)
class Terms:
    """What each of n rows adds to an estimate.

        value = mean(direct) + mean(weighted) / mean(normaliser)

    Args:
        direct: [n], what the policy earns by the predicted rewards; zeros without predictions.
        weighted: [n], weighted rewards, or weighted errors of the predictions; or [S, n], of slots
            each of which is divided by the mean of its own normaliser.
        weights: [S, n], of S slots, before any change; S is 1 except for slates.
        normaliser: the weights of a self-normalised estimator, as `weighted`; None for ones.
        left_out: [n], what a change of the weights takes from `weighted`; None for nothing.
        actions: which actions the log has, and the policy takes; None for slates.
        estimator: names what made the terms, with its parameters; "" if it is not known.
        expected_squares: [n], the expected square of a row's weight before its action was drawn;
            None if the log has not all probabilities of the logging policy.
        unchanged: [1 + 2 S, n], of a self-normalised estimator that changes the weights: the
            columns of the one that does not; None if they are the same.
        assumed: [n], what the rows would add more if the estimator did not assume anything of how
            rewards arise; None if it does not, or if that is not known.
        has_bandwidth: whether what is left out is by a bandwidth: the difference to the estimate
            that is extrapolated to a bandwidth of 0.
    """

    direct: Floats
    weighted: Floats
    weights: Floats
    normaliser: Floats | None = None
    left_out: Floats | None = None
    actions: ActionSums | None = None
    estimator: str = ""
    expected_squares: Floats | None = None
    unchanged: Floats | None = None
    assumed: Floats | None = None
    has_bandwidth: bool = False

    def __len__(self) -> int:
        return len(self.direct)

    def columns(self) -> Floats:
        """Returns the totals of the rows [1, n], or, with a normaliser, all terms [1 + 2 S, n]."""
        if self.normaliser is None:
            return np.asarray(self.direct + self.weighted)[np.newaxis]
        return np.vstack([self.direct, self.weighted, self.normaliser])

    def sums(self, first_row: int | Indices = 0) -> EstimateSums:
        """Returns the sums over the rows, which merge with those of other rows.

        Args:
            first_row: the number of the first row in the whole log, or the numbers of all rows, by
                which rows belong to the blocks of `Estimate.interval`.
        """
        main, unbiased = self._sum_columns(first_row)
        return EstimateSums(
            main=main,
            weights=WeightSums.from_weights(self.weights, self.expected_squares),
            tail=TailSums.from_values(self._sizes()),
            unbiased=unbiased,
            left_out=None if self.left_out is None else Statistics.from_values(self.left_out),
            assumed=None if self.assumed is None else Statistics.from_values(self.assumed),
            actions=self.actions,
            estimator=self.estimator,
            has_bandwidth=self.has_bandwidth,
        )

    def sums_of_all(self, first_row: int | Indices = 0) -> EstimateSums:
        """Returns the sums over the rows of a whole log, whose intervals need no other pass.

        Those of a part must not be merged: how far its rows move a ratio of many slots depends on
        the other rows.

        Args:
            first_row: as for `sums`.
        """
        sums = self.sums(first_row)
        if sums.influence_sums() is not None or isinstance(sums.main, MeanSums):
            return sums
        influence = sums.main.influence(self.columns())
        values = sums.main.value() + (influence - influence.mean())
        return dataclasses.replace(sums, unbiased=InfluenceSums.from_values(values, first_row))

    def _sum_columns(
        self, first_row: int | Indices
    ) -> tuple[Main, InfluenceSums | RatioSums | None]:
        """Returns the sums of the estimate, and of the one without a change of the weights."""
        columns = self.columns()
        if self.normaliser is None:
            totals = columns[0] if self.left_out is None else columns[0] + self.left_out
            return MeanSums.from_columns(columns), InfluenceSums.from_values(totals, first_row)
        ratio = RatioSums.from_columns(columns, first_row)
        if self.unchanged is None:
            return ratio, None
        return ratio, RatioSums.from_columns(self.unchanged, first_row)

    def _sizes(self) -> Floats:
        """Returns the sizes of weighted rewards, or errors, before any change of weights: [n]."""
        weighted = self.weighted if self.weighted.ndim == 1 else self.weighted.sum(axis=0)
        return np.abs(weighted if self.left_out is None else weighted + self.left_out)


@dataclasses.dataclass(frozen=True)
class EstimateSums:
    """All that an estimate is made of. The sums of parts of a log merge to those of the whole.

    Args:
        main: the sums of the value and its error.
        weights: what the weights say of the log.
        tail: the largest weighted rewards, or errors of predictions, before any change of weights.
        unbiased: the sums of what each row would add without a change of the weights; None for
            self-normalised estimators that do not change them.
        left_out: what a change of the weights takes from what each row adds; None for nothing.
        assumed: what rows would add more without an assumption; None if that is not known.
        actions: of the log and the policy; None for slates.
        estimator: names what made the terms, with its parameters; "" if it is not known.
        has_bandwidth: whether what is left out is by a bandwidth, of which `find_moved` tells.
    """

    main: Main
    weights: WeightSums
    tail: TailSums
    unbiased: InfluenceSums | RatioSums | None = None
    left_out: Statistics | None = None
    assumed: Statistics | None = None
    actions: ActionSums | None = None
    estimator: str = ""
    has_bandwidth: bool = False

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
        actions = self.actions
        if actions is not None and other.actions is not None:
            actions = actions.merge(other.actions)
        return EstimateSums(
            main=_merge_main(self.main, other.main),
            weights=self.weights.merge(other.weights),
            tail=self.tail.merge(other.tail),
            unbiased=_merge_unbiased(self.unbiased, other.unbiased),
            left_out=_merge_statistics(self.left_out, other.left_out),
            assumed=_merge_statistics(self.assumed, other.assumed),
            actions=actions,
            estimator=self.estimator,
            has_bandwidth=self.has_bandwidth,
        )

    def standard_error(self) -> float:
        """Returns the standard error of the estimate, of a ratio by the delta method."""
        return math.sqrt(self.main.squared_influence() / self.size / (self.size - 1))

    def bias(self) -> float:
        """Returns the mean of (changed w - w) residual; negative if the value is too low.

        Of self-normalised weights, it is the value less that of the weights w.
        """
        if isinstance(self.unbiased, RatioSums):
            return self.main.value() - self.unbiased.value()
        return 0.0 if self.left_out is None else 0.0 - float(self.left_out.mean)

    @property
    def changes_weights(self) -> bool:
        """Whether the estimator changes the weights, so that it is biased."""
        return isinstance(self.unbiased, RatioSums) or self.left_out is not None

    def influence_sums(self) -> InfluenceSums | None:
        """Returns the sums of rows whose mean is the estimate, without any change of weights.

        They are None if the rows must be read again, for ratios of many slots.
        """
        if isinstance(self.unbiased, InfluenceSums):
            return self.unbiased
        ratio = self.main if self.unbiased is None else self.unbiased
        return ratio.influence_sums() if isinstance(ratio, RatioSums) else None

    def find_problems(self) -> list[str]:
        """Returns the reasons to distrust the estimate."""
        found = (
            self._find_unlogged_actions(),
            self._find_bias(),
            self._find_wrong_assumption(),
            self._find_few_rows(),
            self._find_no_spread(),
            self._find_wrong_mean_weight(),
        )
        return list(itertools.chain(*found))

    def estimate(self, terms: Iterable[Terms] = (), stacklevel: int = 2) -> Estimate:
        """Returns the estimate of the rows, at least two.

        Args:
            terms: those that were summed, of all parts of the log in order, which can be passed
                over again. Bootstrap intervals need them, Bernstein intervals of self-normalised
                estimators, and `interval` of these for slates of more than two slots.
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
            pareto_k=self.tail.shape(),
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
        if self.left_out is None or self.has_bandwidth:
            return
        bias = float(self.left_out.mean)
        noise = math.sqrt(float(self.left_out.squared_deviation)) / self.size
        if abs(bias) > max(BIASED * noise, self.standard_error()):
            direction = "low" if bias > 0.0 else "high"
            found = f"the estimate is about {abs(bias):.4g} too {direction}"
            yield f"{found}: its weights leave out that much; a normal interval does not show it"

    def _find_wrong_assumption(self) -> Iterator[str]:
        """Yields a text if the estimate is not that without its assumption, by more than noise."""
        if self.assumed is None:
            return
        difference = float(self.assumed.mean)
        noise = math.sqrt(float(self.assumed.squared_deviation)) / self.size
        if abs(difference) > BIASED * noise and not is_rounding(difference, self.main.value()):
            direction = "low" if difference > 0.0 else "high"
            found = f"the estimate is about {abs(difference):.4g} too {direction}"
            yield f"{found}, by weights that assume nothing: what it assumes of rewards seems wrong"

    def _find_few_rows(self) -> Iterator[str]:
        """Yields a text if few rows count: by what is expected of the weights, if that is known."""
        name = "expected effective sample size"
        effective = self.weights.expected_sample_size()
        if effective is None:
            name = "effective sample size"
            effective = self.weights.effective_sample_size()
        if effective < SMALL_SAMPLE:
            found = f"the {name} is {effective:.1f} of {self.size} rows"
            yield f"{found}; the estimate is unreliable"
        elif self.weights.expected_squares is None:
            shape = self.weights.tail.shape()
            if shape > HEAVY and self.weights.share_of_largest() > DECISIVE:
                found = f"the largest weights have a heavy tail (Pareto k is {shape:.2f})"
                yield f"{found}; the estimate is unreliable"

    def _find_no_spread(self) -> Iterator[str]:
        """Yields a text if no row moves the estimate, as in a log without a single click."""
        error = self.standard_error()
        if isinstance(self.unbiased, InfluenceSums):
            error = self.unbiased.standard_error
        if is_rounding(error * math.sqrt(self.size), self.main.value()):
            yield "all rows say the same, such as a log without a click; the error is not known"

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
    pareto_k: float  #: how heavy the tail of weighted rewards, or errors, is; above 0.7 is bad
    sums: EstimateSums = dataclasses.field(repr=False, compare=False)
    terms: Iterable[Terms] = dataclasses.field(repr=False, compare=False)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the ends of a confidence interval that allows for skewed rows and heavy tails.

        It is that of `InfluenceSums.interval`. If the estimator changes weights, so that its bias
        is as uncertain as an estimate without the change, the interval has all of its own normal
        interval and of the interval without the change.
        """
        level = check_confidence(confidence)
        if not math.isfinite(self.standard_error):
            return self.normal_interval(level)
        sums = self.sums.influence_sums()
        if sums is None:
            sums = self._sum_influences()
        if not self.sums.changes_weights:
            return sums.interval(level)
        return hull(self.normal_interval(level), sums.interval(level))

    def median_of_means(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the smallest and the largest mean of eight blocks of rows.

        See `InfluenceSums.median_of_means` for what it assumes.
        """
        sums = self.sums.influence_sums()
        return (self._sum_influences() if sums is None else sums).median_of_means(confidence)

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

    def _sum_influences(self) -> InfluenceSums:
        """Returns the sums of how far rows move a ratio, about its value, by another pass."""
        main = self.sums.main
        if isinstance(main, MeanSums):
            raise TypeError("the sums of a mean have its influences")
        found = InfluenceSums.from_values(np.zeros(0))
        for columns in self._pass_again():
            values = main.value() + main.influence(columns)
            found = found.merge(InfluenceSums.from_values(values, found.size))
        return found

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


def sum_terms(parts: Iterable[Terms]) -> Iterator[EstimateSums]:
    """Yields the sums of all parts of a log, in order."""
    first_row = 0
    for terms in parts:
        yield terms.sums(first_row)
        first_row += len(terms)


def merge_sums(parts: Iterable[EstimateSums]) -> EstimateSums:
    """Returns the sums of all parts of a log, at least one."""
    sums = iter(parts)
    first = next(sums, None)
    if first is None:
        raise ValueError("parts is empty; expected the sums of at least one part")
    return functools.reduce(EstimateSums.merge, sums, first)


def _merge_unbiased(
    left: InfluenceSums | RatioSums | None, right: InfluenceSums | RatioSums | None
) -> InfluenceSums | RatioSums | None:
    if isinstance(left, InfluenceSums) and isinstance(right, InfluenceSums):
        return left.merge(right)
    if isinstance(left, RatioSums) and isinstance(right, RatioSums):
        return left.merge(right)
    return None


def _merge_statistics(left: Statistics | None, right: Statistics | None) -> Statistics | None:
    """Returns the statistics of the values of both; None if those of one are not known."""
    return None if left is None or right is None else left.merge(right)


def _merge_main(left: Main, right: Main) -> Main:
    if isinstance(left, MeanSums) and isinstance(right, MeanSums):
        return left.merge(right)
    if isinstance(left, RatioSums) and isinstance(right, RatioSums):
        return left.merge(right)
    raise TypeError("sums are of different estimators; expected those of one")
