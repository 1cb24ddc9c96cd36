"""Costs as ratios of paired timings, which another load on the machine moves little."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

Function = Callable[[], object]
Clock = Callable[[], float]


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
    def from_pairs(cls, seconds: Sequence[tuple[float, float]], scale: float = 1.0) -> Ratio:
        """Returns `scale` times the ratio of two functions, from at least two pairs of timings."""
        ratios = [scale * candidate / reference for candidate, reference in seconds]
        low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
        return cls(median, low, high)


def paired_seconds(
    candidate: Function,
    reference: Function,
    *,
    rounds: int,
    number: int = 1,
    clock: Clock = time.process_time,
) -> list[tuple[float, float]]:
    """Times two functions in turn and returns the seconds of both, a pair a round.

    The order changes from round to round, so that a load which comes, stays or goes meets both
    alike.

    Args:
        candidate: called without arguments.
        reference: called without arguments.
        rounds: how many pairs of timings; at least 2.
        number: calls in one timing.
        clock: the processor time of this process by default; `time.perf_counter` for functions
            that wait, or that use other processes and threads.
    """
    candidate()  # what a first call does only shall not count
    reference()
    pairs = []
    gc_was_on = gc.isenabled()
    gc.disable()
    try:
        for turn in range(rounds):
            if turn % 2 == 0:
                first = _seconds(candidate, number, clock)
                second = _seconds(reference, number, clock)
            else:
                second = _seconds(reference, number, clock)
                first = _seconds(candidate, number, clock)
            pairs.append((first, second))
    finally:
        if gc_was_on:
            gc.enable()
    return pairs


def _seconds(function: Function, number: int, clock: Clock) -> float:
    started = clock()
    for _ in range(number):
        function()
    return clock() - started
