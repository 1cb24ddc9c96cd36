"""Policies that learn from logged slates.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import operator
import typing

import numpy as np

from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.nests import map_structure
from bandit_envs.policies.slates import SlatePolicy
from bandit_envs.trajectories import Trajectory


def learn_from_slates(
    policy: SlatePolicy, slates: Trajectory, batch_rows: int | None = None
) -> SlatePolicy:
    """Returns a copy of a slate policy that has learned from a log, as if it had shown the slates.

    Experimental: it may change in any minor version.

    It learns of items and slots what it does online, such as `PBMUCBPolicy`, which knows how often
    users look at each slot. If its rows learn by themselves, and the log is of one problem, the
    policy must have one row, as row i of the log is shown to row i modulo B.

    Args:
        policy: has the log's items and slots. The copy goes on from what it has learned.
        slates: n trajectories of one step each, joined: its actions and rewards are [n, S].
        batch_rows: how many slates a policy whose rows share a model learns at a time; None for its
            `log_rows`. Others learn as many as they have rows.

    Raises:
        TypeError: the policy does not show slates.

    >>> from bandit_envs import PositionBasedBandit, RandomSlatePolicy, StepDriver
    >>> from bandit_envs.policies import PBMUCBPolicy
    >>> env = PositionBasedBandit([0.1, 0.2, 0.9], [1.0, 0.5], batch_size=300, seed=0)
    >>> random = RandomSlatePolicy(2, num_actions=3, batch_size=300, seed=1)
    >>> logs = []
    >>> _ = StepDriver(env, random, [logs.append], num_steps=1).run()
    >>> learned = learn_from_slates(PBMUCBPolicy(2, [1.0, 0.5], num_actions=3), logs[0])
    >>> learned.replicate(300).action(env.reset())[0]
    array([2, 1], dtype=int32)
    """
    if not isinstance(policy, SlatePolicy) or not policy.can_learn:
        raise TypeError(f"policy is {short_repr(policy)}; expected a SlatePolicy that learns")
    size = len(slates.action)
    if not size:
        raise ValueError("slates has 0 rows; expected at least one")
    shared = policy.log_rows if batch_rows is None else check_integer("batch_rows", batch_rows, 1)
    learner = policy.replicate(policy.batch_size if policy.learns_by_row else shared)
    rows_of_policy = learner.batch_size
    known = slates._replace(policy_info=())
    for start in range(0, size, rows_of_policy):
        places = np.arange(start, start + rows_of_policy)
        rows = places % size  # the last rows are filled up, but not learned from
        batch = map_structure(operator.itemgetter(rows), known)
        is_complete = start + rows_of_policy <= size
        learner.learn(batch, None if is_complete else places < size)
    return typing.cast(SlatePolicy, learner.replicate(policy.batch_size))
