"""The environment interface: specs, time steps, seeding, auto-reset, saving and replay."""

from __future__ import annotations

import abc
import copy
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bandit_envs.arrays import read_only
from bandit_envs.base.actions import ActionKind
from bandit_envs.base.checks import check_fields, check_integer, short_repr
from bandit_envs.base.kind_of_actions import kind_of_actions
from bandit_envs.base.made_with import made_with
from bandit_envs.base.state import Stateful
from bandit_envs.nests import Nest, flatten, map_structure, read_only_nest
from bandit_envs.rendering import Knowledge
from bandit_envs.seeding import Seed, generator
from bandit_envs.specs import ArraySpec, add_outer_dims_nest, assert_arrays_nest, value_range
from bandit_envs.trajectories import DISCOUNT_SPEC, REWARD_SPEC, StepType, TimeStep, time_step_spec

Self = TypeVar("Self", bound="PyEnvironment")
Fields = TypeVar("Fields", bound="tuple[Any, ...]")

LAST = int(StepType.LAST)

new_tuple: Any = tuple.__new__
"""Makes a named tuple of a class and its fields, in half the time that calling the class takes."""


class EnvironmentState(NamedTuple):
    """All that changes in an environment: `latent` is what the hooks have to remember."""

    rng: np.random.Generator | None  # None in a wrapper, which uses the wrapped one's
    time_step: TimeStep | None  # None before the first
    latent: Any


class PyEnvironment(Stateful, abc.ABC):
    """A batched environment: B rows that are reset and stepped together.

    A subclass implements `action_spec`, `observation_spec` and two hooks:

        _reset()       -> latent, time_step
        _step(action)  -> latent, time_step

    Each hook returns what the environment has to remember, and the time step. It finds what the
    hook before it remembered in `self._state.latent`, draws from `self.np_random`, and assigns
    nothing. After an exception in a hook, restore a saved state or reset.

    Args:
        handle_auto_reset: whether `step` resets, and ignores its action, once all rows are LAST.
        batch_size: B.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.
        name: the environment's name; its class by default.

    Source: TF-Agents' `PyEnvironment`, whose public names and meaning are kept, except that the
    hooks return pairs.
    """

    independent_rows: bool = False
    """Whether each row is an independent problem; if not, rows are users of one shared problem.

    Statistics over rows, and what policies may learn from them, depend on it: a policy whose rows
    share a model must not learn from more than one row of independent problems.
    """

    actions_change_state: bool = False
    """Whether an action changes what later steps pay, so that one-step regrets rank no policies."""

    def __init__(
        self,
        handle_auto_reset: bool = False,
        *,
        batch_size: int = 1,
        seed: Seed = None,
        name: str | None = None,
    ) -> None:
        self._handle_auto_reset = bool(handle_auto_reset)
        self._batch_size = check_integer("batch_size", batch_size, minimum=1)
        self._name = type(self).__name__ if name is None else str(name)
        self._state = EnvironmentState(generator(seed), None, None)

    def __repr__(self) -> str:
        return made_with(self)

    @property
    def batched(self) -> bool:
        """True: every array has a batch dimension, even for a batch of one."""
        return True

    @property
    def batch_size(self) -> int:
        """The number of rows, B."""
        return self._batch_size

    @property
    def name(self) -> str:
        """The environment's name."""
        return self._name

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of every draw of this environment."""
        rng: np.random.Generator = self._state.rng
        return rng

    @property
    def unwrapped(self) -> PyEnvironment:
        """The environment without its wrappers."""
        return self

    @property
    def action_kind(self) -> ActionKind:
        """What an action is, beyond its specs; it is made for as many rows as this has."""
        return kind_of_actions(self.action_spec(), self._batch_size)

    @property
    def reward_range(self) -> tuple[float, float]:
        """The smallest and the largest reward that `reward_spec()` allows."""
        lows, highs = zip(*map(value_range, flatten(self.reward_spec())))
        return min(lows), max(highs)

    @abc.abstractmethod
    def action_spec(self) -> Nest:
        """The spec, or nest of specs, of one row's action."""

    @abc.abstractmethod
    def observation_spec(self) -> Nest:
        """The spec, or nest of specs, of one row's observation."""

    def reward_spec(self) -> Nest:
        """The spec, or nest of specs, of one row's reward."""
        return REWARD_SPEC

    def discount_spec(self) -> Nest:
        """The spec of one row's discount."""
        return DISCOUNT_SPEC

    def time_step_spec(self) -> TimeStep:
        """The specs of one row's step type, reward, discount and observation."""
        spec = time_step_spec(self.observation_spec(), self.reward_spec())
        return spec._replace(discount=self.discount_spec())

    def current_time_step(self) -> TimeStep:
        """Returns what the last `reset` or `step` returned; ValueError if there was neither."""
        time_step: TimeStep | None = self._state.time_step
        if time_step is None:
            raise ValueError(f"{self._name} has no time step yet; call reset() first")
        return read_only_time_step(time_step)

    def should_reset(self, current_time_step: TimeStep) -> bool:
        """Whether `step` resets after a time step: auto-reset is on, and all rows are LAST."""
        step_type = current_time_step.step_type
        if not self._handle_auto_reset or step_type.item(0) != LAST:
            return False  # as after most steps
        return step_type.size == 1 or bool((step_type == LAST).all())

    def reset(self) -> TimeStep:
        """Starts a new episode in every row and returns its FIRST time step."""
        return self._advance(*self._reset())

    def step(self, action: Nest) -> TimeStep:
        """Takes one action in every row and returns the next time step, in read-only arrays.

        If there is no time step yet, or `should_reset` is true of the current one, this is
        `reset()` and the action is ignored. Otherwise an action that does not fit `action_spec()`
        raises TypeError or ValueError, and nothing changes.
        """
        time_step = self._state.time_step
        if time_step is None or self.should_reset(time_step):
            return self.reset()
        return self._advance(*self._step(self._check_action(action)))

    def seed(self, seed: Seed = None) -> list[Any]:
        """Replaces the generator and returns `[seed]`, or the entropy drawn if `seed` is None.

        The current time step stays until the next `reset` or `step`.
        """
        used = np.random.SeedSequence().entropy if seed is None else seed
        self._state = self._state._replace(rng=generator(used))
        return [used]

    def get_info(self) -> Any:
        """Returns what else is known about the last step, if anything."""
        raise NotImplementedError(f"{self._name} has no get_info()")

    def render(
        self, mode: str = "rgb_array", row: int = 0, knowledge: Knowledge | None = None
    ) -> Any:
        """Shows one row of the environment, if it can be shown.

        The mode is "rgb_array" for an image [height, width, 3] uint8, "human" for a window, or
        "ansi" for text. What a policy's `describe(row)` returns is shown beside the true means.
        """
        raise NotImplementedError(f"{self._name} has no render({mode!r})")

    def close(self) -> None:
        """Closes the window of `render`, if there is one."""

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @abc.abstractmethod
    def _reset(self) -> tuple[Any, TimeStep]:
        """Returns what to remember, and a FIRST time step."""

    @abc.abstractmethod
    def _step(self, action: Nest) -> tuple[Any, TimeStep]:
        """Returns what to remember, and the time step after `action`, which has been checked."""

    def _check_action(self, action: Nest) -> Nest:
        """Returns `action` as `_step` takes it, or raises TypeError or ValueError."""
        spec = add_outer_dims_nest(self.action_spec(), (self._batch_size,))
        assert_arrays_nest(action, spec, f"action does not fit {self._name}: ")
        return copy.deepcopy(action)

    def _advance(self, latent: Any, time_step: TimeStep) -> TimeStep:
        self._state = new_tuple(EnvironmentState, (self._state.rng, time_step, latent))
        return read_only_time_step(time_step)

    def _state_key(self) -> dict[str, int | None]:
        return {**super()._state_key(), "batch_size": self._batch_size}

    def _constants(self) -> Mapping[str, Any]:
        return vars(self)  # of what it is made of, and of what it has drawn from its seed

    def _check_content(self, content: Any) -> None:
        check_fields(content, EnvironmentState, rng=np.random.Generator)
        if content.time_step is not None:
            spec = map_structure(ArraySpec.from_spec, self.time_step_spec())
            assert_arrays_nest(content.time_step, add_outer_dims_nest(spec, (self._batch_size,)))


def read_only_time_step(time_step: Fields) -> Fields:
    """Returns a time step, of this package or of TF-Agents, of new views with write flags off."""
    step_type, reward, discount, observation = time_step
    plain = type(reward) is np.ndarray and type(observation) is np.ndarray  # as of most bandits
    show = read_only if plain else read_only_nest
    fields = read_only(step_type), show(reward), read_only(discount), show(observation)
    shown: Fields = new_tuple(type(time_step), fields)
    return shown


def check_environment(env: Any) -> PyEnvironment:
    """Returns `env`; TypeError if it is no `PyEnvironment`, such as one that is adapted already."""
    if isinstance(env, PyEnvironment):
        return env
    is_wrapper = not isinstance(env, type) and callable(getattr(env, "wrapped_env", None))
    wrapped = env.wrapped_env() if is_wrapper else None
    if isinstance(wrapped, PyEnvironment):
        found = f"env is a {type(env).__name__}, which adapts {wrapped.name} already"
        raise TypeError(f"{found}; expected a PyEnvironment, such as its wrapped_env()")
    raise TypeError(f"env is {short_repr(env)}; expected a PyEnvironment")
