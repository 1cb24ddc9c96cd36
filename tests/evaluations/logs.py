"""Logs that evaluations are tested on."""

import numpy as np

from bandit_envs import EpsilonGreedyPolicy, StepDriver
from bandit_envs.environments import logistic_context
from bandit_envs.logged import LogRecorder, write_log

KINDS_OF_LOG = ["files", "batches", "log", "iterable"]
"""What workers are given a log as: workers read files; this process sends them all others."""


def record_log():
    """A log of 1200 decisions on users who share a problem, with the true means."""
    env = logistic_context(3, 2, batch_size=20, seed=0)
    policy = EpsilonGreedyPolicy(0.5, num_actions=3, batch_size=20, seed=1)
    recorder = LogRecorder(3, env)
    StepDriver(env, policy, [policy, recorder], 60, emit_log_probability=True).run()
    return recorder.log()


def split_log(log, parts=7):
    """Returns a log in batches that do not end with complete steps."""
    return [log[rows] for rows in np.array_split(np.arange(len(log)), parts)]


def write_parts(folder, log):
    """Writes a log to a folder, in seven files."""
    folder.mkdir()
    for number, part in enumerate(split_log(log)):
        write_log(folder / f"{number}.npz", part)
    return folder


class Unread:
    """Batches of a log that nobody may read."""

    def __iter__(self):
        raise AssertionError("the log was read")
        yield


class Batches:
    """Batches of a log that can be read more than once, and are not a list."""

    def __init__(self, batches):
        self._batches = batches

    def __iter__(self):
        return iter(self._batches)
