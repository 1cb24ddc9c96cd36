"""The wrapper: an environment that shows another one differently."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.checks import checked_mask, converted, first_nan
from bandit_envs.py_environment import PyEnvironment
from bandit_envs.specs import ArraySpec, Nest
from bandit_envs.state import Seed, check_token
from bandit_envs.trajectories import (
    TimeStep,
    handed_out,
    no_reward,
    read_only,
    read_only_time_step,
)
from bandit_envs.wrappers.state import WrapperState, WrapperToken


class Wrapper(PyEnvironment):
    """An environment that shows another one differently.

    The whole public interface is passed on, a bandit's included; a wrapper of something else has
    no `num_actions` and no `horizon`. A subclass implements what it does differently, in pure
    hooks, and the spec that goes with it:

        _map_observation(observation) -> observation     observation_spec()
        _map_rewards(rewards)         -> rewards [B]     reward_spec()
        _map_means(means)             -> means           where those of mapped rewards follow

    One that has to remember something overrides the hooks of `PyEnvironment` (`_reset`, `_step`,
    `_reset_rows`) instead, steps `self._env` in them, and finds in `self._state.hidden` what it
    returned as its memory. It draws, if it draws, from `self.np_random`, the generator of the
    wrapped environment; and if it changes rewards, it overrides `_map_means` too.

    If a hook raises, nothing has changed: the wrapped environment is put back too. From the moment
    it is wrapped, an environment should be reset and stepped through its wrapper only.

    `render` shows the wrapped environment, and what its rewards are there.

    The reward of a row that has just been reset says nothing: it is 0, or as near to 0 as the
    reward's spec allows.

    Args:
        env: the environment to wrap; it may be a wrapper.
        name: what to call the result; default: its class and, in brackets, the wrapped one's name.

    Raises:
        TypeError: `env` is not a `PyEnvironment`.

    Source: TF-Agents' `PyEnvironmentBaseWrapper`; Gymnasium's `Wrapper`.

    >>> class Tripled(Wrapper):
    ...     def _map_rewards(self, rewards):
    ...         return 3 * rewards
    ...     _map_means = _map_rewards
    >>> from bandit_envs import KArmedTestbed
    >>> env = Tripled(KArmedTestbed(k=3, reward_std=0.0, seed=0))
    >>> env.reset().reward, env.step([0]).reward == env.expected_rewards()[:, 0]
    (array([0.], dtype=float32), array([ True]))
    """

    def __init__(self, env: PyEnvironment, *, name: str | None = None) -> None:
        # The constructor of an environment would make a generator, and there is one already.
        if not isinstance(env, PyEnvironment):
            raise TypeError(f"env is {env!r}; expected a PyEnvironment")
        self._env = env
        self._name = f"{type(self).__name__}({env.name})" if name is None else str(name)
        self._state = WrapperState("", None, None)

    def wrapped_env(self) -> PyEnvironment:
        """Returns the wrapped environment."""
        return self._env

    @property
    def batched(self) -> bool:
        return self._env.batched

    @property
    def batch_size(self) -> int:
        return self._env.batch_size

    @property
    def name(self) -> str:
        return self._name

    @property
    def np_random(self) -> np.random.Generator:
        return self._env.np_random

    @property
    def num_actions(self) -> int:
        """The number of actions, K, of a wrapped bandit."""
        bandit: Any = self._env
        return int(bandit.num_actions)

    @property
    def horizon(self) -> int | None:
        """The number of pulls in an episode of a wrapped bandit; None for a stream."""
        bandit: Any = self._env
        horizon: int | None = bandit.horizon
        return horizon

    def action_spec(self) -> Nest:
        return self._env.action_spec()

    def observation_spec(self) -> Nest:
        return self._env.observation_spec()

    def reward_spec(self) -> ArraySpec:
        return self._env.reward_spec()

    def discount_spec(self) -> ArraySpec:
        return self._env.discount_spec()

    def time_step_spec(self) -> TimeStep:
        step_type, _, discount, _ = self._env.time_step_spec()
        reward: Any = self.reward_spec()
        return TimeStep(step_type, reward, discount, self.observation_spec())

    def current_time_step(self) -> TimeStep:
        time_step: TimeStep | None = self._state.time_step
        if time_step is None:
            raise ValueError(f"{self._name} has no time step yet; call reset() first")
        return handed_out(time_step)

    def should_reset(self, time_step: TimeStep) -> bool:
        return self._env.should_reset(time_step)

    def reset(self) -> TimeStep:
        return self._advance(self._reset)

    def reset_rows(self, rows: ArrayLike) -> TimeStep:
        mask = checked_mask("rows", rows, (self.batch_size,))
        if self._state.time_step is None or mask.all():
            return self.reset()
        return self._advance(self._reset_rows, mask) if mask.any() else self.current_time_step()

    def step(self, action: Nest) -> TimeStep:
        time_step = self._state.time_step
        if time_step is None or self.should_reset(time_step):
            return self.reset()
        return self._advance(self._step, action)

    def seed(self, seed: Seed = None) -> list[Any]:
        return self._env.seed(seed)

    def get_state(self) -> WrapperToken:
        own = copy.deepcopy(self._state._replace(made_by=self._identity()))
        return WrapperToken(own, self._env.get_state())

    def set_state(self, state: WrapperToken) -> None:
        check_token(state, WrapperToken)
        check_token(state.own, WrapperState, self._identity())
        own = copy.deepcopy(state.own)
        self._env.set_state(state.wrapped)  # refuses before it changes anything
        self._state = own

    def expected_rewards(self) -> NDArray[Any]:
        """Returns the mean of the reward of every action in the current state: [B, K].

        Raises:
            NotImplementedError: the mean is not known, or does not tell that of a mapped reward.
            ValueError: there has been no `reset` yet.
        """
        bandit: Any = self._env
        if not hasattr(bandit, "expected_rewards"):
            raise NotImplementedError(f"{bandit.name} has no expected_rewards()")
        return self._mapped_means(bandit.expected_rewards())

    def optimal_action(self) -> NDArray[np.int32]:
        """Returns the first action with the largest of the `expected_rewards`: [B] int32."""
        return read_only(self.expected_rewards().argmax(axis=1).astype(np.int32))

    def optimal_reward(self) -> NDArray[Any]:
        """Returns the largest of the `expected_rewards`: [B]."""
        return read_only(self.expected_rewards().max(axis=1))

    def get_info(self) -> Any:
        info = self._env.get_info()
        if not isinstance(info, dict):
            return info
        means = ("expected_reward", "optimal_reward")
        return {
            key: self._mapped_means(value) if key in means else value for key, value in info.items()
        }

    def render(self, mode: str = "rgb_array", row: int = 0) -> Any:
        return self._env.render(mode, row)

    def close(self) -> None:
        self._env.close()

    def _map_observation(self, observation: Nest) -> Nest:
        """Returns what is to be seen instead of `observation`."""
        return observation

    def _map_rewards(self, rewards: NDArray[Any]) -> NDArray[Any]:
        """Returns what is to be received instead of `rewards` [B].

        It is also called with what a reset row has as its reward, and the result not used.
        """
        return rewards

    def _map_means(self, means: NDArray[Any]) -> NDArray[Any]:
        """Returns the means of mapped rewards, given the means of the rewards, elementwise."""
        if type(self)._map_rewards is not Wrapper._map_rewards:
            raise NotImplementedError(f"{self._name} does not know its expected rewards")
        return means

    def _reset(self) -> tuple[Any, TimeStep]:
        return None, self._mapped(self._env.reset())

    def _reset_rows(self, rows: NDArray[np.bool_]) -> tuple[Any, TimeStep]:
        return None, self._mapped(self._env.reset_rows(rows))

    def _step(self, action: Nest) -> tuple[Any, TimeStep]:
        return None, self._mapped(self._env.step(action))

    def _mapped(self, time_step: TimeStep) -> TimeStep:
        step_type, reward, discount, observation = time_step
        mapped = self._map_rewards(reward)
        if mapped is not reward:
            mapped = self._checked_rewards(mapped, time_step)
        return TimeStep(step_type, mapped, discount, self._map_observation(observation))

    def _checked_rewards(self, rewards: NDArray[Any], time_step: TimeStep) -> NDArray[Any]:
        spec = self.reward_spec()
        rewards = converted(f"{self._name}._map_rewards", np.asarray(rewards), spec.dtype)
        expected = time_step.reward.shape
        if rewards.shape != expected:
            raise ValueError(
                f"{self._name}._map_rewards returned shape {rewards.shape}; expected {expected}"
            )
        first = time_step.is_first()
        if first.any():
            rewards = np.where(first.reshape(-1, *(1,) * len(spec.shape)), no_reward(spec), rewards)
        index = first_nan(rewards)
        if index is not None:
            raise ValueError(f"{self._name}._map_rewards returned NaN for row {index[0]}")
        return rewards

    def _mapped_means(self, means: NDArray[Any]) -> NDArray[Any]:
        mapped = np.asarray(self._map_means(means))
        return read_only(converted(f"{self._name}._map_means", mapped, self.reward_spec().dtype))

    def _advance(self, hook: Callable[..., tuple[Any, TimeStep]], *action: Nest) -> TimeStep:
        layers: list[PyEnvironment] = [self]
        while isinstance(layers[-1], Wrapper):
            layers.append(layers[-1]._env)
        states = [layer._state for layer in layers]
        rng = self.np_random
        position = rng.bit_generator.state
        try:
            hidden, time_step = hook(*action)
            time_step = read_only_time_step(time_step)
            self._state = WrapperState("", time_step, hidden)
        except BaseException:
            if self._state is states[0]:  # or else it was interrupted when all was done
                for layer, state in zip(layers, states):
                    layer._state = state
                rng.bit_generator.state = position
            raise
        return handed_out(time_step)

    def _identity(self) -> str:
        return (
            f"{type(self).__name__}(observation={self.observation_spec()}, "
            f"reward={self.reward_spec()})"
        )
