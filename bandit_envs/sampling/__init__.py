"""Context samplers: they draw the features of users and of items, a whole batch at once.

A sampler is a `ContextSampler`: it is called with a generator and a batch shape. Any other callable
is taken to be a function of TF-Agents' kind, which has no argument and returns one context.
"""

from bandit_envs.sampling.catalog import Catalog
from bandit_envs.sampling.context_sampler import ContextSampler
from bandit_envs.sampling.distributions import Integers, Normal, Uniform
from bandit_envs.sampling.durations import Durations
from bandit_envs.sampling.functions import BatchFunction, RowFunction, SamplingFunction, as_sampler

__all__ = [
    "BatchFunction",
    "Catalog",
    "ContextSampler",
    "Durations",
    "Integers",
    "Normal",
    "RowFunction",
    "SamplingFunction",
    "Uniform",
    "as_sampler",
]
