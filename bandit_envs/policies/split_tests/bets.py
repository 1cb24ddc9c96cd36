"""Bets on pairs of variants: evidence that is proven for rewards from 0 to 1."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask

STAKES = 2.0 ** -np.arange(1, 9)
"""2^-j, j = 1..8."""

CONCENTRATIONS = (100.0, 1_000.0, 10_000.0)
"""How near to the shares a wrong split may be, as numbers of users."""


class PairBets(NamedTuple):
    """What bets on pairs of variants have earned; updated in place.

        E(a > b) = mean over j of prod (1 + lambda_j (g (r - m) + tolerance / 2))
        g = 1 / (2 pi_a) for a user of a, -1 / (2 pi_b) for one of b
        lambda_j = 2 min(pi_a, pi_b) 2^-j,    j = 1..8

    Here, pi are the shares within the pair, r is from 0 to 1, and m = (x + 1/2) / (n + 1) of
    earlier users of the pair. If users are split at random, E exceeds 1 / alpha at any time with a
    probability of at most alpha, where a is worse than b by `tolerance` or more, whatever rates do.

    Source: Waudby-Smith & Ramdas, Estimating Means of Bounded Random Variables by Betting (2024).
    """

    log_wealth: Floats  # of a > b for each stake, [B, K, K, 8]
    users: Floats  # n of the pair, [B, K, K]
    sums: Floats  # x, of their rewards, [B, K, K]

    @classmethod
    def initial(cls, batch_size: int, num_actions: int) -> PairBets:
        """Returns what bets have earned before the first user."""
        shape = (batch_size, num_actions, num_actions)
        return cls(np.zeros((*shape, len(STAKES))), np.zeros(shape), np.zeros(shape))

    def log_evidence(self) -> Floats:
        """Returns ln E(a > b): [B, K, K]."""
        top = self.log_wealth.max(axis=-1, keepdims=True)
        mean = np.exp(self.log_wealth - top).mean(axis=-1)
        return np.asarray(top[..., 0] + np.log(mean))

    def add(
        self,
        rows: Indices,
        actions: Indices,
        rewards: Floats,
        *,
        is_open: Mask,
        shares: Floats,
        tolerance: float,
    ) -> None:
        """Takes in a user of each of n rows.

        Args:
            rows: [n], each once.
            actions: the variants that they saw, [n].
            rewards: from 0 to 1, [n].
            is_open: which variants they could see, [n, K].
            shares: the proportions of the variants, [K].
            tolerance: by how much a may be worse.
        """
        users = self.users[rows, actions]  # [n, K]
        sums = self.sums[rows, actions]
        middle = (sums + 0.5) / (users + 1.0)
        mine = shares[actions][:, np.newaxis]
        own = mine / (mine + shares)
        lowest = np.minimum(own, 1.0 - own)
        gain = (rewards[:, np.newaxis] - middle) / (2.0 * own)
        counts = is_open.copy()
        counts[np.arange(len(rows)), actions] = False
        stakes = 2.0 * lowest[..., np.newaxis] * STAKES  # [n, K, 8]
        for_mine = np.log1p(stakes * (gain[..., np.newaxis] + 0.5 * tolerance))
        against = np.log1p(stakes * (0.5 * tolerance - gain[..., np.newaxis]))
        shown = counts[..., np.newaxis]
        self.log_wealth[rows, actions] += np.where(shown, for_mine, 0.0)
        self.log_wealth[rows, :, actions] += np.where(shown, against, 0.0)
        reward = np.where(counts, rewards[:, np.newaxis], 0.0)
        self.users[rows, actions] += counts
        self.users[rows, :, actions] += counts
        self.sums[rows, actions] += reward
        self.sums[rows, :, actions] += reward

    def add_sequence(
        self, actions: Indices, rewards: Floats, *, is_open: Mask, shares: Floats, tolerance: float
    ) -> None:
        """Takes in n users of one test in their order, as `add` does one after the other.

        Args:
            actions: the variants that they saw, [n].
            rewards: from 0 to 1, [n].
            is_open: which variants they could see, [K].
            shares: the proportions of the variants, [K].
            tolerance: by how much a may be worse.
        """
        opened = np.flatnonzero(is_open).tolist()
        for a in opened:
            for b in opened:
                if a < b:
                    of_pair = (actions == a) | (actions == b)
                    share = float(shares[a] / (shares[a] + shares[b]))
                    is_first = actions[of_pair] == a
                    self._bet((a, b), is_first, rewards[of_pair], share, tolerance)

    def _bet(
        self,
        pair: tuple[int, int],
        is_first: Mask,
        rewards: Floats,
        share: float,
        tolerance: float,
    ) -> None:
        """Takes in n users of a pair in their order; `share` is that of its first variant."""
        forward = (0, *pair)
        back = (0, *reversed(pair))
        earlier_users = self.users[forward] + np.arange(len(rewards))
        earlier_sums = self.sums[forward] + np.cumsum(rewards) - rewards
        middle = (earlier_sums + 0.5) / (earlier_users + 1.0)
        factor = np.where(is_first, 0.5 / share, -0.5 / (1.0 - share))
        gain = (factor * (rewards - middle))[:, np.newaxis]
        stakes = 2.0 * min(share, 1.0 - share) * STAKES
        slack = 0.5 * tolerance
        self.log_wealth[forward] += np.log1p(stakes * (slack + gain)).sum(axis=0)
        self.log_wealth[back] += np.log1p(stakes * (slack - gain)).sum(axis=0)
        for way in (forward, back):
            self.users[way] += len(rewards)
            self.sums[way] += rewards.sum()

    def merge(self, other: PairBets) -> PairBets:
        """Returns what both have earned, of users that are in one or the other.

        The users of each part were bet on by those of this part alone.
        """
        return PairBets._make(mine + others for mine, others in zip(self, other))


def split_evidence(counts: Floats, shares: Floats) -> float:
    """Returns ln E that users were not split in the shares: an alarm is above ln(1 / alpha).

        ln E(c) = ln Gamma(c) - ln Gamma(c + n)
                  + sum_k ln Gamma(c pi_k + n_k) - ln Gamma(c pi_k) - n_k ln pi_k

    E is the mean over c = 100, 1,000 and 10,000: the larger c, the smaller the differences from the
    shares that it sees best. It holds whenever one looks. That of several strata is the sum over
    them.

    Args:
        counts: n_k, the users of each open variant of a period, [k].
        shares: in proportion to pi_k, [k].

    Source: Lindon & Malek, Anytime-valid Inference for Multinomial Count Data (2022).
    """
    parts = shares / shares.sum()
    logs = [_log_evidence(counts, parts, c) for c in CONCENTRATIONS]
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


def _log_evidence(counts: Floats, parts: Floats, c: float) -> float:
    """Returns ln E(c) of counts [k], where parts [k] sum to 1."""
    found = math.lgamma(c) - math.lgamma(c + float(counts.sum()))
    for count, share in zip(counts.tolist(), parts.tolist()):
        found += math.lgamma(c * share + count) - math.lgamma(c * share) - count * math.log(share)
    return found
