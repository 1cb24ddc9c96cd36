"""What the parts of the contract share: the factory, and runs that can be replayed."""

from __future__ import annotations

import abc
import copy
import dataclasses
import unittest
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.specs import ArraySpec, BoundedArraySpec, Nest, map_structure, sample_spec_nest
from bandit_envs.testing.comparison import assert_identical
from bandit_envs.trajectories import TimeStep


@dataclasses.dataclass(frozen=True)
class Play:
    """A run: what `reset` returned, and then an action and what `step` returned, and so on.

    The time steps are copies, made when they were returned.
    """

    actions: list[Nest]
    time_steps: list[TimeStep]

    def replay(self, environment: PyEnvironment, what: str, start: int = 0) -> None:
        """Takes the actions from `start` on and requires the time steps to be the same.

        Raises:
            AssertionError: one is not; the message says that it is one of `what`.
        """
        for index in range(start, len(self.actions)):
            time_step = environment.step(self.actions[index])
            name = f"step {index + 1} of {what}"
            assert_identical(time_step, self.time_steps[index + 1], name)


class ContractPart(abc.ABC):
    """Base of the parts of `EnvironmentContract`, which documents these members."""

    num_steps: int = 12
    num_rewards: int = 10_000

    @abc.abstractmethod
    def make_environment(self, seed: int) -> PyEnvironment:
        """Returns a new environment; `seed` is all in which two of them may differ."""

    def draw_action(self, rng: np.random.Generator, environment: PyEnvironment) -> Nest:
        """Draws an action that `environment` accepts in its current time step.

        Args:
            rng: draws it.
            environment: it has been reset.

        Returns:
            A nest of arrays [B, ...], uniform within the bounds of the action's spec, and below
            the observation's `num_actions` if there are any. What has no bounds is from -1 to 1.
        """
        action = drawn_action(rng, environment)
        observation = environment.current_time_step().observation
        if isinstance(observation, dict) and "num_actions" in observation:
            action = (action % observation["num_actions"]).astype(action.dtype)
        return action

    def play(
        self,
        environment: PyEnvironment,
        num_steps: int | None = None,
        after_each: Callable[[], object] = lambda: None,
    ) -> Play:
        """Resets the environment and takes actions that depend on nothing but its time steps.

        Args:
            environment: is reset first.
            num_steps: how many actions to take; default: the contract's.
            after_each: is called after the reset and after every step.
        """
        rng = np.random.default_rng(0)
        play = Play([], [copy.deepcopy(environment.reset())])
        after_each()
        for _ in range(self.num_steps if num_steps is None else num_steps):
            play.actions.append(self.draw_action(rng, environment))
            play.time_steps.append(copy.deepcopy(environment.step(play.actions[-1])))
            after_each()
        return play

    def in_an_episode(self, environment: PyEnvironment) -> PyEnvironment:
        """Returns the environment after a step, or after a reset if the step ended the episode.

        So its next `step` is one that heeds its action.
        """
        self.play(environment, num_steps=1)
        if environment.should_reset(environment.current_time_step()):
            environment.reset()
        return environment


def drawn_action(rng: np.random.Generator, environment: PyEnvironment) -> Nest:
    """Draws an action uniformly from the action's spec; what has no bounds is from -1 to 1."""

    def bounded(leaf: ArraySpec) -> ArraySpec:
        if isinstance(leaf, BoundedArraySpec):
            return leaf
        lowest = 0 if leaf.dtype.kind in "bu" else -1
        return BoundedArraySpec(leaf.shape, leaf.dtype, lowest, 1)

    spec = map_structure(bounded, environment.action_spec())
    return sample_spec_nest(rng, spec, (environment.batch_size,))


def expected_rewards(environment: PyEnvironment) -> NDArray[Any]:
    """Returns the `expected_rewards()` of the current state, or skips the test without them."""
    bandit: Any = environment
    if not hasattr(bandit, "expected_rewards"):
        raise unittest.SkipTest(f"{environment.name} is not a bandit")
    try:
        expected: NDArray[Any] = bandit.expected_rewards()
    except NotImplementedError as error:
        raise unittest.SkipTest(str(error)) from error
    return expected


def returned_arrays(environment: PyEnvironment) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yields the name of every array that the environment hands out now, and the array."""
    found: dict[str, Any] = {"current_time_step()": environment.current_time_step()}
    for name in ("expected_rewards", "optimal_action", "optimal_reward", "get_info"):
        try:
            found[f"{name}()"] = getattr(environment, name)()
        except (AttributeError, NotImplementedError):
            continue
    for name, nest in found.items():
        yield from named_arrays(nest, name)


def named_arrays(nest: Nest, name: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yields the place and the array of every array in a nest."""
    if isinstance(nest, np.ndarray):
        yield name, nest
    elif isinstance(nest, dict):
        for key, item in nest.items():
            yield from named_arrays(item, f"{name}[{key!r}]")
    elif isinstance(nest, (list, tuple)):
        places = [f".{field}" for field in getattr(nest, "_fields", ())]
        for index, item in enumerate(nest):
            yield from named_arrays(item, name + (places[index] if places else f"[{index}]"))
