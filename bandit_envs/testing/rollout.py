"""What the tests of the contract share: how environments are made, run and looked at."""

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
    """A run: a reset and then steps. All but `returned` are copies, made at once."""

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


class ContractPart:
    """Base of the parts of `EnvironmentContract`, which documents these members."""

    num_steps: int = 12
    num_rewards: int = 4000

    def make_environment(self, seed: int) -> PyEnvironment:
        """Returns a new environment; two of them may differ in nothing but their `seed`."""
        raise NotImplementedError(f"{type(self).__name__} does not override make_environment")

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
    """Returns which actions the observation, with or without wrappers, makes available: [B, K]."""
    bandits: tuple[Any, ...] = environment, environment.unwrapped
    if not is_bandit(environment) or not bandits[1]._takes_indices:
        return None
    seen = ((bandit.current_time_step().observation, bandit.num_actions) for bandit in bandits)
    return next((mask for pair in seen if (mask := available_actions(*pair)) is not None), None)


def look(environment: PyEnvironment) -> dict[str, Any]:
    """Returns what each method that shows something returns now, unless it is unknown."""
    of_bandits = ("expected_rewards", "optimal_action", "optimal_reward")
    seen: dict[str, Any] = {}
    for name in ("current_time_step", "get_info", *(of_bandits if is_bandit(environment) else ())):
        with contextlib.suppress(NotImplementedError):
            seen[name] = getattr(environment, name)()
    return seen


def bad_actions(spec: Nest, action: Nest) -> Iterator[tuple[str, Any]]:
    """Yields descriptions of mistakes, and actions that make them; `action` makes none."""
    yield "an object", object()
    yield "a dict around it", {"action": action}
    found: dict[str, Any] = {}
    map_structure(lambda leaf, array: found.update(_bad_leaves(leaf, array)), spec, action)
    for what in found:
        yield what, map_structure(lambda s, a, w=what: _bad_leaves(s, a).get(w, a), spec, action)


def _bad_leaves(spec: ArraySpec, array: NDArray[Any]) -> dict[str, Any]:
    bad: dict[str, Any] = {
        "a dimension too many": array[..., np.newaxis],
        "a row too many": np.concatenate([array, array[:1]]),
        "a row too few": array[:-1],
        "None": None,
        "a string": "0",
        "a ragged list": [[0], [0, 1]],
        "complex numbers": array.astype(complex),
    }
    kind = spec.dtype.kind
    if kind != "b":
        bad["booleans"] = array.astype(bool)
    if kind != "f":
        bad["floats"] = array.astype(float)
    if kind in "iuf" and array.size and isinstance(spec, BoundedArraySpec):
        low, high = (np.ravel(bound)[-1].item() for bound in (spec.minimum, spec.maximum))
        wraps = 2**32 + int(array.flat[-1])  # is a good action if it is cut to 32 bits
        outside = (np.nan, np.inf, -np.inf) if kind == "f" else (low - 1, high + 1, wraps, 2**64)
        for value in outside:
            if not low <= value <= high:
                changed = array.astype(object)
                changed.flat[-1] = value
                bad[str(value)] = np.array(changed.tolist())
    return bad
