"""Policies of files, applied to tables of decisions that are still to be made.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Mask
from bandit_envs.nests import map_structure
from bandit_envs.policies.policy import Policy
from bandit_envs.tables.decisions.new_decisions import CandidateBatch
from bandit_envs.trajectories import restart

ROWS = 1024
"""How many rows of a table are shown to a policy at a time."""


class Decided(NamedTuple):
    """What a policy does in n rows of a table.

    Fields:
        names: [n], of the decisions: those in their column, or else the numbers of the rows.
        action: [n], the place of the choice among those that were offered.
        chosen: [n], the item or the action, by name if it has one.
        probability: [n], of the choice; NaN if the policy does not know its probabilities.
        offered: [n, K], the items or the actions among which it chose; "" where there is no item.
        mask: [n, K], where there is an item or an action.
        probabilities: [n, K], of all of them; NaN if the policy does not know them.
    """

    names: Array
    action: Indices
    chosen: Array
    probability: Floats
    offered: Array
    mask: Mask
    probabilities: Floats


def decide_batch(policy: Policy, batch: CandidateBatch, actions: Sequence[str]) -> Decided:
    """Returns what a policy does in some decisions.

    Args:
        policy: which does not learn.
        batch: of the table.
        actions: the names of the actions, if these are no items; () if they have none.
    """
    number = len(batch.names)
    size = policy.batch_size
    action = np.empty(number, np.int64)
    table = np.full((number, policy.num_actions), np.nan)
    for start in range(0, number, size):
        rows = np.arange(start, start + size) % number  # the last ones are filled up
        kept = min(size, number - start)
        time_step = restart(map_structure(operator.itemgetter(rows), batch.observation), size)
        if policy.knows_probabilities:
            table[start : start + kept] = policy.probabilities(time_step)[:kept]
        action[start : start + kept] = policy.action(time_step)[:kept]
    offered = batch.items
    if offered is None:
        known = np.array(actions, object) if actions else np.arange(policy.num_actions)
        offered = np.broadcast_to(known, table.shape)
    mask = np.ones(table.shape, np.bool_) if batch.mask is None else batch.mask
    places = np.arange(number), action
    return Decided(
        names=batch.names,
        action=action,
        chosen=offered[places],
        probability=table[places],
        offered=offered,
        mask=mask,
        probabilities=table,
    )
