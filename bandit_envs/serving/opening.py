"""How a service opens its file, or creates it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.base.state import sizes_of
from bandit_envs.logged.files.served.decision_tables import PolicyRow
from bandit_envs.logged.files.served.typed_queries import damage
from bandit_envs.names.users_code import printable
from bandit_envs.names.visible import name_alike
from bandit_envs.policies import KnapsackPolicy, Policy
from bandit_envs.serving.action_table import check_names
from bandit_envs.serving.contexts import Features, describe_columns, make_encoding
from bandit_envs.serving.laws import ChoiceLaw
from bandit_envs.serving.offers import FixedOffers, ItemOffers, Offers, refuse_item_features
from bandit_envs.serving.reports.served_test import describe_test
from bandit_envs.serving.store import Store
from bandit_envs.tables.encoding import TableColumn, TableEncoding
from bandit_envs.tables.suffixes import DECISION_SUFFIXES, ends_with

SYNCHRONOUS = ("off", "normal", "full")
"""How SQLite may wait for the disk."""

MAX_ACTIONS = 100
"""So many items may be offered in a call, if nobody says otherwise."""

MOST_ACTIONS = 1000
"""At most so many may be offered."""

MOST_NUMBERS = 2**20
"""At most so many features may be offered in a call."""


class ServiceArguments(NamedTuple):
    """What a caller says of a file, of which all may be None.

    Fields:
        actions: the names of its first actions.
        features: of contexts.
        item_features: of items, if each call offers some.
        max_actions: the most items of a call.
        seed: of all draws.
    """

    actions: Any
    features: Features
    item_features: Features
    max_actions: int | None
    seed: int | None

    def columns(self, policy: Policy) -> TableEncoding:
        """Returns the columns of a new file, without names, for a policy that may have some."""
        known = policy.encoding or TableEncoding()
        if self.features is not None:
            known = make_encoding(self.features)
        items = known.item_features
        if self.item_features is not None:
            items = columns_of_items(self.item_features)
        return TableEncoding(features=known.features, item_features=items)


def check_policy(policy: Any) -> Policy:
    """Returns a policy; TypeError or ValueError if it has several rows or no numbered actions."""
    if not isinstance(policy, Policy):
        raise TypeError(f"policy is {short_repr(policy)}; expected a Policy")
    if policy.batch_size != 1:
        raise ValueError(f"policy has batch_size {policy.batch_size}; expected 1")
    if not policy.action_kind.is_single:
        expected = "expected one that chooses one of K actions"
        raise ValueError(f"policy is {policy!r}, which chooses {policy.action_kind}; {expected}")
    if isinstance(policy, KnapsackPolicy):
        expected = "expected one whose rewards are numbers"
        raise ValueError(f"policy is {policy!r}, which learns from rewards and costs; {expected}")
    return policy


def describe_policy(policy: Policy, number: int, learns_after: int) -> PolicyRow:
    """Returns the row of a file that describes a policy, as the user has made it.

    Args:
        policy: that is put to work.
        number: of the event that puts it to work; 0 for the first policy.
        learns_after: it learns from the rewards behind this number.
    """
    return PolicyRow(number, repr(policy), learns_after, describe_test(policy))


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


def warn_if_alike(names: Iterable[str], stacklevel: int) -> None:
    """Warns if names of actions that a user gives are easily mistaken for each other.

    Args:
        names: of the actions.
        stacklevel: of the warning, as for `warnings.warn`.
    """
    alike = name_alike(names)
    if alike is not None:
        warnings.warn(f"actions {alike}, and are two actions", stacklevel=stacklevel + 1)


def find_file(path: str | os.PathLike[str], synchronous: str, may_create: bool) -> Path:
    """Returns where a file of decisions is, or may be created.

    Raises:
        FileNotFoundError: it is missing, and may not be created.
        ValueError: it cannot be a file of decisions, or `synchronous` is wrong.
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
    return file


class Opened(NamedTuple):
    """What a file has: the seed of all draws, what calls offer, and a policy that fits."""

    seed: int
    offers: Offers[Any]
    policy: Policy


def check_creation(file: Path, policy: Policy, given: ServiceArguments, law: ChoiceLaw) -> None:
    """Raises the errors of creating a file, without a trace on the disk.

    Args:
        file: which does not exist.
        policy: with the first actions.
        given: what the file should have.
        law: how actions are drawn.
    """
    with contextlib.closing(Store(file, "off", ":memory:")) as store:
        opened = create_or_check(store, policy, given)
        opened.offers.check_policy(opened.policy, law)


def check_filled(store: Store) -> None:
    """Raises ValueError if a file is empty, as after a kill of the process that created it."""
    if store.is_empty():
        raise ValueError(f"{store.path} is empty; DecisionService(path, policy) fills it")


def create_or_check(store: Store, policy: Policy, given: ServiceArguments) -> Opened:
    """Creates the tables in an empty file, or compares a file with what is expected.

    Args:
        store: the file, in a transaction.
        policy: with the first actions.
        given: what the file should have; what is None is as in the file, or in the policy.

    Raises:
        ValueError: the file has others.
    """
    if given.seed is not None:
        check_integer("seed", given.seed, minimum=0, maximum=2**63 - 1)
    return _create(store, policy, given) if store.is_empty() else _check(store, policy, given)


def _create(store: Store, policy: Policy, given: ServiceArguments) -> Opened:
    """Creates the tables in an empty file."""
    encoding = given.columns(policy)
    names: tuple[str, ...] = ()
    described = describe_policy(policy, number=0, learns_after=0)
    meta = {}
    if encoding.item_features:
        _refuse_names(given.actions)
        usual = max(MAX_ACTIONS, policy.num_actions)
        most = usual if given.max_actions is None else given.max_actions
        policy = _fit(policy, most, encoding)
        meta["max_actions"] = str(policy.num_actions)
    else:
        refuse_item_features(policy)
        _refuse_max_actions(given.max_actions)
        actions = _names_of(policy, store.path) if given.actions is None else given.actions
        names = check_names(actions, policy.num_actions)
    check_known(policy, dataclasses.replace(encoding, actions=names))
    seed = secrets.randbits(63) if given.seed is None else int(given.seed)
    meta |= {
        "seed": str(seed),
        "reward_range": json.dumps(policy.reward_range),
        "can_learn": json.dumps(policy.can_learn),
    }
    store.create(names, encoding, meta, described, policy)
    return Opened(seed, make_offers(store, encoding, policy), policy)


def _check(store: Store, policy: Policy, given: ServiceArguments) -> Opened:
    """Compares a file with what is expected."""
    known = store.read_policies()[-1]
    found = describe_policy(policy, known.number, known.learns_after)
    if found != known:
        was = "was upgraded to" if known.number else "was made for"
        advice = "take the same arguments, or DecisionService.upgrade"
        made = printable(known.policy)
        raise ValueError(f"policy is {found.policy}; {store.path} {was} {made}: {advice}")
    encoding = store.read_encoding()
    policy = fit_to_items(store, policy, encoding)
    if encoding.item_features:
        _refuse_names(given.actions)
        if given.max_actions not in (None, policy.num_actions):
            problem = f"max_actions is {given.max_actions}"
            raise ValueError(f"{problem}; {store.path} was made for {policy.num_actions}")
    else:
        _refuse_max_actions(given.max_actions)
        _check_actions(store, policy, given.actions, known.number)
    _check_columns("features", given.features, encoding.features, store.path)
    _check_columns("item_features", given.item_features, encoding.item_features, store.path)
    seed = _read_integer(store, "seed", minimum=0, maximum=2**63 - 1)
    if given.seed not in (None, seed):
        raise ValueError(f"seed is {given.seed}; {store.path} was made with the seed {seed}")
    return Opened(seed, make_offers(store, encoding, policy), policy)


def fit_to_items(store: Store, policy: Policy, encoding: TableEncoding) -> Policy:
    """Returns a policy for as many items as a file offers; as it is for fixed actions."""
    if not encoding.item_features:
        return policy
    number = _read_integer(store, "max_actions", minimum=1, maximum=MOST_ACTIONS)
    return _fit(policy, number, encoding)


def make_offers(store: Store, encoding: TableEncoding, policy: Policy) -> Offers[Any]:
    """Returns what the calls of a service offer.

    Args:
        store: the file.
        encoding: of contexts, and of items if calls offer some.
        policy: with the first actions, or for as many items as a call may offer.
    """
    if encoding.item_features:
        return ItemOffers(store, encoding, policy.num_actions)
    return FixedOffers(store, encoding, policy)


def columns_of_items(features: Features) -> tuple[TableColumn, ...]:
    """Returns the columns of items that a user describes; an encoding may have others, too."""
    encoding = make_encoding(features, "item_features")
    return encoding.item_features or encoding.features


def _refuse_names(actions: Any) -> None:
    if actions is not None:
        problem = f"actions is {short_repr(actions)}, and item_features has columns of items"
        raise ValueError(f"{problem}; expected None, as each call of decide offers its own")


def _refuse_max_actions(number: int | None) -> None:
    if number is not None:
        problem = f"max_actions is {short_repr(number)}, and there is no item_features"
        raise ValueError(f"{problem}; expected None, as fixed actions have names")


def _fit(policy: Policy, max_actions: int, encoding: TableEncoding) -> Policy:
    """Returns a policy that chooses among so many items."""
    check_integer("max_actions", max_actions, minimum=1, maximum=MOST_ACTIONS)
    width = len(encoding.of_items().labels())
    if max_actions * width > MOST_NUMBERS:
        problem = f"max_actions is {max_actions}, and an item has {width} features"
        raise ValueError(f"{problem}; expected at most {MOST_NUMBERS} numbers")
    if policy.num_actions > max_actions:
        problem = f"policy has {policy.num_actions} actions, and max_actions is {max_actions}"
        raise ValueError(f"{problem}; expected at least as many")
    return policy.with_actions(max_actions)


def _read_integer(store: Store, name: str, minimum: int, maximum: int) -> int:
    """Returns an integer that a file says of itself."""
    text = store.read_meta(name)
    try:
        return check_integer(name, int(text), minimum=minimum, maximum=maximum)
    except ValueError:
        raise damage(store.path, f"its {name} is {short_repr(text)}") from None


def check_known(policy: Policy, encoding: TableEncoding) -> None:
    """Raises ValueError if a policy has learned from a table of other names, or another order.

    Args:
        policy: which may have learned; if it reads no contexts, features do not matter.
        encoding: of the file, with the names of the actions.
    """
    known = policy.encoding
    if known is None:
        return
    names = list(encoding.actions)
    if known.actions and names != list(known.actions):
        expected = f"expected {list(known.actions)}, as the policy has learned them"
        raise ValueError(f"actions is {names}; {expected}")
    if sizes_of(policy).get("context_dim") is None:
        return
    columns = {
        "features": (known.features, encoding.features),
        "item_features": (known.item_features, encoding.item_features),
    }
    for argument, (learned, found) in columns.items():
        if learned and learned != found:
            expected = f"expected {short_repr(describe_columns(learned))}"
            text = short_repr(describe_columns(found))
            raise ValueError(f"{argument} is {text}; {expected}, as the policy has learned them")


def _names_of(policy: Policy, path: Path) -> tuple[str, ...]:
    names = () if policy.encoding is None else policy.encoding.actions
    if not names:
        raise ValueError(f"actions is None, and {path} is new; expected the names of the actions")
    return names


def _check_actions(store: Store, policy: Policy, actions: Any, until: int) -> None:
    """Raises ValueError if a policy has other actions than the one that was put to work.

    Args:
        store: the file.
        policy: of the file.
        actions: their names; None for those of the file.
        until: the number of the event that has put it to work: later actions came to it.
    """
    rows = [row for row in store.read_actions() if row.added <= until]
    number = max(policy.num_actions, sum(not row.added for row in rows))
    first = [row.name for row in rows[:number]]
    names = first if actions is None else list(check_names(actions, policy.num_actions))
    if names != first or len(first) != policy.num_actions:
        later = "add_action and retire_action change them later"
        problem = f"actions is {names}, of {policy.num_actions}"
        raise ValueError(f"{problem}; {store.path} began with {first}: {later}")


def _check_columns(
    argument: str, given: Features, known: Sequence[TableColumn], path: Path
) -> None:
    """Raises ValueError if a file has other columns than an argument says."""
    if given is None:
        return
    is_of_items = argument == "item_features"
    found = columns_of_items(given) if is_of_items else make_encoding(given).features
    if found != tuple(known):
        expected = short_repr(describe_columns(known))
        raise ValueError(f"{argument} is {short_repr(given)}; {path} has {expected}")
