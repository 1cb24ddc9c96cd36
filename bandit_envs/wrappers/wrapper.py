"""The wrapper: an environment that changes what another one returns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import check_result, read_only
from bandit_envs.base.bandit_py_environment import Bandit, is_bandit
from bandit_envs.base.py_environment import EnvironmentState, PyEnvironment
from bandit_envs.base.state import Seed
from bandit_envs.specs import Nest
from bandit_envs.trajectories import TimeStep, no_reward


class Wrapper(PyEnvironment):
    """An environment that changes what another one returns.

    It has the whole public interface of the wrapped environment, including a bandit's. A subclass
    implements what it changes, in pure hooks, and overrides the spec that goes with it:

        _map_observation(observation) -> observation     observation_spec()
        _map_rewards(rewards)         -> rewards [B]     reward_spec()
        _map_means(means)             -> means           if they determine those of mapped rewards

    A wrapper that has to remember something overrides the hooks of `PyEnvironment` (`_reset`,
    `_step`) instead, which step `self._env`, and `_map_means` if it changes rewards. It draws from
    `self.np_random`, the generator of the wrapped environment.

    Reset and step a wrapped environment through its wrapper only. `render` shows the wrapped
    environment, with its own rewards. A reset returns the reward 0, or the allowed value nearest
    to 0.

    Args:
        env: the environment to wrap; it may be a wrapper.
        name: by default, the class and, in brackets, the name of `env`.

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
        if not isinstance(env, PyEnvironment):
            raise TypeError(f"env is {env!r}; expected a PyEnvironment")
        name = f"{type(self).__name__}({env.name})" if name is None else name
        super().__init__(batch_size=env.batch_size, seed=env.np_random, name=name)
        self._env = env
        self._observation_spec = env.observation_spec()
        self._reward_spec = env.reward_spec()
        self._returned = f"{self._name}._map_rewards returned"
        self._maps_rewards = type(self)._map_rewards is not Wrapper._map_rewards
        self._state = EnvironmentState(None, None, None)  # the generator is the wrapped one's

    def wrapped_env(self) -> PyEnvironment:
        """Returns the wrapped environment."""
        return self._env

    @property
    def unwrapped(self) -> PyEnvironment:
        return self._env.unwrapped

    @property
    def np_random(self) -> np.random.Generator:
        return self._env.np_random

    @property
    def num_actions(self) -> int:
        """The number of actions, K, of a wrapped bandit."""
        return self._bandit().num_actions

    @property
    def horizon(self) -> int | None:
        """The number of steps in an episode of a wrapped bandit; None for episodes of one step."""
        return self._bandit().horizon

    def action_spec(self) -> Nest:
        return self._env.action_spec()

    def observation_spec(self) -> Nest:
        return self._observation_spec

    def reward_spec(self) -> Nest:
        return self._reward_spec

    def discount_spec(self) -> Nest:
        return self._env.discount_spec()

    def should_reset(self, time_step: TimeStep) -> bool:
        return self._env.should_reset(time_step)

    def seed(self, seed: Seed = None) -> list[Any]:
        return self._env.seed(seed)

    def get_info(self) -> Any:
        info = self._env.get_info()
        if not isinstance(info, dict):
            return info
        means = info.keys() & {"expected_reward", "optimal_reward"}
        return {**info, **{key: self._mapped_means(info[key]) for key in means}}

    def expected_rewards(self) -> NDArray[Any]:
        """Returns the mean mapped reward of every action now: [B, K]."""
        return self._mapped_means(self._bandit().expected_rewards())

    def expected_rewards_for(self, observation: Nest) -> NDArray[Any]:
        """Returns the mean mapped reward of every action under an observation: [batch, K]."""
        if type(self)._map_observation is not Wrapper._map_observation:
            raise NotImplementedError(f"{self._name} changes the observation")
        return self._mapped_means(self._bandit().expected_rewards_for(observation))

    def optimal_action(self) -> NDArray[Any]:
        """Returns the optimal action of the wrapped bandit, as `_map_means` is increasing."""
        self._map_means(np.zeros(0))  # raises if the means of mapped rewards are unknown
        return self._bandit().optimal_action()

    def optimal_reward(self) -> NDArray[Any]:
        """Returns the mean mapped reward of the optimal action now: [B]."""
        return self._mapped_means(self._bandit().optimal_reward())

    def render(self, mode: str = "rgb_array", row: int = 0) -> Any:
        return self._env.render(mode, row)

    def close(self) -> None:
        self._env.close()

    def _map_observation(self, observation: Nest) -> Nest:
        """Returns what is seen in place of `observation`."""
        return observation

    def _map_rewards(self, rewards: Any) -> Any:
        """Returns what is received in place of `rewards` [B]."""
        return rewards

    def _map_means(self, means: NDArray[Any]) -> NDArray[Any]:
        """Returns the means of mapped rewards, elementwise; larger means do not become smaller."""
        if self._maps_rewards:
            raise NotImplementedError(f"{self._name} does not know its expected rewards")
        return means

    def _reset(self) -> tuple[Any, TimeStep]:
        time_step = self._env.reset()
        reward = time_step.reward
        if self._maps_rewards:
            reward = no_reward(self.reward_spec(), self._batch_size)
        return None, self._mapped(time_step, reward)

    def _step(self, action: Nest) -> tuple[Any, TimeStep]:
        time_step = self._env.step(action)
        reward = self._map_rewards(time_step.reward)
        if reward is not time_step.reward:
            spec = self.reward_spec()
            shape = (self._batch_size, *spec.shape)
            reward = check_result(self._returned, reward, spec.dtype, shape)
        return None, self._mapped(time_step, reward)

    def _mapped(self, time_step: TimeStep, reward: Any) -> TimeStep:
        step_type, _, discount, observation = time_step
        return TimeStep(step_type, reward, discount, self._map_observation(observation))

    def _mapped_means(self, means: NDArray[Any]) -> NDArray[Any]:
        mapped = np.asarray(self._map_means(means))
        # Not in the rewards' dtype: float32 could round different means to one number.
        return read_only(mapped if mapped is means else mapped.astype(np.float64, copy=False))

    def _last_choice(self) -> tuple[NDArray[Any], Any] | None:
        choice = self._bandit()._last_choice()
        return None if choice is None else (self._mapped_means(choice[0]), choice[1])

    def _check_action(self, action: Nest) -> Nest:
        return action  # the wrapped environment checks it before anything changes

    def _is_over(self) -> bool:
        return self._env._is_over()

    def _bandit(self) -> Bandit:
        if not is_bandit(self._env):
            raise NotImplementedError(f"{self._env.name} is not a bandit")
        return self._env

    def get_state(self) -> Any:
        own = super().get_state()
        return own._replace(content=(own.content, self._env.get_state()))

    def set_state(self, state: Any) -> None:
        own, wrapped = self._restored(state)
        self._env.set_state(wrapped)  # refuses before it changes anything
        self._state = own

    def _check_content(self, content: Any) -> None:
        own, wrapped = content
        super()._check_content(own._replace(rng=self.np_random))
        self._env._restored(wrapped)
