"""What the adapters to interfaces without batches have in common. It imports none of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.specs import (
    ArraySpec,
    BoundedArraySpec,
    Nest,
    is_continuous,
    is_discrete,
    map_structure,
)
from bandit_envs.trajectories import StepType, TimeStep

ACCEPTED_KINDS = {"b": "b", "i": "iu", "u": "iu", "f": "fiu"}
"""For each kind of dtype in a spec, the kinds of dtype of the values that are taken for it."""

RENDER_MODES = ("rgb_array", "human", "ansi")


class Outcome(NamedTuple):
    """What follows from one action.

    Fields:
        observation: an element of the observation space; the caller may write into it.
        reward: the reward.
        terminated: whether the episode is over: a LAST with discount 0.
        truncated: whether it was cut off: a LAST with another discount.
    """

    observation: Any
    reward: float
    terminated: bool
    truncated: bool


def checked_batch_of_one(env: Any) -> PyEnvironment:
    """Returns `env`.

    Raises:
        TypeError: it is not a `PyEnvironment`.
        ValueError: its batch size is not 1.
    """
    if not isinstance(env, PyEnvironment):
        raise TypeError(f"env is {env!r}; expected a PyEnvironment")
    if env.batch_size != 1:
        raise ValueError(f"env has batch_size {env.batch_size}; expected 1")
    return env


def space_from_spec(spaces: Any, spec: Nest) -> Any:
    """Returns the space of one row's values.

    A dict becomes a `Dict`, a list or tuple a `Tuple`. Integers that count from 0 become a
    `Discrete`, booleans a `Discrete` or `MultiBinary`, and all else a `Box` of the same dtype, in
    which the largest floating-point numbers, as bounds, stand for infinity.

    Args:
        spaces: the module that has these classes.
        spec: a nest of specs.
    """
    if isinstance(spec, dict):
        return spaces.Dict({key: space_from_spec(spaces, leaf) for key, leaf in spec.items()})
    if isinstance(spec, (list, tuple)):
        return spaces.Tuple([space_from_spec(spaces, leaf) for leaf in spec])
    if _counts_from_zero(spec):
        return spaces.Discrete(int(spec.maximum) + 1)
    if spec.dtype == np.bool_:
        return spaces.MultiBinary(list(spec.shape)) if spec.shape else spaces.Discrete(2)
    bounded = BoundedArraySpec.from_spec(spec)
    low = np.broadcast_to(bounded.minimum, spec.shape)
    high = np.broadcast_to(bounded.maximum, spec.shape)
    if is_continuous(spec):
        largest = np.finfo(spec.dtype).max
        low = np.where(low <= -largest, -np.inf, low).astype(spec.dtype)
        high = np.where(high >= largest, np.inf, high).astype(spec.dtype)
    return spaces.Box(low, high, dtype=spec.dtype.type)


def element(spec: Nest, arrays: Nest) -> Any:
    """Returns the only row of a nest of arrays [1, ...], as an element of the spec's space."""
    if isinstance(spec, dict):
        return {key: element(leaf, arrays[key]) for key, leaf in spec.items()}
    if isinstance(spec, (list, tuple)):
        return tuple(element(leaf, array) for leaf, array in zip(spec, arrays))
    if _counts_from_zero(spec) or (spec.dtype == np.bool_ and not spec.shape):
        return int(arrays[0])
    return np.array(arrays[0], np.int8 if spec.dtype == np.bool_ else spec.dtype)


def batch_of_one(spec: Nest, action: Nest) -> Nest:
    """Returns an element of the spec's space as a nest of arrays [1, ...], in the spec's dtypes.

    Raises:
        TypeError: `action` has another structure, or values of another kind, such as 0.5 for an
            integer.
        ValueError: it has other keys or lengths, or a value that the spec's dtype does not hold.
    """

    def row(leaf: ArraySpec, value: Any) -> NDArray[Any]:
        array = np.asarray(value)
        if array.dtype.kind not in ACCEPTED_KINDS[leaf.dtype.kind]:
            raise TypeError(f"action is {value!r}, {array.dtype}; expected {leaf.dtype}")
        converted = array.astype(leaf.dtype)
        if is_discrete(leaf) and not np.array_equal(converted, array):
            raise ValueError(f"action is {value!r}; expected a number that {leaf.dtype} holds")
        return converted[np.newaxis]

    return map_structure(row, spec, _with_lists(spec, action))


def _with_lists(spec: Nest, action: Nest) -> Nest:
    """Returns `action` with a list wherever `spec` has one: there, its space has a tuple."""
    if isinstance(spec, dict) and isinstance(action, dict) and spec.keys() == action.keys():
        return {key: _with_lists(leaf, action[key]) for key, leaf in spec.items()}
    if isinstance(spec, (list, tuple)) and isinstance(action, tuple):
        items = [_with_lists(leaf, item) for leaf, item in zip(spec, action)]
        items += action[len(spec) :]
        return items if isinstance(spec, list) else tuple(items)
    return action


def outcome(env: PyEnvironment, time_step: TimeStep) -> Outcome:
    """Returns what a time step of `env` says of its only row."""
    last = bool(time_step.step_type[0] == StepType.LAST)
    terminated = last and bool(time_step.discount[0] == 0.0)
    return Outcome(
        element(env.observation_spec(), time_step.observation),
        float(time_step.reward[0]),
        terminated,
        last and not terminated,
    )


def info(env: PyEnvironment) -> dict[str, Any]:
    """Returns the `best_arm` and the `expected_rewards` [K] float64 that the next action meets.

    Of an environment that is no bandit, or does not know them, this is an empty dict.
    """
    bandit: Any = env
    if not hasattr(bandit, "expected_rewards"):
        return {}
    try:
        expected = np.array(bandit.expected_rewards()[0], np.float64)
    except NotImplementedError:
        return {}
    return {"best_arm": int(expected.argmax()), "expected_rewards": expected}


def _counts_from_zero(spec: ArraySpec) -> bool:
    return (
        isinstance(spec, BoundedArraySpec)
        and is_discrete(spec)
        and spec.shape == ()
        and bool(spec.minimum == 0 and spec.maximum < np.iinfo(np.int32).max)
    )
