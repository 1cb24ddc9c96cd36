"""Bandits: environments in which every action is rewarded at once."""

from __future__ import annotations

import abc
import copy
from typing import Any, ClassVar, Generic, NamedTuple, TypedDict, TypeGuard, TypeVar

import numpy as np

from bandit_envs import rendering
from bandit_envs.arrays import Array, Indices, Mask, Rng, read_only
from bandit_envs.base.checks import check_action, check_available, check_indices, check_integer
from bandit_envs.base.hook_results import (
    check_availability,
    check_drawn_rewards,
    check_mean,
    check_means,
    check_observation,
    check_optimal_action,
    check_state,
)
from bandit_envs.base.known_means import KnownMeans, Means, Optimum, TakenAction
from bandit_envs.base.one_problem import same_leaves, share_first_row
from bandit_envs.base.py_environment import EnvironmentState, PyEnvironment, new_tuple
from bandit_envs.base.slates import check_distinct
from bandit_envs.base.state import Memo, check_fields, forget_digest
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.seeding import Seed
from bandit_envs.specs import (
    ArraySpec,
    BoundedArraySpec,
    SlateSpec,
    add_outer_dims_nest,
    assert_arrays_nest,
)
from bandit_envs.trajectories import REWARD_SPEC, StepType, TimeStep, restart

State = TypeVar("State")
"""What the hooks of a bandit remember: an array, a named tuple of arrays, None."""


def is_bandit(env: PyEnvironment) -> TypeGuard[KnownMeans]:
    """Whether `env` is a `BanditPyEnvironment` or wraps one."""
    return isinstance(env.unwrapped, BanditPyEnvironment)


def available_actions(observation: Nest, num_actions: int) -> Mask | None:
    """Returns which actions an observation makes available: [B, K], or None for all of them.

    In a dict, these are those in `mask` [B, K], or else the first `num_actions` [B].
    """
    if isinstance(observation, dict):
        if "mask" in observation:
            return np.asarray(observation["mask"], np.bool_)
        if "num_actions" in observation:
            count: Array = np.asarray(observation["num_actions"])
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


class BanditPyEnvironment(KnownMeans, PyEnvironment, Generic[State]):
    """Base class of bandits. Subclasses implement hooks without side effects.

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

    If rows are independent problems, `wrappers.OneProblem` makes them users of one. Then `_share`
    gives all rows the state of the first, and a subclass overrides it if a part of the state is the
    user's own.

    Where an action is not one integer, such as a slate of items, two hooks replace
    `_expected_rewards`:

        _expected_reward(state, action)   -> [B]
        _optimal_action(state)            -> [B, ...]

    With `horizon=None` every `step` returns LAST with discount 0 and the *next* observation, from
    which the next action is chosen without a reset. With `horizon=H` an episode is FIRST, MID, ...,
    LAST at step H, all with discount 1 (the episode is truncated, not terminated); the `step` after
    a LAST resets and ignores its action.

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

    skips_nan_check: ClassVar[bool] = False
    """Whether steps do not look for NaN in observations. Subclasses do not inherit it."""

    _is_one_problem: bool = False
    """Whether rows that are independent problems otherwise are users of one."""

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
        dims = len(action_spec.shape) if isinstance(action_spec, ArraySpec) else 0
        self._row_offsets = np.arange(size).reshape(size, *(1,) * dims) * (self._num_actions or 1)
        # Keep fewer than 30 attributes: CPython is slower with more.
        kinds = (StepType.MID, StepType.LAST)
        self._step_types = tuple(np.full(size, kind, np.int32) for kind in kinds)
        self._step_discounts = np.full(size, 0.0 if horizon is None else 1.0, np.float32)
        self._constant_feature: Array = np.ones((size, 1), np.float32)
        self._has_mask = type(self)._available is not BanditPyEnvironment._available
        self._checks_observations = not vars(type(self)).get("skips_nan_check", False)
        if observation_spec is None:
            observation_spec = ArraySpec((1,), np.float32, "observation")
            if self._has_mask:
                mask = ArraySpec((self.num_actions,), np.bool_, "mask")
                observation_spec = {"observation": observation_spec, "mask": mask}
        self._observation_spec = observation_spec
        self._means_memo = Memo()
        self._mask_memo = Memo()
        self._info_memo = Memo()
        self._shown_in = rendering.Window()

    @property
    def num_actions(self) -> int:
        if self._num_actions is None:
            raise NotImplementedError(f"the actions of {self._name} are not integers from 0")
        return self._num_actions

    @property
    def horizon(self) -> int | None:
        return self._horizon

    def action_spec(self) -> Nest:
        return self._action_spec

    def observation_spec(self) -> Nest:
        return self._observation_spec

    def reward_spec(self) -> Nest:
        return self._reward_spec

    def expected_rewards_for(self, observation: Nest) -> Array:
        leaves = flatten(observation)
        batch = np.shape(leaves[0])[:1] if leaves else self._batch_shape
        spec = add_outer_dims_nest(self._observation_spec, batch)
        assert_arrays_nest(observation, spec, f"observation does not fit {self._name}: ")
        return read_only(self._masked_means(self._state_of(observation), *batch))

    def render(
        self,
        mode: str = "rgb_array",
        row: int = 0,
        knowledge: rendering.Knowledge | None = None,
    ) -> Any:
        return self._shown_in.show(self._rendered_arms(row), mode, knowledge)

    def close(self) -> None:
        self._shown_in.close()

    @abc.abstractmethod
    def _initial_state(self, rng: Rng) -> State:
        """Draws the state that the first episode starts in."""

    @abc.abstractmethod
    def _draw_rewards(self, rng: Rng, state: State, action: Nest) -> Nest:
        """Draws a reward for each row's `action` in `state`: a nest of arrays [B, ...]."""

    def _observe(self, state: State) -> Nest:
        """Returns the observation of `state`: a nest of arrays [B, ...]."""
        if isinstance(self._observation_spec, ArraySpec):
            return self._constant_feature
        return {"observation": self._constant_feature, "mask": self._known_availability(state)}

    def _available(self, state: State) -> Mask | None:
        """Returns which actions are available in `state`: [B, K]; None for all of them."""
        return None

    def _expected_rewards(self, state: State) -> Array:
        """Returns the mean of the reward of every action in `state`, available or not: [B, K]."""
        hint = "" if self._takes_indices else " of single actions; see optimal_reward(), get_info()"
        raise NotImplementedError(f"{self._name} does not know its expected rewards{hint}")

    def _expected_reward(self, state: State, action: Nest) -> Array:
        """Returns the mean of the reward of each row's `action` in `state`: [B].

        For slates with a reward for each slot, it is the mean of their sum.
        """
        return self._of_action(self._table_of_means(state), action)

    def _optimal_action(self, state: State) -> Nest:
        """Returns an action with the largest expected reward in `state`: [B, ...]."""
        return self._table_of_means(state).argmax(axis=1)

    def _state_of(self, observation: Nest) -> State:
        """Returns a state with the means that `observation`, of any batch size, determines."""
        raise NotImplementedError(f"the observation of {self._name} does not determine its means")

    def _next_state(self, rng: Rng, state: State, action: Nest) -> State:
        """Draws the state that follows `action` in `state`."""
        return state

    def _next_episode(self, rng: Rng, state: State) -> State:
        """Draws the state that a later episode starts in; `state` ended the one before."""
        return self._initial_state(rng)

    def _share(self, state: State) -> State:
        """Returns `state` for users of one problem: by default, all rows have that of the first.

        A subclass whose actions change the state overrides it, and keeps what is the user's own.
        """
        shared: State = share_first_row(self._name, state, self._batch_size)
        return shared

    def _become_one_problem(self) -> None:
        """Makes rows users of one problem; a subclass with constants [B, ...] takes the first."""
        forget_digest(self)
        self._is_one_problem = True

    def _of_action(self, values: Array, action: Indices) -> Array:
        """Returns the entries of `values` [B, K] at each row's `action` [B, ...]: [B, ...]."""
        if self._batch_size == 1:
            return values.take(action)
        # Flat offsets are three times as fast as an index of rows and actions. The actions have
        # been checked, and `wrap` does not check them again.
        return values.take(self._row_offsets + action, mode="wrap")

    def _rendered_arms(self, row: int) -> rendering.Arms:
        """Returns what `render` shows of one row; of several rewards, it is the mean."""
        index = check_integer("row", row, 0, self._batch_size - 1)
        bandit = self._bandit_state()
        # A slate is shown beside the values that it was chosen by.
        state = (
            bandit.previous if self._takes_slates and bandit.action is not None else bandit.state
        )
        values = self._rendered_values(state)[index]
        title = self._name if self._batch_size == 1 else f"{self._name}, row {index}"
        if values.ndim > 1:
            title += f", mean of {values[0].size} rewards"
            values = values.reshape(len(values), -1).mean(axis=1)
        optimal = [int(values.argmax())]
        if self._takes_slates:
            optimal = self._means_in(state).optimum.action[index].tolist()
        action = [] if bandit.action is None else np.atleast_1d(bandit.action[index]).tolist()
        return rendering.Arms(
            title=title,
            values=values,
            optimal=optimal,
            reward_std=None,
            steps=bandit.steps,
            action=action,
            reward=self._rendered_reward(index, len(action)),
        )

    def _rendered_reward(self, index: int, num_parts: int) -> list[float]:
        """Returns the last reward of a row: a number for each part of the action, or their mean."""
        reward = self._state.time_step.reward
        if num_parts == 0 or not isinstance(reward, np.ndarray):
            return []
        paid: Array = np.atleast_1d(reward[index])
        shown: list[float] = (
            paid if paid.shape == (num_parts,) else paid.mean(keepdims=True)
        ).tolist()
        return shown

    def _rendered_values(self, state: State) -> Array:
        """Returns what `render` shows of every arm, or of every item of slates: [B, K, ...]."""
        if not self._takes_indices:
            raise NotImplementedError(f"{self._name} cannot be shown: an action is not one integer")
        return self._means_in(state).table

    def _means_now(self) -> Means:
        return self._means_in(self._bandit_state().state)

    def _means_met(self) -> TakenAction | None:
        bandit: BanditState | None = self._state.latent
        if bandit is None or bandit.action is None:
            return None
        return TakenAction(bandit.action, self._means_in(bandit.previous))

    def _means_in(self, state: State) -> Means:
        """Returns what is known of the means in `state`, the same object as long as it stays."""
        return self._means_memo.of(state, self._make_means)

    def _make_means(self, state: State) -> Means:
        return _MeansOfState(self, state)

    def _check_action(self, action: Nest) -> Nest:
        """Returns `action` as the hooks take it; a subclass may add rules for it, as for slates."""
        checked = self._converted_action(action)
        if self._has_mask or self._takes_slates:
            self._check_available(checked)
        return checked

    def _converted_action(self, action: Nest) -> Nest:
        if self._takes_indices:
            return check_indices(action, self._batch_size, self._num_actions or 0)
        size = self._batch_size
        if self._takes_slates:
            return check_indices(action, size, self.num_actions, self._action_spec.shape)
        return map_structure(lambda s, leaf: check_action(leaf, s, size), self._action_spec, action)

    def _check_available(self, action: Indices) -> None:
        """Raises ValueError if a row's `action` is not available, or a slate repeats an item."""
        if self._takes_slates:
            check_distinct(action, self.num_actions)
        available = self._known_availability(self._state.latent.state)
        if available is not None:
            check_available(action, available)

    def _reset(self) -> tuple[BanditState, TimeStep]:
        rng = self._state.rng
        bandit: BanditState | None = self._state.latent
        if bandit is None:
            state = self._initial_state(rng)
        else:
            state = self._next_episode(rng, bandit.state)
            check_state(self._name, "_next_episode", state, bandit.state)
        if self._is_one_problem:
            state = self._share(state)
        self._known_availability(state)
        observation = self._observe(state)
        self._check_observation(observation)
        time_step = restart(observation, self._batch_size, self._reward_spec)
        return BanditState(state, 0, None, None), time_step

    def _step(self, action: Nest) -> tuple[BanditState, TimeStep]:
        rng, before, (state, steps, _, _) = self._state
        drawn = self._draw_rewards(rng, state, action)
        reward = check_drawn_rewards(self._name, drawn, self._reward_spec, self._batch_shape)
        if self._is_one_problem:
            next_state = self._next_of_one_problem(rng, state, action)
        else:
            next_state = self._next_state(rng, state, action)
        check_state(self._name, "_next_state", next_state, state)
        steps += 1
        ends = self._horizon is None or steps >= self._horizon
        observation = self._observe(next_state)
        if self._checks_observations and observation is not before.observation:
            self._check_observation(observation)
        fields = (self._step_types[ends], reward, self._step_discounts, observation)
        time_step = new_tuple(TimeStep, fields)
        return new_tuple(BanditState, (next_state, steps, state, action)), time_step

    def _next_of_one_problem(self, rng: Rng, state: State, action: Nest) -> State:
        """Returns `_next_state` for users of one problem.

        Raises:
            NotImplementedError: actions change the state, and `_share` does not say whose it is.
        """
        overrides = type(self)._share is not BanditPyEnvironment._share
        if overrides or type(self)._next_state is BanditPyEnvironment._next_state:
            return self._share(self._next_state(rng, state, action))
        twin = copy.deepcopy(rng)
        next_state = self._next_state(rng, state, action)
        if next_state is state:
            return state
        of_first = share_first_row(self._name, action, self._batch_size)
        if not same_leaves(next_state, self._next_state(twin, state, of_first)):
            expected = "expected a _share that says what of the state is a user's own"
            raise NotImplementedError(f"actions change the state of {self._name}; {expected}")
        return self._share(next_state)

    def _is_over(self) -> bool:
        return self._horizon is not None and self._state.latent.steps >= self._horizon

    def _check_observation(self, observation: Nest) -> None:
        check_observation(self._name, observation, self._observation_spec, self._batch_shape)

    def _known_availability(self, state: State) -> Mask | None:
        """Returns `_available(state)`, checked and computed once a state."""
        if not self._has_mask:
            return None
        return self._mask_memo.of(state, self._find_availability)

    def _find_availability(self, state: State) -> Mask | None:
        available = self._available(state)
        if available is None:
            return None
        return check_availability(self._name, available, self.num_actions, self._observation_spec)

    def _masked_means(self, state: State, rows: int | None = None) -> Array:
        """Returns `_expected_rewards(state)`, with -inf for unavailable actions."""
        size = self._batch_size if rows is None else rows
        means = check_means(self._name, self._expected_rewards(state), size, self._num_actions)
        available = self._known_availability(state)
        if available is None:
            return means
        mask = available.reshape(available.shape + (1,) * (means.ndim - 2))  # for vector rewards
        return np.where(mask, means, -np.inf)

    def _table_of_means(self, state: State) -> Array:
        """Returns [B, K], if rewards are numbers and actions are from 0 to K - 1."""
        means = self._means_in(state).table
        if not self._takes_indices or means.ndim != 2:
            raise NotImplementedError(
                f"{self._name} does not know the means of its actions: an action is not one "
                "integer, or a reward not one number, and it has no _expected_reward of its own"
            )
        return means

    def _bandit_state(self) -> BanditState:
        bandit: BanditState | None = self._state.latent
        if bandit is None:
            raise ValueError(f"{self._name} has no state yet; call reset() first")
        return bandit

    def _state_key(self) -> dict[str, int | None]:
        return {**super()._state_key(), "num_actions": self._num_actions, "horizon": self._horizon}

    def _check_content(self, content: Any) -> None:
        super()._check_content(content)
        if content.time_step is not None:
            check_fields(content, EnvironmentState, latent=BanditState)


class _MeansOfState(Means, Generic[State]):
    """What the hooks of a bandit know of the means in a state."""

    def __init__(self, bandit: BanditPyEnvironment[State], state: State) -> None:
        self._bandit = bandit
        self._state = state

    def of(self, action: Nest) -> Array:
        bandit = self._bandit
        mean = bandit._expected_reward(self._state, action)
        return check_mean(bandit._name, mean, bandit._batch_shape)

    def _find_table(self) -> Array:
        return self._bandit._masked_means(self._state)

    def _find_optimum(self) -> Optimum:
        bandit = self._bandit
        best = bandit._optimal_action(self._state)
        action = check_optimal_action(bandit._name, best, bandit._action_spec)
        return Optimum(action, self.of(best))


def _count(spec: Nest) -> int | None:
    """Returns K if actions, or slates of actions, are integers from 0 to K - 1; else None."""
    if not isinstance(spec, BoundedArraySpec) or spec.dtype.kind not in "iu":
        return None
    last = spec.maximum.max()
    return int(last) + 1 if not spec.minimum.any() and (spec.maximum == last).all() else None
