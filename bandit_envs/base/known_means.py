"""Expected rewards and optimal actions of bandits and of their wrappers."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Mask, read_only
from bandit_envs.base.hook_results import (
    RunOptimum,
    check_availability,
    check_mean,
    check_means,
    check_optimal_action,
)
from bandit_envs.base.memo import Memo
from bandit_envs.nests import Nest, read_only_nest


class Optimum(NamedTuple):
    """An optimal action of each row, [B, ...] as the spec says, and its expected reward [B]."""

    action: Nest
    reward: Array


class Means:
    """The expected rewards in one state of a bandit: `of` an action, as a `table`, the `optimum`.

    Each raises NotImplementedError for what is unknown. Tables and optima are read-only. `of` does
    not check actions: it takes what `check` of their kind returned, as `means_met` has it.

    Args:
        of, table, optimum: find them when they are asked for; the last two are then kept.
    """

    def __init__(
        self,
        of: Callable[[Nest], Array],
        table: Callable[[], Array],
        optimum: Callable[[], Optimum],
    ) -> None:
        self.of = of  #: returns the mean of the reward of each row's action: [B]
        self._find_table = table
        self._find_optimum = optimum

    @property
    def table(self) -> Array:
        """The mean of the reward of every action: [B, K], or [B, K, R]; -inf if unavailable."""
        return read_only(self._table)

    @property
    def optimum(self) -> Optimum:
        """The first action with the largest mean, and this mean."""
        action, reward = self._optimum
        return Optimum(read_only_nest(action), read_only(reward))

    @functools.cached_property
    def _table(self) -> Array:
        return self._find_table()

    @functools.cached_property
    def _optimum(self) -> Optimum:
        return self._find_optimum()

    @classmethod
    def of_table(cls, name: str, table: Array) -> Means:
        """Returns what a table [B, K], or [B, K, R], determines; `name` is the environment's."""

        def of(action: Nest) -> Array:
            return np.asarray(table[np.arange(len(table)), action])

        def optimum() -> Optimum:
            if table.ndim != 2:
                raise NotImplementedError(f"{name} does not know its optimal actions")
            action = table.argmax(axis=1).astype(np.int32)
            return Optimum(action, of(action))

        return cls(of, lambda: table, optimum)

    def mapped(self, function: Callable[[Array], Array]) -> Means:
        """Returns the means changed by an increasing function: the optimal actions stay."""

        def optimum() -> Optimum:
            action, reward = self._optimum
            return Optimum(action, function(reward))

        return Means(
            lambda action: function(self.of(action)), lambda: function(self._table), optimum
        )


class KnownState(Means):
    """The available actions and the expected rewards in one state, of `size` rows."""

    def __init__(self, bandit: Any, state: Any, size: int) -> None:
        self._bandit = bandit
        self._state = state
        self._size = size

    @functools.cached_property
    def available(self) -> Mask | None:
        """Which actions are available: [B, K]; None for all."""
        bandit = self._bandit
        found = bandit._available(self._state) if bandit._has_mask else None
        if found is None:
            return None
        spec = bandit._observation_spec
        return check_availability(bandit._name, found, bandit.action_kind, spec)

    def of(self, action: Nest) -> Array:
        bandit = self._bandit
        found = bandit._expected_reward(self._state, action)
        mean = check_mean(bandit._name, found, (self._size,))
        mean.setflags(False)  # type: ignore[call-arg]  # as `read_only` does, without a view
        return mean

    def _find_table(self) -> Array:
        bandit = self._bandit
        found = bandit._expected_rewards(self._state)
        means = check_means(bandit._name, found, self._size, bandit.action_kind.num_actions or None)
        if self.available is None:
            return means
        mask = self.available.reshape(*self.available.shape, *(1,) * (means.ndim - 2))
        return np.where(mask, means, -np.inf)

    def _find_optimum(self) -> Optimum:
        bandit = self._bandit
        best = bandit._optimal_action(self._state)
        return Optimum(
            check_optimal_action(bandit._name, best, bandit.action_kind.spec), self.of(best)
        )

    def table_of_numbers(self) -> Array:
        """Returns `table`, if rewards are numbers and actions are from 0 to K - 1: [B, K]."""
        bandit = self._bandit
        if not bandit.action_kind.is_single or self._table.ndim != 2:
            raise NotImplementedError(
                f"{bandit._name} does not know the means of its actions: an action is not one "
                "integer, or a reward not one number, and it has no _expected_reward of its own"
            )
        return self._table


class TakenAction(NamedTuple):
    """The last action [B, ...], and the expected rewards in the state in which it was taken."""

    action: Nest
    means: Means


class KnownMeans(abc.ABC):
    """Interface that bandits and their wrappers add to `PyEnvironment`.

    All that is known of expected rewards follows from two hooks: `_means_now` and `_means_met`.
    """

    _state: Any
    _info_memo: Memo

    @property
    @abc.abstractmethod
    def num_actions(self) -> int:
        """The number of actions, K; for slates, the number of items."""

    @property
    @abc.abstractmethod
    def horizon(self) -> int | None:
        """The number of steps in an episode; None for episodes of one step."""

    @abc.abstractmethod
    def expected_rewards_for(self, observation: Nest) -> Array:
        """Returns the mean of the reward of every action under an observation: [batch, K].

        The observation may be of another time step or batch size, and must determine the means.
        """

    @abc.abstractmethod
    def _means_now(self) -> Means:
        """Returns the expected rewards now; ValueError before the first reset."""

    @abc.abstractmethod
    def _means_met(self) -> TakenAction | None:
        """Returns the last action and the expected rewards that it met; None after a reset."""

    def means_now(self) -> Means:
        """Returns the expected rewards now; ValueError before the first reset."""
        return self._means_now()

    def means_met(self) -> TakenAction | None:
        """Returns the last action, and the expected rewards that it met; None after a reset.

        A metric asks it about the step of its trajectory, as `RegretMetric` does by `get_info`.
        """
        taken = self._means_met()
        if taken is None:
            return None
        return TakenAction(read_only_nest(taken.action), taken.means)

    def expected_rewards(self) -> Array:
        """Returns the mean of the reward of every action now: [B, K]; -inf if unavailable.

        This method, `optimal_action` and `optimal_reward` raise NotImplementedError if the means
        are unknown, and ValueError before the first reset.
        """
        return self._means_now().table

    def optimal_action(self) -> Array:
        """Returns the first action with the largest expected reward now: [B, ...]."""
        action: Array = self._means_now().optimum.action
        return action

    def optimal_reward(self) -> Array:
        """Returns the expected reward of the optimal action now: [B]."""
        return self._means_now().optimum.reward

    def optimum_of_run(self, num_steps: int) -> RunOptimum:
        """Returns the most that each number of steps of an episode, up to `num_steps`, can earn.

        Where actions change the state, it is what to compare policies with. If rewards are vectors,
        their first number is earned. NotImplementedError if it is unknown.
        """
        raise NotImplementedError("the optimum of a whole run is unknown")

    def get_info(self) -> Any:
        """Describes the last step by arrays [B, ...]; None before the first step of an episode.

        `expected_reward` is the mean of the reward of the action taken; `optimal_reward` and
        `optimal_action` are those of the state in which it was taken.
        """
        info = self._info_memo.of(self._state, self._describe_step)
        return None if info is None else read_only_nest(info)

    def _describe_step(self, state: Any) -> dict[str, Any] | None:
        """Returns what `get_info` shows of `state`, which is the environment's."""
        taken = self._means_met()
        if taken is None:
            return None
        optimum = taken.means._optimum
        return {
            "expected_reward": taken.means.of(taken.action),
            "optimal_reward": optimum.reward,
            "optimal_action": optimum.action,
        }
