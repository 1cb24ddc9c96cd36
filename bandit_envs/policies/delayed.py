"""How policies learn from rewards that arrive later."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Mask
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Stateful
from bandit_envs.nests import map_structure
from bandit_envs.policies.policy import Policy
from bandit_envs.policies.row_by_row import check_problems
from bandit_envs.trajectories import Trajectory
from bandit_envs.wrappers.delays import check_rewards_shown, max_delay_of


class WaitingStep(NamedTuple):
    """A step, and which of its rows wait for their rewards: [B], updated in place."""

    step: Trajectory
    rows: Mask


class DelayedLearning(Stateful):
    """An observer through which a policy learns from an environment with `DelayedRewards`.

    It keeps the last trajectories, and lets the policy learn from a row of each when its reward
    arrives: of several rewards of a row, the oldest first. Put it in the place of the policy among
    a driver's observers. A policy whose `can_count_pending` is True counts the choices that wait
    for their rewards, until these arrive or are lost. Policies that divide rewards by
    probabilities, such as Exp3, use those of the arrival.

    Args:
        env: the environment that the trajectories come from. It must not be reset between a step
            and the call. Of the steps before the first call, nothing is learned; from then on, call
            it with every step.
        policy: learns.

    Raises:
        TypeError, ValueError: rewards of `env` do not come later; or a wrapper outside of
            `DelayedRewards` changes them.

    >>> from bandit_envs import DelayedRewards, KArmedTestbed, StepDriver, UCBPolicy
    >>> env = DelayedRewards(KArmedTestbed(k=3, seed=0), delay=5)
    >>> policy = UCBPolicy(2.0, num_actions=3, seed=1)
    >>> time_step = StepDriver(env, policy, [DelayedLearning(env, policy)], num_steps=20).run()
    >>> int(policy.get_state().content.learned.counts.sum())
    15
    """

    _state: tuple[WaitingStep, ...]  # for the last steps of the episode, newest first

    def __init__(self, env: PyEnvironment, policy: Policy) -> None:
        self._length = max_delay_of(env.observation_spec()) + 1
        if not self._length:
            raise TypeError(f"env is {env.name}; expected one with DelayedRewards")
        check_problems(env, policy)
        check_rewards_shown(env)
        self._env = env
        self.policy = policy
        self._state = ()

    def __call__(self, trajectory: Trajectory) -> None:
        """Lets the policy learn from what has arrived in the step of a trajectory."""
        feedback: Any = self._env.current_time_step().observation["feedback"]
        seen = {key: leaf for key, leaf in trajectory.observation.items() if key != "feedback"}
        if trajectory.is_first().all():
            self._lose(self._state)
            self._state = ()
        waits = (self._expect(trajectory._replace(observation=seen)), *self._state)
        due = feedback["arrived"][:, : len(waits)]
        arrived = due.copy()
        while arrived.any():
            rows = arrived.any(axis=1)
            lag = len(waits) - 1 - arrived[:, ::-1].argmax(axis=1)  # of the oldest that arrived
            lag[~rows] = 0
            self.policy.learn(_mix(waits, lag, feedback["reward"]), rows)
            arrived[np.arange(len(lag)), lag] = False
        for column in np.flatnonzero(due.any(axis=0)):
            waits[column].rows[due[:, column]] = False
        self._lose(waits[self._length - 1 :])
        self._state = waits[: self._length - 1]

    def _expect(self, step: Trajectory) -> WaitingStep:
        """Returns the wait for the rewards of a step."""
        if self.policy.can_count_pending:
            self.policy.expect_rewards(step.action)
        return WaitingStep(step, np.ones(len(step.step_type), np.bool_))

    def _lose(self, waits: tuple[WaitingStep, ...]) -> None:
        """Ends waits for rewards that never come."""
        if self.policy.can_count_pending:
            for wait in waits:
                self.policy.stop_expecting(wait.step.action, wait.rows)

    def _state_key(self) -> dict[str, int | None]:
        sizes = {"batch_size": self._env.batch_size, "max_delay": self._length - 1}
        return {**super()._state_key(), **sizes}


def learner(env: PyEnvironment, policy: Policy) -> Policy | DelayedLearning:
    """Returns the observer through which a policy learns from an environment."""
    return DelayedLearning(env, policy) if max_delay_of(env.observation_spec()) > 0 else policy


def _mix(waits: tuple[WaitingStep, ...], lag: NDArray[Any], reward: NDArray[Any]) -> Trajectory:
    """Returns a trajectory whose row b is that of step `lag[b]`, with the reward [b, lag[b]]."""
    rows = np.arange(len(lag))
    used, place = np.unique(lag, return_inverse=True)
    mixed: Trajectory = waits[used[0]].step
    if len(used) > 1:
        mixed = map_structure(
            functools.partial(_pick_rows, place, rows), *(waits[each].step for each in used)
        )
    return mixed._replace(reward=reward[rows, lag])


def _pick_rows(place: NDArray[Any], rows: NDArray[Any], *leaves: Any) -> Any:
    """Returns a leaf whose row b is that of the leaf `place[b]`; leaves may be None."""
    return None if leaves[0] is None else np.stack(leaves)[place, rows]
