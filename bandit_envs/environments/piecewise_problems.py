"""Piecewise stationary problems of the literature."""

from __future__ import annotations

from typing import Any

import numpy as np

from bandit_envs.base.checks import check_integer, check_number
from bandit_envs.environments.piecewise_bernoulli import PiecewiseBernoulliPyEnvironment

PROBLEMS = (
    ((0.1, 0.2), (0.1, 0.3), (0.5, 0.3), (0.4, 0.3), (0.3, 0.9)),
    ((0.3, 0.5, 0.9), (0.3, 0.2, 0.9), (0.3, 0.2, 0.1), (0.7, 0.2, 0.1), (0.7, 0.5, 0.1)),
    ((0.4, 0.5, 0.9), (0.5, 0.4, 0.7), (0.6, 0.3, 0.5), (0.7, 0.2, 0.3), (0.8, 0.1, 0.1)),
    ((0.1, 0.2, 0.9), (0.4, 0.9, 0.1), (0.5, 0.1, 0.2), (0.2, 0.2, 0.3)),
    ((0.1, 0.5, 0.9), (0.3, 0.4, 0.1), (0.5, 0.3, 0.2), (0.7, 0.4, 0.3), (0.1, 0.5, 0.2)),
    (
        (0.071, 0.041, 0.032, 0.030, 0.020, 0.011),
        (0.055, 0.053, 0.032, 0.030, 0.008, 0.011),
        (0.040, 0.063, 0.032, 0.030, 0.008, 0.011),
        (0.040, 0.042, 0.043, 0.030, 0.008, 0.011),
        (0.030, 0.032, 0.055, 0.030, 0.008, 0.011),
        (0.030, 0.032, 0.020, 0.030, 0.008, 0.021),
        (0.020, 0.022, 0.020, 0.045, 0.008, 0.021),
        (0.020, 0.022, 0.020, 0.057, 0.008, 0.011),
        (0.020, 0.022, 0.034, 0.057, 0.022, 0.011),
    ),
    ((0.5, 0.3, 0.4), (0.5, 0.3, 0.9), (0.5, 0.3, 0.4)),
)
"""The means of the pieces: problems 0 to 5 are SMPyBandits', 6 is Garivier & Moulines'."""

STARTS = {4: (0.0, 0.5, 0.625, 0.75, 0.875), 6: (0.0, 0.3, 0.5)}
"""When the pieces start, as a share of all steps, where they do not last equally long."""


def piecewise_bernoulli(
    problem: int = 1, steps: int = 1000, batch_size: int = 1, **options: Any
) -> PiecewiseBernoulliPyEnvironment:
    """Arms that pay 1 or 0, with probabilities that change at certain times.

    `problem` is one of SMPyBandits' problems 0 to 5, or 6, with the abrupt changes of Garivier &
    Moulines. It spreads over so many `steps`; its last piece stays. Each reset starts it again.

    Source: SMPyBandits; for problem 5, Cao et al. (2019); for 6, Garivier & Moulines (2011).
    """
    number = check_integer("problem", problem, minimum=0)
    if number >= len(PROBLEMS):
        raise ValueError(f"problem is {number}; expected 0 to {len(PROBLEMS) - 1}")
    pieces = PROBLEMS[number]
    starts = STARTS.get(number, np.arange(len(pieces)) / len(pieces))
    times = np.append(starts, 1.0) * check_integer("steps", steps, minimum=len(pieces))
    durations = np.diff(times.round().astype(np.int64))
    return PiecewiseBernoulliPyEnvironment(
        pieces, durations, restart_on_reset=True, batch_size=batch_size, **options
    )


def constrained_adversary(
    num_actions: int = 8, gap: float = 0.125, batch_size: int = 1, **options: Any
) -> PiecewiseBernoulliPyEnvironment:
    """A stochastically constrained adversary: all means move, and the gap of the best arm stays.

    The probabilities of a reward of 1 are 1 for action 0 and 1 - gap for the others, and then gap
    and 0, by turns. Piece n lasts 1.6^n steps, rounded up. Each reset starts with the first.

    Source: Zimmert & Seldin, Tsallis-INF (2021), section 5.
    """
    others = check_integer("num_actions", num_actions, minimum=2) - 1
    gap = check_number("gap", gap, 0.0, 1.0)
    pieces = [[1.0, *[1.0 - gap] * others], [gap, *[0.0] * others]]
    durations = np.ceil(1.6 ** np.arange(90)).astype(np.int64)
    return PiecewiseBernoulliPyEnvironment(
        pieces, durations, restart_on_reset=True, batch_size=batch_size, **options
    )
