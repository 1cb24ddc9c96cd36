"""What was optimal at the steps of a bandit: graphs of TensorFlow may ask for it before a step."""

import threading
from typing import Any

import numpy as np

from bandit_envs.specs import Nest, flatten, map_structure

STEPPING = threading.RLock()  # held during the steps of adapted bandits


class OptimumOfStep:
    """Returns what was optimal at a step: `key` of the info of the bandit.

    TensorFlow does not order the call after the step. The call came first if its observation is
    still the current one, and the call before it was about the last step; or if there was no step
    since the last reset. Then what is optimal now is returned.
    """

    def __init__(self, bandit: Any, key: str) -> None:
        self._bandit, self._key, self._met = bandit, key, object()

    def __call__(self, observation: Nest) -> Any:
        with STEPPING:
            info, met = self._bandit.get_info(), self._bandit.unwrapped._bandit_state()
            now = self._bandit.current_time_step().observation
            is_now = all(flatten(map_structure(np.array_equal, observation, now)))
            is_early = info is None or (is_now and met.previous is self._met)
            self._met = met.state if is_early else met.previous
            return getattr(self._bandit, self._key)() if is_early else info[self._key]
