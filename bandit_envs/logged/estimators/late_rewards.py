"""Rewards that arrive late: rows whose reward may still come count by how likely it has.

Experimental: these names may change in any minor version.

With the age t_i of row i, and G(t) the probability that a reward has arrived by the age t,

    r'_i = r_i / G(t_i)    if the reward has arrived, else 0

has the mean that r_i will have, if delays depend on neither the context nor the action. So every
estimator and learner takes a log of r' as it takes one of r. A click that has not come yet counts
as none, and those that have come stand for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats, check_array
from bandit_envs.base.checks import check_number
from bandit_envs.logged.columns import as_column, check_each, check_reward_range
from bandit_envs.logged.log import BanditLog, check_log


def correct_delays(
    log: BanditLog, arrived: ArrayLike, age: ArrayLike, arrived_by: Callable[[Floats], Floats]
) -> BanditLog:
    """Returns a log whose rewards stand for those that have not arrived.

    Experimental: it may change in any minor version.

    It takes the rows of a log one by one, so that batches are corrected as the whole log is.

    Args:
        log: n decisions. The reward of one without a reward so far does not count.
        arrived: [n] bool, whether the reward has arrived.
        age: [n], how long ago the decision was.
        arrived_by: G, which returns the probabilities [m] that rewards have arrived by m ages, such
            as `ArrivalTimes.arrived_by`.

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
        ages, of_ages = self.ages
        if not delays.size:
            raise ValueError("no reward has arrived; expected some, whose delays tell of the rest")
        is_younger = np.append(0.0, of_ages.cumsum())[np.searchsorted(ages, delays, side="left")]
        at_risk = counts.cumsum() - is_younger
        from_last = np.cumprod((1.0 - counts / at_risk)[::-1])[::-1]  # of delays from each on
        shares = np.append(from_last, 1.0)
        return np.asarray(shares[np.searchsorted(delays, age, side="right")])


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
