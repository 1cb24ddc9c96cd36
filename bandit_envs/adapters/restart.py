"""Seeding that starts everything anew, as every adapter does it."""

from typing import Any

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.seeding import Seed


def start_anew(env: PyEnvironment, start: Any, seed: Seed) -> list[Any]:
    """Returns an environment to a state, with the generator of `seed`; returns what `seed` does.

    What goes on through resets, such as drifting weights or time, starts anew as well. A bad seed
    raises TypeError or ValueError, and nothing changes.
    """
    used = env.seed(seed)
    rng = env.np_random
    env.set_state(start)
    env.seed(rng)
    return used
