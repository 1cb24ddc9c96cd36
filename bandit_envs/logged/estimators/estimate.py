"""Estimates with their uncertainty: means, and sums of a mean and a ratio of means."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_confidence
from bandit_envs.logged.estimators import problems
from bandit_envs.logged.estimators.bootstrap import PoissonBootstrap
from bandit_envs.logged.estimators.sums.ratio_sums import MeanSums, RatioSums
from bandit_envs.logged.estimators.sums.unlogged_actions import ActionSums
from bandit_envs.logged.estimators.sums.weight_sums import WeightSums
from bandit_envs.logged.intervals.blocks import BlockSums
from bandit_envs.logged.intervals.influence import InfluenceSums, hull, normal_interval
from bandit_envs.logged.intervals.tails import TailSums
from bandit_envs.logged.moments import merge_known
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.seeding import Seed

UNEQUAL = 1e-6  # squared coefficient of variation of weights, from which on they differ

Main: TypeAlias = MeanSums | RatioSums
"""The sums of the value of an estimate and of its error."""


class SummedRows(Protocol):
    """Rows whose columns were summed, and can be read again: `Terms`."""

    def __len__(self) -> int: ...

    def columns(self) -> Floats:
        """Returns the columns of the rows: [c, n]."""


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
        free: the sums of an estimate that assumes nothing of how rewards arise; None if that is not
            known, or the same.
        compared: the sums that test what is assumed; None if that cannot be tested.
        assumption: what a warning says if the test refutes it.
        actions: of the log and the policy; None for slates and items.
        estimator: names what made the terms, with its parameters; "" if it is not known.
        has_bandwidth: whether what is left out is by a bandwidth, of which `find_moved` tells.
        needs_equal_weights: whether the estimate is refused if weights above 0 differ.
    """

    main: Main
    weights: WeightSums
    tail: TailSums
    unbiased: InfluenceSums | RatioSums | None = None
    left_out: Statistics | None = None
    free: RatioSums | None = None
    compared: RatioSums | None = None
    assumption: str = ""
    actions: ActionSums | None = None
    estimator: str = ""
    has_bandwidth: bool = False
    needs_equal_weights: bool = False

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.weights.means.count

    @property
    def decisions(self) -> float:
        """How many decisions the rows stand for: their number, unless they have weights."""
        return self.size * self.weights.mean_count()

    def merge(self, other: EstimateSums) -> EstimateSums:
        """Returns the sums of the rows of both, which must be of one estimator and one policy.

        Raises:
            TypeError: the sums are of different estimators.
            ValueError: the logs differ in their number of actions, or one alone has units.
        """
        if self.estimator != other.estimator:
            found = f"{self.estimator} and {other.estimator}"
            raise TypeError(f"sums are of {found}; expected those of one estimator")
        if self.has_units != other.has_units:
            raise ValueError("sums are of rows with and without units; expected all with units")
        if type(self.main) is not type(other.main):
            raise TypeError("sums are of different estimators; expected those of one")
        return EstimateSums(
            main=merge_known(self.main, other.main),
            weights=self.weights.merge(other.weights),
            tail=self.tail.merge(other.tail),
            unbiased=merge_known(self.unbiased, other.unbiased),
            left_out=merge_known(self.left_out, other.left_out),
            free=merge_known(self.free, other.free),
            compared=merge_known(self.compared, other.compared),
            assumption=self.assumption,
            actions=merge_known(self.actions, other.actions),  # None where actions are items
            estimator=self.estimator,
            has_bandwidth=self.has_bandwidth,
            needs_equal_weights=self.needs_equal_weights,
        )

    @property
    def has_units(self) -> bool:
        """Whether rows belong to units, by which errors and intervals are."""
        return self.weights.units is not None

    def noise_of_bias(self) -> float:
        """Returns the standard error of the mean of what changed weights leave out, if they do."""
        squares = 0.0
        if isinstance(self.unbiased, RatioSums) and isinstance(self.main, RatioSums):
            unchanged = self.unbiased.influences_in_blocks()
            changed = self.main.influences_in_blocks()
            left_out = BlockSums(unchanged.counts, unchanged.sums - changed.sums)
            squares = float(left_out.squares()[0])
        elif self.left_out is not None:
            squares = float(self.left_out.squared_deviation)
        return math.sqrt(squares) / self.size

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
        return ratio.influences if isinstance(ratio, RatioSums) else None

    def free_influence_sums(self) -> InfluenceSums | None:
        """Returns the sums of rows whose mean is the estimate that assumes nothing.

        They are None if it is not known, as where no row has a weight that assumes nothing.
        """
        if self.free is None or not self.free.has_weights:
            return None
        return self.free.influences

    def find_problems(self) -> list[str]:
        """Returns the reasons to distrust the estimate."""
        value = self.main.value()
        error = self.main.standard_error()
        unbiased = self.unbiased
        known = unbiased.standard_error if isinstance(unbiased, InfluenceSums) else error
        deviation = known * math.sqrt(self.size)
        found = (
            problems.find_unlogged_actions(self.actions),
            problems.find_bias(
                0.0 if self.has_bandwidth else self.bias(), self.noise_of_bias(), error
            ),
            problems.find_wrong_assumption(self.compared, value, self.assumption),
            problems.find_few_rows(self.weights),
            problems.find_no_spread(deviation, value),
            problems.find_wrong_mean_weight(self.weights),
        )
        return list(itertools.chain(*found))

    def estimate(self, terms: Iterable[SummedRows] = (), stacklevel: int = 2) -> Estimate:
        """Returns the estimate of the rows, at least two.

        Args:
            terms: those that were summed, of all parts of the log in order, which can be passed
                over again. Bootstrap intervals need them, Bernstein intervals of self-normalised
                estimators, and `interval` of these for slates of more than two slots.
            stacklevel: of warnings, as for `warnings.warn`.

        Raises:
            ValueError: there are fewer than two rows, or weights differ that must be equal.

        Warns:
            UserWarning: for each reason to distrust the estimate.
        """
        if self.size < 2:
            raise ValueError(f"log has {self.size} rows; expected at least two")
        self._check_equal_weights()
        for problem in self.find_problems():
            warnings.warn(problem, stacklevel=stacklevel)
        return Estimate(
            value=self.main.value(),
            standard_error=self.main.standard_error(),
            effective_sample_size=self.weights.effective_sample_size(),
            max_weight=self.weights.largest,
            share_of_large_weights=self.weights.share_of_large(),
            bias=self.bias(),
            pareto_k=self.tail.shape(),
            sums=self,
            terms=terms,
        )

    def _check_equal_weights(self) -> None:
        """Raises ValueError if weights above 0 differ that must be equal, by more than rounding.

        By the inequality of Cauchy and Schwarz, their effective sample size is then below their
        number.
        """
        if not self.needs_equal_weights or not isinstance(self.main, RatioSums):
            return
        number = self.size * float(self.main.normalisers()[0])
        if self.weights.effective_rows() < number * (1.0 - UNEQUAL):
            problem = "the log has the actions of the policy with different propensities"
            expected = "expected a log of a uniform policy, or an estimator that weighs rows: snips"
            raise ValueError(f"{problem}; {expected}")


@dataclasses.dataclass(frozen=True)
class Estimate:
    """An estimated value with its uncertainty, and what the weights say of the data."""

    value: float
    standard_error: float  #: of a ratio, by the delta method; with units, by a jackknife
    effective_sample_size: float  #: (sum w)^2 / sum w^2, by units; the mean over slots of slates
    max_weight: float  #: before any clipping
    share_of_large_weights: float  #: of rows whose weight exceeds 100
    bias: float  #: expected value less the truth, by changed weights; negative if it is too low
    #: How heavy the tail of weighted rewards, or errors, is: above 0.7 is bad. It is -1 if there is
    #: no tail, as of equal values, and inf if too few values are large to tell.
    pareto_k: float
    sums: EstimateSums = dataclasses.field(repr=False, compare=False)
    terms: Iterable[SummedRows] = dataclasses.field(repr=False, compare=False)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the ends of a confidence interval that allows for skewed rows and heavy tails.

        It is that of `InfluenceSums.interval`. If the estimator changes weights, so that its bias
        is as uncertain as an estimate without the change, the interval contains its own normal
        interval and the interval without the change. If the estimator assumes something of how
        rewards arise, the interval contains that of a self-normalised one that does not.
        """
        level = check_confidence(confidence)
        if not math.isfinite(self.standard_error):
            return self.normal_interval(level)
        parts = [self.influence_sums().interval(level)]
        if self.sums.changes_weights:
            parts.append(self.normal_interval(level))
        free = self.sums.free_influence_sums()
        if free is not None:
            parts.append(free.interval(level))
        return hull(*parts)

    def influence_sums(self) -> InfluenceSums:
        """Returns the sums of rows whose mean is the estimate, without any change of weights.

        Of ratios of many slots, they take another pass over the rows, once.
        """
        return self._influences

    @functools.cached_property
    def _influences(self) -> InfluenceSums:
        found = self.sums.influence_sums()
        if found is not None:
            return found
        main = self.sums.main
        if isinstance(main, MeanSums):
            raise TypeError("the sums of a mean have its influences")
        if self.sums.has_units:
            raise ValueError("one block of units has all rows or weights; the error is not known")
        found = InfluenceSums.from_values(np.zeros(0))
        for columns in self._pass_again():
            values = main.value() + main.influence(columns)
            found = found.merge(InfluenceSums.from_values(values, found.size))
        return found

    def normal_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the ends of a confidence interval, if estimates are normally distributed."""
        return normal_interval(self.value, self.standard_error, confidence)

    def bernstein_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Returns the ends of an interval by the empirical Bernstein bound, for the observed range.

        Raises:
            ValueError: rows belong to units, and the bound is for independent rows.

        Source: Maurer & Pontil, Empirical Bernstein bounds and sample variance penalization (2009).
        """
        if self.sums.has_units:
            raise ValueError("a Bernstein bound is for independent rows; expected no units")
        log_term = math.log(4.0 / (1.0 - check_confidence(confidence)))
        radius = self.standard_error * math.sqrt(2.0 * log_term)
        radius += 7.0 * self._observed_range() * log_term / (3.0 * (self.sums.size - 1))
        return self.value - radius, self.value + radius

    def bootstrap_interval(
        self, confidence: float = 0.95, resamples: int = 1000, seed: Seed = 0
    ) -> tuple[float, float]:
        """Returns the ends of an interval from percentiles of estimates from resampled rows.

        In a resample, a row counts as often as a draw from the Poisson distribution with mean 1
        says, which its number and the seed determine. Where rows belong to units, all rows of one
        of 4096 blocks of units count alike.

        Source: Chamandy et al., Estimating uncertainty for massive data streams (2012).
        """
        level = check_confidence(confidence)
        bootstrap = PoissonBootstrap(resamples, seed)
        main = self.sums.main
        if self.sums.has_units and isinstance(main, RatioSums):
            bootstrap.add(*main.columns_of_units())
        else:
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
    sums = iter(parts)
    first = next(sums, None)
    if first is None:
        raise ValueError("parts is empty; expected the sums of at least one part")
    return functools.reduce(EstimateSums.merge, sums, first)
