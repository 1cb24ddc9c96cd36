"""The rules of the policies with networks that have ids, as functions of plain values."""

from __future__ import annotations

from bandit_envs.policies.rules import (
    FirstPulls,
    Greedy,
    Mixed,
    Rule,
    ThompsonSampling,
    UpperBound,
)


def first_greedy(epsilon: float, initial_pulls: int = 2) -> Rule:
    """Chooses what is predicted best, with probability epsilon any action; new actions go first.

    Args:
        epsilon: the probability of choosing any action, all equally likely; from 0 to 1.
        initial_pulls: how many rewards of an action there are before its predictions count. Actions
            with features of their own have none.
    """
    return Mixed(FirstPulls(Greedy(), initial_pulls), epsilon)


def first_upper_bound(alpha: float = 0.1, initial_pulls: int = 2) -> Rule:
    """Chooses the largest upper bound, once each action was chosen `initial_pulls` times.

    Args:
        alpha: how far to explore, in standard deviations; at least 0.
        initial_pulls: as of `first_greedy`.
    """
    return FirstPulls(UpperBound(alpha), initial_pulls)


def first_scaled_draws(alpha: float = 0.1, initial_pulls: int = 2) -> Rule:
    """Chooses the largest draw, once each action was chosen `initial_pulls` times.

    Args:
        alpha: the scale of the standard deviations, at least 0; 0 is greedy.
        initial_pulls: as of `first_greedy`.
    """
    return FirstPulls(ThompsonSampling(alpha), initial_pulls)


def first_draws(initial_pulls: int = 2) -> Rule:
    """Chooses the largest draw, once each action was chosen `initial_pulls` times.

    Args:
        initial_pulls: as of `first_greedy`.
    """
    return FirstPulls(ThompsonSampling(), initial_pulls)
