"""What a policy knows of the arms of one row, as data and as text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats


class Knowledge(NamedTuple):
    """What `render` shows of a policy beside the true means of one row."""

    title: str  # the policy's name
    values: Floats | None  # [K], the estimated reward of each arm; None if that is not told
    counts: Floats | None = None  # [K], how often each arm was chosen; None if that is not counted
    low: Floats | None = None  # [K], the lower ends of intervals; None without these
    high: Floats | None = None  # [K], the upper ends, or bounds; infinite for arms not yet chosen
    interval: str = ""  # what the ends are, such as "95% of the posterior"
    scores: Floats | None = None  # [K], by which a policy with a model orders the arms

    def check_number(self, number: int) -> None:
        """Raises ValueError if this is not knowledge of so many arms."""
        for table in (self.values, self.counts, self.scores):
            if table is not None and len(table) != number:
                raise ValueError(f"knowledge is of {len(table)} arms; expected {number}")

    def ends(self) -> tuple[Floats, Floats]:
        """Returns both ends of the intervals, from the estimates where there is no end."""
        values = np.empty(0) if self.values is None else self.values
        low = values if self.low is None else self.low
        high = values if self.high is None else self.high
        return low, high

    def columns(self) -> list[tuple[str, list[str]]]:
        """Returns the heading and the text of each arm, for each column of text."""
        columns = []
        tables = {"estimate": self.values, "from": self.low, "to": self.high, "score": self.scores}
        for heading, table in tables.items():
            if table is not None:
                columns.append((heading, [f"{value:.2f}" for value in table]))
        if self.counts is not None:
            columns.append(("N", [f"{np.round(count, 2):g}" for count in self.counts]))
        return columns
