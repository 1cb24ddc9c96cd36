"""What the tests of the contract share: how environments are made, run and looked at."""

import contextlib
import copy
import functools
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Mask
from bandit_envs.base.bandit_py_environment import available_actions, is_bandit
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Stateful
from bandit_envs.nests import Nest, map_structure
from bandit_envs.specs import ArraySpec, BoundedArraySpec
from bandit_envs.testing.comparison import assert_identical
from bandit_envs.trajectories import TimeStep

OF_ENVIRONMENTS = ("current_time_step", "get_info")
OF_BANDITS = ("expected_rewards", "optimal_action", "optimal_reward")


class Rollout(NamedTuple):
    """A run: a reset and then steps. All but `returned` are copies, made at once.

    Fields:
        actions: of the steps.
        returned: the time steps themselves, of the reset and of the steps.
        time_steps: copies of these.
        views: what `look` has seen at each of them.
        states: what `get_state` has returned at each of them.
    """

    actions: list[Nest]
    returned: list[TimeStep]
    time_steps: list[TimeStep]
    views: list[dict[str, Any]]
    states: list[Any]

    def replay(self, environment: PyEnvironment, name: str, start: int = 0) -> None:
        """Requires the actions from number `start` on to repeat the rollout bit for bit."""
        for index in range(start, len(self.actions)):
            self.replay_step(environment, name, index)
        assert_identical(environment.get_state(), self.states[-1], f"the last state of {name}")

    def replay_step(self, environment: PyEnvironment, name: str, index: int) -> None:
        """Requires the action of number `index` to repeat the rollout bit for bit."""
        place = f"step {index + 1} of {name}"
        time_step = environment.step(self.actions[index])
        assert_identical(time_step, self.time_steps[index + 1], place)
        assert_identical(look(environment), self.views[index + 1], f"what is seen at {place}")


class EnvironmentLife(NamedTuple):
    """An environment of seed 1, and its only rollout.

    Fields:
        new: a copy of the environment from before the rollout.
        rollout: what was seen.
        environment: after the rollout.
        randomness: the global states of random numbers before the environment was made, and after.
    """

    new: PyEnvironment
    rollout: Rollout
    environment: PyEnvironment
    randomness: tuple[Any, Any]


class ContractPart:
    """Base of the parts of `EnvironmentContract`, which documents these members.

    All tests of a class share one rollout: they copy what they change.
    """

    num_steps: int = 12
    num_rewards: int = 4000
    _shared_life: ClassVar[EnvironmentLife]

    def make_environment(self, seed: int) -> PyEnvironment:
        """Returns a new environment; two of them may differ in nothing but their `seed`."""
        raise NotImplementedError(f"{type(self).__name__} does not override make_environment")

    def draw_action(self, rng: np.random.Generator, environment: PyEnvironment) -> Nest:
        """Draws an action, a nest of arrays [B, ...], that `environment` accepts now.

        It is what `draw` of the kind of action returns: uniform within the bounds of its spec, or
        from -1 to 1 without bounds, and over the available actions.
        """
        return environment.action_kind.draw(rng, availability(environment))

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

    def _life(self) -> EnvironmentLife:
        """Returns the environment of seed 1 with its rollout, for all tests of the class."""
        kind = type(self)
        if "_shared_life" not in vars(kind):
            before = global_randomness()
            environment = self.make_environment(1)
            new = copy.deepcopy(environment)
            rollout = self.roll_out(environment)
            randomness = (before, global_randomness())
            kind._shared_life = EnvironmentLife(new, rollout, environment, randomness)
        return kind._shared_life

    def _rollout(self) -> Rollout:
        """Returns the rollout of the environment of seed 1, which all tests of the class share."""
        return self._life().rollout


def global_randomness() -> tuple[Any, Any]:
    """Returns the states of the global generators of random numbers."""
    return random.getstate(), np.random.get_state(legacy=False)


def frozen(value: Any) -> Any:
    """Returns a copy whose arrays are read-only for good: they rest on `bytes`."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, 5, buffer_callback=buffers.append)
    return pickle.loads(pickled, buffers=[buffer.raw().tobytes() for buffer in buffers])


def require_refusal(
    owner: Stateful, method: Callable[[Any], Any], argument: Any, name: str
) -> None:
    """Requires a method of an environment or a policy to refuse an argument and change nothing."""
    before = owner.get_state()
    try:
        method(argument)
    except (TypeError, ValueError):
        assert_identical(owner.get_state(), before, f"the state after {name}")
    else:
        raise AssertionError(f"{name} was accepted")


def availability(environment: PyEnvironment) -> Mask | None:
    """Returns which actions, or items, the observation of a bandit makes available: [B, K].

    It is that of the environment, or the one within its wrappers.
    """
    bandit: Any = environment.unwrapped
    wrapped: Any = environment
    kind = environment.action_kind
    if not (kind.is_single or kind.is_slate) or not is_bandit(environment):
        return None
    for shown in (wrapped, bandit):
        mask = available_actions(shown.current_time_step().observation, shown.num_actions)
        if mask is not None:
            return mask
    return None


def look(environment: PyEnvironment) -> dict[str, Any]:
    """Returns what each method that shows something returns now, unless it is unknown."""
    names = OF_ENVIRONMENTS + OF_BANDITS if is_bandit(environment) else OF_ENVIRONMENTS
    seen: dict[str, Any] = {}
    for name in names:
        with contextlib.suppress(NotImplementedError):
            seen[name] = getattr(environment, name)()
    return seen


def bad_actions(spec: Nest, action: Nest) -> Iterator[tuple[str, Any]]:
    """Yields descriptions of mistakes, and actions that make them; `action` makes none."""
    yield "an object", object()
    yield "a dict around it", {"action": action}
    mistakes: dict[str, None] = {}
    map_structure(
        lambda leaf, array: mistakes.update(dict.fromkeys(_bad(leaf, array))), spec, action
    )
    for mistake in mistakes:
        yield mistake, map_structure(functools.partial(_bad_leaf, mistake), spec, action)


def _bad_leaf(mistake: str, spec: ArraySpec, array: Array) -> Any:
    """Returns an array with a mistake, or the array itself if it cannot have this one."""
    return _bad(spec, array).get(mistake, array)


def _bad(spec: ArraySpec, array: Array) -> dict[str, Any]:
    """Returns what does not fit a spec, by descriptions of the mistakes in it."""
    kind = spec.dtype.kind
    bad: dict[str, Any] = {
        "a dimension too many": array[..., np.newaxis],
        "a row too many": np.concatenate([array, array[:1]]),
        "a row too few": array[:-1],
        "None": None,
        "a string": "0",
        "a ragged list": [[0], [0, 1]],
        "complex numbers": array.astype(complex),
    }
    if kind != "b":
        bad["booleans"] = array.astype(bool)
    if kind != "f":
        bad["floats"] = array.astype(float)
    if kind in "iuf" and array.size and isinstance(spec, BoundedArraySpec):
        for value in _out_of_bounds(spec, array):
            changed = array.astype(object)
            changed.flat[-1] = value
            bad[str(value)] = np.array(changed.tolist())
    return bad


def _out_of_bounds(spec: BoundedArraySpec, array: Array) -> list[float]:
    """Returns numbers that are out of the bounds of the last entry of an array."""
    low = np.ravel(spec.minimum)[-1].item()
    high = np.ravel(spec.maximum)[-1].item()
    wraps = 2**32 + int(array.flat[-1])  # is a good action if it is cut to 32 bits
    integers = [low - 1, high + 1, wraps, 2**64]
    values = [np.nan, np.inf, -np.inf] if spec.dtype.kind == "f" else integers
    return [value for value in values if not low <= value <= high]
