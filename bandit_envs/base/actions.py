"""What an action is: one integer, a slate of items, a number, or whatever else a spec describes.

Environments, policies, drivers, metrics, contracts, adapters and logs ask the `ActionKind`. Nothing
else looks at dtypes and shapes to find out what an action is.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats, Indices, Mask, Rng, as_numbers, check_array
from bandit_envs.base.checks import (
    MAX_REWARD,
    check_action,
    check_indices,
    check_integer,
    check_rewards,
    short_repr,
)
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.specs import ArraySpec, BoundedArraySpec, is_continuous, sample_spec_nest
from bandit_envs.trajectories import PolicyInfo

__all__ = [
    "ActionKind",
]

Kind = TypeVar("Kind", bound="ActionKind")

INT32 = np.dtype(np.int32)


class ActionKind:
    """What an action is: by itself, the kind of whatever a nest of specs describes.

    For what a spec cannot say, write a subclass. Environments and policies take an instance as
    their `action_spec`, and have it as their `action_kind`, which all others ask.

    Args:
        spec: the nest of specs of one row's action.
        batch_size: the number of rows, B.

    >>> class RisingPair(ActionKind):
    ...     def check(self, action):
    ...         pairs = super().check(action)
    ...         if not (pairs[:, 0] < pairs[:, 1]).all():
    ...             raise ValueError(f"action is {pairs.tolist()}; expected rising pairs")
    ...         return pairs
    >>> RisingPair(BoundedArraySpec((2,), np.int32, 0, [3, 9])).check([[3, 8]])
    array([[3, 8]])
    """

    is_single: ClassVar[bool] = False
    """Whether it is one integer from 0 to K - 1. Then means and probabilities are tables [B, K]."""

    is_slate: ClassVar[bool] = False
    """Whether it is several distinct items, integers from 0 to K - 1, with a reward for each."""

    is_number: ClassVar[bool] = False
    """Whether it is one real number."""

    num_actions: int = 0
    """K, if it is made of integers from 0 to K - 1; otherwise 0."""

    def __init__(self, spec: Nest, batch_size: int = 1) -> None:
        self.spec = spec  #: the nest of specs of one row's action
        self._set_batch_size(batch_size)

    def __str__(self) -> str:
        """Returns what actions are, for messages such as "policy chooses numbers"."""
        name = type(self).__name__
        if self.is_shifted:
            return f"integers from {self.spec.minimum} to {self.spec.maximum}"
        return f"actions of spec {short_repr(self.spec)}" if name == "ActionKind" else name

    @property
    def is_shifted(self) -> bool:
        """Whether it is one bounded integer that does not count from 0, so that it has no K."""
        spec = self.spec
        is_number = isinstance(spec, BoundedArraySpec) and spec.dtype.kind in "iu"
        return bool(is_number and not spec.shape and spec.minimum)

    @property
    def remedy(self) -> str:
        """What an error adds where integers from 0 are expected, or ""."""
        if not self.is_shifted:
            return ""
        return f"; count actions from 0, and let the environment add {self.spec.minimum} to them"

    @property
    def is_continuous(self) -> bool:
        """Whether it has a real number, so that it has a density in place of a probability."""
        return any(map(is_continuous, flatten(self.spec)))

    def for_rows(self: Kind, batch_size: int) -> Kind:
        """Returns the kind for so many rows."""
        copied = copy.copy(self)
        copied._set_batch_size(batch_size)
        return copied

    def with_actions(self: Kind, num_actions: int) -> Kind:
        """Returns the kind with another K; ValueError if it has none."""
        raise ValueError(f"it chooses {self}")

    def check(self, action: Nest) -> Nest:
        """Returns `action` as hooks take it, in new arrays [B, ...].

        Raises:
            TypeError, ValueError: it is no such action.
        """
        size = self.batch_size
        return map_structure(lambda spec, leaf: check_action(leaf, spec, size), self.spec, action)

    def check_rewards(
        self, reward: Any, low: float = -MAX_REWARD, high: float = MAX_REWARD
    ) -> Array:
        """Returns what a policy learns from, numbers from `low` to `high`: by default, [B].

        Raises:
            TypeError, ValueError: `reward` does not fit.
        """
        return check_rewards(reward, self.batch_size, low, high)

    def total(self, reward: Array) -> Array:
        """Returns what actions were paid in all: [B] for slates, whose slots are paid."""
        return reward

    def chosen(self, action: Nest) -> Any:
        """Returns what `_select` of a policy returned as its `action` does: in new arrays [B, ...].

        The environment refuses values that are out of bounds. In a batch of one, `_select` may
        leave out the batch dimension.

        Raises:
            TypeError, ValueError: shapes or dtypes do not fit.
        """
        return map_structure(self._chosen_leaf, self.spec, action)

    def draw(self, rng: Rng, available: Mask | None = None) -> Nest:
        """Draws actions uniformly: from -1 to 1 where they have no bounds.

        Args:
            rng: draws.
            available: [B, K], which actions may be drawn; None for all. It counts for single
                actions and slates; a kind of your own may ask it in its own `draw`.
        """
        return sample_spec_nest(rng, map_structure(_bounded, self.spec), (self.batch_size,))

    def entries(self, values: Array, action: Indices) -> Array:
        """Returns the entries of `values` [B, K] at each row's `action` [B, ...]: [B, ...]."""
        return np.asarray(values[np.arange(self.batch_size), action])

    def asked(self, action: Nest) -> Nest:
        """Returns `action` as `_probability_of` of a policy takes it, checked as by `check`."""
        return self.check(action)

    def require_table(self, owner: str, hint: str = "") -> None:
        """Raises NotImplementedError if a policy has no table of probabilities [B, K]."""
        if not self.is_single:
            found = f"{owner} chooses {self}, which have no table of probabilities"
            raise NotImplementedError(f"{found}{hint}")

    def check_probability(self, told: Any) -> Any:
        """Returns what `_probability_of` of a policy returned: by default, probabilities [B].

        Raises:
            TypeError, ValueError: it does not fit.
        """
        what = "_probability_of returned"
        found = check_array(what, as_numbers(what, told), (self.batch_size,))
        if (found < 0.0).any():
            raise ValueError(f"{what} {short_repr(found)}; expected numbers of at least 0")
        return found

    def probability(self, told: Any) -> Floats:
        """Returns the probabilities or densities of what a policy told of actions: [B]."""
        found: Floats = told
        return found

    def info(self, told: Any) -> Nest:
        """Returns what a trajectory says of the choice, of what a policy told of it."""
        return PolicyInfo(np.log(told))

    def _set_batch_size(self, batch_size: int) -> None:
        """Sets what depends on the number of rows."""
        self.batch_size = check_integer("batch_size", batch_size, minimum=1)  #: B
        rows = np.arange(self.batch_size)
        self.row_offsets: Indices = rows * self.num_actions  #: where rows begin in a flat table

    def _chosen_leaf(self, spec: ArraySpec, leaf: Any) -> Array:
        """Returns the array of one spec that `_select` returned."""
        return self._shaped(leaf, spec).astype(spec.dtype)

    def _shaped(self, leaf: Any, spec: ArraySpec) -> Array:
        """Returns an array that `_select` returned, if it is [B, ...] and has no NaN."""
        kinds = "iu" if spec.dtype.kind in "iu" else f"{spec.dtype.kind}iu"
        array = as_numbers("_select returned", leaf, kinds)
        shape = (self.batch_size, *spec.shape)
        if array.shape == shape[1:] and self.batch_size == 1:
            array = array.reshape(shape)
        return check_array("_select returned", array, shape)


class NumberAction(ActionKind):
    """One real number [B], such as a price. Policies choose it in single precision."""

    is_number = True

    def __str__(self) -> str:
        return "real numbers"

    def asked(self, action: Any) -> Floats:
        found: Floats = self.check(action).astype(np.float64)
        return found

    def _chosen_leaf(self, spec: ArraySpec, leaf: Any) -> NDArray[np.float32]:
        return self._shaped(leaf, spec).astype(np.float32)


class IndexedAction(ActionKind):
    """Integers from 0 to K - 1: [B, ...]."""

    spec: BoundedArraySpec

    def __init__(self, spec: BoundedArraySpec, batch_size: int = 1) -> None:
        self.num_actions = int(spec.maximum.max()) + 1
        super().__init__(spec, batch_size)

    def __str__(self) -> str:
        return f"integers below {self.num_actions}, of shape {self.spec.shape} in each row"

    def with_actions(self: Kind, num_actions: int) -> Kind:
        copied = copy.copy(self)
        copied.spec = self.spec.replace(maximum=num_actions - 1)
        copied.num_actions = num_actions
        copied._set_batch_size(self.batch_size)
        return copied

    def chosen(self, action: Any) -> NDArray[np.int32]:
        is_plain = type(action) is np.ndarray and action.dtype.kind in "iu"  # the common kind
        if not is_plain or action.shape != self._shape:
            action = self._shaped(action, self.spec)
        return action.astype(INT32)  # type: ignore[no-any-return]

    def entries(self, values: Array, action: Indices) -> Array:
        if self.batch_size == 1:
            return values.take(action)
        # Flat offsets are faster than an index of rows and actions. The actions have been checked,
        # and `wrap` does not check them again.
        return values.take(self.row_offsets + action, mode="wrap")

    def _set_batch_size(self, batch_size: int) -> None:
        super()._set_batch_size(batch_size)
        self._shape = (self.batch_size, *self.spec.shape)
        self.row_offsets = self.row_offsets.reshape(-1, *(1,) * len(self.spec.shape))


class SingleAction(IndexedAction):
    """One integer from 0 to K - 1: [B]."""

    is_single = True

    def __str__(self) -> str:
        return f"one of {self.num_actions} actions"

    def check(self, action: Any) -> Indices:
        return check_indices(action, self.batch_size, self.num_actions)

    def draw(self, rng: Rng, available: Mask | None = None) -> Nest:
        if available is None:
            return super().draw(rng)
        keys = np.where(available, rng.random(available.shape), -1.0)
        return keys.argmax(axis=1).astype(self.spec.dtype)


def _bounded(spec: ArraySpec) -> ArraySpec:
    """Returns a spec with bounds, from which values can be drawn."""
    if isinstance(spec, BoundedArraySpec):
        return spec
    return BoundedArraySpec(spec.shape, spec.dtype, 0 if spec.dtype.kind in "bu" else -1, 1)
