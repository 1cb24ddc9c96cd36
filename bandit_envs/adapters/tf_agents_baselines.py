"""What was optimal at the steps of a bandit, for graphs of TensorFlow."""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.specs import Nest, flatten, map_structure

STEPPING = threading.RLock()
"""Held during the steps of adapted bandits."""


class OptimumOfStep:
    """Returns `key` of the info of the last step; without one since the last reset, of now.

    In a graph, it is called once a step, but TensorFlow may call it before the step. Then the
    observation is still the current one, and what the last step met has been reported.
    """

    def __init__(self, bandit: Any, key: str) -> None:
        self._bandit, self._key = bandit, key
        self._reported: Any = self  # the state that the last call was about

    def __call__(self, observation: Nest) -> NDArray[Any]:
        bandit, core = self._bandit, self._bandit.unwrapped
        with STEPPING:
            info = bandit.get_info()
            if info is not None and core._state.latent.previous is self._reported:
                now = bandit.current_time_step().observation
                is_early = all(flatten(map_structure(np.array_equal, observation, now)))
                info = None if is_early else info
            optimum: NDArray[Any] = (
                getattr(bandit, self._key)() if info is None else info[self._key]
            )
            latent = core._state.latent
            self._reported = latent.state if info is None else latent.previous
            return optimum
