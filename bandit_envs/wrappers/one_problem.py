"""A bandit that makes the independent problems of another one a problem of several users."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import numpy as np

from bandit_envs import rendering
from bandit_envs.arrays import Array, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, has_own_hook
from bandit_envs.base.hook_results import RunOptimum
from bandit_envs.base.known_means import KnownState
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import sizes_of, state_to_write
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.trajectories import TimeStep


class OneProblem(BanditPyEnvironment[Any]):
    """Makes the rows of independent problems users of one problem: that of the first row.

        hidden values of row b = hidden values of row 0    at every reset and step

    Each user draws rewards of their own. What depends on a user's own actions stays with the user,
    such as the pulls of a `RestedBandit`. The first row has the same problem as in `env`.
    `independent_rows` is False, so that a policy may learn one model from all rows.

    It is a bandit whose hooks are those of `env`, with a state that users share. It starts with a
    copy of the generator of `env`, which stays as it is: reset and step this environment only.
    Wrappers go around it, and what they remember is each user's own, such as masks and delays.

    Args:
        env: a bandit with `independent_rows`.
        name: the name of this environment; by default, it has that of `env` in it.

    Raises:
        TypeError: `env` is no bandit, or a wrapper, or its class overrides `_reset` or `_step`.
        ValueError: rows are users of one problem already. At a reset: the means of rows differ,
            though they have one state, as of constants for each row. Constants that no known mean
            depends on are not found.
        NotImplementedError: the class that implements the `_next_state` of `env` has no `_share`.

    >>> from bandit_envs import KArmedTestbed
    >>> env = OneProblem(KArmedTestbed(k=3, batch_size=4, seed=0))
    >>> time_step = env.reset()
    >>> len(set(env.optimal_reward().tolist())), env.independent_rows
    (1, False)
    """

    def __init__(self, env: PyEnvironment, name: str | None = None) -> None:
        self._env = _check_problems(env)
        super().__init__(
            env.observation_spec(),
            reward_spec=env.reward_spec(),
            action_spec=env.action_kind,
            batch_size=env.batch_size,
            seed=copy.deepcopy(env.np_random),
            horizon=self._env.horizon,
            name=f"{type(self).__name__}({env.name})" if name is None else name,
        )
        self.actions_change_state = env.actions_change_state
        self._says_what_is_shared = has_own_hook(type(env), "_share")
        self._says_when_to_reset = has_own_hook(type(env), "should_reset")

    def should_reset(self, current_time_step: TimeStep) -> bool:
        if self._says_when_to_reset:
            return self._now().should_reset(current_time_step)
        return super().should_reset(current_time_step)

    def expected_rewards_for(self, observation: Nest) -> Array:
        return self._env.expected_rewards_for(observation)

    def optimum_of_run(self, num_steps: int) -> RunOptimum:
        return self._env.optimum_of_run(num_steps)

    def get_info(self) -> Any:
        return self._now().get_info()

    def _initial_state(self, rng: Rng) -> Any:
        state = self._share(self._env._initial_state(rng))
        self._check_rows(state)
        return state

    def _next_episode(self, rng: Rng, state: Any) -> Any:
        return self._share(self._env._next_episode(rng, state))

    def _next_state(self, rng: Rng, state: Any, action: Nest) -> Any:
        found = self._env._next_state(rng, state, action)
        return state if found is state else self._share(found)

    def _draw_rewards(self, rng: Rng, state: Any, action: Nest) -> Nest:
        return self._env._draw_rewards(rng, state, action)

    def _observe(self, state: Any) -> Nest:
        return self._env._observe(state)

    def _available(self, state: Any) -> Any:
        return self._env._available(state)

    def means_in(self, state: Any, batch_size: int | None = None) -> KnownState:
        return self._env.means_in(state, batch_size)

    def _known(self, state: Any) -> KnownState:
        return self._env._known(state)

    def _share(self, state: Any) -> Any:
        if self._says_what_is_shared:
            return self._env._share(state)
        return share_first_row(self._env.name, state, self._batch_size)

    def _check_action(self, action: Nest) -> Nest:
        return self._now()._check_action(action)

    def _rendered_arms(self, row: int) -> rendering.Arms:
        return self._now()._rendered_arms(row)

    def _now(self) -> BanditPyEnvironment[Any]:
        """Returns the wrapped bandit, in the state of this one."""
        bandit = copy.copy(self._env)
        bandit._state = self._state
        return bandit

    def _check_rows(self, state: Any) -> None:
        """Raises ValueError if rows that have one state have different means."""
        with contextlib.suppress(NotImplementedError):
            if not self._have_one(state):
                return  # users have states of their own
        known = self._known(state)
        for what in ("table", "optimum"):
            with contextlib.suppress(NotImplementedError):
                if not self._have_one(getattr(known, what)):
                    problem = "have different means, so it has constants for each row"
                    expected = "expected a state, and a _share, that say whose constants a row has"
                    raise ValueError(f"the rows of {self._env.name} {problem}; {expected}")

    def _have_one(self, nest: Nest) -> bool:
        """Returns whether all rows of a nest have what the first row has."""
        shared = share_first_row(self._name, nest, self._batch_size)
        return all(map(np.array_equal, flatten(nest), flatten(shared)))

    def _state_owner(self) -> str:
        return f"{super()._state_owner()} of a {state_to_write(self._env).owner}"

    def _state_key(self) -> dict[str, int | None]:
        return sizes_of(self._env)


def share_first_row(owner: str, nest: Nest, batch_size: int) -> Nest:
    """Returns a nest in which all rows of each array have what the first row has.

    A number that all rows share, or None, stays as it is.

    Args:
        owner: the name of the environment, for messages.
        nest: a state: arrays [B, ...].
        batch_size: B.

    Raises:
        NotImplementedError: an array has another shape, or a leaf is another object.
    """

    def share(leaf: Any) -> Any:
        if leaf is None or np.isscalar(leaf):
            return leaf
        if isinstance(leaf, np.ndarray) and leaf.shape[:1] == (batch_size,):
            return np.repeat(leaf[:1], batch_size, axis=0)
        found = f"the state of {owner} has {_describe(leaf)}"
        expected = f"expected an array [{batch_size}, ...], or a _share that says what users share"
        raise NotImplementedError(f"{found}; {expected}")

    return map_structure(share, nest)


def _describe(leaf: object) -> str:
    """Returns what an error says of a leaf of a state."""
    if isinstance(leaf, np.ndarray):
        return f"an array of shape {leaf.shape}"
    return f"a {type(leaf).__name__}"


def _check_problems(env: PyEnvironment) -> BanditPyEnvironment[Any]:
    """Returns `env`, if its rows can become users of one problem."""
    if not isinstance(env, BanditPyEnvironment):
        expected = "expected a bandit"
        if isinstance(env.unwrapped, BanditPyEnvironment):
            expected += f" without wrappers: they go around OneProblem({env.unwrapped.name})"
        raise TypeError(f"env is {env.name}; {expected}")
    own = [name for name in ("_reset", "_step") if has_own_hook(type(env), name)]
    if own:
        expected = f"expected the hooks of a bandit alone, not {' and '.join(own)}"
        raise TypeError(f"env is {env.name}, whose class makes its own steps; {expected}")
    if not env.independent_rows:
        problem = "whose rows are users of one problem already"
        raise ValueError(f"env is {env.name}, {problem}; expected independent_rows")
    if _place_of(type(env), "_next_state") < _place_of(type(env), "_share"):
        problem = "whose class has a _next_state"
        expected = "expected a _share as well, that says what of the state users share"
        raise NotImplementedError(f"env is {env.name}, {problem}; {expected}")
    return env


def _place_of(kind: type, hook: str) -> int:
    """Returns how far up the class that implements a hook is: 0 for `kind` itself."""
    found = getattr(kind, hook)
    return max(place for place, each in enumerate(kind.__mro__) if vars(each).get(hook) is found)
