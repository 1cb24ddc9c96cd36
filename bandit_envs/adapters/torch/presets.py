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


def epsilon_greedy(epsilon: float, initial_pulls: int = 2) -> Rule:
    """Returns the rule that chooses the largest prediction, with probability epsilon any action.

    Args:
        epsilon: the probability of choosing any action, all equally likely; from 0 to 1.
        initial_pulls: how many rewards of an action are enough for its predictions to count.
            Actions with features of their own have none.
    """
    return Mixed(FirstPulls(Greedy(), initial_pulls), epsilon)


def upper_bound(alpha: float = 0.1, initial_pulls: int = 2) -> Rule:
    """Returns the rule that chooses the largest bound.

    Args:
        alpha: how far to explore, in standard deviations; at least 0.
        initial_pulls: as of `epsilon_greedy`.
    """
    return FirstPulls(UpperBound(alpha), initial_pulls)


def thompson_sampling(alpha: float = 0.1, initial_pulls: int = 2) -> Rule:
    """Returns the rule that chooses the largest draw.

    Args:
        alpha: the scale of the standard deviations, at least 0; 0 is greedy.
        initial_pulls: as of `epsilon_greedy`.
    """
    return FirstPulls(ThompsonSampling(alpha), initial_pulls)


def posterior_draws(initial_pulls: int = 2) -> Rule:
    """Returns the rule that chooses the largest draw, of the model as it is.

    Args:
        initial_pulls: as of `epsilon_greedy`.
    """
    return FirstPulls(ThompsonSampling(), initial_pulls)
