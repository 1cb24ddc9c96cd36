"""Which actions a policy takes that a log does not have."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bandit_envs.arrays import Array, Indices, Mask


@dataclasses.dataclass(frozen=True)
class ActionSums:
    """Which actions a log has, and a policy takes.

    Args:
        logged: [K], whether a row has the action.
        taken: [K], whether the policy takes it in some row; of actions that `logged` lacks.
        names: of the actions; () if they are numbers.
    """

    logged: Mask
    taken: Mask
    names: Sequence[str] = ()

    @classmethod
    def from_rows(cls, action: Indices, table: Array, names: Sequence[str]) -> ActionSums:
        """Returns which actions rows have, and which of the others a policy takes in them.

        Args:
            action: [n], the logged actions.
            table: [n, K], the probabilities of the policy.
            names: of the actions; () if they are numbers.
        """
        num_actions = table.shape[1]
        logged = np.bincount(action, minlength=num_actions) > 0
        others = np.flatnonzero(~logged)
        taken = np.zeros(num_actions, np.bool_)
        taken[others] = table[:, others].any(axis=0)
        return cls(logged, taken, names)

    def merge(self, other: ActionSums) -> ActionSums:
        """Returns the sums of the rows of both; ValueError if their numbers of actions differ."""
        if len(self.logged) != len(other.logged):
            counts = [len(self.logged), len(other.logged)]
            raise ValueError(f"logs differ in their number of actions: {counts}")
        return ActionSums(self.logged | other.logged, self.taken | other.taken, self.names)

    def find_unlogged(self) -> list[int] | list[str]:
        """Returns the actions that the policy takes and the log does not have."""
        places: list[int] = np.flatnonzero(self.taken & ~self.logged).tolist()
        return [self.names[place] for place in places] if self.names else places
