"""Time steps and trajectories: what environments return, and what drivers show to observers.

Every array has a leading batch dimension B.

Source: TF-Agents' `tf_agents.trajectories`, whose field names, field order and meaning are kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bandit_envs.arrays import Mask, as_numbers, read_only
from bandit_envs.nests import Nest, map_structure
from bandit_envs.specs import ArraySpec, BoundedArraySpec

__all__ = [
    "PolicyInfo",
    "StepType",
    "TimeStep",
    "Trajectory",
    "restart",
    "termination",
    "time_step_spec",
    "transition",
    "truncation",
]

REWARD_SPEC = ArraySpec((), np.float32, "reward")
"""The default spec of a reward: one float32."""

DISCOUNT_SPEC = BoundedArraySpec((), np.float32, 0.0, 1.0, "discount")
"""The default spec of a discount: one float32 from 0 to 1."""


class StepType:
    """Where in an episode a time step is: `FIRST` (0), `MID` (1) or `LAST` (2).

    The three are read-only int32 arrays without dimensions; `StepType(value)` returns one of them.

    >>> int(StepType.LAST), StepType(2) is StepType.LAST
    (2, True)
    """

    FIRST = read_only(np.array(0, np.int32))
    MID = read_only(np.array(1, np.int32))
    LAST = read_only(np.array(2, np.int32))

    def __new__(cls, value: Any) -> NDArray[np.int32]:  # type: ignore[misc]
        if np.ndim(value) == 0 and value in (0, 1, 2):
            return (cls.FIRST, cls.MID, cls.LAST)[int(value)]
        raise ValueError(f"value is {value!r}; expected 0 (FIRST), 1 (MID) or 2 (LAST)")


class TimeStep(NamedTuple):
    """What `reset` and `step` return.

    Fields:
        step_type: [B] int32, FIRST, MID or LAST.
        reward: [B], the reward of the action that led here; after a reset, `no_reward`.
        discount: [B] float32 from 0 to 1, the weight of later rewards. 0 means that the episode
            has terminated; a LAST with discount 1 was cut off at a horizon.
        observation: a nest of arrays [B, ...], from which to choose the next action.

    >>> time_step = restart(np.zeros((2, 3), np.float32), batch_size=2)
    >>> time_step.is_first(), time_step.reward
    (array([ True,  True]), array([0., 0.], dtype=float32))
    """

    step_type: NDArray[np.int32]
    reward: Any
    discount: NDArray[np.float32]
    observation: Nest

    def is_first(self) -> Mask:
        """[B] bool: whether the row has just been reset."""
        return np.asarray(self.step_type == StepType.FIRST)

    def is_mid(self) -> Mask:
        """[B] bool: whether the row is within an episode."""
        return np.asarray(self.step_type == StepType.MID)

    def is_last(self) -> Mask:
        """[B] bool: whether the row's episode ends here."""
        return np.asarray(self.step_type == StepType.LAST)


class PolicyInfo(NamedTuple):
    """What a policy reports if asked: [B], the logarithm of the probability of the action taken."""

    log_probability: NDArray[np.float64]


class Trajectory(NamedTuple):
    """One transition of every row, as a driver shows it to its observers.

    Fields:
        step_type, observation: of the time step from which the action was chosen.
        action: [B, ...].
        policy_info: what the policy says about its choice; `()` if nothing.
        next_step_type, reward, discount: of the time step to which the action led.

    >>> before = restart(np.ones((1, 1), np.float32), batch_size=1)
    >>> after = termination(before.observation, reward=[2.5])
    >>> Trajectory.from_transition(before, np.array([3]), after).reward
    array([2.5], dtype=float32)
    """

    step_type: NDArray[np.int32]
    observation: Nest
    action: Nest
    policy_info: Nest
    next_step_type: NDArray[np.int32]
    reward: Any
    discount: NDArray[np.float32]

    @classmethod
    def from_transition(
        cls, time_step: TimeStep, action: Nest, next_time_step: TimeStep, policy_info: Nest = ()
    ) -> Trajectory:
        """Returns the trajectory of one step from `time_step` to `next_time_step`."""
        step_type, _, _, observation = time_step
        return cls(step_type, observation, action, policy_info, *next_time_step[:3])

    def is_first(self) -> Mask:
        """[B] bool: whether the action was the first of its episode."""
        return np.asarray(self.step_type == StepType.FIRST)

    def is_mid(self) -> Mask:
        """[B] bool: whether the transition lies within an episode."""
        return np.asarray((self.step_type == StepType.MID) & (self.next_step_type == StepType.MID))

    def is_last(self) -> Mask:
        """[B] bool: whether the transition ends its episode."""
        return np.asarray(self.next_step_type == StepType.LAST)

    def is_boundary(self) -> Mask:
        """[B] bool: whether the transition starts from the end of an episode."""
        return np.asarray(self.step_type == StepType.LAST)


def no_reward(reward_spec: Nest, batch_size: int) -> Nest:
    """Returns the reward [B, ...] of rows just reset: 0, or the allowed value nearest to 0."""

    def nothing(spec: Any) -> NDArray[Any]:
        zeros = np.zeros((batch_size, *spec.shape), spec.dtype)
        bounded = isinstance(spec, BoundedArraySpec)
        return np.clip(zeros, spec.minimum, spec.maximum) if bounded else zeros

    return map_structure(nothing, reward_spec)


def restart(observation: Nest, batch_size: int = 1, reward_spec: Nest = REWARD_SPEC) -> TimeStep:
    """Returns the time step that starts an episode: FIRST, with `no_reward`, discount 1."""
    return TimeStep(
        np.full(batch_size, StepType.FIRST, np.int32),
        no_reward(reward_spec, batch_size),
        np.ones(batch_size, np.float32),
        observation,
    )


def transition(
    observation: Nest,
    reward: ArrayLike,
    discount: ArrayLike = 1.0,
    reward_dtype: DTypeLike = np.float32,
) -> TimeStep:
    """Returns a time step within an episode: MID.

    The reward is [B], or a number for a batch of one; the discount is a number from 0 to 1, or [B].
    """
    rewards = np.atleast_1d(as_numbers("reward is", reward).astype(reward_dtype))
    step_type = np.full(len(rewards), StepType.MID, np.int32)
    discounts = np.full(len(rewards), discount, np.float32)
    return TimeStep(step_type, rewards, discounts, observation)


def truncation(
    observation: Nest,
    reward: ArrayLike,
    discount: ArrayLike = 1.0,
    reward_dtype: DTypeLike = np.float32,
) -> TimeStep:
    """Returns a time step that cuts an episode off: LAST, with a discount; see `transition`."""
    mid = transition(observation, reward, discount, reward_dtype)
    return mid._replace(step_type=np.full_like(mid.step_type, StepType.LAST))


def termination(
    observation: Nest, reward: ArrayLike, reward_dtype: DTypeLike = np.float32
) -> TimeStep:
    """Returns a time step that ends an episode for good: LAST, discount 0; see `transition`."""
    return truncation(observation, reward, 0.0, reward_dtype)


def time_step_spec(observation_spec: Nest, reward_spec: Nest = REWARD_SPEC) -> TimeStep:
    """Returns the specs of one row of a time step."""
    return TimeStep(
        ArraySpec((), np.int32, "step_type"),  # type: ignore[arg-type]
        reward_spec,
        DISCOUNT_SPEC,  # type: ignore[arg-type]
        observation_spec,
    )
