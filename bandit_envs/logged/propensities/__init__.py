"""Estimated propensities, for logs that lack them."""

from bandit_envs.logged.propensities.estimation import estimate_propensities

__all__ = [
    "estimate_propensities",
]
