"""Logs of slates: several items at once, with a reward for each slot.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import dataclasses
import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Floats, check_array
from bandit_envs.base.checks import check_integer
from bandit_envs.base.slates import SlateProbabilities
from bandit_envs.logged.columns import as_column, check_each, check_reward_range
from bandit_envs.logged.rows.units import as_units
from bandit_envs.nests import map_structure
from bandit_envs.policies import Policy
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.trajectories import restart

ROWS = 1024  # shown to a policy at a time


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SlateLog:
    """A table of n slates that were shown, each with S slots.

    Experimental: it may change in any minor version.

    Args:
        observation: [n, d], from which the slates were chosen.
        action: [n, S], the items of the slots, integers from 0 to K - 1.
        reward: [n, S], of the slots; [n, 1] if only whole slates are rewarded.
        propensity: the probabilities with which the slates were shown; above 0.
        num_actions: K.
        encoding: the names of the items, and what the observation is made of.
        name: of the log, on pages of evaluations.
        unit: [n], whose a slate is, as of `BanditLog`; None if each is a unit of its own.
    """

    observation: Floats
    action: NDArray[np.int64]
    reward: Floats
    propensity: SlateProbabilities
    num_actions: int
    encoding: TableEncoding = dataclasses.field(default_factory=TableEncoding)
    name: str = "the log"
    unit: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        """Checks the columns, and stores copies of them."""
        check_integer("num_actions", self.num_actions, minimum=1)
        self._store("action", as_column("action", self.action, "iu", np.int64))
        self._store("reward", check_reward_range("reward", as_column("reward", self.reward)))
        self._store("observation", as_column("observation", self.observation))
        size = len(self)
        is_item = (self.action >= 0) & (self.action < self.num_actions)
        check_each("action", self.action, is_item, f"0 to {self.num_actions - 1}")
        if self.reward.shape != (size, 1):
            check_array("reward has", self.reward, self.action.shape)
        check_array("observation has", self.observation, (size, self.observation.shape[1]))
        self._store("propensity", self._check_propensity())
        if self.unit is not None:
            unit = as_column("unit", as_units(self.unit), "iu", np.int64, ndim=1)
            self._store("unit", check_array("unit has", unit, (size,)))

    @property
    def num_slots(self) -> int:
        """S."""
        return int(self.action.shape[1])

    def __len__(self) -> int:
        return len(self.action)

    def __getitem__(self, rows: slice | ArrayLike) -> SlateLog:
        """Returns the log of some slates: a slice, a mask [n] or an array of indices."""
        get = operator.itemgetter(rows)
        return dataclasses.replace(
            self,
            observation=get(self.observation),
            action=get(self.action),
            reward=get(self.reward),
            propensity=_map(get, self.propensity),
            unit=None if self.unit is None else get(self.unit),
        )

    def __repr__(self) -> str:
        sizes = f"{len(self)} slates, {self.num_slots} slots, {self.num_actions} items"
        return f"SlateLog({sizes})"

    def probabilities_of(self, policy: Policy) -> SlateProbabilities:
        """Returns the probabilities with which a policy, which does not learn, would show them.

        A policy that does not know its probabilities counts as one that always shows the slates
        that it draws.

        Raises:
            ValueError: the policy shows no slates, or has other numbers of items or slots.
        """
        if not policy.action_kind.is_slate:
            raise ValueError(f"policy chooses {policy.action_kind}; expected one that shows slates")
        if policy.num_actions != self.num_actions:
            raise ValueError(f"policy has {policy.num_actions} items; expected {self.num_actions}")
        size = max(1, min(ROWS, len(self)))
        wide = policy.replicate(size)
        found = []
        for start in range(0, len(self), size):
            rows = np.arange(start, start + size) % len(self)  # the last batch is filled up
            time_step = restart(self.observation[rows], size)
            shown = wide.action(time_step)
            check_array("the slates of policy have", shown, (size, self.num_slots))
            slates = self.action[rows]
            if policy.knows_probabilities:
                given = wide.info_of(time_step, slates)
            else:
                given = SlateProbabilities.of_slates(shown, slates)
            found.append(_map(operator.itemgetter(slice(len(self) - start)), given))
        return SlateProbabilities(*map_structure(lambda *parts: np.concatenate(parts), *found))

    def _check_propensity(self) -> SlateProbabilities:
        """Returns copies of the propensities; ValueError if they cannot be."""
        known = {}
        for name, value in self.propensity._asdict().items():
            if value is not None:
                shape = self.action.shape[:1] if name == "slate" else self.action.shape
                label = f"propensity.{name}"
                column = as_column(label, value, ndim=len(shape))
                check_array(f"{label} has", column, shape)
                is_good = (column > 0.0) & (column <= 1.0)
                known[name] = check_each(label, column, is_good, "above 0 and at most 1")
        if not known:
            raise ValueError("propensity has no probabilities; expected some of slates or slots")
        return SlateProbabilities(**known)

    def _store(self, name: str, value: Any) -> None:
        """Sets a field, which a frozen dataclass allows in this way only."""
        object.__setattr__(self, name, value)


def _map(function: Any, given: SlateProbabilities) -> SlateProbabilities:
    """Returns a function of the probabilities that are known."""
    return SlateProbabilities(*(each if each is None else function(each) for each in given))
