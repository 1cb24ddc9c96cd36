"""Tests of variants on a random split: sums over strata, bets, and a policy."""

from bandit_envs.policies.split_tests.split_report import DifferenceRow, PeriodRow, SplitReport
from bandit_envs.policies.split_tests.split_test_policy import SplitTestPolicy

__all__ = ["DifferenceRow", "PeriodRow", "SplitReport", "SplitTestPolicy"]
