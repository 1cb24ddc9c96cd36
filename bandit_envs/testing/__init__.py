"""The tests that every environment and every policy must pass, and their strict comparison."""

from bandit_envs.testing.best_arm_contract import BestArmContract
from bandit_envs.testing.comparison import assert_identical
from bandit_envs.testing.environment_contract import EnvironmentContract
from bandit_envs.testing.policy_contract import PolicyContract

__all__ = [
    "BestArmContract",
    "EnvironmentContract",
    "PolicyContract",
    "assert_identical",
]
