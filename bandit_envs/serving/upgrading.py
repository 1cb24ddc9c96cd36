"""Puts another policy to work in the file of a service."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os

from bandit_envs.base.checks import short_repr
from bandit_envs.logged.files.served.decision_file import parse_range
from bandit_envs.policies import Policy
from bandit_envs.serving.keepers import LearningKeeper
from bandit_envs.serving.laws import make_law
from bandit_envs.serving.learner_lock import LearnerLock
from bandit_envs.serving.offers import has_item_features, width_of
from bandit_envs.serving.opening import (
    check_filled,
    check_known,
    check_policy,
    describe_policy,
    find_file,
    fit_to_items,
    make_offers,
)
from bandit_envs.serving.schedule import Schedule
from bandit_envs.serving.store import Store
from bandit_envs.serving.stored_rows import Event
from bandit_envs.tables.encoding import TableEncoding


def upgrade_file(path: str | os.PathLike[str], policy: Policy, learn: bool | None) -> bool:
    """Puts a policy to work in a file, and returns whether that has changed anything.

    All is written at once, or nothing. The rows of the file are replayed for the policy, which
    learns from the same rewards at the same moments as if it had always been at work.

    Args:
        path: of the file.
        policy: which is not changed.
        learn: whether it learns from the rewards that the file has; None if it has learned nothing.

    Raises:
        OSError: the file cannot be used, or a process learns.
        ValueError: the policy does not fit, or the file is of something else.
    """
    check_policy(policy)
    with contextlib.ExitStack() as undo:
        store = Store(find_file(path, "full", may_create=False), "full")
        undo.callback(store.close)
        lock = LearnerLock(store.path, advice="close it, and upgrade then")
        undo.callback(lock.release)
        with store:
            check_filled(store)
            known = store.read_policies()[-1]
            is_same = known == describe_policy(policy, known.number, known.learns_after)
            if is_same and (policy.is_untrained or not type(policy).can_learn):
                return False
            _upgrade(store, policy, policy.is_untrained if learn is None else learn)
    return True


def _upgrade(store: Store, policy: Policy, learn: bool) -> None:
    """Writes the event, the policy, and what it knows, in a transaction."""
    encoding = store.read_encoding()
    _check_fits(store, policy, encoding)
    store.find_last()
    made = policy
    policy = fit_to_items(store, policy, encoding)
    learns_after = 0 if learn else store.number
    store.add_event(Event("upgrade"))
    store.add_policy(describe_policy(made, store.number, learns_after))
    _widen_range(store, policy)
    store.change_meta("can_learn", json.dumps(policy.can_learn))
    store.save_state(0, policy)
    law = make_law(policy, None if policy.knows_probabilities else 1, 0.0)
    offers = make_offers(store, encoding, policy)
    keeper = LearningKeeper(store, policy, law, offers, Schedule())
    keeper.learn_now()
    offers.check_policy(keeper.policy, law)
    store.save_state(store.number, keeper.policy)


def _check_fits(store: Store, policy: Policy, encoding: TableEncoding) -> None:
    """Raises ValueError if a policy is of other actions or features than a file."""
    if not encoding.item_features:
        rows = store.read_actions()
        names = tuple(row.name for row in rows)
        fewest = sum(not row.added for row in rows)
        if not fewest <= policy.num_actions <= len(names):
            problem = f"policy has {policy.num_actions} actions, and {store.path} {list(names)}"
            expected = f"all {len(names)}, retired ones included, or the first {fewest}"
            raise ValueError(f"{problem}; expected a policy of {expected}")
        encoding = dataclasses.replace(encoding, actions=names[: policy.num_actions])
    check_known(policy, encoding)
    found = width_of(policy)
    if encoding.item_features and found is not None and not has_item_features(policy):
        problem = f"policy is {short_repr(policy)}, which reads no features of items"
        raise ValueError(f"{problem}; expected one for those that {store.path} has")
    if encoding.features or encoding.item_features:
        return
    expected_width = store.read_width()
    if None not in (found, expected_width) and found != expected_width:
        problem = f"observation_spec has {found} features of a context"
        raise ValueError(f"{problem}; expected {expected_width}, as {store.path} has")


def _widen_range(store: Store, policy: Policy) -> None:
    """Lets the range of rewards hold those of all policies that have been at work."""
    low, high = parse_range(store.read_meta("reward_range"), store.path)
    widest = (min(low, policy.reward_range[0]), max(high, policy.reward_range[1]))
    store.change_meta("reward_range", json.dumps(widest))
