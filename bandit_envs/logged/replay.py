"""Replay: a log as an environment, for policies that learn."""

from __future__ import annotations

import operator
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Indices, Mask, Rng, read_only
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.checks import short_repr
from bandit_envs.drivers import StepDriver
from bandit_envs.logged.features import fit_items, spec_of_rows
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_equal_rows, require_propensities
from bandit_envs.logged.translation import translate_log
from bandit_envs.nests import Nest, map_structure
from bandit_envs.policies import Policy
from bandit_envs.policies.row_by_row import check_problems
from bandit_envs.seeding import Seed
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import Trajectory

__all__ = [
    "evaluate_by_replay",
]


class ReplayState(NamedTuple):
    """Permutations of the log [B, n], a place in them, the events there [B], and which count."""

    order: Indices
    place: int
    rows: Indices
    accepted: Mask


class ReplayEnvironment(BanditPyEnvironment[ReplayState]):
    """A log as an environment. Each row walks through a random permutation of its own.

    A step pays the logged reward where the action is the logged one, and 0 elsewhere; `get_info`
    says where, as `matched`. If propensities differ, an event with propensity p counts with
    probability min(propensities) / p, as if the logging policy had been uniform. After n steps,
    the next permutations begin. The state holds B n integers. `MatchedRows` lets policies learn.

    Source: Li et al., Unbiased offline evaluation of news article recommendation (2011).

    >>> log = BanditLog(np.ones((3, 1)), [1, 1, 1], [4.0, 4.0, 4.0], [0.5] * 3)
    >>> env = ReplayEnvironment(log, batch_size=2, seed=0)
    >>> time_step = env.reset()
    >>> env.step([0, 1]).reward, env.get_info()["matched"]
    (array([0., 4.]), array([False,  True]))
    """

    independent_rows = True

    def __init__(
        self,
        log: BanditLog,
        batch_size: int = 1,
        *,
        seed: Seed = None,
        horizon: int | None = None,
        name: str = "replay",
    ) -> None:
        if not isinstance(log, BanditLog) or not len(log):
            raise ValueError(f"log is {short_repr(log)}; expected a BanditLog with rows")
        self._log = require_equal_rows(log, "a replay")
        self._observations = log.seen()
        self._acceptance = require_propensities(log).propensity.min() / log.propensity
        super().__init__(
            spec_of_rows(self._observations),
            log.num_actions,
            ArraySpec((), np.float64, "reward"),
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
            name=name,
        )

    @property
    def names_features(self) -> bool:
        """Whether the features of the log have names."""
        return self._log.names_features

    @property
    def num_items(self) -> int | None:
        """The number of items with names; None if there are none."""
        encoding = self._log.encoding
        return None if encoding is None or not encoding.items else len(encoding.items)

    def get_info(self) -> dict[str, Mask] | None:
        """Returns which rows matched in the last step, `matched` [B]; None after a reset."""
        bandit = self._state.latent
        if bandit is None or bandit.action is None:
            return None
        return {"matched": read_only(self.matched())}

    def matched(self) -> Mask:
        """Returns which rows matched in the last step: [B]; none after a reset."""
        bandit = self._state.latent
        if bandit is None or bandit.action is None:
            return np.zeros(self._batch_size, np.bool_)
        return self._find_matches(bandit.previous, bandit.action)

    def _initial_state(self, rng: Rng) -> ReplayState:
        order = np.tile(np.arange(len(self._log)), (self._batch_size, 1))
        return self._move_to(rng, rng.permuted(order, axis=1), 0)

    def _next_state(self, rng: Rng, state: ReplayState, action: Indices) -> ReplayState:
        if state.place + 1 == len(self._log):
            return self._initial_state(rng)
        return self._move_to(rng, state.order, state.place + 1)

    def _move_to(self, rng: Rng, order: Indices, place: int) -> ReplayState:
        """Returns the state at a place in the permutations."""
        rows = order[:, place]
        accepted = rng.random(len(rows)) < self._acceptance[rows]
        return ReplayState(order, place, rows, accepted)

    def _share(self, state: ReplayState) -> ReplayState:
        return state  # all walk through one log, in orders of their own

    def _observe(self, state: ReplayState) -> Nest:
        return map_structure(operator.itemgetter(state.rows), self._observations)

    def _available(self, state: ReplayState) -> Mask | None:
        return None if self._log.available is None else self._log.available[state.rows]

    def _draw_rewards(self, rng: Rng, state: ReplayState, action: Indices) -> Floats:
        is_match = self._find_matches(state, action)
        return np.where(is_match, self._log.reward[state.rows], 0.0)

    def _find_matches(self, state: ReplayState, action: Indices) -> Mask:
        """Returns where the event counts and its action is the logged one: [B]."""
        return np.asarray(state.accepted & (self._log.action[state.rows] == action))


class MatchedRows:
    """An observer that lets a policy learn only where its action was the logged one.

    Each row replays the log in an order of its own. So rows of the policy must not share a model.

    Raises:
        ValueError: they do.
    """

    def __init__(self, env: ReplayEnvironment, policy: Policy) -> None:
        check_problems(env, policy)
        self._env = env
        self._policy = policy

    def __call__(self, trajectory: Trajectory) -> None:
        """Learns from the rows that matched in the last step."""
        self._policy.learn(trajectory, self._env.matched())


class CountMatches:
    """An observer that adds up, in each row, the matches, their rewards, and the spread of these.

    Sums of squares would lose digits where rewards are large, and differ little.

    Args:
        env: replays the log.
    """

    def __init__(self, env: ReplayEnvironment) -> None:
        self._env = env
        self.matches = np.zeros(env.batch_size, np.int64)
        self.rewards = np.zeros(env.batch_size)
        self.spreads = np.zeros(env.batch_size)  #: sums of squared deviations from the mean
        self._means = np.zeros(env.batch_size)

    def __call__(self, trajectory: Trajectory) -> None:
        """Adds the last step, whose reward is 0 where nothing matched."""
        matched = self._env.matched()
        reward = np.asarray(trajectory.reward, np.float64)
        self.matches += matched
        self.rewards += reward
        gaps = np.where(matched, reward - self._means, 0.0)
        self._means += gaps / np.maximum(self.matches, 1)
        self.spreads += gaps * (reward - self._means)


class ReplayResult(NamedTuple):
    """What a learning policy earned on a log."""

    value: float  #: the mean reward of the events that matched, over all rows
    standard_error: float  #: of one row's mean; more rows of one log do not reduce it
    matches: NDArray[np.int64]  #: how many events matched in each row, [B]


def evaluate_by_replay(policy: Policy, log: BanditLog, seed: Seed = None) -> ReplayResult:
    """Lets a policy learn from a log, as if it had chosen itself; each of its rows is a run.

    A policy that has learned from a table finds actions, columns and texts by their names.

    Args:
        policy: of B rows, each of which is a run; it goes on from what it knows, and learns.
        log: n decisions, with their propensities.
        seed: of the order in which each run meets the rows of the log.

    Raises:
        ValueError: the policy does not know an action of the log, or the log lacks a column of it;
            or no event has an action that the policy took.

    Warns:
        UserWarning: the log has several rows of a batch, which must be users of one problem rather
            than independent runs; `log.drop("row")` says that they are. Or `seed` is that of
            the policy, so both draw the same numbers.

    Source: as for `ReplayEnvironment`.
    """
    seen = translate_log(log, policy.encoding) if isinstance(log, BanditLog) else log
    env = ReplayEnvironment(seen, policy.batch_size, seed=seed)
    policy = fit_items(policy, seen)
    if log.row is not None and np.ptp(log.row) > 0:
        text = "log has several rows of a batch; replay takes them as one problem, not as runs"
        warnings.warn(text, stacklevel=2)
    count = CountMatches(env)
    StepDriver(env, policy, [MatchedRows(env, policy), count], len(log)).run()
    if not count.matches.all():
        raise ValueError("log has no event with an action that the policy took, in some row")
    means = count.rewards / count.matches
    variances = count.spreads / count.matches / np.maximum(count.matches - 1, 1)
    return ReplayResult(
        value=float(means.mean()),
        standard_error=float(np.sqrt(variances.mean())),
        matches=count.matches,
    )
