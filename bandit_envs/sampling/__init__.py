"""Context samplers: they draw the features of users and of items, a whole batch at once."""

from bandit_envs.sampling.context_sampler import (
    BatchFunction,
    ContextSampler,
    FunctionNest,
    RowFunction,
    SamplingFunction,
    as_nest_sampler,
    as_sampler,
)
from bandit_envs.sampling.distributions import Catalog, Integers, Normal, Uniform, UnitSphere
from bandit_envs.sampling.durations import Durations
from bandit_envs.sampling.threaded import Threaded

__all__ = [
    "BatchFunction",
    "Catalog",
    "ContextSampler",
    "Durations",
    "FunctionNest",
    "Integers",
    "Normal",
    "RowFunction",
    "SamplingFunction",
    "Threaded",
    "Uniform",
    "UnitSphere",
    "as_nest_sampler",
    "as_sampler",
]
