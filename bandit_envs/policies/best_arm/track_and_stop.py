"""Policies that stop by Chernoff's rule: Track-and-Stop, top-two Thompson sampling, and a test."""

from __future__ import annotations

import typing
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Mask, Rng
from bandit_envs.base.checks import check_number
from bandit_envs.policies.best_arm.best_arm_policy import Pulls, Search, among
from bandit_envs.policies.best_arm.chernoff_policy import ChernoffPolicy
from bandit_envs.policies.best_arm.optimal_proportions import optimal_weights
from bandit_envs.policies.draws import argmax_random_ties, rows_of
from bandit_envs.policies.learned import make_room
from bandit_envs.policies.policy import Actions, PolicyOptions
from bandit_envs.trajectories import TimeStep

TOLERANCE = 1e-3
"""Of the logarithms of proportions: Newton's last step is exact to about its square."""

MAX_DRAWS = 1024
"""The most draws at a time. If the leader is best in all, the second best of one is chosen."""


class LikelihoodRatioTestPolicy(ChernoffPolicy):
    """Chooses all actions equally often until the best one is known: a sequential test.

        A_t = argmin_a N(a),    stop if Z_t > level_t
        Z_t = min_b  N(a) kl(Q(a), m_b) + N(b) kl(Q(b), m_b)

    Here, a is the action with the largest mean reward Q, and m_b the mean of all rewards of a and
    b. This is an A/B test that you may look at after every step.

    Means are comparable if all actions were available on the same days, and rates that vary over
    days do no harm then. An action that joins later is the only choice until it has been chosen as
    often as the others. If that is on days when all actions earn more, such as a weekend, it seems
    better than it is: use `SplitTestPolicy` there.

    Args:
        delta: the largest probability of error, at most 1.
        reward_std: the standard deviation of normal rewards; None for rewards from 0 to 1.
        threshold: level_t. "practical" is ln((ln t + 1) / delta), "chernoff" is the proven one.
        tolerance: by how much the answer may be worse than the best action.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Chernoff, Sequential Design of Experiments (1959); Garivier & Kaufmann (2016).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> policy = LikelihoodRatioTestPolicy(0.1, num_actions=2)
    >>> policy.probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def _exploration_scores(self, search: Search) -> Floats:
        return -search.pulls.counts


class Tracking(NamedTuple):
    """The proportions w* [B, K] of the means so far, at first equal; updated in place."""

    weights: Floats

    def make_consistent(self, known: int) -> None:
        """Gives actions from `known` on an equal share."""
        make_room(self.weights, known)


class TrackAndStopPolicy(ChernoffPolicy):
    """Chooses in the proportions that are the best if the means are those found: D-tracking.

        A_t = argmin_a N(a)               if some N(a) < sqrt(t) - K / 2
        A_t = argmax_a t w*(a) - N(a)     else

    The proportions w* are those of `characteristic_time`. It stops by Chernoff's rule, as
    `LikelihoodRatioTestPolicy` does. For small delta, no rule that is right as often takes fewer
    steps on average. Mean rewards must stay the same: its shares change, and so it compares rewards
    of different times.

    Args:
        delta: the largest probability of error, at most 1.
        reward_std: the standard deviation of normal rewards; None for rewards from 0 to 1.
        threshold: level_t. "practical" is ln((ln t + 1) / delta), "chernoff" is the proven one.
        tolerance: by how much the answer may be worse than the best action.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Garivier & Kaufmann, Optimal Best Arm Identification with Fixed Confidence (2016).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> env = BernoulliPyEnvironment([0.1, 0.9])
    >>> TrackAndStopPolicy(0.1, num_actions=2).probabilities(env.reset())
    array([[0.5, 0.5]])
    """

    def _initial_plan(self) -> Tracking | CumulativeTracking:
        return Tracking(np.full(self._table_shape, 1.0 / self.num_actions))

    def _exploration_scores(self, search: Search) -> Floats:
        pulls = search.pulls
        t = pulls.steps[:, np.newaxis].astype(np.float64)
        compared = search.compared()
        number = self.num_actions if compared is None else compared.sum(axis=1, keepdims=True)
        fewest = np.maximum(np.sqrt(t) - number / 2.0, 1.0)
        is_forced = _fewest_choices(pulls, compared) < fewest
        return np.where(is_forced, 0.0, t * search.plan.weights) - pulls.counts

    def _follow(
        self, plan: Any, rows: Indices, pulls: Pulls, leaders: Indices, compared: Mask | None
    ) -> None:
        """Sets the proportions to those that are the best if the means are those found.

        Rows in which an action that counts was never chosen keep what they have. Actions that do
        not count get 0.
        """
        weights: Floats = plan.weights
        if compared is None:
            tried = np.flatnonzero(pulls.counts.all(axis=1))
            if tried.size:
                changed = rows[tried]
                weights[changed], _ = optimal_weights(
                    self._law,
                    pulls.values[tried],
                    leaders[tried],
                    TOLERANCE,
                    start=weights[changed],
                )
            return
        is_tried = (pulls.counts > 0.0) | ~compared
        tried = np.flatnonzero(is_tried.all(axis=1) & (compared.sum(axis=1) > 1))
        patterns = compared[tried]
        for pattern in np.unique(patterns, axis=0):
            alike = tried[(patterns == pattern).all(axis=1)]
            columns = np.flatnonzero(pattern)
            places = np.ix_(rows[alike], columns)
            found, _ = optimal_weights(
                law=self._law,
                means=pulls.values[np.ix_(alike, columns)],
                leaders=np.searchsorted(columns, leaders[alike]),
                tolerance=TOLERANCE,
                start=weights[places],
            )
            weights[rows[alike]] = 0.0
            weights[places] = found


class CumulativeTracking(NamedTuple):
    """The proportions w* [B, K], at first equal, and their sums over steps; updated in place."""

    weights: Floats
    sums: Floats  # of proportions of at least eps

    def make_consistent(self, known: int) -> None:
        """Gives actions from `known` on an equal share."""
        make_room(self.weights, known)


class CTrackingPolicy(TrackAndStopPolicy):
    """Track-and-Stop that follows the sums of all proportions so far: C-tracking.

        A_t = argmax_a sum_{s <= t} w_s(a) - N(a)

    Here, w_s is w* of the means after s steps, with a floor of eps_s = 1 / (2 sqrt(K^2 + s)). All
    else is as in `TrackAndStopPolicy`, which takes fewer steps in practice.

    Args:
        delta: the largest probability of error, at most 1.
        reward_std: the standard deviation of normal rewards; None for rewards from 0 to 1.
        threshold: level_t. "practical" is ln((ln t + 1) / delta), "chernoff" is the proven one.
        tolerance: by how much the answer may be worse than the best action.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Garivier & Kaufmann, Optimal Best Arm Identification with Fixed Confidence (2016). The
    floor takes from proportions above it in proportion to what they have above it.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> env = BernoulliPyEnvironment([0.1, 0.9])
    >>> CTrackingPolicy(0.1, num_actions=2).probabilities(env.reset())
    array([[0.5, 0.5]])
    """

    def _initial_plan(self) -> CumulativeTracking:
        weights = np.full(self._table_shape, 1.0 / self.num_actions)
        return CumulativeTracking(weights, np.zeros(self._table_shape))

    def _exploration_scores(self, search: Search) -> Floats:
        pulls = search.pulls
        is_untried = _fewest_choices(pulls, search.compared()) == 0.0
        return np.where(is_untried, 0.0, search.plan.sums) - pulls.counts

    def _with_pending(self, learned: Search, pending: Indices) -> Search:
        search: Search = super()._with_pending(learned, pending)
        plan: CumulativeTracking = learned.plan
        steps = search.pulls.steps
        added = (steps - learned.pulls.steps)[:, np.newaxis]
        sums = plan.sums + added * with_floor(plan.weights, steps, search.compared())
        return search._replace(plan=plan._replace(sums=sums))

    def _follow(
        self, plan: Any, rows: Indices, pulls: Pulls, leaders: Indices, compared: Mask | None
    ) -> None:
        super()._follow(plan, rows, pulls, leaders, compared)
        plan.sums[rows] += with_floor(plan.weights[rows], pulls.steps, compared)


def _fewest_choices(pulls: Pulls, compared: Mask | None) -> Floats:
    """Returns how often the action was chosen that was chosen least of those compared: [B, 1]."""
    return np.asarray(among(pulls.counts, compared, np.inf).min(axis=1, keepdims=True))


def with_floor(weights: Floats, steps: Indices, compared: Mask | None) -> Floats:
    """Returns proportions [n, K] of at least eps after so many steps [n]; they sum to 1.

    Actions that are not `compared` [n, K] get 0; None compares all.
    """
    if compared is None:
        compared = np.ones(weights.shape, np.bool_)
    count = compared.sum(axis=1, keepdims=True)
    eps = 0.5 / np.sqrt(count**2 + steps[:, np.newaxis])
    above = np.where(compared, np.maximum(weights - eps, 0.0), 0.0)
    free = 1.0 - count * eps
    total = above.sum(axis=1, keepdims=True)
    shares = np.where(total > 0.0, above / np.where(total > 0.0, total, 1.0), compared / count)
    return np.asarray(np.where(compared, eps + shares * free, 0.0))


class TopTwoThompsonSamplingPolicy(ChernoffPolicy):
    """Chooses the action that looks best in a draw from the posterior, or else a challenger.

        A_t = argmax_a q(a)     with probability beta, where q is drawn from the posterior
        A_t = argmax_a q'(a)    else, where q' is drawn until this is another action

    The posteriors are Beta(1 + successes, 1 + failures), or normal with a flat prior after one
    choice of each action. It stops by Chernoff's rule, as `LikelihoodRatioTestPolicy` does.

    Args:
        delta: the largest probability of error, at most 1.
        beta: the probability of the action that looks best, from 0 to 1.
        reward_std: the standard deviation of normal rewards; None for rewards from 0 to 1.
        threshold: level_t. "practical" is ln((ln t + 1) / delta), "chernoff" is the proven one.
        tolerance: by how much the answer may be worse than the best action.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Russo, Simple Bayesian Algorithms for Best-Arm Identification (2016), without a stop.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> env = BernoulliPyEnvironment([0.1, 0.9])
    >>> TopTwoThompsonSamplingPolicy(0.1, num_actions=2).action(env.reset()).shape
    (1,)
    """

    can_count_pending = False  # its draws go on to other actions by themselves

    def __init__(
        self,
        delta: float,
        beta: float = 0.5,
        reward_std: float | None = None,
        threshold: str = "practical",
        tolerance: float = 0.0,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._beta = check_number("beta", beta, 0.0, 1.0)
        super().__init__(delta, reward_std, threshold, tolerance, **options)

    def _select(self, rng: Rng, learned: Search, time_step: TimeStep) -> Actions:
        available = self._available(time_step.observation)
        actions = self._recommended(learned, available)
        rows = np.flatnonzero(~learned.stopped)
        if rows.size:
            allowed = rows_of(available, rows)
            actions[rows] = self._explore(rng, learned.pulls.take(rows), allowed)
        return actions

    def _explore(self, rng: Rng, pulls: Pulls, available: Mask | None) -> Indices:
        """Returns the actions of rows that have not stopped: [n]."""
        if self._reward_std is not None:
            untried = pulls.counts == 0.0
            if available is not None:
                untried &= available
            if untried.any():
                first = argmax_random_ties(rng, untried.astype(np.float64), available)
                rest = np.flatnonzero(~untried.any(axis=1))
                if rest.size:
                    allowed = rows_of(available, rest)
                    first[rest] = self._draw_top_two(rng, pulls.take(rest), allowed)
                return first
        return self._draw_top_two(rng, pulls, available)

    def _draw_top_two(self, rng: Rng, pulls: Pulls, available: Mask | None) -> Indices:
        """Returns the action that looks best in a draw, or a challenger: [n]."""
        leaders: Indices = self._draw(rng, pulls, 1, available)[:, 0].argmax(axis=1)
        actions = leaders.copy()
        rows = np.flatnonzero(rng.random(len(leaders)) >= self._beta)
        if available is not None:
            rows = rows[available[rows].sum(axis=1) > 1]  # else there is no other action
        size = 4
        while rows.size:
            allowed = rows_of(available, rows)
            values = self._draw(rng, pulls.take(rows), size, allowed)
            if size >= MAX_DRAWS:
                values[np.arange(len(rows)), -1, leaders[rows]] = -np.inf
            best = values.argmax(axis=2)
            differs = best != leaders[rows, np.newaxis]
            first = differs.argmax(axis=1)
            found = differs.any(axis=1)
            actions[rows[found]] = best[found, first[found]]
            rows = rows[~found]
            size *= 2
        return actions

    def _draw(self, rng: Rng, pulls: Pulls, size: int, available: Mask | None) -> Floats:
        """Returns draws from the posteriors of n rows: [n, size, K], -inf if not available."""
        shape = (len(pulls.steps), size, self.num_actions)
        sums = pulls.sums[:, np.newaxis]
        counts = pulls.counts[:, np.newaxis]
        if self._reward_std is None:
            values = rng.beta(1.0 + sums, 1.0 + counts - sums, shape)
        else:
            values = rng.standard_normal(shape)
            values *= self._reward_std / np.sqrt(np.maximum(counts, 1.0))
            values += pulls.values[:, np.newaxis]
        return values if available is None else np.where(available[:, np.newaxis], values, -np.inf)
