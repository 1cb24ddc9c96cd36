"""Recording: the steps of a driver become a log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs.base.bandit_py_environment import available_actions, is_bandit
from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.logged.files import read_log, write_log
from bandit_envs.logged.log import BanditLog, joined
from bandit_envs.nests import Nest
from bandit_envs.trajectories import Trajectory
from bandit_envs.wrappers.delays import max_delay_of

STEPS = 1024  # joined at a time: many small arrays take more memory than one large one


class LogRecorder:
    """An observer that records every row of every step.

    With a folder, memory is bounded: whenever `chunk_rows` rows are complete, they become a file
    `part-00000.npz` in it, then `part-00001.npz` and so on. `read_log(folder)` reads them all.

    Args:
        num_actions: the number of actions, K.
        env: the environment, if the log is to hold the expected rewards of all actions.
        folder: where to write the log; by default, it is kept in memory.
        chunk_rows: rows of a file.

    Raises:
        ValueError: the folder holds a log; or, when called, rewards are delayed, or there are no
            exact log probabilities: the driver needs `emit_log_probability=True`.

    >>> from bandit_envs import EpsilonGreedyPolicy, KArmedTestbed, StepDriver
    >>> env = KArmedTestbed(3, batch_size=5, seed=0)
    >>> policy = EpsilonGreedyPolicy(0.3, num_actions=3, batch_size=5, seed=1)
    >>> recorder = LogRecorder(3, env)
    >>> _ = StepDriver(env, policy, [policy, recorder], 4, emit_log_probability=True).run()
    >>> len(recorder.log())
    20
    """

    def __init__(
        self,
        num_actions: int,
        env: PyEnvironment | None = None,
        folder: str | os.PathLike[str] | None = None,
        chunk_rows: int = 65_536,
    ) -> None:
        self._num_actions = check_integer("num_actions", num_actions, minimum=1)
        self._chunk_rows = check_integer("chunk_rows", chunk_rows, minimum=1)
        if env is not None and not (isinstance(env, PyEnvironment) and is_bandit(env)):
            raise TypeError(f"env is {short_repr(env)}; expected a bandit, or a wrapper of one")
        self._env = env
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            if any(self._folder.glob("part-*")):
                raise ValueError(f"folder {self._folder} holds a log already")
        self._nests: list[Nest] = []  # those of STEPS steps each, and of the last single steps
        self._steps = self._written = self._parts = 0

    def __call__(self, trajectory: Trajectory) -> None:
        """Records a step."""
        action, info = trajectory.action, trajectory.policy_info
        chance: Any = getattr(info, "log_probability", None)
        if np.shape(chance) != np.shape(action):
            expected = "log probabilities, as a driver with emit_log_probability=True gives them"
            raise ValueError(f"policy_info is {short_repr(info)}; expected {expected}")
        if max_delay_of(trajectory.observation) > 0:
            raise ValueError("rewards are delayed, so they belong to earlier actions")
        choice = None if self._env is None else self._env._last_choice()
        means = () if choice is None else choice[0]
        self._nests.append((trajectory.observation, action, trajectory.reward, chance, means))
        self._steps += 1
        unwritten = self._steps - self._written
        if unwritten % STEPS == 0:
            self._nests[-STEPS:] = [joined(self._nests[-STEPS:])]
        if self._folder is not None and unwritten * len(action) >= self._chunk_rows:
            self.flush()

    def flush(self) -> None:
        """Writes what is not in a file yet, if there is a folder."""
        if self._folder is not None and self._nests:
            write_log(self._folder / f"part-{self._parts:05}.npz", self._recorded())
            self._nests, self._written, self._parts = [], self._steps, self._parts + 1

    def log(self) -> BanditLog:
        """Returns all that was recorded; with a folder, it is read from there."""
        if not self._steps:
            raise ValueError("nothing was recorded yet")
        if self._folder is None:
            return self._recorded()
        self.flush()
        return read_log(self._folder)

    def _recorded(self) -> BanditLog:
        """Returns the log of all steps since the last file."""
        observation, action, reward, chance, means = joined(self._nests)
        steps = np.arange(self._written, self._steps)
        batch_size = len(action) // len(steps)
        columns = observation, action, reward, np.exp(chance), self._num_actions
        return BanditLog(
            *columns,
            available=available_actions(observation, self._num_actions),
            expected_rewards=means if len(means) else None,
            step=np.repeat(steps, batch_size),
            row=np.tile(np.arange(batch_size), len(steps)),
        )
