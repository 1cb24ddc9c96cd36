"""Recording: the steps of a driver become a log."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Mask
from bandit_envs.base.actions import ActionKind
from bandit_envs.base.bandit_py_environment import available_actions, is_bandit
from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.base.py_environment import PyEnvironment, check_environment
from bandit_envs.logged.columns import check_kind, has_own_kind, kind_in_log
from bandit_envs.logged.files.log_files import write_log
from bandit_envs.logged.files.log_readers import read_log
from bandit_envs.logged.joining import join_nests
from bandit_envs.logged.log import BanditLog
from bandit_envs.nests import Nest, flatten
from bandit_envs.tables.folders import list_visible
from bandit_envs.trajectories import Trajectory
from bandit_envs.wrappers.delays import max_delay_of

PROBABILITY = "log_probability"

STEPS = 1024  # joined at a time: many small arrays take more memory than one large one


class Recorded(NamedTuple):
    """One step, or several joined."""

    observation: Nest
    action: Nest
    reward: Array
    log_probability: Array
    expected_rewards: Any  # [n, K], or () if there is no environment that knows them
    embedding: Any  # [n, D], or () if there is no function that finds them
    info: dict[str, Nest]  # what the policy told beside the log probability


class LogRecorder:
    """An observer that records every row of every step.

    What a policy tells of its choices beside their probabilities becomes the log's `info`.

    With a folder, memory is bounded: whenever `chunk_rows` rows are complete, they become a file
    `part-00000.npz` in it, then `part-00001.npz` and so on. `read_log(folder)` reads them all.

    Args:
        num_actions: the number of actions, K; 0 if actions are real numbers.
        env: the environment, if the log is to hold the expected rewards of all actions.
        folder: where to write the log; by default, it is kept in memory.
        chunk_rows: rows of a file.
        embed: returns the embeddings [B, D] of the actions of a trajectory, integers from 0, if the
            log is to hold them.
        action_kind: that of the environment or the policy, in place of `num_actions`. All but
            slates can be recorded; a folder takes integers from 0 and real numbers.

    Raises:
        ValueError: the folder has files, or actions are of a kind that cannot be recorded so; or,
            when called, rewards are delayed, or there are no exact log probabilities: the driver
            needs `emit_log_probability=True`.

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
        num_actions: int | None = None,
        env: PyEnvironment | None = None,
        folder: str | os.PathLike[str] | None = None,
        chunk_rows: int = 65_536,
        embed: Callable[[Trajectory], ArrayLike] | None = None,
        *,
        action_kind: ActionKind | None = None,
    ) -> None:
        if action_kind is None:
            self._kind = kind_in_log(check_integer("num_actions", num_actions, minimum=0))
        else:
            check_kind(action_kind, num_actions)
            self._kind = action_kind
        if folder is not None and has_own_kind(self._kind):
            problem = f"folder is {folder}, and actions are {self._kind}"
            raise ValueError(f"{problem}; expected None, or integers from 0 or real numbers")
        self._chunk_rows = check_integer("chunk_rows", chunk_rows, minimum=1)
        if env is not None:
            check_environment(env)
        if env is not None and not is_bandit(env):
            raise TypeError(f"env is {short_repr(env)}; expected a bandit, or a wrapper of one")
        if env is not None and not self._kind.is_single:
            raise ValueError(f"env is given; {self._kind} have no table of expected rewards")
        self._env = env
        self._embed = embed
        self._folder = None if folder is None else Path(folder)
        found = [] if self._folder is None else list_visible(self._folder)
        if found:
            raise ValueError(f"folder {folder} has {found[0]}; expected a folder without files")
        self._recorded: list[Recorded] = []  # STEPS steps each, and the last single steps
        self._steps = 0
        self._written = 0  # steps in files
        self._parts = 0  # files

    def __call__(self, trajectory: Trajectory) -> None:
        """Records a step."""
        batch_size = len(trajectory.step_type)
        info = trajectory.policy_info
        log_probability: Any = getattr(info, PROBABILITY, None)
        if np.shape(log_probability) != (batch_size,):
            expected = "log probabilities, as a driver with emit_log_probability=True gives them"
            raise ValueError(f"policy_info is {short_repr(info)}; expected {expected}")
        if max_delay_of(trajectory.observation) > 0:
            raise ValueError("rewards are delayed, so they belong to earlier actions")
        choice = None if self._env is None else self._env.means_met()
        step = Recorded(
            observation=trajectory.observation,
            action=trajectory.action,
            reward=trajectory.reward,
            log_probability=log_probability,
            expected_rewards=() if choice is None else choice.means.table,
            embedding=() if self._embed is None else np.array(self._embed(trajectory)),
            info=_rest_of(info),
        )
        self._recorded.append(step)
        self._steps += 1
        unwritten = self._steps - self._written
        if unwritten % STEPS == 0:
            self._recorded[-STEPS:] = [join_nests(self._recorded[-STEPS:])]
        if self._folder is not None and unwritten * batch_size >= self._chunk_rows:
            self.flush()

    def flush(self) -> None:
        """Writes what is not in a file yet, if there is a folder."""
        if self._folder is not None and self._recorded:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_log(self._folder / f"part-{self._parts:05}.npz", self._unwritten_log())
            self._recorded = []
            self._written = self._steps
            self._parts += 1

    def log(self) -> BanditLog:
        """Returns all that was recorded; with a folder, it is read from there."""
        if not self._steps:
            raise ValueError("nothing was recorded yet")
        if self._folder is None:
            return self._unwritten_log()
        self.flush()
        return read_log(self._folder)

    def _unwritten_log(self) -> BanditLog:
        """Returns the log of all steps since the last file."""
        rows: Recorded = join_nests(self._recorded)
        steps = np.arange(self._written, self._steps)
        batch_size = len(rows.log_probability) // len(steps)
        return BanditLog(
            observation=rows.observation,
            action=rows.action,
            reward=rows.reward,
            propensity=np.exp(rows.log_probability),
            action_kind=self._kind,
            available=self._find_available(rows.observation),
            expected_rewards=rows.expected_rewards if len(rows.expected_rewards) else None,
            embedding=rows.embedding if len(rows.embedding) else None,
            info=rows.info or None,
            step=np.repeat(steps, batch_size),
            row=np.tile(np.arange(batch_size), len(steps)),
        )

    def _find_available(self, observation: Nest) -> Mask | None:
        """Returns which actions were available: [n, K]; None for all, or if they have no table."""
        if not self._kind.is_single:
            return None
        return available_actions(observation, self._kind.num_actions)


def _rest_of(info: Any) -> dict[str, Nest]:
    """Returns what a policy told of its choice beside the log probability, by name."""
    told: dict[str, Nest] = {name: getattr(info, name) for name in getattr(info, "_fields", ())}
    return {name: nest for name, nest in told.items() if name != PROBABILITY and flatten(nest)}


def remove_parts(folder: Path) -> None:
    """Removes the files that a recorder wrote to a folder; ValueError if it has others."""
    names = list_visible(folder)
    for name in names:
        if not re.fullmatch(r"part-[0-9]{5,}\.npz", name):
            raise ValueError(f"folder {folder} has {name}; expected a folder without other files")
    for name in names:
        (folder / name).unlink()
