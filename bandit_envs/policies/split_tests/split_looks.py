"""Looks at a test at the end of each period, and what it reports then."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bandit_envs.arrays import Mask
from bandit_envs.names.visible import visible
from bandit_envs.policies.split_tests.bets import PairBets
from bandit_envs.policies.split_tests.openings import count_opened
from bandit_envs.policies.split_tests.pair_sums import USERS_FIRST, PairSums
from bandit_envs.policies.split_tests.payments import PAYERS, Payments, note_alike, note_largest
from bandit_envs.policies.split_tests.split_report import PeriodRow, SplitReport
from bandit_envs.policies.split_tests.split_rule import NO_INTERVAL, list_differences, note_closed
from bandit_envs.policies.split_tests.split_sums import SplitSums, StratumSums
from bandit_envs.policies.split_tests.user_sums import UserSums


class Looks:
    """The state of a test after some periods.

    Args:
        sums: of its users.
    """

    def __init__(self, sums: SplitSums) -> None:
        number = len(sums.names)
        self._test = sums
        self.opened = np.zeros(number)
        self.is_open: Mask = np.zeros(number, np.bool_)
        self.best = 0
        self.stopped_at: str | None = None
        self.users = 0.0
        self.payments = Payments.zeros((len(sums.metrics), number))
        self.pairs = [
            PairSums._make(np.zeros((number, number)) for _ in PairSums._fields)
            for _ in sums.metrics
        ]
        self._bets = PairBets.initial(1, number)
        self.size_rows: list[PeriodRow] = []

    def look(self, period: str, strata: list[StratumSums]) -> None:
        """Takes in the users of the next period, and says whether the test stops at its end."""
        self.is_open = np.zeros(len(self.is_open), np.bool_)
        counts = np.zeros(len(self.is_open))
        for each in strata:
            self.is_open |= each.is_open
            counts += each.counts
            self.payments = self.payments.plus(each.payments)
            self._bets.log_wealth[0] += each.log_wealth
            for place, rewards in enumerate(each.rewards):
                self.pairs[place] = self.pairs[place].plus(PairSums.of_strata(rewards))
        self.users += counts.sum()
        sizes = np.where(self.is_open, counts, -1.0).astype(np.intp)
        self.size_rows.append(PeriodRow(period, tuple(sizes.tolist())))
        before = self.opened
        self.opened = count_opened(before, self.is_open, self._test.rule.planned)
        if (self.opened != before).any():  # another question
            self.stopped_at = None
        self._decide(period)

    def _decide(self, period: str) -> None:
        """Says which variant looks best, and whether it is evident, unless it was before."""
        is_ready = self.payments.at(0).are_enough(self._test.has_amounts)
        is_proven = self._test.rule.threshold == "proven"
        best, evident = self._test.rule.decide(
            PairSums._make(table[np.newaxis] for table in self.pairs[0]),
            log_bets=self._bets.log_evidence() if is_proven else None,
            scale=np.array([self._test.scale(0)]),
            counts=self.opened[np.newaxis],
            compared=self.is_open[np.newaxis],
            users=np.array([self.users]),
            is_ready=is_ready[np.newaxis],
        )
        if self.stopped_at is None:
            self.best = int(best[0])
            self.stopped_at = period if evident[0] else None

    def notes(self) -> Iterator[str]:
        """Yields what the numbers assume."""
        yield from note_alike(self._test.names)
        metrics = self._test.metrics
        for place, metric in enumerate(metrics):
            named = metric if len(metrics) > 1 else ""
            yield from note_largest(self._test.names, self.payments.at(place), named)
        closed = (self.opened > 0.0) & ~self.is_open
        if closed.any() and not self._test.rule.closes_by_results:
            names = [visible(self._test.names[place]) for place in np.flatnonzero(closed)]
            yield note_closed(", ".join(names))
        if self.users < USERS_FIRST:
            yield NO_INTERVAL
        payers = self.payments.at(0).payers[self.is_open]
        if self._test.has_amounts and (payers < PAYERS).any():
            yield f"Amounts: a variant wins after {PAYERS} rewards other than 0 of each."


def report_of(sums: SplitSums, confidence: float = 0.95, control: int | None = None) -> SplitReport:
    """Returns who won, and by how much, with a look at the end of each period.

    Args:
        sums: of the users.
        confidence: the probability with which the intervals of a reward's differences hold at once,
            at all times.
        control: the variant that others are compared with; None if all are with all.
    """
    looks = Looks(sums)
    for period, strata in sums.periods().items():
        looks.look(period, strata)
    rewards = [UserSums.zeros((len(sums.names),)) for _ in sums.metrics]
    for each in sums.strata.values():
        rewards = [known.plus(more) for known, more in zip(rewards, each.rewards)]
    counts = rewards[0].counts
    alphas = sums.rule.alphas(looks.opened, confidence, control)
    differences = [
        row
        for place, metric in enumerate(sums.metrics)
        for row in list_differences(
            metric,
            sums.names,
            looks.pairs[place],
            scale=sums.scale(place),
            alphas=alphas,
            best=looks.best,
            control=control,
        )
    ]
    return SplitReport(
        names=sums.names,
        recommended=looks.best,
        has_stopped=looks.stopped_at is not None,
        steps=int(counts.sum()),
        counts=counts,
        means=rewards[0].means,
        low=None,
        high=None,
        confidence=confidence,
        delta=sums.rule.delta,
        tolerance=sums.rule.tolerance,
        threshold=sums.rule.threshold,
        differences=tuple(differences),
        metrics=sums.metrics,
        other_means=tuple(tuple(each.means.tolist()) for each in rewards[1:]),
        stopped_at=looks.stopped_at,
        periods=tuple(looks.size_rows),
        open=tuple(looks.is_open.tolist()),
        log_split=sums.split_evidence(),
        expected_users=tuple(sums.expected_users().tolist()),
        notes=tuple(looks.notes()),
    )
