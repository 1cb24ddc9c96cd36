"""Estimated propensities, for logs that lack them."""

from bandit_envs.logged.propensities.calibration import Calibration
from bandit_envs.logged.propensities.estimation import (
    EstimatedPropensities,
    estimate_propensities,
)

__all__ = [
    "Calibration",
    "EstimatedPropensities",
    "estimate_propensities",
]
