"""Replay: a log as an environment, for policies that learn."""

from __future__ import annotations

import operator
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Indices, Mask, Rng, read_only
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.checks import short_repr
from bandit_envs.drivers import StepDriver
from bandit_envs.logged.log import BanditLog
from bandit_envs.nests import map_structure
from bandit_envs.policies import Policy
from bandit_envs.seeding import Seed
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import Trajectory


class ReplayState(NamedTuple):
    """Permutations of the log [B, n], a place in them, the events there [B], and which count."""

    order: Indices
    place: int
    rows: Indices
    accepted: Mask


class ReplayEnvironment(BanditPyEnvironment):
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

    def __init__(self, log: BanditLog, batch_size: int = 1, **options: Any) -> None:
        if not isinstance(log, BanditLog) or not len(log):
            raise ValueError(f"log is {short_repr(log)}; expected a BanditLog with rows")
        self._log, self._observations = log, log.seen()
        self._acceptance = log.propensity.min() / log.propensity
        spec = map_structure(lambda leaf: ArraySpec(leaf.shape[1:], leaf.dtype), log.seen())
        specs = spec, log.num_actions, ArraySpec((), np.float64, "reward")
        super().__init__(*specs, batch_size=batch_size, **{"name": "replay", **options})

    def get_info(self) -> Any:
        """Returns which rows matched in the last step, `matched` [B]; None after a reset."""
        bandit = self._state.latent
        if bandit is None or bandit.action is None:
            return None
        return {"matched": read_only(self._matched(bandit.previous, bandit.action))}

    def _initial_state(self, rng: Rng) -> ReplayState:
        order = np.tile(np.arange(len(self._log)), (self._batch_size, 1))
        return self._at(rng, rng.permuted(order, axis=1), 0)

    def _next_state(self, rng: Rng, state: ReplayState, action: Indices) -> ReplayState:
        if state.place + 1 == len(self._log):
            return self._initial_state(rng)
        return self._at(rng, state.order, state.place + 1)

    def _at(self, rng: Rng, order: Indices, place: int) -> ReplayState:
        rows = order[:, place]
        return ReplayState(order, place, rows, rng.random(len(rows)) < self._acceptance[rows])

    def _observe(self, state: ReplayState) -> Any:
        return map_structure(operator.itemgetter(state.rows), self._observations)

    def _available(self, state: ReplayState) -> Mask | None:
        return None if self._log.available is None else self._log.available[state.rows]

    def _draw_rewards(self, rng: Rng, state: ReplayState, action: Indices) -> Floats:
        return np.where(self._matched(state, action), self._log.reward[state.rows], 0.0)

    def _matched(self, state: ReplayState, action: Indices) -> Mask:
        return np.asarray(state.accepted & (self._log.action[state.rows] == action))


class MatchedRows:
    """An observer that lets a policy learn only where its action was the logged one.

    The rows of a policy must learn by themselves: they must not share a model.
    """

    def __init__(self, env: ReplayEnvironment, policy: Policy) -> None:
        if policy.batch_size > 1 and not policy.learns_by_row:
            raise ValueError(f"policy has batch_size {policy.batch_size}; expected 1")
        self._env, self._policy = env, policy

    def __call__(self, trajectory: Trajectory) -> None:
        """Learns from the rows that matched in the last step."""
        self._policy.learn(trajectory, self._env.get_info()["matched"])


class ReplayResult(NamedTuple):
    """What a learning policy earned on a log."""

    value: float  #: the mean reward of the events that matched, over all rows
    standard_error: float  #: of one row's mean; more rows of one log do not reduce it
    matches: NDArray[np.int64]  #: how many events matched in each row, [B]


def evaluate_by_replay(policy: Policy, log: BanditLog, seed: Seed = None) -> ReplayResult:
    """Lets a policy learn from a log, as if it had chosen itself; each of its rows is a run.

    Warns:
        UserWarning: the log has several rows of a batch, which must be users of one problem rather
            than independent runs; `log.drop("row")` says that they are.

    Source: as for `ReplayEnvironment`.
    """
    env = ReplayEnvironment(log, policy.batch_size, seed=seed)
    sums = np.zeros((3, policy.batch_size))

    def count(trajectory: Trajectory) -> None:
        reward = trajectory.reward  # 0 where nothing matched
        sums[:] += [env.get_info()["matched"], reward, reward**2]

    if log.row is not None and np.ptp(log.row) > 0:
        text = "log has several rows of a batch; replay takes them as one problem, not as runs"
        warnings.warn(text, stacklevel=2)
    StepDriver(env, policy, [MatchedRows(env, policy), count], len(log)).run()
    matches = sums[0]
    if not matches.all():
        raise ValueError("log has no event with an action that the policy took, in some row")
    means, squares = sums[1:] / matches
    variances = np.maximum(squares - means**2, 0.0) / np.maximum(matches - 1, 1)
    value, error = float(means.mean()), float(np.sqrt(variances.mean()))
    return ReplayResult(value, error, matches.astype(np.int64))
