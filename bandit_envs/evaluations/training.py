"""From which rows of a log policies learn."""

from __future__ import annotations

import dataclasses
from typing import Literal

from bandit_envs.base.checks import check_number, short_repr
from bandit_envs.evaluations.logs import OpenLog
from bandit_envs.logged.rows.units import SLICES

AUTO: Literal["auto"] = "auto"
"""A share that is not given: the first half of the rows, if a policy learns."""

HALF = 0.5


@dataclasses.dataclass(frozen=True)
class Training:
    """The rows of a log from which policies learn: the first, or those of some units.

    Args:
        share: of the rows, or of the units if the log has some; None if no policy learns.
        until: the first row that is left out, as "day=2024-12-31": the first that is not below a
            value. It takes the place of a share.
    """

    share: float | Literal["auto"] | None
    until: str | None

    def __post_init__(self) -> None:
        """Raises TypeError or ValueError if no log has such rows."""
        if self.until is not None:
            if not isinstance(self.until, str):
                found = f"until is {short_repr(self.until)}"
                raise TypeError(f"{found}; expected a text such as 'day=2024-12-31'")
            if self.share is None:
                problem = f"train is None, and until is {short_repr(self.until)}"
                raise ValueError(f"{problem}; expected one of them")
            if not (self.time and self.limit):
                found = short_repr(self.until)
                raise ValueError(f"until is {found}; expected COLUMN=VALUE")
        elif self.share not in (None, AUTO) and not check_number("train", self.share, 0.0, 1.0):
            raise ValueError("train is 0; expected more, as policies learn from these rows")

    @property
    def is_given(self) -> bool:
        """Whether a user says which rows these are, so that no policy is evaluated on them."""
        return self.until is not None or self.share not in (None, AUTO)

    @property
    def time(self) -> str | None:
        """The column by which the log is cut."""
        return None if self.until is None else self.until.partition("=")[0]

    @property
    def limit(self) -> str:
        """The value of this column."""
        return "" if self.until is None else self.until.partition("=")[2]

    @property
    def _share(self) -> float:
        """The share of the rows; 0 if no policy learns."""
        return HALF if self.share == AUTO else self.share or 0.0

    def arrange(self, log: OpenLog) -> OpenLog:
        """Returns a log that begins with these rows. A share takes all rows of a unit, or none."""
        is_cut = self._cuts_units(log) and 0 < self._slices < SLICES
        return log.put_units_first(self._slices) if is_cut else log

    def _cuts_units(self, log: OpenLog) -> bool:
        """Whether it is a share of units. Batches of several rows stay together, in their order."""
        has_units = log.summary.slices is not None and log.summary.batch_size == 1
        return self.until is None and has_units

    @property
    def _slices(self) -> int:
        """The share in slices of units."""
        return round(self._share * SLICES)

    def count(self, log: OpenLog) -> int:
        """Returns the number of rows."""
        if self.time is not None:
            rows = len(log.source.scan.split(self.limit)[0])
            if not rows:
                raise ValueError(f"until is {self.until}, but no row is below")
            return log.summary.round_rows(rows)
        if self._cuts_units(log):
            return log.count_units(self._slices)
        return log.summary.round_rows(log.size * self._share)

    def count_before_others(self, log: OpenLog) -> int:
        """Returns the number of rows; ValueError if no row is left."""
        rows = self.count(log)
        if rows == log.size:
            given = f"train is {self._share:g}" if self.until is None else f"until is {self.until}"
            problem = f"policies would learn from all {rows} rows"
            raise ValueError(f"{given}, so {problem}; expected some for estimates")
        return rows
