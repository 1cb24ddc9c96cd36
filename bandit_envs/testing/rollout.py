"""What the tests of the contract share: how environments are made, run and looked at."""

from __future__ import annotations

import abc
import contextlib
import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.bandit_py_environment import available_actions, is_bandit
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.specs import ArraySpec, BoundedArraySpec, Nest, map_structure, sample_spec_nest
from bandit_envs.testing.comparison import assert_identical
from bandit_envs.trajectories import TimeStep


class Rollout(NamedTuple):
    """A run: a reset and then steps.

    Fields:
        actions: the actions of the steps.
        returned: the time steps that `reset` and the steps returned.
        time_steps: copies of them, made at once.
        views: copies of what `look` saw after each of them.
        states: what `get_state` returned after each of them.
    """

    actions: list[Nest]
    returned: list[TimeStep]
    time_steps: list[TimeStep]
    views: list[dict[str, Any]]
    states: list[Any]

    def replay(self, environment: PyEnvironment, name: str, start: int = 0) -> None:
        """Requires the actions from number `start` on to repeat the rollout bit for bit."""
        for index in range(start, len(self.actions)):
            place, time_step = f"step {index + 1} of {name}", environment.step(self.actions[index])
            assert_identical(time_step, self.time_steps[index + 1], place)
            assert_identical(look(environment), self.views[index + 1], f"what is seen at {place}")
        assert_identical(environment.get_state(), self.states[-1], f"the last state of {name}")


class ContractPart(abc.ABC):
    """Base of the parts of `EnvironmentContract`, which documents these members."""

    num_steps: int = 12
    num_rewards: int = 4000

    @abc.abstractmethod
    def make_environment(self, seed: int) -> PyEnvironment:
        """Returns a new environment; two of them may differ in nothing but their `seed`."""

    def draw_action(self, rng: np.random.Generator, environment: PyEnvironment) -> Nest:
        """Draws an action, a nest of arrays [B, ...], that `environment` accepts now.

        It is uniform within the bounds of its spec, or from -1 to 1 without bounds, and over the
        available actions.
        """
        spec, available = environment.action_spec(), availability(environment)
        if available is None:
            return sample_spec_nest(rng, map_structure(_bounded, spec), (environment.batch_size,))
        keys = np.where(available, rng.random(available.shape), -1.0)
        return keys.argmax(axis=1).astype(spec.dtype)

    def roll_out(
        self, environment: PyEnvironment, num_steps: int | None = None, looks: bool = True
    ) -> Rollout:
        """Resets the environment and takes `num_steps` steps, the contract's number by default."""
        rng = np.random.default_rng(0)
        rollout = Rollout([], [environment.reset()], [], [], [])
        for index in range((self.num_steps if num_steps is None else num_steps) + 1):
            if index > 0:
                rollout.actions.append(self.draw_action(rng, environment))
                rollout.returned.append(environment.step(rollout.actions[-1]))
            rollout.time_steps.append(copy.deepcopy(rollout.returned[-1]))
            rollout.views.append(copy.deepcopy(look(environment)) if looks else {})
            rollout.states.append(environment.get_state())
        return rollout


def require_refusal(environment: PyEnvironment, method: Any, argument: Any, name: str) -> None:
    """Requires a method of the environment to refuse an argument and to change nothing."""
    before = environment.get_state()
    try:
        method(argument)
    except (TypeError, ValueError):
        assert_identical(environment.get_state(), before, f"the state after {name}")
    else:
        raise AssertionError(f"{name} was accepted")


def _bounded(spec: ArraySpec) -> ArraySpec:
    if isinstance(spec, BoundedArraySpec):
        return spec
    return BoundedArraySpec(spec.shape, spec.dtype, 0 if spec.dtype.kind in "bu" else -1, 1)


def availability(environment: PyEnvironment) -> NDArray[np.bool_] | None:
    """Returns which actions the observation makes available: [B, K]; None for all.

    If the observation does not say it, that of the environment without wrappers does.
    """
    bare: Any = environment.unwrapped
    if not is_bandit(environment) or not bare._takes_indices:
        return None
    outermost: Any = environment
    for bandit in (outermost, bare):
        observation = bandit.current_time_step().observation
        available = available_actions(observation, bandit.num_actions)
        if available is not None:
            return available
    return None


def look(environment: PyEnvironment) -> dict[str, Any]:
    """Returns what each method that shows something returns now, unless it is unknown."""
    names = ["current_time_step", "get_info"]
    if is_bandit(environment):
        names += ["expected_rewards", "optimal_action", "optimal_reward"]
    seen: dict[str, Any] = {}
    for name in names:
        with contextlib.suppress(NotImplementedError):
            seen[name] = getattr(environment, name)()
    return seen


def arrays_of(nest: Nest, name: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yields the place and the array of every array in a nest."""
    if isinstance(nest, np.ndarray):
        yield name, nest
    elif isinstance(nest, (dict, list, tuple)):
        for key in nest if isinstance(nest, dict) else range(len(nest)):
            yield from arrays_of(nest[key], f"{name}[{key!r}]")
