"""Drivers: a policy acts in an environment while observers look on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bandit_envs.base.checks import check_integer
from bandit_envs.policies import Policy
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Stateful
from bandit_envs.trajectories import TimeStep, Trajectory

Observer = Callable[[Trajectory], None]
"""Called with the trajectory of every step. A policy is one, and so is a metric."""


class StepDriver(Stateful):
    """Runs a policy in an environment for a number of steps at a time.

    The driver knows nothing of learning: a policy that is to learn is among the observers. Where
    an episode is over, the driver resets; that is no step, and observers do not see it.

    The state of a driver is that of its environment, its policy and every observer that has one.
    So `get_state` saves a whole run, and `set_state` continues it bit for bit: but not if two of
    them share one generator, for each part's token has a copy of its own.

    Args:
        env: the environment.
        policy: chooses the actions.
        observers: called with each step's trajectory, in this order.
        num_steps: steps of the whole batch in one `run()`.

    Raises:
        TypeError: `num_steps` is not an integer.
        ValueError: `num_steps` is less than 1, or the policy's batch size is not the environment's.

    Source: TF-Agents' `PyDriver` and `DynamicStepDriver`; there, steps of all rows are added up.

    >>> from bandit_envs import KArmedTestbed, AverageRewardMetric, UCBPolicy
    >>> env = KArmedTestbed(k=3, batch_size=100, seed=0)
    >>> policy = UCBPolicy(2.0, num_actions=3, batch_size=100, seed=1)
    >>> reward = AverageRewardMetric()
    >>> time_step = StepDriver(env, policy, [policy, reward], num_steps=200).run()
    >>> reward.result().per_step.mean.shape
    (200,)
    """

    def __init__(
        self,
        env: PyEnvironment,
        policy: Policy,
        observers: Sequence[Observer] = (),
        num_steps: int = 1,
    ) -> None:
        if policy.batch_size != env.batch_size:
            raise ValueError(
                f"policy has batch_size {policy.batch_size}; expected {env.batch_size}, "
                f"as {env.name} has"
            )
        self._env = env
        self._policy = policy
        self._observers = tuple(observers)
        self._num_steps = check_integer("num_steps", num_steps, minimum=1)
        parts = (env, policy, *observers)
        self._parts = tuple(
            part
            for index, part in enumerate(parts)
            if isinstance(part, Stateful) and not any(part is other for other in parts[:index])
        )

    def run(self) -> TimeStep:
        """Takes the next `num_steps` steps, from where the last run stopped.

        Returns:
            The environment's last time step.
        """
        env, policy = self._env, self._policy
        time_step = self._start()
        for _ in range(self._num_steps):
            if env.should_reset(time_step):
                time_step = env.reset()
            action = policy.action(time_step)
            next_time_step = env.step(action)
            trajectory = Trajectory.from_transition(time_step, action, next_time_step)
            for observer in self._observers:
                observer(trajectory)
            time_step = next_time_step
        return time_step

    def get_state(self) -> Any:
        """Returns a token of the whole run: environment, policy and observers."""
        return tuple(part.get_state() for part in self._parts)

    def set_state(self, state: Any) -> None:
        """Returns to the state of a token of this run.

        Raises:
            TypeError: a part refuses its token as none. Nothing has changed.
            ValueError: the token has another number of parts, or a part refuses its token. Nothing
                has changed.
        """
        if not isinstance(state, tuple) or len(state) != len(self._parts):
            raise ValueError(f"state is not of a run with {len(self._parts)} parts")
        before = self.get_state()
        try:
            for part, token in zip(self._parts, state):
                part.set_state(token)
        except BaseException:
            for part, token in zip(self._parts, before):
                part.set_state(token)
            raise

    def _start(self) -> TimeStep:
        try:
            return self._env.current_time_step()
        except ValueError:
            return self._env.reset()
