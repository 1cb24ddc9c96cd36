"""The environment interface: specs, time steps, seeding, auto-reset, saving and replay."""

from __future__ import annotations

import abc
import copy
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.checks import checked_integer, checked_mask
from bandit_envs.specs import ArraySpec, Nest, add_outer_dims_nest, assert_arrays_nest, value_range
from bandit_envs.state import Seed, Stateful, check_token, generator
from bandit_envs.trajectories import (
    DISCOUNT_SPEC,
    REWARD_SPEC,
    TimeStep,
    handed_out,
    read_only_time_step,
    time_step_spec,
)

Self = TypeVar("Self", bound="PyEnvironment")


class EnvironmentState(NamedTuple):
    """All that changes in an environment.

    Fields:
        made_by: which environment it belongs to, so that no other takes it.
        rng: the generator of every draw.
        time_step: what the last `reset` or `step` returned; None before the first.
        hidden: what the environment's own hooks need besides.
    """

    made_by: str
    rng: np.random.Generator
    time_step: TimeStep | None
    hidden: Any


class PyEnvironment(Stateful, abc.ABC):
    """A batched environment: B rows that are reset and stepped together.

    A subclass implements `action_spec`, `observation_spec` and two hooks. Each hook returns a pair:
    what the environment has to remember, and the time step to return. It finds what it remembered
    in `self._state.hidden`, draws from `self.np_random`, and changes neither itself:

        _reset()       -> hidden, time_step
        _step(action)  -> hidden, time_step

    `reset` and `step` then store the pair in one assignment. If a hook raises, nothing has
    changed: the generator is put back to where it was.

    Args:
        handle_auto_reset: whether `step` resets, and ignores its action, once all rows are LAST.
        batch_size: B.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.
        name: what to call the environment; default: its class.

    Raises:
        TypeError: `batch_size` is not an integer, or `seed` is no source of randomness.
        ValueError: `batch_size` is less than 1, or `seed` is a negative integer.

    Source: TF-Agents' `PyEnvironment`, whose public names and meaning are kept, except that the
    hooks return pairs.
    """

    def __init__(
        self,
        handle_auto_reset: bool = False,
        *,
        batch_size: int = 1,
        seed: Seed = None,
        name: str | None = None,
    ) -> None:
        self._handle_auto_reset = bool(handle_auto_reset)
        self._batch_size = checked_integer("batch_size", batch_size, minimum=1)
        self._name = type(self).__name__ if name is None else str(name)
        self._state = EnvironmentState("", generator(seed), None, None)

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
        """What the environment is called."""
        return self._name

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of every draw of this environment."""
        rng: np.random.Generator = self._state.rng
        return rng

    @property
    def reward_range(self) -> tuple[float, float]:
        """The smallest and the largest reward that `reward_spec()` allows."""
        return value_range(self.reward_spec())

    @abc.abstractmethod
    def action_spec(self) -> Nest:
        """The spec, or nest of specs, of one row's action."""

    @abc.abstractmethod
    def observation_spec(self) -> Nest:
        """The spec, or nest of specs, of one row's observation."""

    def reward_spec(self) -> ArraySpec:
        """The spec of one row's reward."""
        return REWARD_SPEC

    def discount_spec(self) -> ArraySpec:
        """The spec of one row's discount."""
        return DISCOUNT_SPEC

    def time_step_spec(self) -> TimeStep:
        """The specs of one row's step type, reward, discount and observation."""
        return time_step_spec(self.observation_spec(), self.reward_spec())

    def current_time_step(self) -> TimeStep:
        """Returns what the last `reset` or `step` returned.

        Raises:
            ValueError: there has been neither.
        """
        time_step: TimeStep | None = self._state.time_step
        if time_step is None:
            raise ValueError(f"{self._name} has no time step yet; call reset() first")
        return handed_out(time_step)

    def should_reset(self, time_step: TimeStep) -> bool:
        """Whether `step` would reset after `time_step`: auto-reset is on and all rows are LAST."""
        return self._handle_auto_reset and bool(np.all(time_step.is_last()))

    def reset(self) -> TimeStep:
        """Starts a new episode in every row and returns its FIRST time step."""
        return self._advance(self._reset)

    def reset_rows(self, rows: ArrayLike) -> TimeStep:
        """Starts a new episode in some rows, or in all if there is no time step yet.

        Args:
            rows: [B] bool, whether to reset the row.

        Returns:
            The current time step, in which these rows are FIRST.

        Raises:
            NotImplementedError: this environment resets all of its rows or none.
            TypeError, ValueError: `rows` is not boolean, or not of shape [B].
        """
        mask = checked_mask("rows", rows, (self._batch_size,))
        if self._state.time_step is None or mask.all():
            return self.reset()
        return self._advance(self._reset_rows, mask) if mask.any() else self.current_time_step()

    def step(self, action: Nest) -> TimeStep:
        """Takes one action in every row and returns what follows.

        If there is no time step yet, or `should_reset` says so of the current one, this is
        `reset()` and the action is ignored.

        Args:
            action: a nest of arrays [B, ...] as `action_spec()` says.

        Returns:
            The next time step. Its arrays are read-only, and its containers the caller's own.

        Raises:
            TypeError: the action is of a wrong type. Nothing has changed.
            ValueError: the action has a wrong shape or value. Nothing has changed.
        """
        time_step = self._state.time_step
        if time_step is None or (self._handle_auto_reset and self.should_reset(time_step)):
            return self.reset()
        return self._advance(self._step, self._checked(action))

    def seed(self, seed: Seed = None) -> list[Any]:
        """Exchanges the generator; the current time step stays until the next `reset` or `step`.

        Args:
            seed: as in the constructor.

        Returns:
            The list of seeds used: `[seed]`, or the entropy drawn if `seed` is None.

        Raises:
            TypeError: `seed` is no source of randomness.
            ValueError: `seed` is a negative integer.
        """
        used = np.random.SeedSequence().entropy if seed is None else seed
        self._state = self._state._replace(rng=generator(used))
        return [used]

    def get_state(self) -> Any:
        """Returns a token of the present state, the generator included.

        Whatever happens later cannot change it. It can be pickled, and passed to `set_state` of
        this environment or of another one constructed with the same arguments, in any process.
        """
        return copy.deepcopy(self._state._replace(made_by=self._identity()))

    def set_state(self, state: Any) -> None:
        """Returns to the state of a token: from there on, everything repeats bit for bit.

        Args:
            state: a token from `get_state`; it may be used again.

        Raises:
            TypeError: `state` is not a token of an environment.
            ValueError: the token is from an environment of another class, batch size or spec.
        """
        check_token(state, EnvironmentState, self._identity())
        self.__setstate__({"_state": copy.deepcopy(state)})

    def get_info(self) -> Any:
        """Returns what there is to know of the last step besides its time step.

        Raises:
            NotImplementedError: this environment has no info.
        """
        raise NotImplementedError(f"{self._name} has no get_info()")

    def render(self, mode: str = "rgb_array", row: int = 0) -> Any:
        """Shows one row of the environment.

        Args:
            mode: "rgb_array" for an image [height, width, 3] uint8, "human" for a window, "ansi"
                for text.
            row: which row to show.

        Raises:
            NotImplementedError: this environment cannot be shown, or not in this mode.
        """
        raise NotImplementedError(f"{self._name} has no render({mode!r})")

    def close(self) -> None:
        """Frees what the environment holds. May be called twice."""

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        if self._state.time_step is not None:  # copies can be written; what we hand out cannot
            self._state = self._state._replace(time_step=read_only_time_step(self._state.time_step))

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @abc.abstractmethod
    def _reset(self) -> tuple[Any, TimeStep]:
        """Returns what to remember, and a FIRST time step."""

    @abc.abstractmethod
    def _step(self, action: Nest) -> tuple[Any, TimeStep]:
        """Returns what to remember, and the time step that follows the checked `action`."""

    def _reset_rows(self, rows: NDArray[np.bool_]) -> tuple[Any, TimeStep]:
        """Returns what to remember, and the current time step with `rows` [B] reset to FIRST."""
        raise NotImplementedError(f"{self._name} cannot reset some of its rows only")

    def _checked(self, action: Nest) -> Nest:
        """Returns `action` as `_step` wants it, or raises without having changed anything."""
        try:
            assert_arrays_nest(action, add_outer_dims_nest(self.action_spec(), (self._batch_size,)))
        except (TypeError, ValueError) as error:
            raise type(error)(f"action does not fit {self._name}: {error}") from error
        return copy.deepcopy(action)

    def _advance(self, hook: Callable[..., tuple[Any, TimeStep]], *action: Nest) -> TimeStep:
        state = self._state
        rng = state.rng
        before = rng.bit_generator.state
        try:
            hidden, time_step = hook(*action)
            time_step = read_only_time_step(time_step)
            self._state = EnvironmentState("", rng, time_step, hidden)
        except BaseException:
            if self._state is state:  # or else it was interrupted when all was done
                rng.bit_generator.state = before
            raise
        return handed_out(time_step)

    def _identity(self) -> str:
        return (
            f"{type(self).__name__}(batch_size={self._batch_size}, action={self.action_spec()}, "
            f"observation={self.observation_spec()}, reward={self.reward_spec()}, "
            f"auto_reset={self._handle_auto_reset})"
        )
