"""What the tests of the contract of policies share: how policies are run and looked at."""

from __future__ import annotations

import copy
import functools
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Indices
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import SavedState, content_of, put_content
from bandit_envs.nests import Nest, map_structure
from bandit_envs.policies import Policy
from bandit_envs.specs import BoundedArraySpec
from bandit_envs.testing.comparison import assert_identical, require
from bandit_envs.trajectories import TimeStep, Trajectory
from bandit_envs.wrappers import RandomActionMask, TransformObservation
from bandit_envs.wrappers.shared import with_entries

SHARED = "If rows share a model, set `learns_by_row = False` in the class"
REPEATS = (
    "A policy repeats a run if all that changes is in `learned`, and if it draws from `rng` alone"
)
ROUNDING = 1e-9  # how far two ways to compute one number may differ, as a share of it


class PolicyRun(NamedTuple):
    """A run of a policy that learns from each of its steps. All are copies, made at once.

    Fields:
        time_steps: those that actions were chosen from.
        actions: nests of arrays [B, ...].
        trajectories: those that were learned from.
        states: of the policy before each step, and after the last.
    """

    time_steps: list[TimeStep]
    actions: list[Nest]
    trajectories: list[Trajectory]
    states: list[SavedState]

    def replay(self, policy: Policy, name: str, start: int = 0) -> None:
        """Requires a policy to repeat the run bit for bit from step number `start` on."""
        __tracebackhide__ = True
        try:
            for index in range(start, len(self.actions)):
                action = policy.action(copy.deepcopy(self.time_steps[index]))
                place = f"{name} does not repeat the run. In step {index + 1}, action"
                assert_identical(action, self.actions[index], place)
                policy(copy.deepcopy(self.trajectories[index]))
            place = f"{name} does not repeat the run. In the end, state"
            assert_identical(policy.get_state(), self.states[-1], place)
        except AssertionError as error:
            raise AssertionError(f"{error}. {REPEATS}") from None


def run_policy(policy: Policy, env: PyEnvironment, num_steps: int) -> PolicyRun:
    """Runs a policy, which learns from each step.

    The policy gets arrays that can be written to, as those of a log: what it writes to is found by
    the test that is meant for it.
    """
    run = PolicyRun([], [], [], [policy.get_state()])
    time_step = env.reset()
    for _ in range(num_steps):
        if env.should_reset(time_step):
            time_step = env.reset()
        action = policy.action(copy.deepcopy(time_step))
        require_available(policy, time_step, action)
        next_time_step = env.step(action)
        trajectory = Trajectory.from_transition(time_step, action, next_time_step)
        policy(copy.deepcopy(trajectory))
        run.time_steps.append(copy.deepcopy(time_step))
        run.actions.append(copy.deepcopy(action))
        run.trajectories.append(copy.deepcopy(trajectory))
        run.states.append(policy.get_state())
        time_step = next_time_step
    return run


def require_available(policy: Policy, time_step: TimeStep, action: Nest) -> None:
    """Requires actions [B] to be among those that the observation makes available."""
    mask = available_actions(time_step.observation, policy.num_actions)
    if mask is None or not policy.action_kind.is_single:
        return
    for row in np.flatnonzero(~mask[np.arange(len(action)), action]):
        available = np.flatnonzero(mask[row]).tolist()
        found = f"action() chose {action[row]} in row {row}, where {available} are available"
        hint = "`_select` must ask `self._available(time_step.observation)`, and a rule `available`"
        raise AssertionError(f"{found}; {hint}")


def environments_with_masks(env: PyEnvironment) -> Iterator[PyEnvironment]:
    """Yields the environment with a `mask` in its observation, and with `num_actions`.

    Only actions that are single integers can have these.
    """
    if not env.action_kind.is_single:
        return
    num_actions = env.action_kind.num_actions
    yield RandomActionMask(env, 0.5)
    spec = BoundedArraySpec((), np.int32, 1, num_actions, "num_actions")
    yield TransformObservation(
        env,
        functools.partial(_with_num_actions, 1 + np.arange(env.batch_size) % num_actions),
        with_entries(env.observation_spec(), num_actions=spec),
    )


def _with_num_actions(numbers: Indices, observation: Nest) -> Nest:
    return with_entries(observation, num_actions=numbers.astype(np.int32))


def require_no_writing(policy: Policy, call: Callable[[], object], what: str) -> None:
    """Requires a call of the policy to leave read-only arrays alone; the message names the hook."""
    try:
        call()
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
        hooks = [name for name in frames if name.startswith("_") and hasattr(policy, name)]
        raise AssertionError(f"{hooks[-1]} wrote into {what}: {error}") from error


def learned_of(policy: Policy) -> Any:
    """Returns what a policy has learned: its own, not a copy."""
    return content_of(policy).learned


def put_learned(policy: Policy, learned: Any) -> None:
    """Lets a policy know what another one, or it itself, has learned."""
    put_content(policy, content_of(policy)._replace(learned=learned))


def rows_of(learned: Nest, rows: Indices, batch_size: int) -> Nest:
    """Returns what a policy of `batch_size` rows has learned in some of them."""

    def take(leaf: Nest) -> Nest:
        shape = np.shape(leaf)
        if shape == ():
            return copy.deepcopy(leaf)
        found = f"an array of `learned` has the shape {shape} in a batch of {batch_size} rows"
        require(shape[0] == batch_size, f"{found}; expected the rows first. {SHARED}")
        return leaf[rows]

    return map_structure(take, learned)


def require_close(
    actual: Nest, expected: Nest, name: str, hint: str = "", rounding: float = ROUNDING
) -> None:
    """Requires nests of numbers to be equal except for rounding, and all else to be identical."""

    def compare(left: Nest, right: Nest) -> None:
        if np.asarray(right).dtype.kind != "f":
            assert_identical(left, right, name)
            return
        if not np.allclose(left, right, rounding, ROUNDING, equal_nan=True):
            raise AssertionError(f"{name} is {left}; expected {right}. {hint}")

    map_structure(compare, actual, expected)
