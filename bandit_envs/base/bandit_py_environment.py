"""Bandits: environments in which every action is rewarded at once."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, Generic, NamedTuple, TypedDict, TypeGuard, TypeVar

import numpy as np

from bandit_envs import rendering
from bandit_envs.arrays import Array, Indices, Mask, Rng
from bandit_envs.base.actions import ActionKind
from bandit_envs.base.checks import check_available, check_fields, check_integer
from bandit_envs.base.hook_results import check_drawn_rewards, check_observation, check_state
from bandit_envs.base.kind_of_actions import kind_of
from bandit_envs.base.known_means import KnownMeans, KnownState, Means, TakenAction
from bandit_envs.base.memo import Memo
from bandit_envs.base.py_environment import EnvironmentState, PyEnvironment, new_tuple
from bandit_envs.base.shown_bandit import shown_arms
from bandit_envs.nests import Nest, flatten
from bandit_envs.seeding import Seed
from bandit_envs.specs import ArraySpec, add_outer_dims_nest, assert_arrays_nest
from bandit_envs.trajectories import REWARD_SPEC, StepType, TimeStep, restart

State = TypeVar("State")
"""What the hooks of a bandit remember: an array, a named tuple of arrays, None."""


def is_bandit(env: PyEnvironment) -> TypeGuard[KnownMeans]:
    """Whether `env` is a `BanditPyEnvironment` or wraps one."""
    return isinstance(env.unwrapped, BanditPyEnvironment)


def has_own_hook(kind: type, name: str) -> bool:
    """Whether a class of bandits overrides the hook of this name, such as `_observe`."""
    return getattr(kind, name) is not getattr(BanditPyEnvironment, name)


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

    If rows are independent problems, `wrappers.OneProblem` makes them users of one. It asks a
    class with a `_next_state` what users share:

        _share(state)                     -> state        that of the first row, but for users' own

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
        action_spec: the nest of specs of one row's action, or an `ActionKind`, in place of
            `num_actions`.
        horizon: steps in an episode; None for episodes of one step that need no reset.
        seed, name: as for `PyEnvironment`. `**options` of a subclass are these and `horizon`.

    Source: TF-Agents' `BanditPyEnvironment`; Sutton & Barto, chapter 2.
    """

    skips_nan_check: ClassVar[bool] = False
    """Whether steps do not look for NaN in observations. Subclasses do not inherit it."""

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
        self._action_kind = kind_of(num_actions, action_spec, self._batch_size)
        self._of_action = self._action_kind.entries
        self._reward_spec = reward_spec
        size = self._batch_size
        self._batch_shape = (size,)
        # Keep fewer than 30 attributes: CPython is slower with more.
        kinds = (StepType.MID, StepType.LAST)
        self._step_types = tuple(np.full(size, kind, np.int32) for kind in kinds)
        self._step_discounts = np.full(size, 0.0 if horizon is None else 1.0, np.float32)
        self._constant_feature: Array = np.ones((size, 1), np.float32)
        self._has_mask = has_own_hook(type(self), "_available")
        self._checks_observations = not vars(type(self)).get("skips_nan_check", False)
        if observation_spec is None:
            observation_spec = ArraySpec((1,), np.float32, "observation")
            if self._has_mask:
                mask = ArraySpec((self.num_actions,), np.bool_, "mask")
                observation_spec = {"observation": observation_spec, "mask": mask}
        self._observation_spec = observation_spec
        self._known_memo = Memo()
        self._info_memo = Memo()
        self._shown_in = rendering.Window()

    @property
    def num_actions(self) -> int:
        kind = self._action_kind
        if not kind.num_actions:
            problem = f"the actions of {self._name} are not integers from 0{kind.remedy}"
            raise NotImplementedError(problem)
        return kind.num_actions

    @property
    def horizon(self) -> int | None:
        return self._horizon

    def action_spec(self) -> Nest:
        return self._action_kind.spec

    @property
    def action_kind(self) -> ActionKind:
        return self._action_kind

    def observation_spec(self) -> Nest:
        return self._observation_spec

    def reward_spec(self) -> Nest:
        return self._reward_spec

    def expected_rewards_for(self, observation: Nest) -> Array:
        leaves = flatten(observation)
        batch = np.shape(leaves[0])[:1] if leaves else self._batch_shape
        spec = add_outer_dims_nest(self._observation_spec, batch)
        assert_arrays_nest(observation, spec, f"observation does not fit {self._name}: ")
        return self.means_in(self._state_of(observation), *batch).table

    def bandit_state(self) -> BanditState:
        """Returns the state now and the one that the last action met, as the hooks returned them.

        These are the arrays that the environment keeps: nobody writes into them. ValueError before
        the first reset.
        """
        bandit: BanditState | None = self._state.latent
        if bandit is None:
            raise ValueError(f"{self._name} has no state yet; call reset() first")
        return bandit

    def means_in(self, state: State, batch_size: int | None = None) -> KnownState:
        """Returns the expected rewards in a state, such as the present one with other contexts."""
        return KnownState(self, state, self._batch_size if batch_size is None else batch_size)

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
        return {"observation": self._constant_feature, "mask": self._known(state).available}

    def _available(self, state: State) -> Mask | None:
        """Returns which actions are available in `state`: [B, K]; None for all of them."""
        return None

    def _expected_rewards(self, state: State) -> Array:
        """Returns the mean of the reward of every action in `state`, available or not: [B, K]."""
        hint = (
            ""
            if self._action_kind.is_single
            else " of single actions; see optimal_reward(), get_info()"
        )
        raise NotImplementedError(f"{self._name} does not know its expected rewards{hint}")

    def _expected_reward(self, state: State, action: Nest) -> Array:
        """Returns the mean of the reward of each row's `action` in `state`: [B].

        For slates with a reward for each slot, it is the mean of their sum.
        """
        return self._of_action(self._known(state).table_of_numbers(), action)

    def _optimal_action(self, state: State) -> Nest:
        """Returns an action with the largest expected reward in `state`: [B, ...]."""
        return self._known(state).table_of_numbers().argmax(axis=1)

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
        """Returns `state` for users of one problem: what they share is that of the first row.

        What is a user's own stays, such as what the user's actions change. Where it is not
        implemented and a state never changes, all of it is that of the first row.
        """
        raise NotImplementedError(f"{self._name} does not say what of its state users share")

    def _rendered_arms(self, row: int) -> rendering.Arms:
        """Returns what `render` shows of one row."""
        return shown_arms(self, row)

    def _rendered_values(self, state: State) -> Array:
        """Returns what `render` shows of every arm, or of every item of slates: [B, K, ...]."""
        if not self._action_kind.is_single:
            raise NotImplementedError(f"{self._name} cannot be shown: an action is not one integer")
        return self._known(state).table

    def _means_now(self) -> Means:
        return self._known(self.bandit_state().state)

    def _means_met(self) -> TakenAction | None:
        bandit: BanditState | None = self._state.latent
        if bandit is None or bandit.action is None:
            return None
        return TakenAction(bandit.action, self._known(bandit.previous))

    def _known(self, state: State) -> KnownState:
        """Returns what follows from `state`, the same object as long as it stays."""
        return self._known_memo.of(state, self.means_in)

    def _check_action(self, action: Nest) -> Nest:
        """Returns `action` as the hooks take it; a subclass may add rules for it."""
        checked = self._action_kind.check(action)
        if self._has_mask:
            self._check_available(checked)
        return checked

    def _check_available(self, action: Indices) -> None:
        """Raises ValueError if a row's `action` is not available."""
        available = self._known(self._state.latent.state).available
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
        if self._has_mask:
            _ = self._known(state).available  # a bad mask is refused before anything changes
        observation = self._observe(state)
        check_observation(self._name, observation, self._observation_spec, self._batch_shape)
        time_step = restart(observation, self._batch_size, self._reward_spec)
        return BanditState(state, 0, None, None), time_step

    def _step(self, action: Nest) -> tuple[BanditState, TimeStep]:
        rng, before, (state, steps, _, _) = self._state
        drawn = self._draw_rewards(rng, state, action)
        reward = check_drawn_rewards(self._name, drawn, self._reward_spec, self._batch_shape)
        next_state = self._next_state(rng, state, action)
        check_state(self._name, "_next_state", next_state, state)
        steps += 1
        ends = self._horizon is None or steps >= self._horizon
        observation = self._observe(next_state)
        if self._checks_observations and observation is not before.observation:
            check_observation(self._name, observation, self._observation_spec, self._batch_shape)
        fields = (self._step_types[ends], reward, self._step_discounts, observation)
        time_step = new_tuple(TimeStep, fields)
        return new_tuple(BanditState, (next_state, steps, state, action)), time_step

    def _state_key(self) -> dict[str, int | None]:
        return {
            **super()._state_key(),
            "num_actions": self._action_kind.num_actions or None,
            "horizon": self._horizon,
        }

    def _check_content(self, content: Any) -> None:
        super()._check_content(content)
        if content.time_step is not None:
            check_fields(content, EnvironmentState, latent=BanditState)
