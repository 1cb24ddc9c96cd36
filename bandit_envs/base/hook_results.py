"""Checks of what the hooks of a bandit return, and of the optimum of a run.

`owner` is the name of the bandit, for messages such as "coins._observe returned None".
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from bandit_envs.arrays import Array, Floats, Mask, Rng, as_numbers, check_array, check_result
from bandit_envs.base.actions import ActionKind
from bandit_envs.base.checks import check_table, short_repr
from bandit_envs.nests import Nest, map_structure
from bandit_envs.specs import ArraySpec

Among: TypeAlias = Literal["all policies", "best fixed arm", "bound"]
"""What the optimum of a run is among. A bound may be out of reach of all policies."""


class RunOptimum(NamedTuple):
    """The most that the first 1, 2, ..., T steps after a reset are expected to earn: `earned` [T].

    It is that of one row.

    >>> from bandit_envs import RestedBandit
    >>> RestedBandit([[0.5, 0.75], [1.0, 0.0]]).optimum_of_run(3)
    RunOptimum(earned=array([1.  , 1.5 , 2.25]), among='all policies')
    """

    earned: Floats
    among: Among


def check_run_optimum(owner: str, found: RunOptimum, num_steps: int) -> RunOptimum:
    """Returns what `optimum_of_run(num_steps)` returned, with a number for each step."""
    what = f"{owner}.optimum_of_run({num_steps})"
    if not isinstance(found, RunOptimum):
        raise TypeError(f"{what} is {short_repr(found)}; expected a RunOptimum")
    if found.among not in get_args(Among):
        expected = f"expected one of {', '.join(get_args(Among))}"
        raise ValueError(f"{what}.among is {short_repr(found.among)}; {expected}")
    earned = check_table(f"{what}.earned", found.earned, ndim=1)
    if len(earned) != num_steps:
        raise ValueError(f"{what}.earned has {len(earned)} numbers; expected {num_steps}")
    return RunOptimum(earned, found.among)


def check_observation(
    owner: str, observation: Nest, spec: Nest, batch_shape: tuple[int, ...]
) -> None:
    """Raises TypeError or ValueError for a wrong structure, dtype or shape, or NaN."""
    what = f"{owner}._observe returned"

    def check(leaf: ArraySpec, found: object) -> None:
        if not isinstance(found, np.ndarray):
            raise TypeError(f"{what} {short_repr(found)}; expected an array")
        check_array(what, found, batch_shape + leaf.shape)
        if found.dtype != leaf.dtype:
            raise TypeError(f"{what} an array of {found.dtype}; expected {leaf.dtype}")

    _by_leaf(what, check, observation, spec)


def check_drawn_rewards(
    owner: str, rewards: Nest, spec: Nest, batch_shape: tuple[int, ...]
) -> Nest:
    """Returns rewards as arrays of the dtypes and shapes of a nest of specs, without NaN."""
    what = f"{owner}._draw_rewards returned"
    if isinstance(spec, ArraySpec):  # the common kind first: every step passes here
        return check_result(what, rewards, spec.dtype, batch_shape + spec.shape)
    return _by_leaf(
        what,
        lambda leaf, found: check_result(what, found, leaf.dtype, batch_shape + leaf.shape),
        rewards,
        spec,
    )


def check_availability(owner: str, available: Mask, kind: ActionKind, spec: Nest) -> Mask:
    """Returns a mask [B, K] with an action for each row, or an item for each slot of a slate.

    `spec` is that of the observation.
    """
    if not isinstance(spec, dict) or {"mask", "num_actions"}.isdisjoint(spec):
        expected = "expected a dict with mask or num_actions, as actions are unavailable"
        raise ValueError(f"observation_spec is {spec}; {expected}")
    what = f"{owner}._available returned"
    if not isinstance(available, np.ndarray) or available.dtype != np.bool_:
        raise TypeError(f"{what} {short_repr(available)}; expected an array of bool")
    check_array(what, available, (*available.shape[:1], kind.num_actions))
    rows = available.any(axis=1)
    if not rows.all():
        raise ValueError(f"{what} no action for row {rows.argmin()}")
    if kind.is_slate:
        num_items = available.sum(axis=1)
        row = num_items.argmin()
        if num_items[row] < kind.spec.shape[0]:
            found = f"{what} {num_items[row]} items for row {row}"
            raise ValueError(f"{found}; expected one for each of {kind.spec.shape[0]} slots")
    return available


def check_means(owner: str, means: Array, batch_size: int, num_actions: int | None) -> Array:
    """Returns the means of all actions, [B, K] or [B, K, R]; `num_actions` may be unknown."""
    what = f"{owner}._expected_rewards returned"
    checked = as_numbers(what, means)
    if num_actions is None:
        num_actions = checked.shape[1] if checked.ndim > 1 else 1
    return check_array(what, checked, (batch_size, num_actions, *checked.shape[2:]))


def check_mean(owner: str, mean: Array, batch_shape: tuple[int, ...]) -> Array:
    """Returns the means of the actions taken: [B]."""
    if type(mean) is np.ndarray and mean.shape == batch_shape:
        return mean
    what = f"{owner}._expected_reward returned"
    return check_array(what, as_numbers(what, mean), batch_shape)


def check_optimal_action(owner: str, action: Nest, spec: Nest) -> Nest:
    """Returns an action in the dtypes of its specs."""
    what = f"{owner}._optimal_action returned"
    return _by_leaf(
        what, lambda leaf, found: as_numbers(what, found).astype(leaf.dtype), action, spec
    )


def check_state(owner: str, hook: str, state: object, before: object) -> None:
    """Raises TypeError if a hook returned None for the state that follows another one."""
    if state is None and before is not None:
        raise TypeError(f"{owner}.{hook} returned None; expected the next state")


def state_after(bandit: Any, rng: Rng, state: Any, action: Nest) -> Any:
    """Returns the state that follows an action, for tests that draw it without a reward."""
    return bandit._next_state(rng, copy.deepcopy(state), copy.deepcopy(action))


def _by_leaf(what: str, check: Callable[[Any, Any], Any], value: Nest, spec: Nest) -> Nest:
    """Returns `check(leaf, found)` of every spec and its value, in a nest of one structure."""
    if isinstance(spec, ArraySpec):
        return check(spec, value)
    if type(spec) is type(value) is dict and spec.keys() == value.keys():
        return {key: _by_leaf(what, check, value[key], leaf) for key, leaf in spec.items()}
    try:
        map_structure(lambda leaf, found: None, spec, value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what} {short_repr(value)}: {error}") from error
    return map_structure(check, spec, value)
