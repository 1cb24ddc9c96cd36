"""The probabilities with which a policy would have taken the actions of a log."""

from __future__ import annotations

import math
import operator
import warnings

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.datasets.encoding import name_some
from bandit_envs.logged.log import BanditLog, check_log
from bandit_envs.logged.seen_rows import warn_if_seen
from bandit_envs.logged.translation import (
    find_actions,
    find_new_names,
    find_other_actions,
    see_as,
)
from bandit_envs.nests import map_structure
from bandit_envs.policies import Policy
from bandit_envs.seeding import Seed, generator
from bandit_envs.trajectories import restart

ROWS = 1024  # shown to a policy at a time


def probabilities_of(
    policy: Policy,
    log: BanditLog,
    samples: int | None = None,
    seed: Seed = 0,
    first_row: int = 0,
) -> Floats:
    """Returns the probabilities with which a policy, which does not learn, would choose: [n, K].

    Row i of the whole log is shown to row i modulo B of the policy, as a `LogRecorder` wrote them.
    `Policy.replicate` makes copies of the policy's rows, so about 1,000 rows are shown at a time,
    whatever B is. Results are rounded as recorded propensities are, so the policy that made a log
    gets weights of exactly 1.

    Args:
        policy: has the log's number of actions.
        log: n decisions.
        samples: for a policy that does not know its probabilities: choices from which they are
            estimated.
        seed: of these choices.
        first_row: the number of the first row, if `log` is a part of a log.

    A policy that has learned from a table finds actions, columns and texts by their names.

    Raises:
        ValueError: the policy has another number of actions; or it has learned from a table, and
            the log lacks one of its actions or columns.
        TypeError: it is no policy, as a file that `read_policy` has read.

    Warns:
        UserWarning: `learn_from_log` or a learner has made the policy from rows of this log; or the
            log has names that the policy does not know.
    """
    if not isinstance(policy, Policy):
        kind = type(policy).__name__
        raise TypeError(
            f"policy is a {kind}; expected a Policy, as `make` of a SavedPolicy returns"
        )
    warn_if_seen(policy, [check_log(log)])
    for problem in find_new_names(policy.encoding, log.encoding):
        warnings.warn(f"the policy {problem}", stacklevel=2)
    return tabulate(policy, log, samples, seed, first_row)


def tabulate(
    policy: Policy, log: BanditLog, samples: int | None, seed: Seed, first_row: int
) -> Floats:
    """Returns what `probabilities_of` does, and does not warn."""
    lacking = find_other_actions(policy.encoding, log.encoding)
    if lacking:
        problem = f"the policy has the actions {name_some(lacking)}, which log lacks"
        raise ValueError(f"{problem}; log.add_actions(policy.encoding.actions) adds them")
    numbers = find_actions(policy.encoding, log)
    if policy.num_actions != len(numbers):
        raise ValueError(f"policy has {policy.num_actions} actions; expected {len(numbers)}")
    rng = generator(seed)
    before = first_row % policy.batch_size  # the row of the policy to which the first is shown
    copies = math.ceil(min(ROWS, before + len(log)) / policy.batch_size)
    size = max(1, copies) * policy.batch_size
    wide = policy.replicate(size)
    observations = see_as(policy.encoding, log)
    table = np.empty((len(log), policy.num_actions))
    for start in range(-before, len(log), size):
        places = np.arange(start, start + size)
        rows = places % len(log)  # the first and the last rows are filled up
        time_step = restart(map_structure(operator.itemgetter(rows), observations), size)
        if samples is None:
            found = wide.probabilities(time_step)
        else:
            found = wide.estimated_probabilities(time_step, samples, rng)
        is_asked = (places >= 0) & (places < len(log))
        table[places[is_asked]] = found[is_asked]
    with np.errstate(divide="ignore"):
        found = np.asarray(np.exp(np.log(table)))  # logs keep the logarithm's exponential
    if np.array_equal(numbers, np.arange(log.num_actions)):
        return found
    in_log = np.zeros((len(log), log.num_actions))
    in_log[:, numbers] = found
    return in_log
