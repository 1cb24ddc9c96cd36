"""Bandits: environments in which every action is rewarded at once."""

from __future__ import annotations

import abc
import contextlib
from typing import Any, ClassVar, NamedTuple, Protocol, TypedDict, TypeGuard

import numpy as np
from numpy.typing import NDArray

from bandit_envs import rendering
from bandit_envs.arrays import check_array, check_result, read_only
from bandit_envs.base.checks import check_action, check_available, check_indices, check_integer
from bandit_envs.base.memo import Memo
from bandit_envs.base.py_environment import EnvironmentState, PyEnvironment, new_tuple
from bandit_envs.base.slates import check_distinct
from bandit_envs.base.state import check_fields
from bandit_envs.nests import Nest, flatten, map_structure, read_only_nest
from bandit_envs.seeding import Seed
from bandit_envs.specs import (
    ArraySpec,
    BoundedArraySpec,
    SlateSpec,
    add_outer_dims_nest,
    assert_arrays_nest,
)
from bandit_envs.trajectories import REWARD_SPEC, StepType, TimeStep, restart


class Bandit(Protocol):
    """The members that a bandit, or a wrapper of one, adds to those of a `PyEnvironment`."""

    @property
    def num_actions(self) -> int: ...
    @property
    def horizon(self) -> int | None: ...
    def expected_rewards(self) -> NDArray[Any]: ...
    def optimal_action(self) -> NDArray[Any]: ...
    def optimal_reward(self) -> NDArray[Any]: ...
    def expected_rewards_for(self, observation: Nest) -> NDArray[Any]: ...
    def _last_choice(self) -> tuple[NDArray[Any], Any] | None: ...


def is_bandit(env: PyEnvironment) -> TypeGuard[Bandit]:
    """Whether `env` is a `BanditPyEnvironment` or wraps one."""
    return isinstance(env.unwrapped, BanditPyEnvironment)


def available_actions(observation: Nest, num_actions: int) -> NDArray[np.bool_] | None:
    """Returns which actions an observation makes available: [B, K], or None for all of them.

    In a dict, these are those in `mask` [B, K], or else the first `num_actions` [B].
    """
    if isinstance(observation, dict):
        if "mask" in observation:
            return np.asarray(observation["mask"], np.bool_)
        if "num_actions" in observation:
            count: NDArray[Any] = np.asarray(observation["num_actions"])
            return np.asarray(np.arange(num_actions) < count[..., np.newaxis])
    return None


class Options(TypedDict, total=False):
    """The keyword arguments of every bandit."""

    seed: Seed
    horizon: int | None
    name: str | None


class BanditState(NamedTuple):
    """What a bandit remembers: its state, and the number of steps in this episode.

    `action` [B, ...] is the last action, and `previous` the state that it met; None after a reset.
    """

    state: Any
    steps: int
    previous: Any
    action: Any


class BanditPyEnvironment(PyEnvironment):
    """A bandit, as pure hooks.

    In state s, the action a draws a reward R, and the state changes:

        s_0 ~ initial,    R_t ~ p(. | s_t, a_t),    s_{t+1} ~ next(. | s_t, a_t)

    A subclass gives its specs to the constructor, implements the first two hooks, and overrides
    those of the others that it needs. A hook that draws takes `rng` first; one without `rng` is
    exact. A hook never writes into its `state`: it returns a new one.

        _initial_state(rng)               -> state        hidden values, first context
        _draw_rewards(rng, state, action) -> [B, ...]     as reward_spec() says
        _observe(state)                   -> observation  default: one constant feature
        _available(state)                 -> [B, K] bool  default: None, every action in every row
        _expected_rewards(state)          -> [B, K]       default: unknown
        _next_state(rng, state, action)   -> state        default: unchanged
        _next_episode(rng, state)         -> state        default: _initial_state(rng)

    Where an action is not one integer, such as a slate of items, two hooks replace
    `_expected_rewards`:

        _expected_reward(state, action)   -> [B]
        _optimal_action(state)            -> [B, ...]

    With `horizon=None` every `step` returns LAST with discount 0 and the *next* observation, from
    which the next action is chosen without a reset. With `horizon=H` an episode is FIRST, MID, ...,
    LAST at step H, all with discount 1 (it is cut off, not over); the `step` after a LAST resets
    and ignores its action.

    The base refuses unavailable actions, and their expected reward is -inf. Policies learn from the
    observation what is available: it is a dict with `num_actions` [B], or with `mask` [B, K] beside
    `observation`. The default observation of a bandit with an `_available` is such a dict.

    Shapes:
        B: batch_size.
        K: num_actions.

    Args:
        observation_spec: the nest of specs of one row's observation; None for the default.
        num_actions: K. Actions are integers from 0 to K - 1.
        reward_spec: the nest of specs of one row's reward.
        action_spec: the nest of specs of one row's action, in place of `num_actions`.
        horizon: steps in an episode; None for episodes of one step that need no reset.
        seed, name: as for `PyEnvironment`. `**options` of a subclass are these and `horizon`.

    Source: TF-Agents' `BanditPyEnvironment`; Sutton & Barto, chapter 2.
    """

    independent_rows: ClassVar[bool] = False
    """Whether each row is an independent run; if not, rows are users of one shared problem."""

    skips_nan_check: ClassVar[bool] = False
    """Whether steps trust `_observe` never to return NaN; subclasses inherit it."""

    def __init__(
        self,
        observation_spec: Nest | None = None,
        num_actions: int | None = None,
        reward_spec: Nest = REWARD_SPEC,
        *,
        action_spec: Nest | None = None,
        batch_size: int = 1,
        seed: Seed = None,
        horizon: int | None = None,
        name: str | None = None,
    ) -> None:
        self._horizon = None if horizon is None else check_integer("horizon", horizon, minimum=1)
        super().__init__(horizon is not None, batch_size=batch_size, seed=seed, name=name)
        if (num_actions is None) == (action_spec is None):
            raise TypeError("expected num_actions or action_spec, and not both")
        if action_spec is None:
            last = check_integer("num_actions", num_actions, 1, 2**31) - 1
            action_spec = BoundedArraySpec((), np.int32, 0, last, "action")
        self._action_spec = action_spec
        self._num_actions = _count(action_spec)
        self._takes_indices = self._num_actions is not None and action_spec.shape == ()
        self._takes_slates = isinstance(action_spec, SlateSpec)
        self._reward_spec = reward_spec
        size = self._batch_size
        self._batch_shape = (size,)
        self._rewards_returned = f"{self._name}._draw_rewards returned"
        dims = len(action_spec.shape) if isinstance(action_spec, ArraySpec) else 0
        self._row_offsets = np.arange(size).reshape(size, *(1,) * dims) * (self._num_actions or 1)
        # Instances with 30 attributes or more are slower in CPython.
        kinds = StepType.MID, StepType.LAST
        self._step_types = tuple(np.full(size, kind, np.int32) for kind in kinds)
        self._step_discounts = np.full(size, 0.0 if horizon is None else 1.0, np.float32)
        self._constant_feature: NDArray[Any] = np.ones((size, 1), np.float32)
        self._has_mask = type(self)._available is not BanditPyEnvironment._available
        if observation_spec is None:
            observation_spec = ArraySpec((1,), np.float32, "observation")
            if self._has_mask:
                mask = ArraySpec((self.num_actions,), np.bool_, "mask")
                observation_spec = {"observation": observation_spec, "mask": mask}
        self._observation_spec = observation_spec
        self._mean_memo, self._mask_memo = Memo(), Memo()
        self._optimum_memo, self._info_memo = Memo(), Memo()
        self._window = rendering.Window()

    @property
    def num_actions(self) -> int:
        """The number of actions, K; for slates, the number of items."""
        if self._num_actions is None:
            raise NotImplementedError(f"the actions of {self._name} are not integers from 0")
        return self._num_actions

    @property
    def horizon(self) -> int | None:
        """The number of steps in an episode; None for episodes of one step."""
        return self._horizon

    def action_spec(self) -> Nest:
        return self._action_spec

    def observation_spec(self) -> Nest:
        return self._observation_spec

    def reward_spec(self) -> Nest:
        return self._reward_spec

    def expected_rewards(self) -> NDArray[Any]:
        """Returns the mean of the reward of every action now: [B, K]; -inf if unavailable.

        This and the next methods raise NotImplementedError if the means are unknown, and
        ValueError before the first reset.
        """
        return read_only(self._mean_memo.of(self._bandit_state().state, self._masked_means))

    def expected_rewards_for(self, observation: Nest) -> NDArray[Any]:
        """Returns the mean of the reward of every action under an observation: [batch, K].

        The observation may be of another time step or batch size, and must determine the means.
        """
        leaves = flatten(observation)
        batch = np.shape(leaves[0])[:1] if leaves else self._batch_shape
        spec = add_outer_dims_nest(self._observation_spec, batch)
        assert_arrays_nest(observation, spec, f"observation does not fit {self._name}: ")
        return read_only(self._masked_means(self._state_of(observation), *batch))

    def optimal_action(self) -> NDArray[np.int32]:
        """Returns the first action with the largest expected reward now: [B, ...]."""
        optimum = self._optimum_memo.of(self._bandit_state().state, self._find_optimum)
        return read_only_nest(optimum[0])  # type: ignore[no-any-return]

    def optimal_reward(self) -> NDArray[Any]:
        """Returns the expected reward of the optimal action now: [B]."""
        return read_only(self._optimum_memo.of(self._bandit_state().state, self._find_optimum)[1])

    def get_info(self) -> dict[str, NDArray[Any]] | None:
        """Describes the last step by arrays [B, ...]; None before the first step of an episode.

        `expected_reward` is the mean of the reward of the action taken; `optimal_reward` and
        `optimal_action` are those of the state in which it was taken.
        """
        bandit: BanditState | None = self._state.latent
        if bandit is None or bandit.action is None:
            return None
        info = self._info_memo.of(bandit, self._describe_step)
        return read_only_nest(info)  # type: ignore[no-any-return]

    def render(self, mode: str = "rgb_array", row: int = 0) -> Any:
        return self._window.show(self._rendered_arms(row), mode)

    def close(self) -> None:
        self._window.close()

    @abc.abstractmethod
    def _initial_state(self, rng: np.random.Generator) -> Any:
        """Draws the state that the first episode starts in."""

    @abc.abstractmethod
    def _draw_rewards(self, rng: np.random.Generator, state: Any, action: Any) -> Any:
        """Draws a reward for each row's `action` in `state`: a nest of arrays [B, ...]."""

    def _observe(self, state: Any) -> Nest:
        """Returns the observation of `state`: a nest of arrays [B, ...]."""
        if isinstance(self._observation_spec, ArraySpec):
            return self._constant_feature
        return {"observation": self._constant_feature, "mask": self._known_availability(state)}

    def _available(self, state: Any) -> NDArray[np.bool_] | None:
        """Returns which actions are available in `state`: [B, K]; None for all of them."""
        return None

    def _expected_rewards(self, state: Any) -> NDArray[Any]:
        """Returns the mean of the reward of every action in `state`, available or not: [B, K]."""
        hint = "" if self._takes_indices else " of single actions; see optimal_reward(), get_info()"
        raise NotImplementedError(f"{self._name} does not know its expected rewards{hint}")

    def _expected_reward(self, state: Any, action: Any) -> NDArray[Any]:
        """Returns the mean of the reward of each row's `action` in `state`: [B].

        Of a slate that is rewarded by a number for each slot, it is the mean of their sum.
        """
        return self._of_action(self._table_of_means(state), action)

    def _optimal_action(self, state: Any) -> NDArray[Any]:
        """Returns an action with the largest expected reward in `state`: [B, ...]."""
        return np.asarray(self._table_of_means(state).argmax(axis=1))

    def _state_of(self, observation: Nest) -> Any:
        """Returns a state with the means that `observation`, of any batch size, determines."""
        raise NotImplementedError(f"the observation of {self._name} does not determine its means")

    def _next_state(self, rng: np.random.Generator, state: Any, action: Any) -> Any:
        """Draws the state that follows `action` in `state`."""
        return state

    def _next_episode(self, rng: np.random.Generator, state: Any) -> Any:
        """Draws the state that a later episode starts in; `state` ended the one before."""
        return self._initial_state(rng)

    def _of_action(self, values: NDArray[Any], action: NDArray[np.intp]) -> NDArray[Any]:
        """Returns the entries of `values` [B, K] at each row's `action` [B, ...]: [B, ...]."""
        if self._batch_size == 1:
            return values.take(action)
        # Flat offsets are three times as fast as an index of rows and actions.
        return values.take(self._row_offsets + action, mode="wrap")

    def _rendered_arms(self, row: int) -> rendering.Arms:
        """Returns what `render` shows of one row; of several rewards, it is the mean."""
        index = check_integer("row", row, 0, self._batch_size - 1)
        bandit, reward = self._bandit_state(), self._state.time_step.reward
        state, action, paid = bandit.state, np.empty(0, np.intp), np.empty(0)
        if bandit.action is not None:
            action = np.atleast_1d(bandit.action[index])
            if self._takes_slates:
                state = bandit.previous  # which the slate was chosen in
            if isinstance(reward, np.ndarray):
                paid = np.atleast_1d(reward[index])
                paid = paid if paid.shape == action.shape else paid.mean(keepdims=True)
        values = self._rendered_values(state)[index]
        title = self._name if self._batch_size == 1 else f"{self._name}, row {index}"
        if values.ndim > 1:
            title += f", mean of {values[0].size} rewards"
            values = values.reshape(len(values), -1).mean(axis=1)
        optimal = [int(values.argmax())]
        if self._takes_slates:
            optimal = self._optimum_memo.of(state, self._find_optimum)[0][index].tolist()
        return rendering.Arms(
            title, values, optimal, None, bandit.steps, action.tolist(), paid.tolist()
        )

    def _rendered_values(self, state: Any) -> NDArray[Any]:
        """Returns what `render` shows of every arm, or of every item of slates: [B, K, ...]."""
        if not self._takes_indices:
            raise NotImplementedError(f"{self._name} cannot be shown: an action is not one integer")
        return self._mean_memo.of(state, self._masked_means)

    def _last_choice(self) -> tuple[NDArray[Any], Any] | None:
        """Returns the expected rewards that the last action met, and it; None after a reset."""
        bandit: BanditState | None = self._state.latent
        if bandit is None or bandit.action is None:
            return None
        return self._mean_memo.of(bandit.previous, self._masked_means), bandit.action

    def _check_action(self, action: Nest) -> Any:
        """Returns `action` as the hooks take it; a subclass may add rules for it, as for slates."""
        checked = self._converted_action(action)
        if self._has_mask or self._takes_slates:
            self._check_available(checked)
        return checked

    def _converted_action(self, action: Nest) -> Any:
        if self._takes_indices:
            return check_indices(action, self._batch_size, self._num_actions or 0)
        size = self._batch_size
        if self._takes_slates:
            return check_indices(action, size, self.num_actions, self._action_spec.shape)
        return map_structure(lambda s, leaf: check_action(leaf, s, size), self._action_spec, action)

    def _check_available(self, action: Any) -> None:
        """Raises ValueError if a row's `action` is not available, or a slate repeats an item."""
        if self._takes_slates:
            check_distinct(action, self.num_actions)
        available = self._known_availability(self._state.latent.state)
        if available is not None:
            check_available(action, available)

    def _reset(self) -> tuple[BanditState, TimeStep]:
        rng, _, bandit = self._state
        first = bandit is None
        state = self._initial_state(rng) if first else self._next_episode(rng, bandit.state)
        self._known_availability(state)
        observation = self._observe(state)
        self._check_observation(self._observation_spec, observation)
        time_step = restart(observation, self._batch_size, self._reward_spec)
        return BanditState(state, 0, None, None), time_step

    def _step(self, action: Any) -> tuple[BanditState, TimeStep]:
        rng, before, (state, steps, _, _) = self._state
        drawn = self._draw_rewards(rng, state, action)
        reward = self._checked_reward(self._reward_spec, drawn)
        next_state = self._next_state(rng, state, action)
        steps += 1
        ends = self._horizon is None or steps >= self._horizon
        observation = self._observe(next_state)
        if observation is not before.observation and not self.skips_nan_check:
            self._check_observation(self._observation_spec, observation)
        fields = self._step_types[ends], reward, self._step_discounts, observation
        time_step = new_tuple(TimeStep, fields)
        return new_tuple(BanditState, (next_state, steps, state, action)), time_step

    def _is_over(self) -> bool:
        return self._horizon is not None and self._state.latent.steps >= self._horizon

    def _checked_reward(self, spec: Nest, reward: Any) -> Any:
        if not isinstance(spec, ArraySpec):
            return map_structure(self._checked_reward, spec, reward)
        shape = self._batch_shape + spec.shape
        return check_result(self._rewards_returned, reward, spec.dtype, shape)

    def _check_observation(self, spec: Nest, observation: Nest) -> None:
        """Raises ValueError for a wrong shape or NaN."""
        if isinstance(spec, ArraySpec):
            shape = self._batch_shape + spec.shape
            check_array(f"{self._name}._observe returned", np.asarray(observation), shape)
        elif type(spec) is type(observation) is dict and spec.keys() == observation.keys():
            for key, leaf in spec.items():  # map_structure takes five times as long
                self._check_observation(leaf, observation[key])
        else:
            map_structure(self._check_observation, spec, observation)

    def _known_availability(self, state: Any) -> NDArray[np.bool_] | None:
        """Returns `_available(state)`, checked and computed once a state."""
        if not self._has_mask:
            return None
        return self._mask_memo.of(state, self._find_availability)

    def _find_availability(self, state: Any) -> NDArray[np.bool_] | None:
        available = self._available(state)
        if available is None:
            return None
        what, spec = f"{self._name}._available returned", self._observation_spec
        if not isinstance(spec, dict) or {"mask", "num_actions"}.isdisjoint(spec):
            expected = "expected a dict with mask or num_actions, as actions are unavailable"
            raise ValueError(f"observation_spec is {spec}; {expected}")
        if available.dtype != np.bool_:
            raise TypeError(f"{what} {available.dtype}; expected bool")
        check_array(what, available, (len(available), self.num_actions))
        rows = available.any(axis=1)
        if not rows.all():
            raise ValueError(f"{what} no action for row {rows.argmin()}")
        return available

    def _masked_means(self, state: Any, rows: int | None = None) -> NDArray[Any]:
        means = np.asarray(self._expected_rewards(state))
        count = self._num_actions or means.shape[1]
        shape = (self._batch_size if rows is None else rows, count, *means.shape[2:])
        check_array(f"{self._name}._expected_rewards returned", means, shape)
        available = self._known_availability(state)
        if available is None:
            return means
        mask = available.reshape(available.shape + (1,) * (means.ndim - 2))  # for vector rewards
        return np.where(mask, means, -np.inf)

    def _table_of_means(self, state: Any) -> NDArray[Any]:
        """Returns [B, K], if rewards are numbers and actions are from 0 to K - 1."""
        means = self._mean_memo.of(state, self._masked_means)
        if not self._takes_indices or means.ndim != 2:
            raise NotImplementedError(
                f"{self._name} does not know the means of its actions: an action is not one "
                "integer, or a reward not one number, and it has no _expected_reward of its own"
            )
        return means

    def _find_optimum(self, state: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Returns an optimal action, as the spec says, and its expected reward."""
        best = self._optimal_action(state)
        action = map_structure(lambda leaf, spec: leaf.astype(spec.dtype), best, self._action_spec)
        return action, self._expected_reward(state, best)

    def _describe_step(self, bandit: BanditState) -> dict[str, NDArray[Any]]:
        optimal_action, optimal_reward = self._optimum_memo.of(bandit.previous, self._find_optimum)
        return {
            "expected_reward": self._expected_reward(bandit.previous, bandit.action),
            "optimal_reward": optimal_reward,
            "optimal_action": optimal_action,
        }

    def _bandit_state(self) -> BanditState:
        bandit: BanditState | None = self._state.latent
        if bandit is None:
            raise ValueError(f"{self._name} has no state yet; call reset() first")
        return bandit

    def _state_key(self) -> dict[str, int | None]:
        return {**super()._state_key(), "num_actions": self._num_actions, "horizon": self._horizon}

    def _check_content(self, content: Any) -> None:
        super()._check_content(content)
        bandit = content.latent
        if bandit is None and content.time_step is None:
            return
        check_fields(content, EnvironmentState, time_step=TimeStep, latent=BanditState)
        check_integer("steps", bandit.steps, 0, self._horizon or 2**63 - 1)
        observation = add_outer_dims_nest(self._observation_spec, self._batch_shape)
        assert_arrays_nest(self._observe(bandit.state), observation)
        if bandit.action is not None:
            self._converted_action(bandit.action)
        with contextlib.suppress(NotImplementedError):
            self._masked_means(bandit.state)
            if bandit.action is not None:
                self._describe_step(bandit)


def _count(spec: Nest) -> int | None:
    """Returns K if actions, or slates of actions, are integers from 0 to K - 1; else None."""
    if not isinstance(spec, BoundedArraySpec) or spec.dtype.kind not in "iu":
        return None
    last = spec.maximum.max()
    return int(last) + 1 if not spec.minimum.any() and (spec.maximum == last).all() else None
