"""Tests of variants on a random split: sums over strata, bets, a policy, and reports of tables."""

from bandit_envs.policies.split_tests.split_report import DifferenceRow, PeriodRow, SplitReport
from bandit_envs.policies.split_tests.split_test_policy import SplitTestPolicy
from bandit_envs.policies.split_tests.variant_tables import compare_variants

__all__ = ["DifferenceRow", "PeriodRow", "SplitReport", "SplitTestPolicy", "compare_variants"]
