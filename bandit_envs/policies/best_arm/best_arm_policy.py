"""What policies share that look for the best action: a recommendation, and when to stop."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats, Indices, Mask, Rng
from bandit_envs.base.checks import check_integer, check_number
from bandit_envs.policies.arms.averages import optimistic_means
from bandit_envs.policies.beliefs import Beliefs
from bandit_envs.policies.best_arm.best_arm_report import BestArmReport, log_term_of, names_of
from bandit_envs.policies.best_arm.reward_laws import BernoulliLaw, NormalLaw, RewardLaw
from bandit_envs.policies.draws import argmax_random_ties, index_probabilities
from bandit_envs.policies.policy import Actions, Policy, PolicyOptions
from bandit_envs.trajectories import TimeStep, Trajectory

SEQUENCE = "95%, for all actions and steps at once"

PATIENCE = 50
"""For so many steps an action may be unavailable before a search goes on without it."""


class Pulls(NamedTuple):
    """What was seen of every action; updated in place. All are [B, K], except for the steps [B]."""

    counts: Floats  # N, how often the action was chosen
    sums: Floats  # of its rewards
    values: Floats  # their mean, 0 for an action never chosen
    latest: Floats  # the step in which it was chosen last, 0 if never
    steps: Indices  # how many rewards each row has learned from

    @classmethod
    def initial(cls, batch_size: int, num_actions: int) -> Pulls:
        """Returns what is known of no rewards."""
        shape = (batch_size, num_actions)
        return cls(
            counts=np.zeros(shape),
            sums=np.zeros(shape),
            values=np.zeros(shape),
            latest=np.zeros(shape),
            steps=np.zeros(batch_size, np.intp),
        )

    def add(self, rows: Indices, action: Indices, reward: Array) -> None:
        """Adds rewards [n] of actions [n] to n rows."""
        places = rows * self.counts.shape[1] + action
        counts = self.counts.take(places) + 1.0
        sums = self.sums.take(places) + reward
        steps = self.steps.take(rows) + 1
        self.counts.reshape(-1)[places] = counts
        self.sums.reshape(-1)[places] = sums
        self.values.reshape(-1)[places] = sums / counts
        self.latest.reshape(-1)[places] = steps
        self.steps[rows] = steps

    def with_pending(self, pending: Indices, reward_range: tuple[float, float]) -> Pulls:
        """Returns new tables in which choices [B, K] that wait for their rewards count in N.

        The means are those of the rewards so far, and the sums are as if the others had this mean.
        """
        counts = self.counts + pending
        values = optimistic_means(self.values, self.counts > 0.0, pending, reward_range)
        return Pulls(
            counts=counts,
            sums=np.where(pending > 0, counts * values, self.sums),
            values=values,
            latest=self.latest,
            steps=self.steps + pending.sum(axis=1),
        )

    def take(self, rows: Indices) -> Pulls:
        """Returns some rows, [n] in ascending order, which must not be written to."""
        if len(rows) == len(self.steps):
            return self
        return Pulls._make(table.take(rows, axis=0) for table in self)

    def leaders(self, allowed: Mask | None = None) -> Indices:
        """Returns the action of each row with the largest mean reward: [B].

        Of several, it is the one chosen last. Actions never chosen come last.

        Args:
            allowed: [B, K], the actions among which it is, at least one a row; None for all.
        """
        values = np.where(self.latest > 0.0, self.values, np.finfo(np.float64).min)
        if allowed is not None:
            values = np.where(allowed, values, -np.inf)
        best: Indices = values.argmax(axis=1)
        offsets = np.arange(0, values.size, values.shape[1])
        is_best = values == values.reshape(-1).take(offsets + best)[:, np.newaxis]
        if np.count_nonzero(is_best) > len(values):
            best = np.where(is_best, self.latest, -1.0).argmax(axis=1)
        return best


class Search(NamedTuple):
    """What a policy knows that looks for the best action. It is updated in place."""

    pulls: Pulls
    stopped: Mask  # whether the row has stopped, [B]
    plan: Any  # what a subclass remembers: a nest of arrays [B, ...], or None
    closed_for: Floats  # how many steps ago each action was available last, inf if never, [B, K]

    def compared(self, rows: Indices | None = None) -> Mask | None:
        """Returns among which actions rows look for the best: [n, K]; None if among all.

        They are those that were available in the last half of a row's steps, or the last
        `PATIENCE`; all before its first reward.

        Args:
            rows: [n]; None for all rows.
        """
        if self.closed_for.max() == 0.0:  # as in most searches
            return None
        steps = self.pulls.steps[:, np.newaxis]
        found = self.closed_for < np.maximum(PATIENCE, 0.5 * steps)
        found |= ~found.any(axis=1, keepdims=True)
        return found if rows is None else np.asarray(found[rows])

    def open(self, available: Mask | None, goes_on: bool) -> None:
        """Says that actions [B, K] were available, None for all, in a step that is learned next.

        Args:
            available: which actions were.
            goes_on: whether rows that have stopped go on if others than those compared were.
        """
        compared = self.compared()
        if available is None and compared is None:
            return
        shown = np.ones(self.closed_for.shape, np.bool_) if available is None else available
        if goes_on and compared is not None:
            self.stopped[(shown & ~compared).any(axis=1)] = False
        closed_for = np.where(shown, 0.0, self.closed_for + 1.0)
        np.copyto(self.closed_for, closed_for, where=~self.stopped[:, np.newaxis])

    def with_pending(self, pending: Indices, reward_range: tuple[float, float]) -> Search:
        """Returns new tables in which choices [B, K] of rows that go on count if they wait."""
        exploring = np.where(self.stopped[:, np.newaxis], 0, pending)
        return self._replace(pulls=self.pulls.with_pending(exploring, reward_range))

    def make_consistent(self, known: int) -> None:
        """Lets all rows go on: which of more actions is the best is another question."""
        self.stopped[:] = False


class BestArmPolicy(Policy):
    """Explores to find the best action, recommends one, and says when it stops to explore.

    A row that has stopped learns no more, and plays what it recommends. So a batch runs until all
    rows have stopped: see `StepDriver.run_until_stopped`.

    It looks for the best of the actions that are available. One that was never available does not
    count. One that was closed still counts at first, with what is known of it. It is out once it
    has been closed for at least half of the row's steps, and for 50. If an action opens that did
    not count, rows that had stopped go on, unless their steps are spent. A row does not stop
    before it has compared two actions.

    Bounds hold if mean rewards stay the same. Those of `SplitTestPolicy` hold if they move, too.

    A subclass implements `_exploration_scores` or `_select`, and these two as it needs them:

        _initial_plan()       -> plan     what it remembers besides the pulls; default: None
        _update(search, rows)             writes what follows into `search.plan`, `search.stopped`

    Args:
        **options: `num_actions`, at least 2, `batch_size`, `seed` and `count_pending`, as in
            `Policy`.

    Source: Bubeck, Munos & Stoltz, Pure Exploration in Multi-armed Bandits Problems (2009).

    >>> from bandit_envs import BernoulliPyEnvironment, StepDriver
    >>> from bandit_envs.policies import UniformAllocationPolicy
    >>> env = BernoulliPyEnvironment([0.1, 0.9], batch_size=3, seed=0)
    >>> policy = UniformAllocationPolicy(40, num_actions=2, batch_size=3, seed=1)
    >>> time_step = StepDriver(env, policy, [policy], num_steps=1000).run_until_stopped()
    >>> policy.recommend(time_step), policy.steps
    (array([1, 1, 1], dtype=int32), array([40, 40, 40]))
    """

    can_count_pending = True

    _goes_on = True
    """Whether a row that has stopped goes on if another action opens."""

    def __init__(self, **options: typing.Unpack[PolicyOptions]) -> None:
        check_integer("num_actions", options.get("num_actions"), minimum=2)
        super().__init__(**options)

    def recommend(self, time_step: TimeStep) -> NDArray[np.int32]:
        """Returns the available action of each row that it believes to be the best: [B].

        Of several with equal mean rewards, it is the one chosen last.
        """
        self._check_batch("time_step", time_step, TimeStep)
        available = self._available(time_step.observation)
        return self._recommended(self._state.learned, available).astype(np.int32)

    @property
    def stopped(self) -> Mask:
        """Whether each row has stopped: [B]."""
        return np.array(self._state.learned.stopped)

    @property
    def has_stopped(self) -> bool:
        """Whether all rows have stopped."""
        return bool(self._state.learned.stopped.all())

    @property
    def steps(self) -> Indices:
        """How many rewards each row has learned from, at most until it stopped: [B]."""
        return np.array(self._state.learned.pulls.steps)

    @property
    def means(self) -> Floats:
        """The mean of the rewards of each action so far, 0 without any: [B, K].

        Once a row has stopped, that of its recommended action is too large on average.
        """
        return np.array(self._state.learned.pulls.values)

    def intervals(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Returns intervals of mean rewards, which hold after every step at once: [B, K] each.

        With a probability of `confidence`, those of all actions of a row hold after every step, so
        also at the stop.

        Raises:
            NotImplementedError: the policy knows no law of rewards; see `report`.
        """
        level = check_number("confidence", confidence, 1e-9, 1.0 - 1e-9)
        low, high = self._intervals(self._state.learned.pulls, self._reward_law(), level)
        if low is None or high is None:
            raise NotImplementedError(f"{type(self).__name__} knows no law of rewards")
        return low, high

    def report(
        self,
        row: int = 0,
        confidence: float = 0.95,
        *,
        reward_std: float | None = None,
        names: Sequence[str] | None = None,
    ) -> BestArmReport:
        """Returns what one row has found: means of rewards, with intervals that hold at a stop.

        Args:
            row: of the batch; each row is a test.
            confidence: the probability with which the intervals of all actions hold at once, after
                every step.
            reward_std: the standard deviation of normal rewards, from which intervals are made;
                0.5 is right for all rewards from 0 to 1. None for the law that the policy knows.
            names: of the actions; None for those of the table that it has learned from, or else
                their numbers.
        """
        index = check_integer("row", row, 0, self.batch_size - 1)
        level = check_number("confidence", confidence, 1e-9, 1.0 - 1e-9)
        law = self._reward_law() if reward_std is None else NormalLaw(reward_std)
        search: Search = self._state.learned
        pulls = search.pulls.take(np.array([index]))
        low, high = self._intervals(pulls, law, level)
        known = () if self.encoding is None else self.encoding.actions
        return BestArmReport(
            names=names_of(names, known, self.num_actions),
            recommended=int(self._recommended(search, search.compared())[index]),
            has_stopped=bool(search.stopped[index]),
            steps=int(pulls.steps[0]),
            counts=pulls.counts[0].copy(),
            means=pulls.values[0].copy(),
            low=None if low is None else low[0],
            high=None if high is None else high[0],
            confidence=level,
        )

    def _reward_law(self) -> RewardLaw | None:
        """Returns the law of rewards that intervals are made from; None if none is known."""
        return BernoulliLaw() if self.reward_range == (0.0, 1.0) else None

    def _intervals(
        self, pulls: Pulls, law: RewardLaw | None, confidence: float
    ) -> tuple[Floats | None, Floats | None]:
        """Returns the ends of intervals [B, K] that hold at once after every step, or None."""
        if law is None:
            return None, None
        return law.interval(pulls.counts, pulls.values, log_term_of(confidence, self.num_actions))

    def _exploration_scores(self, search: Search) -> Floats:
        """Returns a new array of scores, of which the largest is chosen: [B, K], above -inf."""
        name = type(self).__name__
        raise NotImplementedError(f"{name} defines neither _exploration_scores nor _select")

    def _initial_plan(self) -> Any:
        """Returns what it remembers besides the pulls, at first."""
        return None

    def _update(self, search: Search, rows: Indices) -> None:
        """Changes the plan, and says who stops, after a reward of each of some rows.

        Args:
            search: which has the new pulls.
            rows: those that had not stopped, [n] with n > 0. Nothing else may change.
        """

    def _candidates(self, search: Search) -> Mask | None:
        """Returns the actions that may be recommended, at least one a row: [B, K]; None for all."""
        return None

    def _initial(self) -> Search:
        return Search(
            pulls=Pulls.initial(self.batch_size, self.num_actions),
            stopped=np.zeros(self.batch_size, np.bool_),
            plan=self._initial_plan(),
            closed_for=np.full(self._table_shape, np.inf),
        )

    def _learn(self, learned: Search, trajectory: Trajectory) -> Search:
        learned.open(self._available(trajectory.observation), self._goes_on)
        rows = np.flatnonzero(~learned.stopped)
        if rows.size:
            learned.pulls.add(rows, trajectory.action[rows], trajectory.reward[rows])
            self._update(learned, rows)
        return learned

    def _describe(self, learned: Search) -> Beliefs:
        pulls = learned.pulls
        low, high = self._intervals(pulls, self._reward_law(), 0.95)
        interval = "" if low is None else SEQUENCE
        return Beliefs(pulls.values, pulls.counts, low, high, interval)

    def _select(self, rng: Rng, learned: Search, time_step: TimeStep) -> Actions:
        available = self._available(time_step.observation)
        return argmax_random_ties(rng, self._scores(learned, available), available)

    def _probabilities(self, learned: Search, time_step: TimeStep) -> Floats:
        available = self._available(time_step.observation)
        return index_probabilities(self._scores(learned, available), 0.0, available)

    def _scores(self, learned: Search, available: Mask | None) -> Floats:
        """Returns the scores of the exploration; of a row that has stopped, 1 for its choice."""
        scores = self._exploration_scores(learned)
        self._check_table("_exploration_scores", scores)
        rows = np.flatnonzero(learned.stopped)
        if rows.size:
            recommended = self._recommended(learned, available)
            scores[rows] = 0.0
            scores[rows, recommended[rows]] = 1.0
        return scores

    def _recommended(self, search: Search, available: Mask | None) -> Indices:
        """Returns the action that each row recommends: [B]."""
        allowed = self._candidates(search)
        if allowed is None:
            allowed = available
        elif available is not None:
            both = allowed & available
            allowed = np.where(both.any(axis=1, keepdims=True), both, available)
        return search.pulls.leaders(allowed)


def among(table: Array, compared: Mask | None, otherwise: float) -> Array:
    """Returns a new table [n, K], with another value for actions that are not `compared` [n, K]."""
    return table.copy() if compared is None else np.where(compared, table, otherwise)


def scores_in_turn(active: Mask, pulls: Pulls) -> Floats:
    """Returns scores [B, K] of which the largest is that of the action chosen least often.

    Actions that are not `active` [B, K] come after all others.
    """
    return np.where(active, 0.0, -1e12) - pulls.counts
