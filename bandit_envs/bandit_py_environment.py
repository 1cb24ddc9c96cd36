"""Bandits: environments in which every action is rewarded at once."""

from __future__ import annotations

import abc
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.checks import checked_actions, checked_integer, converted
from bandit_envs.py_environment import PyEnvironment
from bandit_envs.specs import ArraySpec, BoundedArraySpec, Nest, copy_nest, map_structure
from bandit_envs.state import Seed
from bandit_envs.trajectories import REWARD_SPEC, StepType, TimeStep, read_only, restart


class BanditState(NamedTuple):
    """What a bandit remembers.

    Fields:
        problem: what the five hooks take and return.
        pulls: how many steps this episode has had: one number for all rows, or [B] as soon as
            some of them have been reset alone.
        previous: the problem that the last action met; None after a reset.
        action: [B], the last action; None after a reset.
    """

    problem: Any
    pulls: int | NDArray[np.intp]
    previous: Any
    action: NDArray[np.intp] | None


class BanditPyEnvironment(PyEnvironment):
    """A bandit, as five pure hooks.

    In state s, action a is drawn a reward R, and the state moves on:

        s_0 ~ initial,    R_t ~ p(. | s_t, a_t),    s_{t+1} ~ next(. | s_t, a_t)

    A subclass gives the specs to the constructor and implements the hooks, of which
    `_expected_rewards` and `_next_state` have defaults. A hook never changes its `state`: it
    returns a new one. One that draws takes `rng` first; one without `rng` is exact.

        _initial_state(rng)               -> state     hidden values, first context
        _observe(state)                   -> observation, a nest of arrays [B, ...]
        _expected_rewards(state)          -> [B, K]    NotImplementedError where unknown
        _draw_rewards(rng, state, action) -> [B]
        _next_state(rng, state, action)   -> state     next context, drift

    With `horizon=None` the bandit is a stream: every `step` returns LAST with discount 0 and the
    *next* observation, from which the next action is chosen without a reset in between. With
    `horizon=H` an episode is FIRST, MID, ..., LAST at pull H, all with discount 1 (it is cut off,
    not over), and the `step` after a LAST resets and ignores its action.

    `reset_rows` mixes two states row by row, and therefore needs states that are arrays [B, ...]
    or nests of them.

    Shapes:
        B: batch_size.
        K: num_actions.

    Args:
        observation_spec: the nest of specs of one row's observation.
        num_actions: K. Actions are integers from 0 to K - 1.
        reward_spec: the spec of one row's reward: a scalar.
        batch_size: B.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.
        horizon: pulls in an episode; None for a stream.
        name: what to call the environment; default: its class.

    Raises:
        TypeError: an integer is not one, or `seed` is no source of randomness.
        ValueError: an integer is less than 1, `seed` is negative, or the reward is no scalar.

    Source: TF-Agents' `BanditPyEnvironment`; Sutton & Barto, chapter 2.
    """

    def __init__(
        self,
        observation_spec: Nest,
        num_actions: int,
        reward_spec: ArraySpec = REWARD_SPEC,
        *,
        batch_size: int = 1,
        seed: Seed = None,
        horizon: int | None = None,
        name: str | None = None,
    ) -> None:
        self._horizon = None if horizon is None else checked_integer("horizon", horizon, minimum=1)
        super().__init__(horizon is not None, batch_size=batch_size, seed=seed, name=name)
        self._num_actions = checked_integer("num_actions", num_actions, minimum=1)
        if reward_spec.shape != ():
            raise ValueError(f"reward_spec has shape {reward_spec.shape}; expected ()")
        self._observation_spec = copy_nest(observation_spec)
        self._reward_spec = reward_spec
        self._action_spec = BoundedArraySpec((), np.int32, 0, self._num_actions - 1, "action")
        size = self._batch_size
        self._batch_shape = (size,)
        # `take` on flat offsets is some three times as fast as an index of rows and actions.
        self._row_offsets = np.arange(size) * self._num_actions
        self._mid = read_only(np.full(size, StepType.MID, np.int32))
        self._last = read_only(np.full(size, StepType.LAST, np.int32))
        discount = 0.0 if horizon is None else 1.0
        self._discount = read_only(np.full(size, discount, np.float32))

    @property
    def num_actions(self) -> int:
        """The number of actions, K."""
        return self._num_actions

    @property
    def horizon(self) -> int | None:
        """The number of pulls in an episode; None for a stream."""
        return self._horizon

    def action_spec(self) -> BoundedArraySpec:
        return self._action_spec

    def observation_spec(self) -> Nest:
        return copy_nest(self._observation_spec)

    def reward_spec(self) -> ArraySpec:
        return self._reward_spec

    def expected_rewards(self) -> NDArray[Any]:
        """Returns the mean of the reward of every action in the current state: [B, K].

        An action that is not available to a row has -inf.

        Raises:
            NotImplementedError: the mean is not known.
            ValueError: there has been no `reset` yet.
        """
        return read_only(self._expected_rewards(self._problem()))

    def optimal_action(self) -> NDArray[np.int32]:
        """Returns an action with the largest expected reward in the current state: [B] int32.

        Of several, it is the first.

        Raises:
            NotImplementedError: the mean is not known.
            ValueError: there has been no `reset` yet.
        """
        return read_only(self._expected_rewards(self._problem()).argmax(axis=1).astype(np.int32))

    def optimal_reward(self) -> NDArray[Any]:
        """Returns the largest expected reward in the current state: [B].

        Raises:
            NotImplementedError: the mean is not known.
            ValueError: there has been no `reset` yet.
        """
        expected = self._expected_rewards(self._problem())
        return read_only(expected.take(self._row_offsets + expected.argmax(axis=1)))

    def get_info(self) -> dict[str, NDArray[Any]] | None:
        """Describes the last step; computed anew whenever it is called.

        Returns:
            None before the first step of an episode. Then a dict of arrays [B]:
            `expected_reward`, the mean of the reward of the action taken; `optimal_reward` and
            `optimal_action`, as the state was when it was taken.

        Raises:
            NotImplementedError: the mean is not known.
        """
        bandit: BanditState | None = self._state.hidden
        if bandit is None or bandit.action is None:
            return None
        expected = self._expected_rewards(bandit.previous)
        optimal = expected.argmax(axis=1)  # and not max: along a short axis, argmax is far faster
        return {
            "expected_reward": read_only(expected.take(self._row_offsets + bandit.action)),
            "optimal_reward": read_only(expected.take(self._row_offsets + optimal)),
            "optimal_action": read_only(optimal.astype(np.int32)),
        }

    @abc.abstractmethod
    def _initial_state(self, rng: np.random.Generator) -> Any:
        """Draws the state that an episode starts in."""

    @abc.abstractmethod
    def _observe(self, state: Any) -> Nest:
        """Returns what is seen of `state`: a nest of arrays [B, ...] as `observation_spec` says."""

    def _expected_rewards(self, state: Any) -> NDArray[Any]:
        """Returns the mean of the reward of every action in `state`: [B, K]."""
        raise NotImplementedError(f"{self._name} does not know its expected rewards")

    @abc.abstractmethod
    def _draw_rewards(
        self, rng: np.random.Generator, state: Any, action: NDArray[np.intp]
    ) -> NDArray[Any]:
        """Draws a reward for each row's `action` [B] in `state`: [B]."""

    def _next_state(self, rng: np.random.Generator, state: Any, action: NDArray[np.intp]) -> Any:
        """Draws the state that follows `action` [B] in `state`."""
        return state

    def _reset(self) -> tuple[BanditState, TimeStep]:
        problem = self._initial_state(self._state.rng)
        observation = self._observe(problem)
        time_step = restart(observation, self._batch_size, self._reward_spec)
        return BanditState(problem, 0, None, None), time_step

    def _step(self, action: NDArray[np.intp]) -> tuple[BanditState, TimeStep]:
        _, rng, _, (problem, pulls, _, _) = self._state
        reward = self._checked_rewards(self._draw_rewards(rng, problem, action))
        next_problem = self._next_state(rng, problem, action)
        pulls = pulls + 1
        step_type = self._step_type(pulls)
        time_step = TimeStep(step_type, reward, self._discount, self._observe(next_problem))
        return BanditState(next_problem, pulls, problem, action), time_step

    def _step_type(self, pulls: int | NDArray[np.intp]) -> NDArray[np.int32]:
        if self._horizon is None:
            return self._last
        last = pulls >= self._horizon
        if isinstance(last, np.ndarray):
            return np.where(last, StepType.LAST, StepType.MID)
        return self._last if last else self._mid

    def _reset_rows(self, rows: NDArray[np.bool_]) -> tuple[BanditState, TimeStep]:
        _, _, time_step, bandit = self._state
        fresh, first = self._reset()

        def merged(new: Any, old: Any) -> Any:
            if new is old:
                return old
            if np.shape(new)[:1] != self._batch_shape:
                raise NotImplementedError(f"{self._name} has state that all of its rows share")
            return np.where(rows.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

        problem = map_structure(merged, fresh.problem, bandit.problem)
        pulls = np.where(rows, 0, bandit.pulls)
        return BanditState(problem, pulls, None, None), map_structure(merged, first, time_step)

    def _checked(self, action: Nest) -> NDArray[np.intp]:
        return checked_actions(action, self._batch_size, self._num_actions)

    def _checked_rewards(self, reward: NDArray[Any]) -> NDArray[Any]:
        reward = np.asarray(reward)
        if reward.dtype != self._reward_spec.dtype:
            reward = self._cast(reward)
        if reward.shape != self._batch_shape:
            raise ValueError(
                f"{self._name}._draw_rewards returned shape {reward.shape}; "
                f"expected {self._batch_shape}"
            )
        # For argmax, NaN is the largest number there is, and the first of several is found.
        row = 0 if self._batch_size == 1 else int(reward.argmax())
        if math.isnan(reward.item(row)):
            raise ValueError(f"{self._name}._draw_rewards returned NaN as the reward of row {row}")
        return read_only(reward)

    def _cast(self, reward: NDArray[Any]) -> NDArray[Any]:
        return converted(f"{self._name}._draw_rewards", reward, self._reward_spec.dtype)

    def _problem(self) -> Any:
        if self._state.hidden is None:
            raise ValueError(f"{self._name} has no state yet; call reset() first")
        return self._state.hidden.problem

    def _identity(self) -> str:
        return f"{super()._identity()[:-1]}, horizon={self._horizon})"
