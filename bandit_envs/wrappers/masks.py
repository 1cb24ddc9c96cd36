"""Wrappers that make actions unavailable."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Mask
from bandit_envs.base.actions import ActionKind
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.checks import (
    check_available,
    check_integer,
    check_number,
    check_numbers,
    short_repr,
)
from bandit_envs.base.known_means import Means
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import TimeStep
from bandit_envs.wrappers.shared import require_single_actions, with_entries
from bandit_envs.wrappers.wrapper import Wrapper


class MaskedSteps(NamedTuple):
    """What a masking wrapper remembers.

    Fields:
        met: the mask that the last action met, [B, K]; None after a reset.
        steps: since the reset.
    """

    met: Mask | None
    steps: int


class MaskingWrapper(Wrapper):
    """A wrapper that masks actions, and may add actions that are always masked.

    The observation, if it is a dict, gets a `mask` [B, K] bool. Any other becomes a dict of
    `observation` and `mask`. The wrapper remembers the mask that the last action met, and counts
    the steps since the reset.

    Args:
        env: a bandit whose action is one integer.
        num_extra_actions: how many actions to add.
    """

    def __init__(self, env: PyEnvironment, num_extra_actions: int) -> None:
        super().__init__(env)
        self._num_wrapped = require_single_actions(env).num_actions
        self._num_actions = self._num_wrapped + num_extra_actions
        self._action_kind = env.action_kind.with_actions(self._num_actions)
        mask_spec = ArraySpec((self._num_actions,), np.bool_, "mask")
        self._observation_spec = with_entries(env.observation_spec(), mask=mask_spec)

    @property
    def num_actions(self) -> int:
        return self._num_actions

    @property
    def action_kind(self) -> ActionKind:
        return self._action_kind

    def action_spec(self) -> Nest:
        return self._action_kind.spec

    def expected_rewards_for(self, observation: Nest) -> Array:
        known = Means.of_table(self._name, super().expected_rewards_for(observation))
        return self._masked(known, observation["mask"]).table

    @abc.abstractmethod
    def _draw_mask(self, available: Mask | None, steps: int) -> Mask:
        """Draws a mask [B, K].

        Args:
            available: the available actions of the wrapped environment, [B, K]; None for all.
            steps: since the reset.
        """

    def _reset(self) -> tuple[MaskedSteps, TimeStep]:
        return MaskedSteps(None, 0), self._masked_time_step(self._env.reset(), steps=0)

    def _step(self, action: Nest) -> tuple[MaskedSteps, TimeStep]:
        met = self._mask_now()
        steps = self._state.latent.steps + 1
        return MaskedSteps(met, steps), self._masked_time_step(self._env.step(action), steps)

    def _mask_now(self) -> Mask:
        mask: Mask = self._state.time_step.observation["mask"]
        return mask

    def _masked_time_step(self, time_step: TimeStep, steps: int) -> TimeStep:
        observation = time_step.observation
        mask = self._draw_mask(available_actions(observation, self._num_wrapped), steps)
        return time_step._replace(observation=with_entries(observation, mask=mask))

    def _check_action(self, action: Nest) -> Indices:
        return check_available(self._action_kind.check(action), self._mask_now())

    def _change_means(self, means: Means, are_met: bool) -> Means:
        means = super()._change_means(means, are_met)
        return self._masked(means, self._state.latent.met if are_met else self._mask_now())

    def _masked(self, means: Means, mask: Mask) -> Means:
        """Returns the means with -inf where the mask has no action."""
        table = means.table
        masked = np.full(
            (*mask.shape, *table.shape[2:]), -np.inf, np.result_type(table.dtype, np.float32)
        )
        known = mask[:, : self._num_wrapped].reshape(*table.shape[:2], *(1,) * (table.ndim - 2))
        np.copyto(masked[:, : self._num_wrapped], table, where=known)
        return Means.of_table(self._name, masked)


class RandomActionMask(MaskingWrapper):
    """Makes each action available with a probability, anew for each time step.

    If none of a row's K actions would be available, one is, drawn uniformly. So

        P(available) = p + (1 - p)^K / K        p = action_probability

    Actions that are unavailable in the wrapped environment stay so. The wrapper's `mask` takes the
    place of a `mask` in the observation, and precedence over `num_actions`.

    Source: TF-Agents' `BernoulliActionMaskTFEnvironment`; Kleinberg et al. (2010).

    >>> from bandit_envs import KArmedTestbed
    >>> env = RandomActionMask(KArmedTestbed(k=3, batch_size=2, seed=0), 0.5)
    >>> mask = env.reset().observation["mask"]
    >>> bool(np.array_equal(mask, env.expected_rewards() > -np.inf))
    True
    """

    def __init__(self, env: PyEnvironment, action_probability: float) -> None:
        super().__init__(env, num_extra_actions=0)
        self._probability = check_number("action_probability", action_probability, 0.0, 1.0)

    def _draw_mask(self, available: Mask | None, steps: int) -> Mask:
        shape = self._batch_size, self._num_actions
        allowed = np.ones(shape, np.bool_) if available is None else available
        mask = (self.np_random.random(shape) < self._probability) & allowed
        empty = np.flatnonzero(~mask.any(axis=1))
        keys = np.where(allowed[empty], self.np_random.random((len(empty), shape[1])), -1.0)
        mask[empty, keys.argmax(axis=1)] = True
        return mask


class ExtraDisabledActions(MaskingWrapper):
    """Adds `num_extra_actions` actions that are never available, after those that there are.

    Source: TF-Agents' `ExtraDisabledActionsWrapper`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = ExtraDisabledActions(KArmedTestbed(k=2, seed=0), num_extra_actions=3)
    >>> env.reset().observation["mask"].tolist(), env.num_actions
    ([[True, True, False, False, False]], 5)
    """

    def __init__(self, env: PyEnvironment, num_extra_actions: int) -> None:
        super().__init__(env, check_integer("num_extra_actions", num_extra_actions, 0))

    def _draw_mask(self, available: Mask | None, steps: int) -> Mask:
        mask = np.zeros((self._batch_size, self._num_actions), np.bool_)
        mask[:, : self._num_wrapped] = True if available is None else available
        return mask


class ScheduledActionMask(MaskingWrapper):
    """Opens and closes actions at given steps.

        action a is available before step t    if open_at[a] <= t < close_at[a],    t = 0, 1, ...

    Steps are counted from the last reset. Regret is that to the best action which is available in
    each step. Actions that are unavailable in the wrapped environment stay so; in a row that would
    have none left, those of the wrapped environment are available. The wrapper's `mask` takes the
    place of a `mask` in the observation, and precedence over `num_actions`.

    A policy of `K` actions has places for all of them from the start. `Policy.with_actions` gives a
    policy new places in a run.

    Args:
        env: a bandit whose action is one integer.
        open_at: [K], the step from which each action is available; None for 0.
        close_at: [K], the step from which it is not any more; None, or infinite, for never.
        name: the name of this environment; by default, it has that of `env` in it.

    Raises:
        ValueError: in some step, no action would be open.

    >>> from bandit_envs import KArmedTestbed
    >>> inf = float("inf")
    >>> env = ScheduledActionMask(KArmedTestbed(k=3, seed=0), [0, 0, 1], [inf, 2, inf])
    >>> masks = [env.reset().observation["mask"][0].tolist()]
    >>> masks + [env.step([0]).observation["mask"][0].tolist() for _ in range(2)]
    [[True, True, False], [True, True, True], [True, False, True]]
    """

    def __init__(
        self,
        env: PyEnvironment,
        open_at: Sequence[float] | None = None,
        close_at: Sequence[float] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(env, num_extra_actions=0)
        if name is not None:
            self._name = str(name)
        self._open_at = self._steps_of("open_at", open_at, otherwise=0.0)
        self._close_at = self._steps_of("close_at", close_at, otherwise=np.inf)
        for step in (0.0, *self._close_at[np.isfinite(self._close_at)].tolist()):
            if not self._is_open(step).any():
                found = f"open_at is {short_repr(open_at)} and close_at {short_repr(close_at)}"
                raise ValueError(f"{found}: none is open in step {step:.0f}; expected an action")

    def _steps_of(self, name: str, steps: Sequence[float] | None, otherwise: float) -> Floats:
        """Returns a step for each action: [K]."""
        if steps is None:
            return np.full(self._num_actions, otherwise)
        checked = check_numbers(name, steps, ndim=1).astype(np.float64)
        is_step = (checked >= 0.0) & (checked == np.floor(checked))
        if checked.shape != (self._num_actions,) or not is_step.all():
            expected = f"a step, from 0 on, for each of {self._num_actions} actions"
            raise ValueError(f"{name} is {short_repr(steps)}; expected {expected}")
        return checked

    def _is_open(self, step: float) -> Mask:
        """Returns which actions are open in a step: [K]."""
        return np.asarray((self._open_at <= step) & (step < self._close_at))

    def _draw_mask(self, available: Mask | None, steps: int) -> Mask:
        is_open = np.tile(self._is_open(steps), (self._batch_size, 1))
        if available is None:
            return is_open
        is_open &= available
        return np.where(is_open.any(axis=1, keepdims=True), is_open, available)
