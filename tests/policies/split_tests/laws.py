"""Simulates many tests of variants at once, whose rates move and whose variants come and go."""

from typing import NamedTuple

import numpy as np

from bandit_envs.policies.split_tests.bets import PairBets
from bandit_envs.policies.split_tests.openings import count_opened
from bandit_envs.policies.split_tests.pair_sums import PairSums, scale_of
from bandit_envs.policies.split_tests.split_rule import SplitRule
from bandit_envs.policies.split_tests.user_sums import UserSums

LOOKS = 10
"""Looks a day, at its end and before."""


class Law(NamedTuple):
    """Rates [days, K, LOOKS] of what users do, 0 where a variant is not open, and users a look."""

    rates: np.ndarray
    users: int = 100


class Outcome(NamedTuple):
    """What happened in n tests.

    Fields:
        stopped: whether each has stopped.
        best: what it said, or would say.
        users: until the stop.
        missed: whether the interval of a difference did not hold at some look.
    """

    stopped: np.ndarray
    best: np.ndarray
    users: np.ndarray
    missed: np.ndarray


def clicks_of(counts, clicks):
    """The sums of so many users, some of whom click."""
    means = clicks / np.maximum(counts, 1.0)
    return UserSums(counts, means, clicks * (1.0 - means))


def weekends(base, days, factor=1.6):
    """Rates [days, K, LOOKS] that are larger on days 6 and 7 of each week."""
    day = np.arange(days)
    level = np.where(day % 7 >= 5, factor, 1.0)
    return level[:, np.newaxis, np.newaxis] * np.array(base)[:, np.newaxis] * np.ones(LOOKS)


def joining(base, days, day, factor=1.6):
    """Rates with weekends, of which the last variant joins on a day, counted from 1."""
    rates = weekends(base, days, factor)
    rates[: day - 1, -1] = 0.0
    return rates


def leaving(base, days, day):
    """Rates with weekends, of which the first variant leaves before a day, counted from 1."""
    rates = weekends(base, days)
    rates[day - 1 :, 0] = 0.0
    return rates


def evenings(base, days, factor=1.6):
    """Rates that are larger in evenings, when the last variant is open alone of its days."""
    rates = weekends(base, days, 1.0)
    rates[:, :, LOOKS // 2 :] *= factor
    rates[:, -1, : LOOKS // 2] = 0.0
    return rates


def drifting(base, days):
    """Rates that double in the time, of which the last variant joins in its middle."""
    rates = weekends(base, days, 1.0) * np.linspace(1.0, 2.0, days)[:, np.newaxis, np.newaxis]
    rates[: days // 2, -1] = 0.0
    return rates


def simulate(law, rule, *, tests, seed):
    """Returns the outcome of `tests` tests, each of all days of a law.

    A stratum is a part of a day in which the open variants are the same.
    """
    rng = np.random.default_rng(seed)
    number = law.rates.shape[1]
    pairs = PairSums._make(np.zeros((tests, number, number)) for _ in PairSums._fields)
    bets = PairBets.initial(tests, number) if rule.threshold == "proven" else None
    target = np.zeros((tests, number, number))
    counts_opened = np.zeros(number)
    stopped = np.zeros(tests, np.bool_)
    found = np.zeros(tests, np.intp)
    users = np.full(tests, law.rates.shape[0] * LOOKS * law.users)
    missed = np.zeros(tests, np.bool_)
    scale = np.zeros(tests)
    seen = 0
    first = UserSums.zeros((tests,))
    for day in law.rates:
        for look, rates in enumerate(day.T):
            is_open = rates > 0.0
            if look == 0 or (is_open != (day.T[look - 1] > 0.0)).any():  # a new stratum
                counts = np.zeros((tests, number))
                clicks = np.zeros((tests, number))
                earlier = pairs
                earlier_target = target
                weighted = np.zeros((tests, number))
            added = rng.multinomial(law.users, is_open / is_open.sum(), tests)
            paid = rng.binomial(added, rates)
            counts = counts + added
            clicks = clicks + paid
            weighted = weighted + added * rates
            part = PairSums.of_strata(clicks_of(counts, clicks))
            pairs = earlier.plus(part)
            mean = weighted / np.maximum(counts, 1.0)
            target = earlier_target + part.weight * (mean[:, :, np.newaxis] - mean[:, np.newaxis])
            seen += law.users
            if seen <= 200:
                first = first.plus(clicks_of(np.full(tests, float(law.users)), paid.sum(axis=1)))
            if seen >= 200 and not scale.any():
                scale = scale_of(first)
            if bets is not None:
                bet(rng, bets, added, paid, is_open=is_open, tolerance=rule.tolerance)
            counts_opened = count_opened(counts_opened, is_open, rule.planned)
            if seen < 200:
                continue
            best, evident = rule.decide(
                pairs,
                log_bets=None if bets is None else bets.log_evidence(),
                scale=scale,
                counts=np.tile(counts_opened, (tests, 1)),
                compared=np.tile((day > 0.0).any(axis=1), (tests, 1)),
                users=np.full(tests, seen),
                is_ready=np.ones((tests, number), np.bool_),
            )
            new = evident & ~stopped
            stopped |= new
            users[new] = seen
            found[~stopped | new] = best[~stopped | new]
            low, high = pairs.bounds(scale, rule.alphas(counts_opened, 0.95, None))
            truth = target / np.where(pairs.weight > 0.0, pairs.weight, 1.0)
            missed |= ((low > truth) | (truth > high)).any(axis=(1, 2))
    return Outcome(stopped, found, users, missed)


def bet(rng, bets, counts, clicks, *, is_open, tolerance):
    """Shows the users of one look to bets, in random order."""
    tests, number = counts.shape
    total = int(counts[0].sum())
    kinds = np.concatenate([clicks, counts - clicks], axis=1)
    order = rng.random((tests, total)).argsort(axis=1)
    users = np.array([np.repeat(np.arange(2 * number), row) for row in kinds])
    users = np.take_along_axis(users, order, axis=1)
    rows = np.arange(tests)
    for place in range(total):
        bets.add(
            rows,
            users[:, place] % number,
            (users[:, place] < number).astype(np.float64),
            is_open=np.tile(is_open, (tests, 1)),
            shares=np.ones(number),
            tolerance=tolerance,
        )


EQUAL = [0.1] * 5
CELLS = {
    "no join": Law(weekends(EQUAL, 28)),
    "the last joins on day 4": Law(joining(EQUAL, 28, 4)),
    "the last joins on day 6, a weekend": Law(joining(EQUAL, 28, 6)),
    "the last joins on day 12": Law(joining(EQUAL, 28, 12)),
    "the first leaves on day 6": Law(leaving(EQUAL, 28, 6)),
    "the last is open in evenings": Law(evenings(EQUAL, 28)),
    "rates double, and the last joins": Law(drifting(EQUAL, 28)),
    "two equal ones, 60 days": Law(weekends([0.1, 0.1], 60)),
    "two rare equal ones": Law(weekends([0.01, 0.01], 42)),
}
"""Laws in which all variants are equal, so that each stop is wrong."""
RULES = {
    "S": SplitRule(planned=5),
    "S, any number": SplitRule(),
    "B": SplitRule(planned=5, threshold="proven"),
}
