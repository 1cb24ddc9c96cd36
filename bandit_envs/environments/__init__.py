"""The environments, one problem a file."""

from bandit_envs.environments.k_armed_testbed import KArmedTestbed

__all__ = ["KArmedTestbed"]
