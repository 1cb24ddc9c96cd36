"""Sums over the users of a test in strata, which parts of a table can add and merge."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask
from bandit_envs.policies.split_tests.bets import PairBets, split_evidence
from bandit_envs.policies.split_tests.pair_sums import USERS_FIRST, scale_of
from bandit_envs.policies.split_tests.payments import Payments
from bandit_envs.policies.split_tests.split_rule import SplitRule
from bandit_envs.policies.split_tests.user_sums import UserSums


class Stratum(NamedTuple):
    """Names a part of the time in which neither the open variants nor their shares changed.

    Fields:
        number: of the period, in their order.
        period: its name; the test is looked at when it ends, such as a day.
        part: of the period.
    """

    number: int
    period: str
    part: str = ""


@dataclasses.dataclass
class StratumSums:
    """Of the users of one stratum; R rewards, K variants."""

    is_open: Mask  # [K]
    rewards: list[UserSums]  # of each reward, [K]
    payments: Payments  # of each reward, [R, K]
    log_wealth: Floats  # that bets gained, [K, K, J]

    @property
    def counts(self) -> Floats:
        """The number of users of each variant: [K]."""
        return self.rewards[0].counts

    def plus(self, other: StratumSums) -> StratumSums:
        """Returns the sums over the users of both."""
        return StratumSums(
            is_open=self.is_open | other.is_open,
            rewards=[one.plus(more) for one, more in zip(self.rewards, other.rewards)],
            payments=self.payments.plus(other.payments),
            log_wealth=self.log_wealth + other.log_wealth,
        )


class SplitSums:
    """What the users of a test tell, by stratum. Parts are merged in the order of their users.

    Args:
        rule: when the test stops.
        names: of the K variants.
        metrics: names of the rewards: the first one decides.
        shares: of the variants, [K]; None for equal ones.
    """

    def __init__(
        self,
        rule: SplitRule,
        names: Sequence[str],
        metrics: Sequence[str],
        shares: Floats | None = None,
    ) -> None:
        self.rule = rule
        self.names = tuple(names)
        self.metrics = tuple(metrics)
        self.shares = np.ones(len(names)) if shares is None else shares
        self.strata: dict[Stratum, StratumSums] = {}
        self.first = np.zeros((len(metrics), 0))  # rewards of the first users, [R, at most 200]
        self.has_amounts = False
        self._bets = PairBets.initial(1, len(names))

    def add(self, stratum: Stratum, is_open: Mask, actions: Indices, rewards: Floats) -> None:
        """Takes in the next n users, who are of one stratum.

        Args:
            stratum: of their decisions.
            is_open: which variants they could see, [K].
            actions: the variants that they saw, [n].
            rewards: [R, n].
        """
        number = len(self.names)
        wealth = self._bets.log_wealth[0].copy()
        if self.rule.threshold == "proven":
            self._bets.add_sequence(
                actions,
                rewards[0],
                is_open=is_open,
                shares=self.shares,
                tolerance=self.rule.tolerance,
            )
        payments = Payments.zeros((len(rewards), number))
        payments.add((np.arange(len(rewards))[:, np.newaxis], actions), rewards)
        found = StratumSums(
            is_open=is_open.copy(),
            rewards=[UserSums.of_users(actions, each, number) for each in rewards],
            payments=payments,
            log_wealth=self._bets.log_wealth[0] - wealth,
        )
        known = self.strata.get(stratum)
        self.strata[stratum] = found if known is None else known.plus(found)
        self._keep_first(rewards)
        self.has_amounts |= bool(((rewards[0] != 0.0) & (rewards[0] != 1.0)).any())

    def merge(self, other: SplitSums) -> SplitSums:
        """Returns what the users of both tell; those of the other come later."""
        merged = SplitSums(self.rule, self.names, self.metrics, self.shares)
        merged.strata = dict(self.strata)
        for stratum, found in other.strata.items():
            known = merged.strata.get(stratum)
            merged.strata[stratum] = found if known is None else known.plus(found)
        merged.first = self.first
        merged._keep_first(other.first)
        merged.has_amounts = self.has_amounts or other.has_amounts
        merged._bets = self._bets.merge(other._bets)
        return merged

    def _keep_first(self, rewards: Floats) -> None:
        """Keeps rewards [R, n] as those of the first users, as far as these are too few."""
        missing = USERS_FIRST - self.first.shape[1]
        self.first = np.concatenate([self.first, rewards[:, :missing]], axis=1)

    def scale(self, metric: int) -> float:
        """Returns rho^2 of a reward; 0 if there are too few users."""
        rewards = self.first[metric]
        if len(rewards) < USERS_FIRST:
            return 0.0
        everyone = np.zeros(len(rewards), np.intp)
        return float(scale_of(UserSums.of_users(everyone, rewards, 1))[0])

    def periods(self) -> dict[str, list[StratumSums]]:
        """Returns the sums of each period, in their order."""
        found: dict[str, list[StratumSums]] = {}
        for stratum in sorted(self.strata):
            found.setdefault(stratum.period, []).append(self.strata[stratum])
        return found

    def split_evidence(self) -> float:
        """Returns ln E that users were not split in the shares.

            E = (E(all users) + sum_d E(d) / (d (d + 1)) + 1 / (D + 1)) / 2

        The first part sees a split that is somewhat wrong on all days. It takes the users of the
        same open variants together. The others see one that is wrong on one of the D days.
        """
        users_of: dict[bytes, Floats] = {}
        for each in self.strata.values():
            open_set = each.is_open.tobytes()
            users_of[open_set] = users_of.get(open_set, 0.0) + each.counts
        steady = 0.0
        for open_set, users in users_of.items():
            is_open = np.frombuffer(open_set, np.bool_)
            steady += split_evidence(users[is_open], self.shares[is_open])
        parts = [steady]
        periods = self.periods().values()
        for number, strata in enumerate(periods, start=1):
            of_period = 0.0
            for each in strata:
                of_period += split_evidence(each.counts[each.is_open], self.shares[each.is_open])
            parts.append(of_period - math.log(number * (number + 1)))
        parts.append(-math.log(len(periods) + 1))
        return float(np.logaddexp.reduce(parts)) - math.log(2.0)

    def expected_users(self) -> Floats:
        """Returns how many users of each variant there would be if the split were exact: [K]."""
        total = np.zeros(len(self.names))
        for each in self.strata.values():
            parts = np.where(each.is_open, self.shares, 0.0)
            total += each.counts.sum() * parts / parts.sum()
        return total
