"""The wrapper: an environment that changes what another one returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from bandit_envs.arrays import Array, check_result, read_only
from bandit_envs.base.actions import ActionKind
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.hook_results import RunOptimum
from bandit_envs.base.known_means import KnownMeans, Means, TakenAction
from bandit_envs.base.memo import Memo
from bandit_envs.base.py_environment import EnvironmentState, PyEnvironment, check_environment
from bandit_envs.base.state import SavedState, check_saved, state_to_write
from bandit_envs.nests import Nest
from bandit_envs.rendering import Knowledge
from bandit_envs.seeding import Seed
from bandit_envs.trajectories import TimeStep, no_reward


class Wrapper(KnownMeans, PyEnvironment):
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

    independent_rows: bool = False
    """An instance has that of what it wraps. Set it to True in a class that makes its own
    environment with independent rows: studies ask the class before they make one."""

    def __init__(self, env: PyEnvironment) -> None:
        check_environment(env)
        name = f"{type(self).__name__}({env.name})"
        super().__init__(batch_size=env.batch_size, seed=env.np_random, name=name)
        self._env = env
        self.independent_rows = type(self).independent_rows or env.independent_rows
        self.actions_change_state = type(self).actions_change_state or env.actions_change_state
        self._innermost = env.unwrapped
        self._observation_spec = env.observation_spec()
        self._reward_spec = env.reward_spec()
        #: Whether it changes rewards; a class that does so in `_step` sets this to True.
        self.maps_rewards = type(self)._map_rewards is not Wrapper._map_rewards
        self._maps_means = type(self)._map_means is not Wrapper._map_means
        bandit = env.unwrapped
        self._has_own_info = is_bandit(bandit) and type(bandit).get_info is not KnownMeans.get_info
        self._state = EnvironmentState(None, None, None)  # the generator is the wrapped one's
        self._info_memo = Memo()

    def wrapped_env(self) -> PyEnvironment:
        """Returns the wrapped environment."""
        return self._env

    @property
    def unwrapped(self) -> PyEnvironment:
        return self._innermost

    @property
    def np_random(self) -> np.random.Generator:
        return self._innermost.np_random

    @property
    def num_actions(self) -> int:
        return self._bandit().num_actions

    @property
    def horizon(self) -> int | None:
        return self._bandit().horizon

    def action_spec(self) -> Nest:
        return self._env.action_spec()

    @property
    def action_kind(self) -> ActionKind:
        changes = type(self).action_spec is not Wrapper.action_spec
        return super().action_kind if changes else self._env.action_kind

    def observation_spec(self) -> Nest:
        return self._observation_spec

    def reward_spec(self) -> Nest:
        return self._reward_spec

    def discount_spec(self) -> Nest:
        return self._env.discount_spec()

    def should_reset(self, current_time_step: TimeStep) -> bool:
        return self._env.should_reset(current_time_step)

    def seed(self, seed: Seed = None) -> list[Any]:
        return self._env.seed(seed)

    def get_info(self) -> Any:
        return super().get_info() if is_bandit(self) else self._env.get_info()

    def expected_rewards_for(self, observation: Nest) -> Array:
        maps = type(self)._map_observation is not Wrapper._map_observation
        if maps or self._observation_spec != self._env.observation_spec():
            raise NotImplementedError(f"{self._name} changes the observation")
        return read_only(self._mapped_means(self._bandit().expected_rewards_for(observation)))

    def optimum_of_run(self, num_steps: int) -> RunOptimum:
        if self.maps_rewards or type(self)._step is not Wrapper._step:
            return super().optimum_of_run(num_steps)
        return self._bandit().optimum_of_run(num_steps)

    def render(
        self, mode: str = "rgb_array", row: int = 0, knowledge: Knowledge | None = None
    ) -> Any:
        if knowledge is None:
            return self._env.render(mode, row)
        if self.maps_rewards and knowledge.values is not None:
            raise ValueError(f"{self.name} maps rewards; expected no knowledge of theirs")
        return self._env.render(mode, row, knowledge)

    def close(self) -> None:
        self._env.close()

    def _map_observation(self, observation: Nest) -> Nest:
        return observation

    def _map_rewards(self, rewards: Nest) -> Nest:
        return rewards

    def _map_means(self, means: Array) -> Array:
        """Returns the means of mapped rewards, elementwise; larger means do not become smaller."""
        if self.maps_rewards:
            raise NotImplementedError(f"{self._name} does not know its expected rewards")
        return means

    def _reset(self) -> tuple[Any, TimeStep]:
        time_step = self._env.reset()
        size = self._batch_size
        reward = no_reward(self.reward_spec(), size) if self.maps_rewards else time_step.reward
        return None, self._mapped(time_step, reward)

    def _step(self, action: Nest) -> tuple[Any, TimeStep]:
        time_step = self._env.step(action)
        reward = self._map_rewards(time_step.reward)
        if reward is not time_step.reward:
            spec = self.reward_spec()
            what = f"{self._name}._map_rewards returned"
            reward = check_result(what, reward, spec.dtype, (self._batch_size, *spec.shape))
        return None, self._mapped(time_step, reward)

    def _mapped(self, time_step: TimeStep, reward: Nest) -> TimeStep:
        step_type, _, discount, observation = time_step
        return TimeStep(step_type, reward, discount, self._map_observation(observation))

    def _mapped_means(self, means: Array) -> Array:
        mapped = np.asarray(self._map_means(means))
        # Not in the rewards' dtype: float32 could round different means to one number.
        return mapped if mapped is means else mapped.astype(np.float64, copy=False)

    def _means_now(self) -> Means:
        bandit = self._bandit()
        if self._state.time_step is None:
            raise ValueError(f"{self._name} has no state yet; call reset() first")
        return self._change_means(bandit.means_now(), are_met=False)

    def _means_met(self) -> TakenAction | None:
        taken = self._bandit().means_met()
        if taken is None or self._state.time_step is None:
            return None
        return TakenAction(taken.action, self._change_means(taken.means, are_met=True))

    def _change_means(self, means: Means, are_met: bool) -> Means:
        """Returns the means of this wrapper's rewards, where `means` are those of the wrapped.

        They are those that the last action met, or those now.
        """
        if self.maps_rewards or self._maps_means:
            return means.mapped(self._mapped_means)
        return means

    def _describe_step(self, state: EnvironmentState) -> dict[str, Any] | None:
        if not self._has_own_info:
            return super()._describe_step(state)
        info: dict[str, Any] | None = self._env.get_info()
        if info is None or state.time_step is None:
            return None
        if "expected_reward" not in info:
            return info
        return {**info, **(super()._describe_step(state) or {})}

    def _check_action(self, action: Nest) -> Nest:
        return action  # the wrapped environment checks it before anything changes

    def _bandit(self) -> KnownMeans:
        if not is_bandit(self._env):
            raise NotImplementedError(f"{self._env.name} is not a bandit")
        return self._env

    def _shared_state(self) -> SavedState:
        own = super()._shared_state()
        return own._replace(content=(own.content, state_to_write(self._env)))

    def set_state(self, state: SavedState) -> None:
        own, wrapped = self._restored(state)
        self._env.set_state(wrapped)  # refuses before it changes anything
        self._state = own

    def _check_content(self, content: Any) -> None:
        own, wrapped = content
        super()._check_content(own._replace(rng=self.np_random))
        check_saved(self._env, wrapped)
