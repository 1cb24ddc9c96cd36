"""Recording: the steps of a driver become a log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs.base.bandit_py_environment import available_actions, is_bandit
from bandit_envs.base.checks import check_integer, shown
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.logged.files import read_log, write_log
from bandit_envs.logged.log import BanditLog, concatenate
from bandit_envs.specs import Nest, map_structure
from bandit_envs.trajectories import Trajectory


class LogRecorder:
    """An observer that records every row of every step.

    With a folder, memory is bounded: whenever `chunk_rows` rows are complete, they become a file
    `part-00000.npz` in it, then `part-00001.npz` and so on. `read_log(folder)` reads them all.

    Args:
        num_actions: the number of actions, K.
        env: the environment, if the log is to hold the expected rewards of all actions.
        folder: where to write the log; by default, it is kept in memory.
        suffix: of the files: .npz, .csv or .parquet.
        chunk_rows: rows that are joined, and written, at a time.

    Raises:
        TypeError: `env` is not a bandit.
        ValueError: the folder holds a log already; or, when called, the trajectory has no exact
            log probabilities: the driver needs `emit_log_probability=True`.

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
        suffix: str = ".npz",
        chunk_rows: int = 65_536,
    ) -> None:
        self._num_actions = check_integer("num_actions", num_actions, minimum=1)
        self._chunk_rows = check_integer("chunk_rows", chunk_rows, minimum=1)
        if env is not None and not (isinstance(env, PyEnvironment) and is_bandit(env)):
            raise TypeError(f"env is {shown(env)}; expected a bandit, or a wrapper of one")
        self._env, self._suffix = env, suffix
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            if any(self._folder.glob("part-*")):
                raise ValueError(f"folder {self._folder} holds a log already")
        self._chunks: list[BanditLog] = []
        self._pending: list[tuple[Nest, dict[str, Any]]] = []
        self._steps = self._parts = 0

    def __call__(self, trajectory: Trajectory) -> None:
        """Records a step."""
        info: Any = getattr(trajectory.policy_info, "log_probability", None)
        if info is None or np.shape(info) != np.shape(trajectory.action):
            raise ValueError(
                f"policy_info is {shown(trajectory.policy_info)}; expected log probabilities, "
                "as a driver with emit_log_probability=True gives them"
            )
        columns = {
            "action": trajectory.action,
            "reward": trajectory.reward,
            "propensity": info,
            "available": available_actions(trajectory.observation, self._num_actions),
        }
        if self._env is not None:
            columns["expected_rewards"] = (self._env._last_choice() or (None,))[0]
        self._pending.append((trajectory.observation, columns))
        if len(self._pending) * len(trajectory.action) >= self._chunk_rows:
            self.flush()

    def flush(self) -> None:
        """Joins what was recorded; with a folder, writes it."""
        if not self._pending:
            return
        observations, tables = zip(*self._pending)
        self._pending = []
        columns = {
            name: np.concatenate([table[name] for table in tables])
            for name, column in tables[0].items()
            if column is not None
        }
        columns["propensity"] = np.exp(columns["propensity"])
        rows = len(tables[0]["action"])
        columns["step"] = np.repeat(np.arange(len(tables)) + self._steps, rows)
        columns["row"] = np.tile(np.arange(rows), len(tables))
        self._steps += len(tables)
        observation = map_structure(lambda *leaves: np.concatenate(leaves), *observations)
        chunk = BanditLog(observation, num_actions=self._num_actions, **columns)
        if self._folder is None:
            self._chunks.append(chunk)
        else:
            write_log(self._folder / f"part-{self._parts:05}{self._suffix}", chunk)
            self._parts += 1

    def log(self) -> BanditLog:
        """Returns all that was recorded; with a folder, it is read from there."""
        self.flush()
        if self._folder is not None:
            return read_log(self._folder)
        if self._chunks:
            self._chunks = [concatenate(self._chunks)]
            return self._chunks[0]
        raise ValueError("nothing was recorded yet")
