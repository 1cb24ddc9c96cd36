"""The environments, one problem a file."""

from bandit_envs.environments.bernoulli import BernoulliPyEnvironment
from bandit_envs.environments.k_armed_bandit import KArmedBandit
from bandit_envs.environments.k_armed_testbed import KArmedTestbed
from bandit_envs.environments.piecewise_bernoulli import PiecewiseBernoulliPyEnvironment
from bandit_envs.environments.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment,
)

__all__ = [
    "BernoulliPyEnvironment",
    "KArmedBandit",
    "KArmedTestbed",
    "PiecewiseBernoulliPyEnvironment",
    "StationaryStochasticPerArmPyEnvironment",
]
