"""How policies learn from rewards that arrive later."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Stateful
from bandit_envs.nests import map_structure
from bandit_envs.policies.policy import Policy
from bandit_envs.trajectories import Trajectory
from bandit_envs.wrappers.delays import max_delay_of


class DelayedLearning(Stateful):
    """An observer through which a policy learns from an environment with `DelayedRewards`.

    It keeps the last trajectories, and lets the policy learn from a row of each when its reward
    arrives. Oldest first, all that arrive in a step are learned from in one `Policy.learn_rows`, so
    a count of steps advances once. Put it in the place of the policy among a driver's observers.
    Policies that divide rewards by probabilities, such as Exp3, use those of the arrival.

    Args:
        env: the environment that the trajectories come from. It must not be reset between a step
            and the call. Of the steps before the first call, nothing is learned; from then on, call
            it with every step.
        policy: learns. If its batch size is above 1 and rows have different delays, it must learn
            by row or be a regression, which `SlidingWindowUCBPolicy` is not.

    >>> from bandit_envs import DelayedRewards, KArmedTestbed, StepDriver, UCBPolicy
    >>> env = DelayedRewards(KArmedTestbed(k=3, seed=0), delay=5)
    >>> policy = UCBPolicy(2.0, num_actions=3, seed=1)
    >>> time_step = StepDriver(env, policy, [DelayedLearning(env, policy)], num_steps=20).run()
    >>> int(policy.get_state().content.learned.counts.sum())
    15
    """

    _state: tuple[Trajectory, ...]  # the last ones of the episode, newest first

    def __init__(self, env: PyEnvironment, policy: Policy) -> None:
        self._length = max_delay_of(env.observation_spec()) + 1
        if not self._length:
            raise TypeError(f"env is {env.name}; expected one with DelayedRewards")
        self._env, self.policy = env, policy
        self._state = ()

    def __call__(self, trajectory: Trajectory) -> None:
        """Lets the policy learn from what has arrived in the step of a trajectory."""
        feedback: Any = self._env.current_time_step().observation["feedback"]
        before = () if trajectory.is_first().all() else self._state
        seen = {key: leaf for key, leaf in trajectory.observation.items() if key != "feedback"}
        steps = trajectory._replace(observation=seen), *before[: self._length - 1]
        # The k-th part has the k-th arrival of each row that has so many, its oldest first.
        rows, lags = np.nonzero(feedback["arrived"][:, len(steps) - 1 :: -1])
        rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
        parts = []
        for k in range(rank.max(initial=-1) + 1):
            lag = np.full(self._env.batch_size, -1)
            lag[rows[rank == k]] = len(steps) - 1 - lags[rank == k]
            parts.append((_mixed(steps, lag.clip(0), feedback["reward"]), lag >= 0))
        if parts:
            self.policy.learn_rows(parts)
        self._state = steps

    def _state_key(self) -> dict[str, int | None]:
        return {"batch_size": self._env.batch_size, "max_delay": self._length - 1}


def learner(env: PyEnvironment, policy: Policy) -> Policy | DelayedLearning:
    """Returns the observer through which a policy learns from an environment."""
    return DelayedLearning(env, policy) if max_delay_of(env.observation_spec()) > 0 else policy


def _mixed(steps: tuple[Trajectory, ...], lag: NDArray[Any], reward: NDArray[Any]) -> Trajectory:
    """Returns a trajectory whose row b is that of step `lag[b]`, with the reward [b, lag[b]]."""
    rows = np.arange(len(lag))
    used, place = np.unique(lag, return_inverse=True)
    found = [steps[each] for each in used]
    mixed: Trajectory = found[0]
    if len(found) > 1:
        mixed = map_structure(functools.partial(_picked, place, rows), *found)
    return mixed._replace(reward=reward[rows, lag])


def _picked(place: NDArray[Any], rows: NDArray[Any], *leaves: Any) -> Any:
    return None if leaves[0] is None else np.stack(leaves)[place, rows]
