"""Costs as ratios of paired timings, which another load on the machine moves little."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Ratio(NamedTuple):
    """What something costs, as a multiple of what a reference costs.

    Fields:
        median: of the ratios of all rounds.
        low: their first quartile.
        high: their third quartile.
    """

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, seconds: Sequence[tuple[float, float]]) -> Ratio:
        """Returns the ratio of at least two pairs of timings, of a candidate and a reference."""
        low, median, high = statistics.quantiles(
            [candidate / reference for candidate, reference in seconds], n=4, method="inclusive"
        )
        return cls(median, low, high)

    @classmethod
    def exactly(cls, value: float) -> Ratio:
        """Returns a ratio that was measured once."""
        return cls(value, value, value)

    def scaled(self, factor: float) -> Ratio:
        """Returns the ratio to a reference that costs 1 / `factor` of this one."""
        return Ratio(*(factor * value for value in self))


def paired_ratio(
    candidate: Callable[[], object], reference: Callable[[], object], rounds: int, number: int
) -> Ratio:
    """Times two functions in turn and returns the ratio of their costs.

    Each round times both, one directly after the other, and the order changes from round to round,
    so that a load which comes, stays or goes meets both alike.

    Args:
        candidate: called without arguments.
        reference: called without arguments.
        rounds: how many pairs of timings; at least 2.
        number: calls in one timing.
    """
    return Ratio.of([(a, b) for a, b in _timings((candidate, reference), rounds, number)])


def fastest(functions: Sequence[Callable[[], object]], rounds: int, number: int) -> list[float]:
    """Returns the fastest timing of each function: differences of medians drown in other loads."""
    return [min(column) for column in zip(*_timings(functions, rounds, number))]


def _timings(
    functions: Sequence[Callable[[], object]], rounds: int, number: int
) -> list[list[float]]:
    """Returns the seconds that each function takes, one list a round."""
    for function in functions:
        function()  # what is done at the first call only shall not count
    gc_was_on = gc.isenabled()
    gc.disable()
    try:
        return [_round(functions, number, backwards=turn % 2 == 1) for turn in range(rounds)]
    finally:
        if gc_was_on:
            gc.enable()


def _round(functions: Sequence[Callable[[], object]], number: int, backwards: bool) -> list[float]:
    if backwards:
        return _round(functions[::-1], number, backwards=False)[::-1]
    return [_seconds(function, number) for function in functions]


def _seconds(function: Callable[[], object], number: int) -> float:
    started = time.perf_counter()
    for _ in range(number):
        function()
    return time.perf_counter() - started
