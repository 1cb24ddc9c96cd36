"""A policy at work: decisions, rewards that come late, actions that come and go, and a log.

Experimental: these names may change in any minor version.
"""

from bandit_envs.serving.deciding import Decision
from bandit_envs.serving.reports.reading import read_report
from bandit_envs.serving.reports.report import ServiceReport
from bandit_envs.serving.service import DecisionService

__all__ = [
    "Decision",
    "DecisionService",
    "ServiceReport",
    "read_report",
]
