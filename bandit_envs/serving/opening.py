"""How a service opens its file, or creates it."""

from __future__ import annotations

import json
import os
import secrets
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.base.state import sizes_of
from bandit_envs.logged.files.served.decision_tables import DECISION_SUFFIXES
from bandit_envs.logged.files.served.typed_queries import damage
from bandit_envs.names.users_code import printable
from bandit_envs.policies import KnapsackPolicy, Policy
from bandit_envs.serving.action_table import check_names
from bandit_envs.serving.contexts import Features, describe_columns, make_encoding
from bandit_envs.serving.store import Store
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.suffixes import ends_with

SYNCHRONOUS = ("off", "normal", "full")
"""How SQLite may wait for the disk."""


def check_policy(policy: Any) -> Policy:
    """Returns a policy of one row and numbered actions; an error for another one."""
    if not isinstance(policy, Policy):
        raise TypeError(f"policy is {short_repr(policy)}; expected a Policy")
    if policy.batch_size != 1:
        raise ValueError(f"policy has batch_size {policy.batch_size}; expected 1")
    sizes = sizes_of(policy)
    if not policy.action_kind.is_single:
        expected = "expected one that chooses one of K actions"
        raise ValueError(f"policy is {policy!r}, which chooses {policy.action_kind}; {expected}")
    if isinstance(policy, KnapsackPolicy):
        expected = "expected one whose rewards are numbers"
        raise ValueError(f"policy is {policy!r}, which learns from rewards and costs; {expected}")
    if sizes.get("action_dim") is not None:
        raise ValueError(f"policy is {policy!r} for features of actions; expected one of contexts")
    return policy


def warn_if_frozen(policy: Policy, stacklevel: int) -> None:
    """Warns if a policy does not learn, and others of its class do.

    Args:
        policy: of a service that learns.
        stacklevel: of the warning, as for `warnings.warn`.
    """
    if type(policy).can_learn and not policy.can_learn:
        problem = f"policy is {short_repr(policy)}, which does not learn from rewards"
        advice = "its choices stay as they are; ModelLearner makes policies that go on learning"
        warnings.warn(f"{problem}: {advice}", stacklevel=stacklevel + 1)


def open_store(path: str | os.PathLike[str], synchronous: str, may_create: bool) -> Store:
    """Returns a connection to a file, which may be new.

    Raises:
        OSError, ValueError: it cannot be used.
    """
    file = Path(path).resolve()  # one lock for all links to a file
    if not ends_with(file.name, DECISION_SUFFIXES):
        expected = f"a name that ends in {', '.join(DECISION_SUFFIXES)}"
        raise ValueError(f"path is {file}; expected {expected}")
    if synchronous not in SYNCHRONOUS:
        expected = f"expected one of {', '.join(SYNCHRONOUS)}"
        raise ValueError(f"synchronous is {short_repr(synchronous)}; {expected}")
    if not may_create and not file.exists():
        raise FileNotFoundError(f"{file} does not exist")
    return Store(file, synchronous)


def create_or_check(
    store: Store, policy: Policy, actions: Any, features: Features, seed: int | None
) -> int:
    """Creates the tables in an empty file, or compares a file with what is expected.

    Args:
        store: the file, in a transaction.
        policy: with the first actions.
        actions: their names; None for those in the file.
        features: of contexts; None for those in the file, or of the policy.
        seed: of all draws; None for the one in the file, or for fresh entropy.

    Returns:
        The seed.

    Raises:
        ValueError: the file has others.
    """
    if seed is not None:
        seed = check_integer("seed", seed, minimum=0, maximum=2**63 - 1)
    if store.is_empty():
        seed = secrets.randbits(63) if seed is None else seed
        if actions is None:
            actions = _names_of(policy, store.path)
        names = check_names(actions, policy.num_actions)
        encoding = policy.encoding if features is None else make_encoding(features)
        _check_known(policy, names, encoding)
        rewards = json.dumps(policy.reward_range)
        meta = {
            "policy": repr(policy),
            "seed": str(seed),
            "reward_range": rewards,
            "can_learn": json.dumps(policy.can_learn),
        }
        store.create(names, encoding or TableEncoding(), meta, policy)
        return seed
    found = repr(policy)
    known = store.read_meta("policy")
    if found != known:
        advice = "take the same arguments, or another file"
        made = printable(known)
        raise ValueError(f"policy is {found}; {store.path} was made for {made}: {advice}")
    _check_actions(store, policy, actions)
    _check_features(store, features)
    known_seed = _read_seed(store)
    if seed is not None and seed != known_seed:
        raise ValueError(f"seed is {seed}; {store.path} was made with the seed {known_seed}")
    return known_seed


def _read_seed(store: Store) -> int:
    """Returns the seed in a file."""
    text = store.read_meta("seed")
    try:
        return check_integer("seed", int(text), minimum=0, maximum=2**63 - 1)
    except ValueError:
        raise damage(store.path, f"its seed is {short_repr(text)}") from None


def _check_known(policy: Policy, names: Sequence[str], encoding: TableEncoding | None) -> None:
    """Raises ValueError if a policy has learned from a table of other names, or another order.

    Args:
        policy: which may have learned; if it reads no contexts, features do not matter.
        names: of the actions.
        encoding: of the features.
    """
    known = policy.encoding
    if known is None:
        return
    if known.actions and tuple(names) != known.actions:
        expected = f"expected {list(known.actions)}, as the policy has learned them"
        raise ValueError(f"actions is {list(names)}; {expected}")
    columns = () if encoding is None else encoding.features
    reads_contexts = sizes_of(policy).get("context_dim") is not None
    if reads_contexts and known.features and columns != known.features:
        expected = f"expected {short_repr(describe_columns(known.features))}"
        found = short_repr(describe_columns(columns))
        raise ValueError(f"features is {found}; {expected}, as the policy has learned them")


def _names_of(policy: Policy, path: Path) -> tuple[str, ...]:
    names = () if policy.encoding is None else policy.encoding.actions
    if not names:
        raise ValueError(f"actions is None, and {path} is new; expected the names of the actions")
    return names


def _check_actions(store: Store, policy: Policy, actions: Any) -> None:
    first = [row.name for row in store.read_actions() if not row.added]
    names = first if actions is None else list(check_names(actions, policy.num_actions))
    if names != first or len(first) != policy.num_actions:
        later = "add_action and retire_action change them later"
        problem = f"actions is {names}, of {policy.num_actions}"
        raise ValueError(f"{problem}; {store.path} began with {first}: {later}")


def _check_features(store: Store, features: Features) -> None:
    known = store.read_encoding().features
    if features is not None and make_encoding(features).features != known:
        expected = short_repr(describe_columns(known))
        raise ValueError(f"features is {short_repr(features)}; {store.path} has {expected}")
