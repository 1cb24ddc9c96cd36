"""The periods of time of a report."""

from __future__ import annotations

import dataclasses
import datetime

import numpy as np

from bandit_envs.arrays import Floats, Indices

MAX_PERIODS = 25
"""A report has at most so many."""

LENGTHS = {
    "second": 1,
    "10 seconds": 10,
    "minute": 60,
    "10 minutes": 600,
    "hour": 3600,
    "6 hours": 6 * 3600,
    "day": 24 * 3600,
    "week": 7 * 24 * 3600,
    "4 weeks": 28 * 24 * 3600,
    "year": 364 * 24 * 3600,
}
"""How long periods may be, in seconds."""


@dataclasses.dataclass(frozen=True)
class Periods:
    """Periods of one length, which cover a span of time.

    Args:
        name: of the length.
        start: of the first, in seconds since 1970.
        seconds: the length.
        number: of periods.
    """

    name: str
    start: float
    seconds: float
    number: int

    @classmethod
    def between(cls, first: float, last: float) -> Periods:
        """Returns the shortest ones that are few enough."""
        found = [
            cls(
                name,
                first // seconds * seconds,
                seconds,
                int(last // seconds - first // seconds) + 1,
            )
            for name, seconds in LENGTHS.items()
        ]
        return next((each for each in found if each.number <= MAX_PERIODS), found[-1])

    def find(self, times: Floats) -> Indices:
        """Returns in which periods times are, which the periods cover."""
        places = ((times - self.start) // self.seconds).astype(np.intp)
        return np.asarray(np.clip(places, 0, self.number - 1))

    def label(self, period: int) -> str:
        """Returns when a period starts, in UTC."""
        start = to_utc(self.start + period * self.seconds)
        if self.seconds >= LENGTHS["day"]:
            return f"{start:%Y-%m-%d}"
        return (
            f"{start:%Y-%m-%d %H:%M}" if self.seconds >= LENGTHS["minute"] else f"{start:%H:%M:%S}"
        )


def to_utc(seconds: float) -> datetime.datetime:
    """Returns a time in seconds since 1970 as a date in UTC."""
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
