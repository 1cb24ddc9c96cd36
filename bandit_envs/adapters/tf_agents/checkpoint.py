"""Environments in checkpoints of TensorFlow, from which a run resumes."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tf_agents.environments import tf_py_environment
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.environment import TFAgentsEnvironment
from bandit_envs.adapters.tf_agents.tf_environment import BanditTFPyEnvironment
from bandit_envs.adapters.tf_agents.users import UsersBandit
from bandit_envs.base.checks import short_repr
from bandit_envs.base.saving import decode_state, encode_state
from bandit_envs.base.state import SavedState
from bandit_envs.trajectories import TimeStep


class TrackedState(NamedTuple):
    """What `TrackableEnvironment.get_state` returns. Its layout may change between versions."""

    environment: SavedState  # what the adapted environment's `get_state` returns
    time_step: TimeStep | None  # from which drivers go on; None before the first
    num_samples: int | None  # None if the environment does not count them
    numpy_random: dict[str, object]  # of NumPy's global generator


class TrackableEnvironment(tf.train.experimental.PythonState):
    """An environment that `tf.train.Checkpoint` saves and restores beside its agent.

    A checkpoint has the state of the environment, with its generator; the time step that the
    `TFPyEnvironment` keeps; and the state of NumPy's global generator, from which sampling
    functions written for TF-Agents draw. It is written without pickle, and restored in an
    environment made with the same arguments, in any process.

    Args:
        environment: a `TFPyEnvironment` of an adapted environment of this package, or one of the
            replacements that are written for TensorFlow.

    Raises:
        TypeError: `environment` is something else, such as one of `from_tf_agents`. When a
            checkpoint is saved: the state holds what `save_state` does not write.

    >>> import tempfile
    >>> from bandit_envs import KArmedTestbed
    >>> from bandit_envs.adapters.tf_agents import as_tf_agents
    >>> run = tf_py_environment.TFPyEnvironment(as_tf_agents(KArmedTestbed(k=3, seed=0)))
    >>> other = tf_py_environment.TFPyEnvironment(as_tf_agents(KArmedTestbed(k=3, seed=1)))
    >>> time_step = run.reset()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = tf.train.Checkpoint(environment=TrackableEnvironment(run)).save(f"{folder}/run")
    ...     checkpoint = tf.train.Checkpoint(environment=TrackableEnvironment(other))
    ...     status = checkpoint.restore(path)
    >>> bool(other.step([2]).reward == run.step([2]).reward)
    True
    """

    def __init__(self, environment: tf_py_environment.TFPyEnvironment) -> None:
        if not isinstance(environment, tf_py_environment.TFPyEnvironment):
            found = f"environment is {short_repr(environment)}"
            expected = "expected a TFPyEnvironment"
            if isinstance(environment, TFAgentsEnvironment):
                found = f"environment is a {type(environment).__name__}"
                expected = "expected TFPyEnvironment(environment)"
            raise TypeError(f"{found}; {expected}")
        if not isinstance(environment.pyenv, TFAgentsEnvironment):
            found = f"environment is a TFPyEnvironment of a {type(environment.pyenv).__name__}"
            expected = "expected one of as_tf_agents(env), with wrappers of bandit_envs only"
            raise TypeError(f"{found}; {expected}")
        bandit = environment.pyenv.wrapped_env().unwrapped
        if isinstance(bandit, UsersBandit):
            found = f"environment is {bandit.name} of from_tf_agents, which no file can hold"
            raise TypeError(
                f"{found}; expected an environment of this package, such as a port of it"
            )
        self._environment = environment

    def get_state(self) -> TrackedState:
        """Returns what a checkpoint saves, for `set_state` and `save_state`."""
        time_step = self._environment._time_step
        num_samples = None
        if isinstance(self._environment, BanditTFPyEnvironment):
            num_samples = int(self._environment._env_time)
        return TrackedState(
            environment=self._environment.pyenv.get_state(),
            time_step=None if time_step is None else TimeStep(*time_step),
            num_samples=num_samples,
            numpy_random=np.random.get_state(legacy=False),
        )

    def set_state(self, state: TrackedState) -> None:
        """Returns to a `state` of `get_state`: the current time step is the one of that moment.

        A state of another environment raises TypeError or ValueError and changes nothing.
        """
        if not isinstance(state, TrackedState):
            expected = "expected what TrackableEnvironment.get_state() returns"
            raise TypeError(f"state is a {type(state).__name__}; {expected}")
        self._environment.pyenv.set_state(state.environment)
        time_step = state.time_step
        self._environment._time_step = None if time_step is None else ts.TimeStep(*time_step)
        if isinstance(self._environment, BanditTFPyEnvironment):
            self._environment._env_time.assign(state.num_samples)
        np.random.set_state(state.numpy_random)

    def serialize(self) -> bytes:
        """Returns the state as bytes; TensorFlow calls it when a checkpoint is saved."""
        return encode_state(self.get_state())

    def deserialize(self, string_value: bytes) -> None:
        """Returns to the state in bytes; TensorFlow calls it when a checkpoint is restored."""
        self.set_state(decode_state(string_value, "the checkpoint"))
