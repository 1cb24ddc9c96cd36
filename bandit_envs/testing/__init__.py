"""The tests that every environment must pass, and the strict comparison that they use."""

from bandit_envs.testing.comparison import assert_identical as assert_identical
from bandit_envs.testing.environment_contract import EnvironmentContract as EnvironmentContract
