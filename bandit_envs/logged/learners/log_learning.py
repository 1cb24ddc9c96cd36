"""Policies that learn from the decisions in a log."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Iterator

import numpy as np

from bandit_envs.base.checks import check_integer
from bandit_envs.logged.features import fit_items
from bandit_envs.logged.joining import concatenate
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.rows.seen_rows import SeenRows, remember, remember_batches
from bandit_envs.logged.translation import show, translate_log
from bandit_envs.nests import map_structure
from bandit_envs.policies import Policy
from bandit_envs.trajectories import Trajectory, restart, termination

LEARNS_ONCE = "learns each row once, whatever its weight"
"""What a policy does of a log whose rows have weights, in warnings."""


def learn_from_log(
    policy: Policy, log: BanditLog | Iterable[BanditLog], batch_rows: int | None = None
) -> Policy:
    """Returns a copy of a policy that has learned from a log, as if it had decided itself.

    Row i of the log is shown to row i modulo B of the policy. If rows of the policy learn by
    themselves, and the log is of one problem, the policy must have one row.

    Args:
        policy: has the log's number of actions; or it is for items with features, whose number
            may be any. The copy goes on from what it has learned.
        log: decisions, or batches of them in order, such as `scan_log` returns.
        batch_rows: how many decisions a policy whose rows share a model learns at a time; None for
            its `log_rows`. Those that forget, such as with `gamma` below 1, forget once a batch.
            Others learn as many as they have rows.

    Warns:
        UserWarning: rows of the log have weights. The policy learns each of them once.

    >>> from bandit_envs import UCBPolicy
    >>> log = BanditLog(np.ones((4, 1)), [0, 1, 0, 1], [1.0, 2.0, 1.0, 2.0], [0.5] * 4)
    >>> policy = learn_from_log(UCBPolicy(0.1, num_actions=2), log)
    >>> policy.probabilities(restart(log.observation[:1]))
    array([[0., 1.]])
    """
    shared = policy.log_rows if batch_rows is None else check_integer("batch_rows", batch_rows, 1)
    learner = policy.replicate(policy.batch_size if policy.learns_by_row else shared)
    seen = SeenRows()
    batches = remember_batches([log] if isinstance(log, BanditLog) else log, seen)
    is_told = False
    for batch in align_batches(batches, learner.batch_size):
        if batch.weight is not None and not is_told:
            warnings.warn(f"the policy {LEARNS_ONCE}", stacklevel=2)
            is_told = True
        learner.encoding = learner.encoding or batch.encoding
        translated = translate_log(batch, learner.encoding)
        learner = fit_items(learner, translated)
        _learn_batch(learner, translated)
    if learner.num_actions != policy.num_actions:
        learner = learner.for_items(policy.num_actions)
    return remember(learner.replicate(policy.batch_size), seen)


def _learn_batch(policy: Policy, log: BanditLog) -> None:
    """Lets a policy learn from decisions, of which the first belongs to its first row."""
    size = policy.batch_size
    observations = show(policy, log)
    before = restart((), size)
    after = termination((), np.zeros(size))
    for start in range(0, len(log), size):
        places = np.arange(start, start + size)
        rows = places % len(log)  # the last rows are filled up, but not learned from
        observation = map_structure(operator.itemgetter(rows), observations)
        now = before._replace(observation=observation)
        then = after._replace(reward=log.reward[rows])
        trajectory = Trajectory.from_transition(now, log.action[rows], then)
        is_complete = start + size <= len(log)
        policy.learn(trajectory, None if is_complete else places < len(log))


def align_batches(batches: Iterable[BanditLog], multiple: int) -> Iterator[BanditLog]:
    """Yields the rows of batches in batches whose sizes, except for the last, are multiples."""
    rest: BanditLog | None = None
    for batch in batches:
        joined = batch if rest is None else concatenate([rest, batch])
        size = len(joined) // multiple * multiple
        rest = joined[size:] if size < len(joined) else None
        if size:
            yield joined[:size]
    if rest is not None:
        yield rest
