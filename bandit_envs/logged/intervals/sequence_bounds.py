"""Lower bounds of a mean that hold after every value at once: two ways to make them.

Values x_i are at least `smallest`, which is from -1 to 0, and have no upper bound. Their mean lies
from 0 to 1 + smallest.
"""

from __future__ import annotations

import abc
import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_fields, check_integer

LARGEST_BET = 0.5
FEWEST_MEANS = 101  # between which interpolated ends are off by less than 1e-3
ROWS = 256  # whose wealth for all means is known at a time


class SeenValues(NamedTuple):
    """What is remembered of the values x_1, ..., x_t, for the size of the next bet."""

    size: int = 0
    values: float = 0.0  # sum x_i
    deviations: float = 0.0  # sum (x_i - M_i)^2


class Bets(NamedTuple):
    """What is bet on each of n more values, before they are seen: arrays [n]."""

    sizes: Floats  # l_t
    means: Floats  # m_{t-1}, the mean of the values before


def place_bets(
    spread: SeenValues, x: Floats, log_term: float, largest_mean: float = 1.0, horizon: int = 0
) -> tuple[Bets, SeenValues]:
    """Returns the bets on values x [n], and what is remembered after them.

        l_t = sqrt(2 log(1/a) / (t log(1 + t) S_{t-1}))
        S_t = (1/4 + sum_{i <= t} (x_i - M_i)^2) / (t + 1)

    where M_t is the mean of x_1, ..., x_t and 1/2, at most the largest mean.

    Args:
        spread: of the values before.
        x: the next values.
        log_term: log(1/a).
        largest_mean: that the values may have.
        horizon: the number of all values, which replaces t log(1 + t) if the bound is looked at
            after the last value only; 0 for a bound that holds after every value.
    """
    count = spread.size + np.arange(1, len(x) + 1)
    total = running_sums(spread.values, x)
    mean_before = np.minimum(total[:-1] / np.maximum(count - 1, 1), largest_mean)
    shrunk_mean = np.minimum((0.5 + total[1:]) / (count + 1), largest_mean)
    deviations = running_sums(spread.deviations, (x - shrunk_mean) ** 2)
    variance_before = (0.25 + deviations[:-1]) / count
    steps = np.full(len(x), float(horizon)) if horizon else count * np.log1p(count)
    sizes = np.sqrt(2.0 * log_term / (steps * variance_before))
    after = SeenValues(spread.size + len(x), float(total[-1]), float(deviations[-1]))
    return Bets(sizes, mean_before), after


class SequenceBound(abc.ABC):
    """A lower bound of a mean after every value. What it remembers of them is a named tuple."""

    @abc.abstractmethod
    def initial(self) -> Any:
        """Returns what is remembered before any value."""

    @abc.abstractmethod
    def add(self, known: Any, x: Floats, log_term: float, smallest: float) -> tuple[Any, Floats]:
        """Returns what is remembered after more values x [n], and the largest bounds so far [n].

        Args:
            known: what is remembered of the values before.
            x: at least `smallest`.
            log_term: log(1/a), where the bounds are wrong with probability a.
            smallest: value that x may have, from -1 to 0.
        """

    @abc.abstractmethod
    def check(self, known: Any) -> None:
        """Raises TypeError if something is not what is remembered."""


class BernsteinSums(NamedTuple):
    """What `EmpiricalBernstein` remembers."""

    spread: SeenValues = SeenValues()
    bets: float = 0.0  # sum l_i
    winnings: float = 0.0  # sum l_i x_i
    penalties: float = 0.0  # sum (x_i - m_{i-1})^2 psi(l_i)
    end: float = -math.inf  # the largest bound so far


@dataclasses.dataclass(frozen=True)
class EmpiricalBernstein(SequenceBound):
    """Bounds by an empirical Bernstein inequality, in closed form.

        L_t = (sum_i l_i x_i - log(1/a) - sum_i (x_i - m_{i-1})^2 psi(l_i)) / sum_i l_i
        psi(l) = -log(1 - l) - l

    where m_t is the mean of x_1, ..., x_t, and l_t is at most 1/2; see `place_bets`.

    Source: Waudby-Smith & Ramdas, Estimating means of bounded random variables by betting (2024).
    """

    def initial(self) -> BernsteinSums:
        """Returns what is remembered before any value."""
        return BernsteinSums()

    def add(
        self, known: BernsteinSums, x: Floats, log_term: float, smallest: float
    ) -> tuple[BernsteinSums, Floats]:
        """Returns what is remembered after more values x [n], and the largest bounds so far [n]."""
        bets, spread = place_bets(known.spread, x, log_term, 1.0 + smallest)
        sizes = np.minimum(bets.sizes, LARGEST_BET)
        penalty = (x - bets.means) ** 2 * (-np.log1p(-sizes) - sizes)
        totals = running_sums(known.bets, sizes)
        winnings = running_sums(known.winnings, sizes * x)
        penalties = running_sums(known.penalties, penalty)
        lower = (winnings[1:] - log_term - penalties[1:]) / totals[1:]
        ends = np.maximum.accumulate(np.concatenate([[known.end], lower]))
        after = BernsteinSums(
            spread=spread,
            bets=float(totals[-1]),
            winnings=float(winnings[-1]),
            penalties=float(penalties[-1]),
            end=float(ends[-1]),
        )
        return after, ends[1:]

    def check(self, known: Any) -> None:
        """Raises TypeError if something is not what is remembered."""
        check_fields(known, BernsteinSums, spread=SeenValues)


class BettingSums(NamedTuple):
    """What `HedgedBetting` remembers."""

    spread: SeenValues
    log_wealth: Floats  # [G], of a bettor against each possible mean
    end: float = -math.inf  # the largest bound so far


@dataclasses.dataclass(frozen=True)
class HedgedBetting(SequenceBound):
    """Bounds by betting against every possible mean m: tighter, and slower.

        K_t(m) = prod_i (1 + min(l_i, 1 / (2 m)) (x_i - m))

    is a bettor's wealth, which hardly ever grows beyond 1/a if m is the mean. Values are moved to
    be at least 0. The bound is the largest m at which it has, found by linear interpolation of
    log K between some m.

    Args:
        means: how many possible means are kept, evenly spread; at least 101, as the interpolation
            between fewer is not a bound.

    Source: Waudby-Smith & Ramdas, Estimating means of bounded random variables by betting (2024).
    """

    means: int = 1001

    def __post_init__(self) -> None:
        check_integer("means", self.means, minimum=FEWEST_MEANS)

    def initial(self) -> BettingSums:
        """Returns what is remembered before any value."""
        return BettingSums(SeenValues(), np.zeros(self.means))

    def add(
        self, known: BettingSums, x: Floats, log_term: float, smallest: float
    ) -> tuple[BettingSums, Floats]:
        """Returns what is remembered after more values x [n], and the largest bounds so far [n]."""
        grid = np.linspace(-smallest, 1.0, self.means)
        moved = x - smallest  # so that it is at least 0
        bets, spread = place_bets(known.spread, moved, log_term)
        wealth = known.log_wealth
        lower = np.empty(len(x))
        for start in range(0, len(x), ROWS):
            rows = slice(start, start + ROWS)
            steps = np.log1p(_gains(bets.sizes[rows, np.newaxis], moved[rows, np.newaxis], grid))
            wealths = wealth + np.cumsum(steps, axis=0)
            lower[rows] = _find_ends(wealths, grid, log_term) + smallest
            wealth = wealths[-1]
        ends = np.maximum.accumulate(np.concatenate([[known.end], lower]))
        return BettingSums(spread, wealth, float(ends[-1])), ends[1:]

    def check(self, known: Any) -> None:
        """Raises TypeError if something is not what is remembered."""
        check_fields(known, BettingSums, spread=SeenValues, log_wealth=np.ndarray)
        if known.log_wealth.shape != (self.means,):
            raise TypeError(f"log_wealth has shape {known.log_wealth.shape}; expected one a mean")


def find_betting_end(x: Floats, sizes: Floats, log_term: float) -> float:
    """Returns the largest m from 0 to 1 at which all n bets have won 1/a together, by bisection.

    Args:
        x: [n], at least 0.
        sizes: [n], l_i.
        log_term: log(1/a).
    """
    low = 0.0
    high = 1.0
    if float(np.log1p(_gains(sizes, x, low)).sum()) < log_term:
        return 0.0
    while high - low > 1e-13:
        middle = (low + high) / 2.0
        if float(np.log1p(_gains(sizes, x, middle)).sum()) >= log_term:
            low = middle
        else:
            high = middle
    return low


def running_sums(start: float, values: Floats) -> Floats:
    """Returns the sums of `start` and none, one, ..., all of n values: [n + 1]."""
    return np.cumsum(np.concatenate([[start], values]))


def _gains(sizes: Floats, x: Floats, mean: Floats | float) -> Floats:
    """Returns what bets of these sizes against a mean gain, of a stake of 1."""
    with np.errstate(divide="ignore"):
        largest = LARGEST_BET / np.asarray(mean)
    return np.asarray(np.minimum(sizes, largest) * (x - mean))


def _find_ends(wealths: Floats, grid: Floats, log_term: float) -> Floats:
    """Returns the largest mean at which each wealth [n, G], which falls, is still enough: [n]."""
    count = (wealths >= log_term).sum(axis=1)
    place = np.clip(count, 1, len(grid) - 1)
    rows = np.arange(len(wealths))
    above = wealths[rows, place - 1]
    below = wealths[rows, place]
    share = np.clip((above - log_term) / np.where(above > below, above - below, 1.0), 0.0, 1.0)
    found = grid[place - 1] + share * (grid[1] - grid[0])
    return np.where(count == 0, -np.inf, np.where(count == len(grid), grid[-1], found))
