"""Rewards that arrive late: rows whose reward may still come count by how likely it has.

Experimental: these names may change in any minor version.

With the age t_i of row i, and G(t) the probability that a reward has arrived by the age t,

    r'_i = r_i / G(t_i)    if the reward has arrived, else 0

has the mean that r_i will have, if delays depend on neither the context nor the action. So every
estimator and learner takes a log of r' as it takes one of r. A click that has not come yet counts
as none, and those that have come stand for it.

An estimated G has an error, which moves all rows of an age alike. `LateRewards` estimates G, and
adds to standard errors what it moves.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats, Mask, check_array
from bandit_envs.base.checks import check_number
from bandit_envs.logged.columns import as_column, check_each, check_reward_range
from bandit_envs.logged.estimators.embeddings import MarginalizedIPS
from bandit_envs.logged.estimators.estimate import Estimate
from bandit_envs.logged.estimators.gains import logged_terms
from bandit_envs.logged.estimators.single_actions import Estimator
from bandit_envs.logged.estimators.terms import Terms
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import check_log, require_equal_rows

TOO_YOUNG = 0.1  # the share of rewards that have arrived, below which the age of a row says nothing
OLDEST = 0.01  # share of rows, whose ages are cut, as few rows tell of delays as long
OLD = 0.9  # of the longest time that counts, at which nearly all rewards should have arrived
LATER = 0.01  # the share of rewards that may arrive later


def correct_delays(
    log: BanditLog, arrived: ArrayLike, age: ArrayLike, arrived_by: Callable[[Floats], Floats]
) -> BanditLog:
    """Returns a log whose rewards stand for those that have not arrived.

    Experimental: it may change in any minor version.

    It takes the rows of a log one by one, so that batches are corrected as the whole log is.
    Standard errors of estimates from the result are those of a known G; those of an estimated G are
    larger, and `LateRewards` has them.

    Args:
        log: n decisions. The reward of one without a reward so far does not count.
        arrived: [n] bool, whether the reward has arrived.
        age: [n], how long ago the decision was.
        arrived_by: G, which returns the probabilities [m] that rewards have arrived by m ages, such
            as `ArrivalTimes.arrived_by`.

    Warns:
        UserWarning: rows are so young that their rewards count more than tenfold. Leave such rows
            out by their age, whether or not their rewards have arrived.

    Raises:
        ValueError: a reward has arrived at an age at which none should have.

    Source: Ktena et al., Addressing delayed feedback for continuous training with neural networks
    in CTR prediction (2019); Vernade, Cappe & Perchet, Stochastic bandit models for delayed
    conversions (2017).

    >>> log = BanditLog(np.ones((3, 1)), [0, 1, 1], [1.0, 0.0, 1.0], [0.5, 0.5, 0.5])
    >>> late = correct_delays(log, [True, False, True], [2.0, 1.0, 8.0], lambda t: t / 8.0)
    >>> late.reward
    array([4., 0., 1.])
    """
    has_reward = as_column("arrived", arrived, "b", np.bool_, 1)
    check_array("arrived has", has_reward, (len(check_log(log)),))
    ages = _check_times("age", age, len(log))
    share = as_column("arrived_by(age)", arrived_by(ages), ndim=1)
    check_array("arrived_by(age) has", share, ages.shape)
    is_share = (share >= 0.0) & (share <= 1.0) & ((share > 0.0) | ~has_reward)
    expected = "a probability, above 0 where the reward has arrived"
    check_each("arrived_by(age)", share, is_share, expected)
    num_young = np.count_nonzero(share < TOO_YOUNG)
    if num_young:
        found = (
            f"{num_young} rows are so young that less than {TOO_YOUNG:.0%} of rewards have arrived"
        )
        warnings.warn(f"{found}; expected a log without them, left out by age", stacklevel=2)
    reward = np.divide(log.reward, share, out=np.zeros(len(log)), where=has_reward)
    return dataclasses.replace(log, reward=check_reward_range("the corrected reward", reward))


@dataclasses.dataclass(frozen=True, eq=False)
class ArrivalTimes:
    """How long rewards take, from a log in which some have not arrived. Those of parts merge.

    Experimental: it may change in any minor version.

    Only delays of rewards that have arrived are known. Taken as they are, they are too short, as a
    long one is seen in old rows only. With the number d(u) of rows of the delay u, and R(u) of rows
    whose delay is at most u and whose age is at least u,

        G(t) = prod_{u > t} (1 - d(u) / R(u))

    It is of the rewards that arrive before the age of the oldest row: later ones count as none.

    Args:
        delays: of the rows whose reward has arrived, sorted, with how many rows have each: two [m].
        ages: of the same rows, likewise.
        unit: of which all times are multiples, between which G is interpolated; 0 for none.

    Source: Lagakos, Barraj & De Gruttola, Nonparametric analysis of truncated survival data, with
    application to AIDS (1988): the estimator of Kaplan and Meier in reversed time.

    >>> times = ArrivalTimes.from_rows(delay=[1.0, 2.0, 1.0], age=[1.5, 2.5, 2.5])
    >>> times.arrived_by(np.array([0.5, 1.0, 3.0])).round(3)
    array([0. , 0.5, 1. ])
    """

    delays: tuple[Floats, Floats]
    ages: tuple[Floats, Floats]
    unit: float = 0.0

    @classmethod
    def from_rows(cls, delay: ArrayLike, age: ArrayLike, unit: float = 0.0) -> ArrivalTimes:
        """Returns the times of rows whose reward has arrived.

        Args:
            delay: [n], how long the reward took.
            age: [n], of the decision, at least the delay.
            unit: delays are rounded up to multiples of it, and ages down, so that many rows take
                little memory; 0 for none. Rows whose delay is above their age then do not count.
        """
        size = len(np.atleast_1d(np.asarray(delay)))
        delays = _check_times("delay", delay, size)
        ages = _check_times("age", age, size)
        check_each("delay", delays, delays <= ages, "at most the age of the row")
        step = check_number("unit", unit, 0.0)
        if step:
            delays = np.ceil(delays / step) * step
            ages = np.floor(ages / step) * step
        known = delays <= ages
        counts = np.ones(int(known.sum()))
        return cls(_count(delays[known], counts), _count(ages[known], counts), step)

    def merge(self, other: ArrivalTimes) -> ArrivalTimes:
        """Returns the times of the rows of both; ValueError if their units differ."""
        if self.unit != other.unit:
            raise ValueError(f"units are {self.unit:g} and {other.unit:g}; expected one unit")
        delays = _join(self.delays, other.delays)
        return ArrivalTimes(delays, _join(self.ages, other.ages), self.unit)

    def arrived_by(self, age: Floats) -> Floats:
        """Returns G: the probability that a reward has arrived by each of n ages: [n]."""
        if not self.unit:
            return self._arrived_by(age)
        before = np.floor(age / self.unit) * self.unit
        share = (age - before) / self.unit
        ends = [self._arrived_by(before), self._arrived_by(before + self.unit)]
        return np.asarray((1.0 - share) * ends[0] + share * ends[1])

    def _arrived_by(self, age: Floats) -> Floats:
        """Returns G at ages [n], which are multiples of the unit if there is one."""
        delays, counts = self.delays
        at_risk = self._at_risk()
        from_last = np.cumprod((1.0 - counts / at_risk)[::-1])[::-1]  # of delays from each on
        shares = np.append(from_last, 1.0)
        return np.asarray(shares[np.searchsorted(delays, age, side="right")])

    def influence(self, moved: Floats, delay: Floats, age: Floats) -> Floats:
        """Returns how far each row moves a value through G, times the number of rows: [n].

        With the sum C(u) of `moved` over the rows with ages below u, a row whose reward arrived
        adds, if there is no `unit`,

            C(D) / (R(D) - d(D)) - sum_{D <= u <= A} C(u) d(u) / (R(u) (R(u) - d(u)))

        at its delay D and its age A, where terms with R = d are 0. Other rows add 0, and the sum
        over all rows is 0.

        Args:
            moved: [n], by how much a relative change of a row's corrected reward moves the value,
                times the number of rows.
            delay: [n]; NaN for rows whose reward has not arrived.
            age: [n], of all rows.
        """
        delays, counts = self.delays
        at_risk = self._at_risk()
        order = np.argsort(age, kind="stable")
        sums = np.append(0.0, moved[order].cumsum())
        younger = sums[np.searchsorted(age[order], delays, side="left")]
        left = at_risk - counts
        own = np.divide(younger, left, out=np.zeros_like(younger), where=left > 0.0)
        steps = np.append(0.0, (own * counts / at_risk).cumsum())
        has_arrived = ~np.isnan(delay)
        first = np.searchsorted(delays, delay[has_arrived])
        end = np.searchsorted(delays, age[has_arrived], side="right")
        found = np.zeros(len(age))
        found[has_arrived] = own[first] - (steps[end] - steps[first])
        return found

    def _at_risk(self) -> Floats:
        """Returns R at each delay: how many rows have at most that delay, and at least that age."""
        delays, counts = self.delays
        ages, of_ages = self.ages
        if not delays.size:
            raise ValueError("no reward has arrived; expected some, whose delays tell of the rest")
        is_younger = np.append(0.0, of_ages.cumsum())[np.searchsorted(ages, delays, side="left")]
        return np.asarray(counts.cumsum() - is_younger)


@dataclasses.dataclass(frozen=True, eq=False)
class LateRewards:
    """A log some of whose rewards have not arrived yet, and estimates from it.

    Experimental: it may change in any minor version.

    It estimates how long rewards take, by `ArrivalTimes`, and corrects rewards by that. The
    standard errors and intervals of its estimates, and of gains between these, allow for the error
    of what is estimated.

    Rewards count if they take no longer than the age that 1% of the rows exceed, since too few rows
    tell of longer times. Rows by whose age less than 10% of rewards have arrived say nothing. They
    are left out by their age, whether or not their rewards have arrived; but they count in the
    arrival times.

    Args:
        log: the corrected log of the rows that are old enough.
        is_kept: which rows of the log these are: [n].
        times: how long rewards take.
        delay: of the rows that are kept; NaN where no reward has arrived.
        age: of the rows that are kept.

    >>> from bandit_envs.logged import InversePropensityScoring
    >>> rng = np.random.default_rng(0)
    >>> log = BanditLog(np.ones((900, 1)), [0, 1, 1] * 300, [1, 0, 1] * 300, [0.5] * 900)
    >>> age = rng.uniform(0.0, 20.0, 900)
    >>> delay = rng.exponential(2.0, 900)
    >>> late = LateRewards.from_rows(log, np.where(delay <= age, delay, np.nan), age)
    >>> estimate = late.estimate(InversePropensityScoring(), np.full((len(late.log), 2), 0.5))
    >>> bool(abs(estimate.value - 2 / 3) < 3.0 * estimate.standard_error)
    True
    """

    log: BanditLog
    is_kept: Mask
    times: ArrivalTimes
    delay: Floats
    age: Floats

    @classmethod
    def from_rows(cls, log: BanditLog, delay: ArrayLike, age: ArrayLike) -> LateRewards:
        """Returns the corrected log of rows that are old enough.

        Args:
            log: n decisions. The reward of one whose reward has not arrived does not count.
            delay: [n], how long the reward took; NaN if it has not arrived.
            age: [n], how long ago the decision was.

        Warns:
            UserWarning: more than 1% of the rewards that count take longer than 90% of the longest
                time that counts, so that more will come later.

        Raises:
            ValueError: fewer than two rows are old enough.
        """
        size = len(check_log(log))
        ages = _check_times("age", age, size)
        delays = as_column("delay", delay, ndim=1)
        known = ~np.isnan(delays)
        _check_times("delay", np.where(known, delays, 0.0), size)
        check_each("delay", delays, ~known | (delays <= ages), "at most the age of the row")
        longest = float(np.sort(ages)[size - 1 - int(OLDEST * size)]) if size else 0.0
        ages = np.minimum(ages, longest)
        delays = np.where(delays <= longest, delays, np.nan)
        has_arrived = ~np.isnan(delays)
        times = ArrivalTimes.from_rows(delays[has_arrived], ages[has_arrived])
        later = 1.0 - float(times.arrived_by(np.array([OLD * longest]))[0])
        if later > LATER:
            found = f"{later:.1%} of the rewards take longer than {OLD:.0%} of {longest:.4g}"
            warnings.warn(f"{found}; those that take longer than that count as none", stacklevel=2)
        is_kept = times.arrived_by(ages) >= TOO_YOUNG
        if np.count_nonzero(is_kept) < 2:
            found = f"{np.count_nonzero(is_kept)} of {size} rows are old enough to tell"
            raise ValueError(f"{found}; expected at least two")
        kept = ages[is_kept]
        corrected = correct_delays(log[is_kept], has_arrived[is_kept], kept, times.arrived_by)
        return cls(corrected, is_kept, times, delays[is_kept], kept)

    def estimate(self, estimator: Estimator | MarginalizedIPS, *tables: ArrayLike) -> Estimate:
        """Estimates what a policy would have earned, once all rewards have arrived.

        Args:
            estimator: for example `DoublyRobust()`.
            tables: what its `estimate` takes beside the log: the policy's probabilities [m, K] for
                the m rows of `log`, and rewards that were predicted from `log`, for example.

        Warns:
            UserWarning: as `estimator.estimate`.
        """
        without = dataclasses.replace(self.log, reward=np.zeros(len(self.log)))
        terms = self._add_error(
            estimator.terms(self.log, *tables), estimator.terms(without, *tables)
        )
        return terms.sums().estimate([terms], stacklevel=3)

    def estimate_logged(self) -> Estimate:
        """Estimates what the policy that made the log earns, once all rewards have arrived."""
        without = dataclasses.replace(self.log, reward=np.zeros(len(self.log)))
        terms = self._add_error(logged_terms(self.log), logged_terms(without))
        return terms.sums().estimate([terms], stacklevel=3)

    def _add_error(self, terms: Terms, without: Terms) -> Terms:
        """Returns terms whose rows also move the estimate as far as they do through G.

        Args:
            terms: of the corrected log.
            without: those of the same log with rewards of 0.
        """
        require_equal_rows(self.log, "an estimate of late rewards")
        error = self._error(terms.columns(), without.columns())
        left_out = terms.left_out
        if left_out is not None and without.left_out is not None:
            left_out = left_out + self._error(left_out[np.newaxis], without.left_out[np.newaxis])
        return dataclasses.replace(
            terms,
            direct=terms.direct + error,
            left_out=left_out,
            unchanged=self._add_to_columns(terms.unchanged, without.unchanged),
            free=self._add_to_columns(terms.free, without.free),
        )

    def _add_to_columns(self, columns: Floats | None, without: Floats | None) -> Floats | None:
        """Returns columns [1 + 2 S, n] to the first of which the error of G is added."""
        if columns is None or without is None:
            return None
        return np.vstack([columns[:1] + self._error(columns, without), columns[1:]])

    def _error(self, columns: Floats, without: Floats) -> Floats:
        """Returns how far rows move an estimate of some columns [1 + 2 S, n] through G: [n]."""
        by_rewards = columns - without
        slots = len(columns) // 2
        means = columns[1 + slots :].mean(axis=1)
        factors = np.divide(1.0, means, out=np.zeros(slots), where=means != 0.0)
        moved = by_rewards[0] + factors @ by_rewards[1 : 1 + slots]
        return self.times.influence(moved, self.delay, self.age)


def _check_times(name: str, value: ArrayLike, size: int) -> Floats:
    """Returns a column of times [n], at least 0."""
    times = as_column(name, value, ndim=1)
    check_array(f"{name} has", times, (size,))
    return check_each(name, times, (times >= 0.0) & np.isfinite(times), "a number of at least 0")


def _count(values: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Returns the different values, sorted, and the sums of their counts."""
    different, place = np.unique(values, return_inverse=True)
    sums = np.bincount(place.reshape(-1), weights=counts, minlength=len(different))
    return different, np.asarray(sums, np.float64)


def _join(left: tuple[Floats, Floats], right: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Returns the values of both, with their counts."""
    return _count(np.append(left[0], right[0]), np.append(left[1], right[1]))
