"""Batched bandit environments with the TF-Agents `PyEnvironment` interface, written in NumPy."""

from bandit_envs.bandit_py_environment import BanditPyEnvironment
from bandit_envs.environments import KArmedTestbed
from bandit_envs.py_environment import PyEnvironment
from bandit_envs.specs import ArraySpec, BoundedArraySpec
from bandit_envs.trajectories import StepType, TimeStep, Trajectory

__all__ = [
    "ArraySpec",
    "BanditPyEnvironment",
    "BoundedArraySpec",
    "KArmedTestbed",
    "PyEnvironment",
    "StepType",
    "TimeStep",
    "Trajectory",
]
