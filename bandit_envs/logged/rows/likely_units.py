"""Columns that look like units, such as users, which nobody has named."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.rows.hashes import mix
from bandit_envs.names.visible import visible
from bandit_envs.tables.encoding import NumberColumn

UNIT = re.compile(
    r"(.*[_ ])?(user|session|visitor|customer|member|account|client|device|cookie)([_ ]?id)?",
    re.IGNORECASE,
)
"""How columns are often called whose values are units."""

KEPT = 2048  # different values of a column, whose rows are counted
FEWEST = 500  # different values, from which on they may be units
OFTEN = 2  # rows, from which on a value repeats


@dataclasses.dataclass(frozen=True, eq=False)
class Repeats:
    """How often values of a column are met. Those of parts merge.

    Only values are kept whose hash begins with some zero bits, more of them where a column has many
    values.

    Args:
        is_whole: whether all values are whole numbers; no others are kept.
        bits: how many zero bits are needed.
        values: the different values that are kept, in order.
        counts: of their rows.
    """

    is_whole: bool
    bits: int
    values: Floats
    counts: Indices

    @classmethod
    def from_values(cls, values: Floats) -> Repeats:
        """Returns how often values [n] are met."""
        nothing = np.zeros(0)
        if not (np.abs(values) < 2.0**53).all() or not (values == np.floor(values)).all():
            return cls(False, 0, nothing, nothing.astype(np.intp))
        different, counts = np.unique(values, return_counts=True)
        return cls(True, 0, different, counts)._thin(0)

    def merge(self, other: Repeats) -> Repeats:
        """Returns how often the values of both are met."""
        if not (self.is_whole and other.is_whole):
            return other if self.is_whole else self
        bits = max(self.bits, other.bits)
        parts = [self._thin(bits), other._thin(bits)]
        both = np.concatenate([part.values for part in parts])
        values, places = np.unique(both, return_inverse=True)
        counts = np.concatenate([part.counts for part in parts])
        sums = np.bincount(places.reshape(-1), weights=counts, minlength=len(values))
        return Repeats(True, bits, values, sums.astype(np.intp))._thin(bits)

    def _thin(self, bits: int) -> Repeats:
        """Returns the same with so many zero bits, or as many more as few enough values have."""
        found = self
        while found.bits < bits or len(found.values) > KEPT:
            more = max(found.bits + 1, bits)
            is_kept = mix(found.values.astype(np.int64)) < np.uint64(2 ** (64 - more))
            found = Repeats(True, more, found.values[is_kept], found.counts[is_kept])
        return found

    @property
    def look_like_units(self) -> bool:
        """Whether there are many values, most of which are met again."""
        number = len(self.values) << self.bits
        repeats = np.count_nonzero(self.counts >= OFTEN)
        return number >= FEWEST and bool(2 * repeats > len(self.values))


def count_repeats(batch: BanditLog) -> Mapping[str, Repeats]:
    """Returns how often the columns of numbers of a table repeat, if its rows have no units."""
    encoding = batch.encoding
    if encoding is None or batch.unit is not None or not isinstance(batch.observation, np.ndarray):
        return {}
    start = 0
    found = {}
    for column in encoding.features:
        if isinstance(column, NumberColumn):
            found[column.name] = Repeats.from_values(batch.observation[:, start])
        start += len(column.labels())
    return found


def is_called_unit(name: object) -> bool:
    """Returns whether a column is called as units often are."""
    return UNIT.fullmatch(str(name)) is not None


def describe_repeating(name: str) -> str:
    """Returns the line on a column of features whose values repeat as units do."""
    found = f"column {name!r} repeats as users do, whose rows are not independent"
    return f"{found}; {_advise(name)}"


def describe_unused(name: str) -> str:
    """Returns the line on a column without a role that is called as units are."""
    return f"column {name!r} is not used; {_advise(name)} if its values repeat"


def _advise(name: str) -> str:
    """Returns how a user names a column of units."""
    return f"--unit {visible(name)}, or unit={name!r}, makes intervals right"
