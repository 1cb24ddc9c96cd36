"""How much evidence it takes to stop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.checks import check_number, short_repr

Threshold = Callable[[Floats, int, float], Floats]
"""Returns a level [n] for the steps t [n], the number of actions and delta."""


def _practical(steps: Floats, num_actions: int, delta: float) -> Floats:
    return np.log((np.log(steps) + 1.0) / delta)


def _chernoff(steps: Floats, num_actions: int, delta: float) -> Floats:
    return np.log(2.0 * steps * (num_actions - 1.0) / delta)


def _kl_lucb(steps: Floats, num_actions: int, delta: float) -> Floats:
    level = np.log(405.5 * num_actions * steps**1.1 / delta)
    return level + np.log(level)


THRESHOLDS: dict[str, Threshold] = {
    "practical": _practical,
    "chernoff": _chernoff,
    "kl_lucb": _kl_lucb,
}
"""How much evidence it takes after t steps.

- "practical", log((log t + 1) / delta): what the papers' experiments take. It is not proven. Where
  the best two actions are nearly equal, errors reach delta: with means of 0.5 and 0.4995 and delta
  0.05, 5.06% of 10,000 tests erred (standard error 0.22%). Where they are not, errors are fewer.
- "chernoff", log(2 t (K - 1) / delta): proven for Chernoff's rule and rewards of 1 or 0, by
  Garivier & Kaufmann (2016), theorem 10.
- "kl_lucb", b + log b with b = log(405.5 K t^1.1 / delta): proven for KL-LUCB, by Kaufmann &
  Kalyanakrishnan (2013).
"""


class StoppingLevel:
    """A threshold with its arguments.

    Args:
        threshold: a name in `THRESHOLDS`.
        delta: the largest probability of error.
    """

    def __init__(self, threshold: str, delta: float) -> None:
        if threshold not in THRESHOLDS:
            expected = ", ".join(THRESHOLDS)
            raise ValueError(f"threshold is {short_repr(threshold)}; expected one of {expected}")
        self._threshold = THRESHOLDS[threshold]
        self._delta = check_delta(delta)

    def after(self, steps: Indices, num_actions: int) -> Floats:
        """Returns the level for K actions after so many steps [n]: [n]."""
        return self._threshold(steps.astype(np.float64), num_actions, self._delta)


def check_delta(delta: object) -> float:
    """Returns a probability of error, from 1e-100 to 1."""
    return check_number("delta", delta, 1e-100, 1.0)
