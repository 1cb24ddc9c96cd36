"""A test of variants as a policy: users are split at random until one variant is evident."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask, Rng
from bandit_envs.base.checks import check_integer, check_number, check_numbers, short_repr
from bandit_envs.policies.best_arm.best_arm_policy import BestArmPolicy, Search
from bandit_envs.policies.best_arm.best_arm_report import names_of
from bandit_envs.policies.policy import Actions, Policy, PolicyOptions
from bandit_envs.policies.split_tests.bets import PairBets, split_evidence
from bandit_envs.policies.split_tests.openings import count_opened
from bandit_envs.policies.split_tests.pair_sums import USERS_FIRST, PairSums, leaders, scale_of
from bandit_envs.policies.split_tests.payments import Payments, note_alike, note_largest
from bandit_envs.policies.split_tests.split_report import SplitReport
from bandit_envs.policies.split_tests.split_rule import (
    NO_INTERVAL,
    SplitRule,
    list_differences,
    note_closed,
)
from bandit_envs.policies.split_tests.user_sums import UserSums
from bandit_envs.trajectories import TimeStep, Trajectory

STRATA = 16
"""A row keeps the sums of so many open sets. Those of the set met longest ago are closed first."""


class SplitTables(NamedTuple):
    """What a split test knows besides the pulls; updated in place.

    A stratum is the set of open variants, as shares within it are fixed. So rewards that come late
    count in the stratum of their decision.
    """

    open_sets: Mask  # of each stratum, none open if it is free, [B, M, K]
    users: UserSums  # of each stratum and variant, [B, M, K]
    used: Indices  # the step in which each stratum was met last, [B, M]
    closed: PairSums  # of the strata that are kept no more, [B, K, K] each
    opened: Floats  # as of `count_opened`, [B, K]
    has_closed: Mask  # whether a variant was closed, [B]
    first: UserSums  # of the first rewards, [B]
    scale: Floats  # rho^2, 0 until it is known, [B]
    log_split: Floats  # as of `split_evidence`, of the strata that are kept no more, [B]
    payments: Payments  # [B, K]
    has_amounts: Mask  # whether there were rewards other than 0 and 1, [B]
    bets: PairBets | None

    def add(
        self,
        rows: Indices,
        actions: Indices,
        rewards: Floats,
        *,
        is_open: Mask,
        steps: Indices,
        shares: Floats,
    ) -> None:
        """Takes in a user of each of n rows.

        Args:
            rows: [n].
            actions: [n].
            rewards: [n].
            is_open: the variants that each could see, [n, K].
            steps: the number of the users' rewards, from 1, [n].
            shares: the proportions of the variants, [K].
        """
        places = self._find_strata(rows, is_open, shares)
        self.used[rows, places] = steps
        self.users.add((rows, places, actions), rewards)
        self.payments.add((rows, actions), rewards)
        self.has_amounts[rows] |= (rewards != 0.0) & (rewards != 1.0)
        is_early = steps <= USERS_FIRST
        if is_early.any():
            self.first.add(rows[is_early], rewards[is_early])
            done = rows[steps == USERS_FIRST]
            self.scale[done] = scale_of(self.first.at(done))

    def pair_sums(self, rows: Indices) -> PairSums:
        """Returns the sums over all strata of n rows: [n, K, K] each."""
        number = max(1, int(np.count_nonzero(self.used.any(axis=0))))
        kept = PairSums.of_strata(self.users.at((rows, slice(number)))).total(axis=1)
        return kept.plus(PairSums._make(table[rows] for table in self.closed))

    def open(self, rows: Indices, is_open: Mask, planned: int | None) -> None:
        """Notes which variants [n, K] have opened and closed."""
        known = self.opened[rows] > 0.0
        self.has_closed[rows] |= (known & ~is_open).any(axis=1)
        for place in np.flatnonzero((is_open & ~known).any(axis=1)):
            row = rows[place]
            self.opened[row] = count_opened(self.opened[row], is_open[place], planned)

    def split_evidence(self, row: int, shares: Floats) -> float:
        """Returns ln E that the users of a row were not split in shares [K]."""
        found = float(self.log_split[row])
        for place in range(STRATA):
            found += self._evidence_in(row, place, shares)
        return found

    def _evidence_in(self, row: int, place: int, shares: Floats) -> float:
        """Returns ln E of one stratum."""
        is_open = self.open_sets[row, place]
        return split_evidence(self.users.counts[row, place][is_open], shares[is_open])

    def _find_strata(self, rows: Indices, is_open: Mask, shares: Floats) -> Indices:
        """Returns the strata of open sets [n, K], which may be new: [n]."""
        same = (self.open_sets[rows] == is_open[:, np.newaxis]).all(axis=2)
        places: Indices = same.argmax(axis=1)
        missing = np.flatnonzero(~same.any(axis=1))
        if missing.size:
            new_rows = rows[missing]
            oldest = self.used[new_rows].argmin(axis=1)
            self._close(new_rows, oldest, shares)
            self.open_sets[new_rows, oldest] = is_open[missing]
            places[missing] = oldest
        return places

    def _close(self, rows: Indices, places: Indices, shares: Floats) -> None:
        """Adds strata to the sums of closed ones, and frees them."""
        for row, place in zip(rows.tolist(), places.tolist()):
            self.log_split[row] += self._evidence_in(row, place, shares)
        found = PairSums.of_strata(self.users.at((rows, places)))
        for total, part in zip(self.closed, found):
            total[rows] += part
        self.users.forget((rows, places))


class SplitTestPolicy(BestArmPolicy):
    """Splits users at random among the open variants until one is evidently the best: a test.

        stop with a if ln E(a > b) >= ln(K / delta) for each b that counts

    The evidence E compares users who could see both a and b. So rates may move over days, and
    variants may join and leave: the other tests for the best action need rates that stay. Look at
    it whenever you like.

    With a tolerance, the answer may be worse than the best by so much, and a test of equal variants
    stops, too.

    Args:
        delta: the largest probability of a wrong answer.
        tolerance: by how much the answer may be worse than the best variant.
        threshold: "practical" takes sums over strata, whose bound holds for many users; "proven"
            takes bets, whose bound holds for rewards from 0 to 1 and any number of users.
        planned: how many variants there will be at most. None if unknown: the test takes somewhat
            more users then, and any number may join.
        shares: of all variants, above 0; None for equal ones. Of those that are open, each gets its
            part.
        closes_by_results: whether variants may be closed because of what the test has shown.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Robbins (1970) for the sums, Waudby-Smith & Ramdas (2024) for the bets.

    >>> from bandit_envs import BernoulliPyEnvironment, StepDriver
    >>> env = BernoulliPyEnvironment([0.6, 0.6, 0.2], seed=0)
    >>> policy = SplitTestPolicy(tolerance=0.1, num_actions=3, seed=1)
    >>> time_step = StepDriver(env, policy, [policy], num_steps=5000).run_until_stopped()
    >>> policy.has_stopped, policy.report().winner in ("0", "1")
    (True, True)
    """

    can_count_pending = False  # a random split goes on by itself

    def __init__(
        self,
        delta: float = 0.05,
        tolerance: float = 0.0,
        threshold: str = "practical",
        planned: int | None = None,
        shares: Sequence[float] | None = None,
        *,
        closes_by_results: bool = False,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._rule = SplitRule(delta, tolerance, threshold, planned, closes_by_results)
        self._delta = self._rule.delta
        self._tolerance = self._rule.tolerance
        self._threshold = self._rule.threshold
        self._planned = self._rule.planned
        self._closes_by_results = self._rule.closes_by_results
        self._shares = (
            None if shares is None else tuple(check_numbers("shares", shares, 1).tolist())
        )
        super().__init__(**options)
        self._proportions = self._check_shares()
        if threshold == "proven":
            self.reward_range = 0.0, 1.0
        self._check_planned(self.num_actions)

    def _check_shares(self) -> Floats:
        """Returns the shares of all actions; ValueError if they do not fit."""
        if self._shares is None:
            return np.ones(self.num_actions)
        found = np.array(self._shares, np.float64)
        if found.shape != (self.num_actions,) or not (found > 0.0).all():
            expected = f"expected {self.num_actions} numbers above 0"
            raise ValueError(f"shares is {short_repr(self._shares)}; {expected}")
        return found

    def _check_planned(self, num_actions: int) -> None:
        """Raises ValueError if there are more actions than planned."""
        planned = self._rule.planned
        if planned is not None and num_actions > planned:
            raise ValueError(
                f"planned is {planned}; expected at least {num_actions}, as num_actions"
            )

    def report(
        self,
        row: int = 0,
        confidence: float = 0.95,
        *,
        reward_std: float | None = None,
        names: Sequence[str] | None = None,
        control: int | None = None,
    ) -> SplitReport:
        """Returns what one row has found: who won, and by how much.

        Args:
            row: of the batch; each row is a test.
            confidence: the probability with which the intervals of all differences hold at once,
                after every step.
            reward_std: must be None; differences find the variance of rewards themselves.
            names: of the actions; None for those of the table that it has learned from, or else
                their numbers.
            control: the action that the others are compared with; None if all are with all.
        """
        index = check_integer("row", row, 0, self.batch_size - 1)
        level = check_number("confidence", confidence, 1e-9, 1.0 - 1e-9)
        if reward_std is not None:
            raise ValueError(f"reward_std is {reward_std!r}; expected None, as it is estimated")
        if control is not None:
            check_integer("control", control, 0, self.num_actions - 1)
        search: Search = self._state.learned
        plan: SplitTables = search.plan
        known = () if self.encoding is None else self.encoding.actions
        texts = names_of(names, known, self.num_actions)
        best = int(self._recommended(search, search.compared())[index])
        sums = PairSums._make(table[0] for table in plan.pair_sums(np.array([index])))
        scale = float(plan.scale[index])
        notes = [*note_alike(texts), *note_largest(texts, plan.payments.at(index))]
        notes += [] if scale > 0.0 else [NO_INTERVAL]
        if plan.has_closed[index] and not self._rule.closes_by_results:
            notes.append(note_closed("A variant was"))
        return SplitReport(
            names=texts,
            recommended=best,
            has_stopped=bool(search.stopped[index]),
            steps=int(search.pulls.steps[index]),
            counts=search.pulls.counts[index].copy(),
            means=search.pulls.values[index].copy(),
            low=None,
            high=None,
            confidence=level,
            delta=self._rule.delta,
            tolerance=self._rule.tolerance,
            threshold=self._rule.threshold,
            differences=tuple(
                list_differences(
                    "reward",
                    texts,
                    sums,
                    scale=scale,
                    alphas=self._rule.alphas(plan.opened[index], level, control),
                    best=best,
                    control=control,
                )
            ),
            log_split=plan.split_evidence(index, self._proportions),
            notes=tuple(notes),
        )

    def _set_num_actions(self, num_actions: int) -> None:
        self._check_planned(num_actions)
        added = num_actions - self.num_actions
        super()._set_num_actions(num_actions)
        self._proportions = np.append(self._proportions, np.full(added, self._proportions.mean()))

    def _initial_plan(self) -> SplitTables:
        batch_size = self.batch_size
        num_actions = self.num_actions
        shape = (batch_size, STRATA, num_actions)
        pairs = (batch_size, num_actions, num_actions)
        is_proven = self._rule.threshold == "proven"
        return SplitTables(
            open_sets=np.zeros(shape, np.bool_),
            users=UserSums.zeros(shape),
            used=np.zeros(shape[:2], np.intp),
            closed=PairSums._make(np.zeros(pairs) for _ in PairSums._fields),
            opened=np.zeros(self._table_shape),
            has_closed=np.zeros(batch_size, np.bool_),
            first=UserSums.zeros((batch_size,)),
            scale=np.zeros(batch_size),
            log_split=np.zeros(batch_size),
            payments=Payments.zeros(self._table_shape),
            has_amounts=np.zeros(batch_size, np.bool_),
            bets=PairBets.initial(batch_size, num_actions) if is_proven else None,
        )

    def _learn(self, learned: Search, trajectory: Trajectory) -> Search:
        available = self._available(trajectory.observation)
        shown = np.ones(self._table_shape, np.bool_) if available is None else available
        are_split = self._are_split(trajectory, shown)
        compared = learned.compared()
        if compared is not None:  # users who were not split close nothing
            available = shown | (compared & ~are_split[:, np.newaxis])
        learned.open(available, self._goes_on)
        rows = np.flatnonzero(~learned.stopped & are_split)
        if rows.size:
            self._add_users(learned, rows, trajectory, shown[rows])
            self._update(learned, rows)
        return learned

    def _are_split(self, trajectory: Trajectory, is_open: Mask) -> Mask:
        """Returns which users were split at random, as far as probabilities tell: [B].

        After a stop, users see the winner, and their rewards may come when the test goes on. The
        probability of a split is a share, perhaps mixed with a uniform one.
        """
        told = getattr(trajectory.policy_info, "log_probability", None)
        if told is None:
            return np.ones(self.batch_size, np.bool_)
        shares = self._proportions * is_open
        rows = np.arange(self.batch_size)
        share = shares[rows, trajectory.action] / shares.sum(axis=1)
        equal = 1.0 / is_open.sum(axis=1)
        probability = np.exp(np.asarray(told, np.float64))
        low = np.minimum(share, equal) - 1e-9
        high = np.maximum(share, equal) + 1e-9
        return np.asarray((low <= probability) & (probability <= high))

    def _add_users(
        self, search: Search, rows: Indices, trajectory: Trajectory, is_open: Mask
    ) -> None:
        """Takes in a user of each of n rows, who could see some variants [n, K]."""
        plan: SplitTables = search.plan
        actions = trajectory.action[rows]
        rewards = np.asarray(trajectory.reward[rows], np.float64)
        search.pulls.add(rows, actions, rewards)
        plan.open(rows, is_open, self._rule.planned)
        plan.add(
            rows,
            actions,
            rewards,
            is_open=is_open,
            steps=search.pulls.steps[rows],
            shares=self._proportions,
        )
        if plan.bets is not None:
            plan.bets.add(
                rows,
                actions,
                rewards,
                is_open=is_open,
                shares=self._proportions,
                tolerance=self._rule.tolerance,
            )

    def _update(self, search: Search, rows: Indices) -> None:
        plan: SplitTables = search.plan
        compared = search.compared(rows)
        if compared is None:
            compared = np.ones((len(rows), self.num_actions), np.bool_)
        _, evident = self._rule.decide(
            plan.pair_sums(rows),
            log_bets=None if plan.bets is None else plan.bets.log_evidence()[rows],
            scale=plan.scale[rows],
            counts=plan.opened[rows],
            compared=compared,
            users=search.pulls.steps[rows],
            is_ready=plan.payments.at(rows).are_enough(plan.has_amounts[rows]),
        )
        search.stopped[rows] = evident

    def _recommended(self, search: Search, available: Mask | None) -> Indices:
        shown = np.ones(self._table_shape, np.bool_) if available is None else available
        plan: SplitTables = search.plan
        sums = plan.pair_sums(np.arange(self.batch_size))
        return leaders(sums, shown)

    def _select(self, rng: Rng, learned: Search, time_step: TimeStep) -> Actions:
        actions: Actions = Policy._select(self, rng, learned, time_step)
        return actions

    def _probabilities(self, learned: Search, time_step: TimeStep) -> Floats:
        available = self._available(time_step.observation)
        table = np.tile(self._proportions / self._proportions.sum(), (self.batch_size, 1))
        rows = np.flatnonzero(learned.stopped)
        if rows.size:
            recommended = self._recommended(learned, available)
            table[rows] = 0.0
            table[rows, recommended[rows]] = 1.0
        return self._restricted(table, time_step.observation)
