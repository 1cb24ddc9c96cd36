"""Replay in a process that shares nothing with this one."""

from __future__ import annotations

import concurrent.futures
import functools
import importlib
import multiprocessing
import pickle
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from bandit_envs.specs import Nest
from bandit_envs.testing.plays import ContractPart
from bandit_envs.trajectories import TimeStep

SECONDS = 120.0


def replay_elsewhere(
    contract: type[ContractPart], token: Any, actions: list[Nest]
) -> tuple[list[TimeStep], Any]:
    """Continues from a token in a spawned process, with a new environment of another seed.

    Args:
        contract: makes the environment; only its name is sent.
        token: the state to start from.
        actions: what to do then.

    Returns:
        The time steps and the state at the end.

    Raises:
        AssertionError: the other process cannot import the class, or cannot use the token.
    """
    module, name = contract.__module__, contract.__qualname__
    try:
        future = _process().submit(_replay, module, name, pickle.dumps((token, actions)))
        result = future.result(SECONDS)
    except Exception as error:
        if isinstance(error, (BrokenProcessPool, concurrent.futures.TimeoutError)):
            _process.cache_clear()
        raise AssertionError(f"another process cannot replay the token: {error!r}") from error
    if result is None:
        raise AssertionError(
            f"another process cannot import {name} from {module}; define the class at the top "
            f"level of a module that can be imported by that name"
        )
    time_steps, state = pickle.loads(result)
    return time_steps, state


@functools.cache
def _process() -> concurrent.futures.ProcessPoolExecutor:
    """Starts the one process that all contracts use, for it takes long to start."""
    spawn = multiprocessing.get_context("spawn")
    return concurrent.futures.ProcessPoolExecutor(max_workers=1, mp_context=spawn)


def _replay(module: str, name: str, pickled: bytes) -> bytes | None:
    """Runs in the other process. Returns None if there is no such class there."""
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    token, actions = pickle.loads(pickled)
    environment = found().make_environment(2)
    environment.set_state(token)
    time_steps = [environment.step(action) for action in actions]
    return pickle.dumps((time_steps, environment.get_state()))
