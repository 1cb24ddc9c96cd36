"""The probabilities with which a policy would have taken the actions of a log."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.logged.features import fit_items, has_items
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import check_log
from bandit_envs.logged.rows.seen_rows import warn_if_seen
from bandit_envs.logged.translation import (
    find_actions,
    find_new_names,
    find_other_actions,
    show,
)
from bandit_envs.nests import Nest, map_structure
from bandit_envs.policies import Policy
from bandit_envs.seeding import Seed, generator
from bandit_envs.tables.errors import name_some
from bandit_envs.trajectories import TimeStep, restart

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
        TypeError: it is not a policy, but a file that `read_policy` has read, for example.

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
    # The table of rows that look alike is one row, which all of them show.
    return np.require(tabulate(policy, log, samples, seed, first_row), requirements="W")


def tabulate(
    policy: Policy, log: BanditLog, samples: int | None, seed: Seed, first_row: int
) -> Floats:
    """Returns what `probabilities_of` does, and does not warn. The table is not to be changed."""
    lacking = find_other_actions(policy.encoding, log.encoding)
    if lacking:
        problem = f"the policy has the actions {name_some(lacking)}, which log lacks"
        raise ValueError(f"{problem}; log.add_actions(policy.encoding.actions) adds them")
    numbers = find_actions(policy.encoding, log)
    if has_items(log):
        policy = fit_items(policy, log)
    elif policy.num_actions != len(numbers):
        raise ValueError(f"policy has {policy.num_actions} actions; expected {len(numbers)}")
    observations = show(policy, log)
    asked = len(log)
    if samples is None and _have_no_features(observations):
        asked = min(asked, policy.batch_size)  # later rows look like these
        observations = observations[:asked]
    rng = generator(seed)

    def ask(wide: Policy, time_step: TimeStep) -> Floats:
        if samples is None:
            return wide.probabilities(time_step)
        return wide.estimated_probabilities(time_step, samples, rng)

    table = _ask(policy, observations, asked, first_row, ask)
    with np.errstate(divide="ignore"):
        found = np.asarray(np.exp(np.log(table)))  # logs keep the logarithm's exponential
    if asked < len(log):
        found = _repeat(found, len(log))
    if np.array_equal(numbers, np.arange(log.num_actions)):
        return found
    in_log = np.zeros((len(log), log.num_actions))
    in_log[:, numbers] = found
    return in_log


def _have_no_features(observations: Nest) -> bool:
    """Returns whether rows have no number and no text that could tell one from another."""
    return isinstance(observations, np.ndarray) and not math.prod(observations.shape[1:])


def _repeat(table: Floats, number: int) -> Floats:
    """Returns so many rows, in which those of a table follow one another again and again."""
    if len(table) == 1:
        return np.broadcast_to(table, (number, table.shape[1]))
    return np.tile(table, (math.ceil(number / len(table)), 1))[:number]


def _ask(
    policy: Policy,
    observations: Nest,
    number: int,
    first_row: int,
    ask: Callable[[Policy, TimeStep], Floats],
) -> Floats:
    """Returns the probabilities of a policy in some rows, about 1,000 at a time: [n, K].

    Args:
        policy: is asked.
        observations: nest of arrays [n, ...], as the policy reads them.
        number: n.
        first_row: the number of the first row, which says to which row of the policy it is shown.
        ask: returns the probabilities of a policy in some rows.
    """
    before = first_row % policy.batch_size  # the row of the policy to which the first is shown
    copies = math.ceil(min(ROWS, before + number) / policy.batch_size)
    size = max(1, copies) * policy.batch_size
    wide = policy.replicate(size)
    table = np.empty((number, policy.num_actions))
    for start in range(-before, number, size):
        places = np.arange(start, start + size)
        rows = places % number  # the first and the last rows are filled up
        time_step = restart(map_structure(operator.itemgetter(rows), observations), size)
        found = ask(wide, time_step)
        is_asked = (places >= 0) & (places < number)
        table[places[is_asked]] = found[is_asked]
    return table
