"""When a test of variants stops, and which differences its report has."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.base.checks import check_integer, check_number, short_repr
from bandit_envs.base.made_with import Parameters
from bandit_envs.policies.best_arm.stopping import check_delta
from bandit_envs.policies.split_tests.openings import count_pairs, levels_of
from bandit_envs.policies.split_tests.pair_sums import USERS_FIRST, PairSums, leaders
from bandit_envs.policies.split_tests.split_report import DifferenceRow

THRESHOLDS = ("practical", "proven")

NO_INTERVAL = f"No interval before {USERS_FIRST} users."
"""A note of a report on fewer users."""


@dataclasses.dataclass(frozen=True)
class SplitRule(Parameters):
    """When to stop: as soon as a variant is better than each other open one, by the evidence.

        stop with a if ln E(a > b) >= ln(K / delta) for each open b

    Args:
        delta: the largest probability of a wrong answer.
        tolerance: the answer may be worse than the best variant by so much.
        threshold: "practical" takes sums over strata, whose bound holds for many users; "proven"
            takes bets, whose bound holds for rewards from 0 to 1 and any number of users.
        planned: how many variants there will be at most; None if unknown, which takes more users.
        closes_by_results: whether variants may be closed because of what the test has shown.
    """

    delta: float = 0.05
    tolerance: float = 0.0
    threshold: str = "practical"
    planned: int | None = None
    closes_by_results: bool = False

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_number("tolerance", self.tolerance, 0.0)
        if self.threshold not in THRESHOLDS:
            expected = ", ".join(THRESHOLDS)
            found = f"threshold is {short_repr(self.threshold)}"
            raise ValueError(f"{found}; expected one of {expected}")
        if self.threshold == "proven":
            check_number("tolerance", self.tolerance, 0.0, 1.0)
        if self.planned is not None:
            check_integer("planned", self.planned, minimum=2)

    def decide(
        self,
        sums: PairSums,
        *,
        log_bets: Floats | None,
        scale: Floats,
        counts: Floats,
        compared: Mask,
        users: Indices | Floats,
        is_ready: Mask,
    ) -> tuple[Indices, Mask]:
        """Returns the variant of each row that looks best, [n], and whether it is evident, [n].

        Args:
            sums: of n rows, [n, K, K].
            log_bets: ln E of bets, [n, K, K]; None for the evidence of the sums.
            scale: rho^2, [n]; 0 where it is not known yet.
            counts: as of `count_opened`, [n, K].
            compared: the variants that are, [n, K].
            users: of each row, [n].
            is_ready: whether each variant has enough payers, [n, K].
        """
        best = leaders(sums, compared)
        rows = np.arange(len(best))
        mine = PairSums._make(table[rows, best][:, np.newaxis] for table in sums)
        if log_bets is None:
            found = mine.log_evidence(np.where(scale > 0.0, scale, 1.0), self.tolerance)[:, 0]
        else:
            found = log_bets[rows, best]
        levels = levels_of(counts, self.delta, self.planned, self.closes_by_results)[rows, best]
        rivals = compared.copy()
        rivals[rows, best] = False
        enough = (found >= levels) & (is_ready & is_ready[rows, best][:, np.newaxis])
        evident = np.asarray((enough | ~rivals).all(axis=1) & rivals.any(axis=1))
        if log_bets is None:
            evident &= (users >= USERS_FIRST) & (scale > 0.0)
        return best, evident

    def alphas(self, counts: Floats, confidence: float, control: int | None) -> Floats:
        """Returns the probability that an interval of each pair fails at any time: [K, K].

        Args:
            counts: as of `count_opened`, [K].
            confidence: that all intervals hold at once.
            control: the variant that the others are compared with; None if all are with all.
        """
        if control is None:
            return np.asarray(2.0 * (1.0 - confidence) / count_pairs(counts, self.planned))
        others = np.where(counts > 0.0, counts, 1.0)
        if self.planned is not None:
            others = np.full(len(counts), self.planned - 1.0)
        return np.broadcast_to((1.0 - confidence) / others, (len(counts), len(counts)))


def note_closed(names: str) -> str:
    """Returns the note of a report on variants that were closed."""
    problem = f"{names} closed: give closes_by_results if results were the reason"
    return f"{problem}; errors are more frequent without it."


def list_differences(
    metric: str,
    names: Sequence[str],
    sums: PairSums,
    *,
    scale: float,
    alphas: Floats,
    best: int,
    control: int | None,
) -> Iterator[DifferenceRow]:
    """Yields the differences of pairs: those with the best variant first, or those to a control.

    Args:
        metric: names the reward.
        names: of the variants.
        sums: [K, K].
        scale: rho^2; 0 if it is not known yet, and then there are no intervals.
        alphas: as `SplitRule.alphas` returns them, [K, K].
        best: the variant that looks best.
        control: the variant that others are compared with; None if all are with all.
    """
    known = np.asarray(scale if scale > 0.0 else 1.0)
    with np.errstate(divide="ignore"):
        low, high = sums.bounds(known, alphas)
    if scale <= 0.0:
        low = np.full_like(low, -np.inf)
        high = np.full_like(high, np.inf)
    for first, second in _pairs(len(names), best, control):
        weight = sums.weight[first, second]
        shown = sums.difference[first, second] / weight if weight > 0.0 else np.nan
        if sums.users[first, second] or control is not None or first == best:
            yield DifferenceRow(
                metric=metric,
                first=names[first],
                second=names[second],
                difference=float(shown),
                low=float(low[first, second]),
                high=float(high[first, second]),
                users=int(sums.users[first, second]),
            )


def _pairs(number: int, best: int, control: int | None) -> Iterator[tuple[int, int]]:
    """Yields the pairs of variants that are shown, in their order."""
    if control is not None:
        yield from ((each, control) for each in range(number) if each != control)
        return
    yield from ((best, each) for each in range(number) if each != best)
    for first in range(number):
        for second in range(first + 1, number):
            if best not in (first, second):
                yield first, second
