"""The environments, one problem a file."""

from bandit_envs.environments.k_armed_testbed import KArmedTestbed
from bandit_envs.environments.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment,
)

__all__ = ["KArmedTestbed", "StationaryStochasticPerArmPyEnvironment"]
