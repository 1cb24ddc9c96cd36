"""What the calls of a service offer: some of its actions, or items of their own."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from bandit_envs.arrays import Floats, Mask
from bandit_envs.base.checks import short_repr
from bandit_envs.base.state import sizes_of
from bandit_envs.logged.features import tells_by_number
from bandit_envs.logged.files.served.decision_tables import open_to_read, pack_mask, read_items
from bandit_envs.logged.files.served.seen import Seen, SeenActions, SeenItems
from bandit_envs.nests import Nest
from bandit_envs.policies import Policy
from bandit_envs.serving.action_table import ActionTable, check_all, check_name
from bandit_envs.serving.contexts import CellReader, ContextEncoder, check_width
from bandit_envs.serving.laws import ChoiceLaw
from bandit_envs.serving.store import Store
from bandit_envs.serving.stored_rows import DecisionRow, Event
from bandit_envs.tables.encoding import TableEncoding

FLOAT = np.dtype("<f8")
"""The dtype of features in the table of decisions."""

Request = TypeVar("Request")
"""What a caller asks for, once it is read."""

Available: TypeAlias = Sequence[Iterable[str] | None] | None
ItemSets: TypeAlias = Sequence[Mapping[str, Any]] | None


class Offer(NamedTuple):
    """What the policy chooses from in a decision.

    Fields:
        observation: of one row.
        mask: [K], which actions may be drawn.
        available: as the table of decisions has it.
        features: as the table of decisions has them.
        names: of the actions, in the order of their numbers.
    """

    observation: Nest
    mask: Mask
    available: bytes | None
    features: bytes
    names: Sequence[str]


class Offers(abc.ABC, Generic[Request]):
    """Reads what calls offer, names what was chosen, and shows the policy what it has seen.

    Args:
        store: the file.
        encoding: of contexts, and of items.
    """

    seen: Seen
    """Reads what decisions have seen."""
    num_actions: int
    """K, how many actions the policy has."""
    names: tuple[str, ...] = ()
    """Of fixed actions."""
    open_names: tuple[str, ...] = ()
    """Of the fixed actions that may be chosen."""

    def __init__(self, store: Store, encoding: TableEncoding) -> None:
        self._store = store
        self._columns = encoding

    @property
    @abc.abstractmethod
    def encoding(self) -> TableEncoding:
        """The names of the actions or items, and what the features are made of."""

    def reload(self) -> None:
        """Reads which actions there are."""

    @abc.abstractmethod
    def read(
        self, contexts: Sequence[Any], available: Available, actions: ItemSets
    ) -> list[Request]:
        """Returns what is asked for, from the arguments of `decide_many`.

        Raises:
            TypeError, ValueError: it does not fit.
        """

    def prepare(self, requests: Sequence[Request]) -> None:
        """Compares requests with what the file has, in a transaction; ValueError if they differ."""

    @abc.abstractmethod
    def offer(self, request: Request) -> Offer:
        """Returns what the policy chooses from, in a transaction, which may write names."""

    @abc.abstractmethod
    def is_offered(self, request: Request, row: DecisionRow) -> bool:
        """Returns whether what an earlier decision has chosen is offered now, too."""

    @abc.abstractmethod
    def features_of(self, request: Request) -> Floats:
        """Returns the features that a model gets: [n, D]."""

    @abc.abstractmethod
    def name(self, row: DecisionRow) -> str:
        """Returns the name of what was chosen."""

    def check_row(self, row: DecisionRow) -> int:
        """Returns the number of what was chosen; ValueError if the file is damaged."""
        return self.seen.number_of(row.available, row.action, self.num_actions)

    @abc.abstractmethod
    def check_policy(self, policy: Policy, law: ChoiceLaw) -> None:
        """Raises ValueError if a policy cannot choose from what calls will offer."""

    def add(self, name: str, warm: Any) -> Event:
        """Lets an action be chosen from now on, and returns the event that says so."""
        raise self._refuse_changes("add_action")

    def retire(self, name: str) -> Event:
        """Lets an action not be chosen any more, and returns the event that says so."""
        raise self._refuse_changes("retire_action")

    def _refuse_changes(self, method: str) -> ValueError:
        problem = f"{method} is for fixed actions, and {self._store.path} is of items"
        return ValueError(f"{problem}: each call of decide offers its own")

    def _try(
        self, policy: Policy, law: ChoiceLaw, observation: Nest, mask: Mask, expected: str
    ) -> None:
        """Raises ValueError if a policy cannot choose."""
        try:
            law.choose(policy, observation, mask, np.random.default_rng(0))
        except (TypeError, ValueError) as error:
            problem = "policy cannot choose by a row of features"
            raise ValueError(f"{problem}: {error}; expected {expected}") from error


class ContextRequest(NamedTuple):
    """The features of a context [D], and the names of the actions that may be drawn."""

    features: Floats
    available: Iterable[str] | None


class FixedOffers(Offers[ContextRequest]):
    """Contexts, for actions whose names are in the file.

    Args:
        store: the file.
        encoding: of contexts.
        policy: with the first actions.
    """

    def __init__(self, store: Store, encoding: TableEncoding, policy: Policy) -> None:
        super().__init__(store, encoding)
        width = len(encoding.labels()) if encoding.features else width_of(policy)
        self._contexts = ContextEncoder(encoding.features, width)
        self._num_first = sum(not row.added for row in store.read_actions())
        self.seen = SeenActions(store.path, self._num_first)
        self.reload()

    def reload(self) -> None:
        self._actions = ActionTable(self._store.read_actions())
        self._opens_first = self._are_first(self._actions.open)
        self.names = self._actions.names
        self.num_actions = len(self.names)
        self.open_names = self._actions.open_names

    @property
    def encoding(self) -> TableEncoding:
        return TableEncoding(self.names, self._columns.features)

    def read(
        self, contexts: Sequence[Any], available: Available, actions: ItemSets
    ) -> list[ContextRequest]:
        if actions is not None:
            problem = f"actions is given, and {self._store.path} has fixed actions"
            raise ValueError(f"{problem}; a service with item_features takes items with features")
        choices = one_each("available", available, len(contexts))
        features = [self._contexts.read(context) for context in contexts]
        return [ContextRequest(*each) for each in zip(features, choices)]

    def prepare(self, requests: Sequence[ContextRequest]) -> None:
        if self._contexts.width is None:
            self._contexts.width = self._store.read_width()
            width = self._contexts.width or len(requests[0].features)
            for request in requests:
                check_width(request.features, width)

    def offer(self, request: ContextRequest) -> Offer:
        mask = self._actions.mask(request.available)
        is_usual = mask is self._actions.open
        is_as_first = self._opens_first if is_usual else self._are_first(mask)
        row = request.features[np.newaxis]
        return Offer(
            observation=row if is_as_first else {"observation": row, "mask": mask[np.newaxis]},
            mask=mask,
            available=None if is_as_first else pack_mask(mask),
            features=np.asarray(request.features, FLOAT).tobytes(),
            names=self.names,
        )

    def _are_first(self, mask: Mask) -> bool:
        """Returns whether a mask is of the first actions, and has all of them."""
        return len(mask) == self._num_first and bool(mask.all())

    def is_offered(self, request: ContextRequest, row: DecisionRow) -> bool:
        return bool(self._actions.mask(request.available)[row.action])

    def features_of(self, request: ContextRequest) -> Floats:
        return request.features[np.newaxis]

    def name(self, row: DecisionRow) -> str:
        return self.names[self.check_row(row)]

    def check_policy(self, policy: Policy, law: ChoiceLaw) -> None:
        refuse_item_features(policy)
        size = width_of(policy)
        width = self._contexts.width
        if self._columns.features and size not in (None, width):
            labels = short_repr(self._columns.labels())
            found = f"features makes {width} of a context, {labels}"
            expected = f"expected ArraySpec(({width},), 'float64')"
            raise ValueError(f"{found}, and observation_spec has {size}; {expected}")
        if size is None and not self._columns.features:
            return  # it reads no contexts, or any
        mask = self._actions.open
        observation = {"observation": np.zeros((1, width or 0)), "mask": mask[np.newaxis]}
        expected = f"an observation_spec such as ArraySpec(({width},), 'float64')"
        self._try(policy, law, observation, mask, expected)

    def add(self, name: str, warm: Any) -> Event:
        if check_name(name) in self.open_names:
            raise ValueError(f"action {name!r} is there already; expected a new name")
        if name in self.names:
            action = self.names.index(name)
            self._store.open_action(action, True)
            return Event("reopen", action=action)
        action = len(self.names)
        self._store.add_action(action, name, self._store.number + 1)
        return Event("add", action=action, warm=warm)

    def retire(self, name: str) -> Event:
        action = self._actions.find(name)
        if len(self.open_names) == 1:
            raise ValueError(f"action {name!r} is the only one; expected another to stay")
        self._store.open_action(action, False)
        return Event("retire", action=action)


class ItemsRequest(NamedTuple):
    """The cells of a context [1, C], and the names and the cells of items, [k, C']."""

    context: Floats
    names: tuple[str, ...]
    cells: Floats


class ItemOffers(Offers[ItemsRequest]):
    """Items with features, other ones in each call.

    Args:
        store: the file.
        encoding: of contexts and items.
        max_actions: the most items of a call.
    """

    seen: SeenItems

    def __init__(self, store: Store, encoding: TableEncoding, max_actions: int) -> None:
        super().__init__(store, encoding)
        self._contexts = CellReader(encoding.features)
        self._items = CellReader(encoding.item_features)
        self.num_actions = max_actions
        self.seen = SeenItems(store.path, encoding)

    @property
    def encoding(self) -> TableEncoding:
        path = self._store.path
        with open_to_read(path) as connection:  # also after the service was closed
            items = read_items(connection, path)
        return dataclasses.replace(self._columns, items=items)

    def read(
        self, contexts: Sequence[Any], available: Available, actions: ItemSets
    ) -> list[ItemsRequest]:
        if available is not None:
            problem = f"available is given, and {self._store.path} is of items"
            raise ValueError(f"{problem}; leave out of actions what may not be chosen")
        sets = one_each("actions", actions, len(contexts))
        return [self._read(*each) for each in zip(contexts, sets)]

    def _read(self, context: Any, items: Any) -> ItemsRequest:
        """Returns what one decision is asked to choose from."""
        if not isinstance(items, Mapping):
            expected = "a dict of the features of each item that may be chosen"
            raise TypeError(f"actions is {short_repr(items)}; expected {expected}")
        if not 1 <= len(items) <= self.num_actions:
            expected = f"expected 1 to {self.num_actions}, the max_actions of the service"
            raise ValueError(f"actions has {len(items)} items; {expected}")
        names = check_all(items)
        known = {} if context is None and not self._columns.features else context
        return ItemsRequest(
            context=self._contexts.read([known], lambda _: "context"),
            names=names,
            cells=self._items.read(list(items.values()), lambda row: f"actions[{names[row]!r}]"),
        )

    def offer(self, request: ItemsRequest) -> Offer:
        numbers = self._store.number_items(request.names)
        available, features = self.seen.pack(numbers, request.context, request.cells)
        mask = np.arange(self.num_actions) < len(numbers)
        observation = self.seen.observe(request.context, mask[np.newaxis], request.cells)
        return Offer(observation, mask, available, features, request.names)

    def is_offered(self, request: ItemsRequest, row: DecisionRow) -> bool:
        return self.name(row) in request.names

    def features_of(self, request: ItemsRequest) -> Floats:
        context = self.seen.context.expand(request.context)
        items = self.seen.items.expand(request.cells)
        return np.concatenate((np.repeat(context, len(items), axis=0), items), axis=1)

    def name(self, row: DecisionRow) -> str:
        return self._store.name_item(self.check_row(row))

    def check_policy(self, policy: Policy, law: ChoiceLaw) -> None:
        sizes = sizes_of(policy)
        found = sizes.get("context_dim"), sizes.get("action_dim")
        widths = self.seen.context.width, self.seen.items.width
        spec = f"ArraySpec(({widths[0]},), 'float64')"
        items = f"ArraySpec(({self.num_actions}, {widths[1]}), 'float64')"
        expected = f"an observation_spec such as {{'global': {spec}, 'per_arm': {items}}}"
        if found[0] is not None and found != widths:
            problem = f"features makes {widths[0]} of a context, and item_features {widths[1]}"
            raise ValueError(f"{problem} of an item; observation_spec has {found}: {expected}")
        if tells_by_number(policy):
            problem = f"policy is {policy!r}, which tells actions by their numbers"
            raise ValueError(f"{problem}; expected one that reads features, as items come and go")
        mask = np.arange(self.num_actions) < 1
        observation = self.seen.observe(
            contexts=np.zeros((1, self.seen.context.number)),
            mask=mask[np.newaxis],
            cells=np.zeros((1, self.seen.items.number)),
        )
        self._try(policy, law, observation, mask, expected)


def one_each(name: str, values: Sequence[Any] | None, size: int) -> list[Any]:
    """Returns a value for each context, None by default; ValueError if there are not as many."""
    found = [None] * size if values is None else list(values)
    if len(found) != size:
        raise ValueError(f"{name} has {len(found)} entries, and contexts {size}; expected as many")
    return found


def has_item_features(policy: Policy) -> bool:
    """Returns whether a policy reads features of actions."""
    return sizes_of(policy).get("action_dim") is not None


def refuse_item_features(policy: Policy) -> None:
    """Raises ValueError if a policy reads features of actions, which fixed actions do not have."""
    if has_item_features(policy):
        expected = "expected item_features, the columns of items, or a policy of contexts"
        raise ValueError(f"policy is {policy!r} for features of actions; {expected}")


def width_of(policy: Policy) -> int | None:
    """Returns how many features of a context a policy reads; None if any number will do."""
    size = sizes_of(policy).get("context_dim")
    return None if size is None else int(size)
