"""The environments, one problem a file."""

from bandit_envs.environments.bernoulli import BernoulliPyEnvironment
from bandit_envs.environments.drifting_linear import DriftingLinearBandit
from bandit_envs.environments.k_armed_bandit import KArmedBandit
from bandit_envs.environments.k_armed_testbed import KArmedTestbed
from bandit_envs.environments.piecewise_bernoulli import PiecewiseBernoulliPyEnvironment
from bandit_envs.environments.piecewise_linear import PiecewiseLinearBandit
from bandit_envs.environments.stationary_stochastic import StationaryStochasticPyEnvironment
from bandit_envs.environments.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment,
)
from bandit_envs.environments.stationary_stochastic_structured import (
    StationaryStochasticStructuredPyEnvironment,
)
from bandit_envs.environments.wheel import WheelPyEnvironment

__all__ = [
    "BernoulliPyEnvironment",
    "DriftingLinearBandit",
    "KArmedBandit",
    "KArmedTestbed",
    "PiecewiseBernoulliPyEnvironment",
    "PiecewiseLinearBandit",
    "StationaryStochasticPerArmPyEnvironment",
    "StationaryStochasticPyEnvironment",
    "StationaryStochasticStructuredPyEnvironment",
    "WheelPyEnvironment",
]
