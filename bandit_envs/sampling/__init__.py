"""Context samplers: they draw the features of users and of items, a whole batch at once."""

from bandit_envs.sampling.context_sampler import BatchFunction as BatchFunction
from bandit_envs.sampling.context_sampler import ContextSampler as ContextSampler
from bandit_envs.sampling.context_sampler import FunctionNest as FunctionNest
from bandit_envs.sampling.context_sampler import RowFunction as RowFunction
from bandit_envs.sampling.context_sampler import SamplingFunction as SamplingFunction
from bandit_envs.sampling.context_sampler import as_nest_sampler as as_nest_sampler
from bandit_envs.sampling.context_sampler import as_sampler as as_sampler
from bandit_envs.sampling.distributions import Catalog as Catalog
from bandit_envs.sampling.distributions import Integers as Integers
from bandit_envs.sampling.distributions import Normal as Normal
from bandit_envs.sampling.distributions import Uniform as Uniform
from bandit_envs.sampling.distributions import UnitSphere as UnitSphere
from bandit_envs.sampling.durations import Durations as Durations
from bandit_envs.sampling.threaded import Threaded as Threaded
