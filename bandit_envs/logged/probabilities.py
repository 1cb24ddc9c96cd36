"""The probabilities with which a policy would have taken the actions of a log."""

from __future__ import annotations

import operator

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.logged.log import BanditLog
from bandit_envs.nests import map_structure
from bandit_envs.policies import Policy
from bandit_envs.seeding import Seed, generator
from bandit_envs.trajectories import restart

ROWS = 1024  # shown at a time to a policy of one row


def probabilities_of(
    policy: Policy, log: BanditLog, samples: int | None = None, seed: Seed = 0
) -> Floats:
    """Returns the probabilities with which a policy, which does not learn, would choose: [n, K].

    Row i of the log is shown to its row i modulo B, as a `LogRecorder` wrote them. A policy of one
    row is shown many rows at a time. Results are rounded as recorded propensities are, so the
    policy that made a log gets weights of exactly 1.

    Args:
        policy: has the log's number of actions.
        log: n decisions.
        samples: for a policy that does not know its probabilities: choices from which they are
            estimated.
        seed: of these choices.
    """
    if policy.num_actions != log.num_actions:
        raise ValueError(f"policy has {policy.num_actions} actions; expected {log.num_actions}")
    if policy.batch_size == 1 and len(log) > 1:
        policy = policy.replicate(min(ROWS, len(log)))
    rng = generator(seed)
    size = policy.batch_size
    observations = log.seen()
    table = np.empty((len(log), log.num_actions))
    for start in range(0, len(log), size):
        rows = np.arange(start, start + size) % len(log)  # the last batch is filled up
        time_step = restart(map_structure(operator.itemgetter(rows), observations), size)
        if samples is None:
            found = policy.probabilities(time_step)
        else:
            found = policy.estimated_probabilities(time_step, samples, rng)
        table[start : start + size] = found[: len(log) - start]
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(np.log(table)))  # logs keep the logarithm's exponential
