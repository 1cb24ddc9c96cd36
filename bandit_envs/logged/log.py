"""Logged bandit data: what was observed, done and paid, and how probable the action was."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Array, Floats, Mask, check_array
from bandit_envs.base.actions import ActionKind
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.logged.columns import (
    COLUMNS,
    OPTIONAL,
    as_actions,
    as_arrays,
    as_column,
    check_distributions,
    check_each,
    check_info,
    check_kind,
    check_propensities,
    check_reward_range,
    count_actions,
    describe_actions,
    has_own_kind,
    kind_in_log,
)
from bandit_envs.logged.rows.units import as_units
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.policies.models.feature_readers import shows_items
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.wrappers.shared import with_entries

UNKNOWN = "propensities are not known"
"""What `estimated` says then."""


LATEST = 2.5e11
"""Seconds from 1970 to a year below 10000."""

CAN_DROP = (*OPTIONAL, "info")
"""The columns that `drop` can leave out."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BanditLog:
    """A table of n past decisions; every column is a read-only array, or None.

    Columns may be given as lists. They are copied.

    Args:
        observation: a nest of arrays [n, ...], from which the action was chosen.
        action: [n], integers from 0 to K - 1, or real numbers if `num_actions` is 0; a nest of
            arrays [n, ...] where `action_kind` says so.
        reward: [n], the reward of the action, at most 1e100 in size.
        propensity: [n], the probability with which the action was chosen, from 1e-40 to 1; of real
            numbers the density, of at least 1e-40. None if it is not known; it is NaN then, and
            `estimate_propensities` estimates it.
        num_actions: K; by default what a column [n, K] says, or else the largest action plus 1. It
            is 0 if actions are real numbers, such as prices or doses.
        action_kind: what an action is; by default, what `num_actions` says. Estimators and files
            take no logs of actions other than integers from 0 and real numbers.
        action_probabilities: [n, K], the probability of every action; rows sum to 1.
        available: [n, K] bool, which actions were available.
        expected_rewards: [n, K], the true mean of every action's reward, where it is known.
        step: [n], the step of the run that the decision was made in.
        row: [n], the row of the batch.
        embedding: [n, D], categories of the action taken, integers from 0: its embedding, which
            `MarginalizedIPS` uses.
        own_propensity: [n], if `propensity` is that of a mixture of logging policies: of the one
            that chose the action. Estimates test by it whether the mixture may stand for them.
        item: [n, K], the numbers of the items that were offered, if actions are items with
            features, `per_arm`; -1 where there is no item. An action is a place in this row.
        unit: [n], whose a decision is: of which user, session or request. Rows of one unit belong
            together, so intervals are by units. Texts become hashes of 64 bits.
        time: [n], when the decision was made, in seconds since 1970-01-01 00:00.
        info: a dict of arrays [n, ...], or of nests of them: what the policy told of its choice,
            such as the rewards that it predicted for all actions.
        weight: [n], above 0, how many decisions a row stands for, as where the logger dropped rows
            at random; None for one each. Only ratios of weights count.
        encoding: the names of the actions or items, and what the observation is made of, if the log
            comes from a table.
        estimated: how the propensities were estimated, which tables of estimates say; "" if they
            were logged.

    Source: the record formats of the Open Bandit Pipeline and of Vowpal Wabbit.

    >>> log = BanditLog(np.ones((3, 1)), [0, 1, 1], [1.0, 0.0, 1.0], [0.5, 0.25, 0.25])
    >>> log[1:]
    BanditLog(2 rows, 2 actions, mean reward 0.5, propensities 0.25 to 0.25)
    """

    observation: Nest
    action: NDArray[Any]
    reward: Floats
    propensity: Floats = None  # type: ignore[assignment]  # __post_init__ makes it NaN
    num_actions: int = None  # type: ignore[assignment]  # __post_init__ finds it in the columns
    _: dataclasses.KW_ONLY
    action_kind: ActionKind = None  # type: ignore[assignment]  # so it does this
    action_probabilities: Floats | None = None
    available: Mask | None = None
    expected_rewards: Floats | None = None
    step: NDArray[np.int64] | None = None
    row: NDArray[np.int64] | None = None
    embedding: NDArray[np.int64] | None = None
    own_propensity: Floats | None = None
    item: NDArray[np.int64] | None = None
    unit: NDArray[np.int64] | None = None
    time: Floats | None = None
    weight: Floats | None = None
    info: dict[str, Nest] | None = None
    encoding: TableEncoding | None = None
    estimated: str = ""

    def __post_init__(self) -> None:
        """Checks the columns, and stores copies of them."""
        kind = self.action_kind
        if has_own_kind(kind) or (kind is not None and self.num_actions is None):
            self._store("num_actions", check_kind(kind, self.num_actions))
        if self.propensity is None:
            self._store("propensity", np.full(np.shape(self.reward)[:1], np.nan))
            self._store("estimated", UNKNOWN)
        elif not self.has_propensities and np.isfinite(self.propensity[:1]).any():
            self._store("estimated", "")
        for name, (kinds, dtype, ndim) in COLUMNS.items():
            value = getattr(self, name)
            if name == "action":
                actions = as_actions(value, self.reward, kind, self.num_actions)
                self._store(name, actions)
            elif name == "unit" and value is not None:
                self._store(name, as_column(name, as_units(value), kinds, dtype, ndim))
            elif value is not None or name not in OPTIONAL:
                self._store(name, as_column(name, value, kinds, dtype, ndim))
        columns = self.columns()
        if self.num_actions is None:
            names = () if self.encoding is None else self.encoding.actions
            self._store("num_actions", len(names) or count_actions(columns))
        check_integer("num_actions", self.num_actions, minimum=0)
        if kind is None or kind.num_actions != self.num_actions:
            self._store("action_kind", kind_in_log(self.num_actions))
        self._check_shapes(columns)
        self._check_values()
        self._store("observation", as_arrays("observation", self.observation, len(self)))
        if self.info is not None:
            self._store("info", as_arrays("info", check_info(self.info), len(self)))
        self._check_offers()
        self._check_encoding()

    def _check_shapes(self, columns: dict[str, Array]) -> None:
        """Raises ValueError if a column is not of n rows, or of K actions."""
        shape = (len(self), self.num_actions)
        for name, array in columns.items():
            if name == "action" and has_own_kind(self.action_kind):
                continue  # the kind has checked it
            if name == "embedding":
                check_array("embedding has", array, (len(self), array.shape[1]))
            elif name == "propensity" and not self.has_propensities:
                check_array("propensity has", np.isnan(array), shape[:1])
            else:
                check_array(f"{name} has", array, shape[: array.ndim])

    @property
    def action_names(self) -> Sequence[str]:
        """The names of the actions, in the order of their numbers; () if they have none."""
        return () if self.encoding is None else self.encoding.actions

    def add_actions(self, names: Iterable[str]) -> BanditLog:
        """Returns the log with more names of actions, which no row has, behind its own.

        Raises:
            ValueError: the actions of the log have no names.
        """
        if self.encoding is None or not self.encoding.actions:
            raise ValueError("the actions of log have no names; expected a log of named actions")
        encoding = self.encoding.add_actions(names)
        more = len(encoding.actions) - self.num_actions
        if not more:
            return self
        if self.expected_rewards is not None:
            raise ValueError("expected_rewards has no columns for more actions; drop it before")
        padding = ((0, 0), (0, more))
        columns: dict[str, Any] = {
            name: np.pad(table, padding)  # with zeros, or False
            for name, table in self.columns().items()
            if name in ("action_probabilities", "available")
        }
        size = len(encoding.actions)
        return dataclasses.replace(self, num_actions=size, encoding=encoding, **columns)

    @property
    def has_propensities(self) -> bool:
        """Whether the propensities are known, or were estimated."""
        return self.estimated != UNKNOWN

    def columns(self) -> dict[str, Array]:
        """Returns the columns other than the observation and the info that there are, by name."""
        values = {name: getattr(self, name) for name in COLUMNS}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def names_features(self) -> bool:
        """Whether its features have names: those of the columns of a table."""
        return self.encoding is not None and self.encoding.names_features

    def describe_choices(self) -> str:
        """Returns among what actions are chosen, such as "3 actions" or "up to 4 of 6 items"."""
        if not shows_items(self.observation):
            return describe_actions(self.action_kind)
        names = () if self.encoding is None else self.encoding.items
        if names:
            return f"up to {self.num_actions} of {len(names)} items"
        changes = available_actions(self.seen(), self.num_actions) is not None
        return f"{'up to ' if changes else ''}{self.num_actions} items in a decision"

    def seen(self) -> Nest:
        """Returns the observation as policies take it: with `available` as its `mask`.

        An observation that is a dict, such as `global` and `per_arm`, gets the mask as one more
        entry, as from wrappers that mask actions.
        """
        if self.available is None or available_actions(self.observation, 1) is not None:
            return self.observation
        return with_entries(self.observation, mask=self.available)

    def drop(self, *names: str) -> BanditLog:
        """Returns the log without some optional columns, such as those a format cannot hold."""
        for name in names:
            if name not in CAN_DROP:
                raise ValueError(
                    f"name is {short_repr(name)}; expected one of {', '.join(CAN_DROP)}"
                )
        nothing: dict[str, Any] = dict.fromkeys(names)
        return dataclasses.replace(self, **nothing)

    def __len__(self) -> int:
        first = self.action if isinstance(self.action, np.ndarray) else flatten(self.action)[0]
        return len(first)

    def __getitem__(self, rows: slice | ArrayLike) -> BanditLog:
        """Returns the log of some rows: a slice, a mask [n] or an array of indices."""
        columns = map_structure(operator.itemgetter(rows), self.nest())
        return dataclasses.replace(self, **columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BanditLog) or self.num_actions != other.num_actions:
            return False
        if self.encoding and other.encoding and self.encoding != other.encoding:
            return False
        try:
            equal = map_structure(_are_equal, self.nest(), other.nest())
        except (TypeError, ValueError):  # their structures differ
            return False
        return all(flatten(equal))

    def __repr__(self) -> str:
        known = f"{len(self)} rows, {self.describe_choices()}"
        if len(self):
            low = self.propensity.min()
            high = self.propensity.max()
            mean = np.average(self.reward, weights=self.weight)
            known += f", mean reward {mean:.4g}, "
            is_known = self.has_propensities
            known += f"propensities {low:.4g} to {high:.4g}" if is_known else "no propensities"
        return f"BanditLog({known})"

    def nest(self) -> dict[str, Nest]:
        """Returns all that has rows, by name."""
        found: dict[str, Nest] = {"observation": self.observation, **self.columns()}
        return found if self.info is None else {**found, "info": self.info}

    def _store(self, name: str, value: Any) -> None:
        """Sets a field, which a frozen dataclass allows in this way only."""
        object.__setattr__(self, name, value)

    def _check_values(self) -> None:
        """Raises ValueError for the first row whose values cannot be those of a decision."""
        check_reward_range("reward", self.reward)
        if self.embedding is not None:
            check_each("embedding", self.embedding, self.embedding >= 0, "at least 0")
        if self.action_kind.is_single:
            is_action = (self.action >= 0) & (self.action < self.num_actions)
            check_each("action", self.action, is_action, f"0 to {self.num_actions - 1}")
        else:
            self._check_has_no_tables()
        if self.has_propensities:
            check_propensities(self.propensity, self.action_kind)
        if self.time is not None:
            is_date = np.abs(self.time) < LATEST
            check_each("time", self.time, is_date, "seconds since 1970, of a year below 10000")
        if self.weight is not None:
            check_reward_range("weight", self.weight)
            check_each("weight", self.weight, self.weight > 0.0, "more than 0")
        if self.own_propensity is not None:
            check_propensities(self.own_propensity, self.action_kind, "own_propensity")
        if self.action_probabilities is not None:
            check_distributions("action_probabilities", self.action_probabilities)
        if self.expected_rewards is not None:
            means = self.expected_rewards
            if self.available is not None:
                means = np.where(self.available, means, 0.0)  # others may be unknown
            check_reward_range("expected_rewards", means)

    def _check_offers(self) -> None:
        """Raises ValueError if a row has an action that was not offered, or other items."""
        if not self.action_kind.is_single:
            return
        offered = available_actions(self.seen(), self.num_actions)
        if offered is not None:
            is_available = offered[np.arange(len(self)), self.action]
            check_each("action", self.action, is_available, "an available action")
        if self.item is None:
            return
        if not shows_items(self.observation):
            raise ValueError("observation has no per_arm; expected it, as log has the column item")
        is_good = (self.item >= 0) == (True if offered is None else offered)
        check_each("item", self.item, is_good, "a number from 0 where an item is offered, else -1")
        names = () if self.encoding is None else self.encoding.items
        if names:
            check_each("item", self.item, self.item < len(names), f"at most {len(names) - 1}")

    def _check_encoding(self) -> None:
        """Raises ValueError if the encoding does not fit the columns."""
        if self.encoding is None:
            return
        if self.encoding.actions and len(self.encoding.actions) != self.num_actions:
            problem = f"encoding names {len(self.encoding.actions)} actions"
            raise ValueError(f"{problem}; expected {self.num_actions}")
        if self.encoding.item_features:
            widths = {
                "global": (len(self.encoding.labels()),),
                "per_arm": (self.num_actions, len(self.encoding.of_items().labels())),
            }
            for name, shape in widths.items():
                entry = self.observation.get(name) if isinstance(self.observation, dict) else None
                found = getattr(entry, "shape", None)
                if found != (len(self), *shape):
                    expected = f"expected an entry {name} of shape {(len(self), *shape)}"
                    raise ValueError(f"observation does not fit encoding; {expected}")
        elif self.encoding.features:
            width = len(self.encoding.labels())
            found = getattr(self.observation, "shape", None)
            if found != (len(self), width):
                expected = f"an observation of shape {(len(self), width)}"
                raise ValueError(f"encoding has {width} features; expected {expected}")

    def _check_has_no_tables(self) -> None:
        """Raises ValueError if a column is for actions that are single integers alone."""
        for name in ("action_probabilities", "available", "expected_rewards"):
            if getattr(self, name) is not None:
                expected = f"expected None, as actions are {self.action_kind}"
                raise ValueError(f"{name} is of numbered actions; {expected}")
        if self.action_kind.is_number:
            check_each("action", self.action, np.isfinite(self.action), "a finite number")
            check_reward_range("action", self.action)


def _are_equal(left: Array, right: Array) -> bool:
    return left.dtype == right.dtype and np.array_equal(left, right)
