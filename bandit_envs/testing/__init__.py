"""The tests that every environment must pass, and the strict comparison that they use.

The contract is a mixin for classes of pytest or unittest; it needs neither of them.
"""

from bandit_envs.testing.comparison import assert_identical
from bandit_envs.testing.contract import EnvironmentContract

__all__ = ["EnvironmentContract", "assert_identical"]
