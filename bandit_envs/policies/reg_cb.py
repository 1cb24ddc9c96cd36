"""RegCB: confidence bounds of linear or logistic models, by optimism or by elimination."""

from __future__ import annotations

import math
import typing

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_PARAMETER, check_number
from bandit_envs.nests import Nest
from bandit_envs.policies.counted import CountedModels, CountingPolicy
from bandit_envs.policies.disjoint_linear import DisjointLinearPolicy
from bandit_envs.policies.draws import uniform
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.linear import LinearPolicy
from bandit_envs.policies.logistic import DisjointLogisticPolicy, LogisticPolicy
from bandit_envs.policies.policy import BatchOptions, PolicyOptions
from bandit_envs.trajectories import TimeStep


class RegCBPolicy(CountingPolicy):
    """Chooses by bounds of predictions: those of all models that fit the rewards well enough.

        beta_n = mellowness ln(K max(n, 1))    after n rewards, of K actions

    A model fits well enough if its loss exceeds that of the best model by at most beta_n. The
    bounds are the smallest and the largest prediction of these models:

        theta . x -+ sqrt(beta_n x^T A^-1 x)    for ridge regression, cut off at 0 and 1
        sigma(m . x -+ sqrt(beta_n) s)          for logistic models

    The loss is the squared error with its penalty, or twice the log-loss with its prior. Of
    logistic models, s is the standard deviation of w . x by Laplace's method. The rewards must be
    from 0 to 1.

    A subclass says how to choose. It derives from a policy with models as well, such as
    `LinearPolicy`, and sets `_mellowness`.

    Source: Foster, Agarwal, Dudik, Luo & Schapire, Practical Contextual Bandits with Regression
    Oracles (2018), with beta_n of Vowpal Wabbit's `--regcb`.
    """

    reward_range = 0.0, 1.0

    _mellowness: float

    def _current_bounds(self, learned: CountedModels, time_step: TimeStep) -> tuple[Floats, Floats]:
        """Returns the bounds after the rewards learned so far: [B, K] each."""
        beta = self._mellowness * math.log(self.num_actions * max(learned.num_rewards, 1))
        lower, upper = self._interval(learned.models, time_step, math.sqrt(beta))
        self._check_table("_interval", lower)
        self._check_table("_interval", upper)
        return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)


class OptimisticRegCBPolicy(RegCBPolicy, IndexPolicy):
    """Chooses the action with the largest upper bound.

    With ridge regression, it is LinUCB with alpha = sqrt(beta_n) and bounds cut off at 1. Ties,
    which are frequent among bounds of 1, are broken at random. `RegCBPolicy` defines the bounds.
    """

    def _scores(self, learned: CountedModels, time_step: TimeStep) -> Floats:
        _, upper = self._current_bounds(learned, time_step)
        return upper


class EliminationRegCBPolicy(RegCBPolicy):
    """Chooses uniformly among the actions whose upper bound is below no lower bound.

        {a : upper(a) >= max_b lower(b)}    among the available actions

    `RegCBPolicy` defines the bounds.
    """

    def _probabilities(self, learned: CountedModels, time_step: TimeStep) -> Floats:
        lower, upper = self._current_bounds(learned, time_step)
        available = self._available(time_step.observation)
        if available is not None:
            lower = np.where(available, lower, -np.inf)
            upper = np.where(available, upper, -np.inf)
        return uniform(upper >= lower.max(axis=1, keepdims=True))


class LinearOptimisticRegCBPolicy(OptimisticRegCBPolicy, LinearPolicy):
    """Optimistic RegCB with one linear model of features of the context and the actions.

        argmax_a  min(1, theta . x_a + sqrt(beta_n x_a^T A^-1 x_a))
        beta_n = mellowness ln(K max(n, 1))    after n rewards

    `OptimisticRegCBPolicy` says how it chooses, and `LinearPolicy` how it learns.

    Args:
        mellowness: the factor of beta_n, how far to explore; at least 0.
        gamma: forgetting factor of the model, from 0 to 1: what was seen t steps ago has the weight
            gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `LinearPolicy`.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Foster et al. (2018); Vowpal Wabbit's `--regcb --regcbopt`.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> LinearOptimisticRegCBPolicy(observation_spec=spec).num_actions
    4
    """

    def __init__(
        self,
        mellowness: float = 0.1,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._mellowness = check_mellowness(mellowness)
        super().__init__(gamma, tikhonov_weight, observation_spec=observation_spec, **options)


class DisjointLinearOptimisticRegCBPolicy(OptimisticRegCBPolicy, DisjointLinearPolicy):
    """Optimistic RegCB with a linear model for each action.

        argmax_a  min(1, theta[a] . x + sqrt(beta_n x^T A[a]^-1 x))
        beta_n = mellowness ln(K max(n, 1))    after n rewards

    `OptimisticRegCBPolicy` says how it chooses, and `DisjointLinearPolicy` how it learns.

    Args:
        mellowness: the factor of beta_n, how far to explore; at least 0.
        gamma: forgetting factor of the model, from 0 to 1: what was seen t steps ago has the weight
            gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `DisjointLinearPolicy`.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Foster et al. (2018); Vowpal Wabbit's `--regcb --regcbopt`.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> DisjointLinearOptimisticRegCBPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(
        self,
        mellowness: float = 0.1,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._mellowness = check_mellowness(mellowness)
        super().__init__(gamma, tikhonov_weight, observation_spec=observation_spec, **options)


class LogisticOptimisticRegCBPolicy(OptimisticRegCBPolicy, LogisticPolicy):
    """Optimistic RegCB with one logistic model of features of the context and the actions.

        argmax_a  sigma(m . x_a + sqrt(beta_n sum_i x_a[i]^2 / q[i]))
        beta_n = mellowness ln(K max(n, 1))    after n rewards

    `OptimisticRegCBPolicy` says how it chooses, and `LogisticPolicy` how it learns.

    Args:
        mellowness: the factor of beta_n, how far to explore; at least 0.
        tikhonov_weight: the precision of every weight's prior, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `LogisticPolicy`.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Foster et al. (2018); Vowpal Wabbit's `--regcb --regcbopt`.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> LogisticOptimisticRegCBPolicy(observation_spec=spec).num_actions
    4
    """

    def __init__(
        self,
        mellowness: float = 0.1,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._mellowness = check_mellowness(mellowness)
        super().__init__(tikhonov_weight, observation_spec=observation_spec, **options)


class DisjointLogisticOptimisticRegCBPolicy(OptimisticRegCBPolicy, DisjointLogisticPolicy):
    """Optimistic RegCB with a logistic model for each action.

        argmax_a  sigma(m[a] . x + sqrt(beta_n sum_i x[i]^2 / q[a, i]))
        beta_n = mellowness ln(K max(n, 1))    after n rewards

    `OptimisticRegCBPolicy` says how it chooses, and `DisjointLogisticPolicy` how it learns.

    Args:
        mellowness: the factor of beta_n, how far to explore; at least 0.
        tikhonov_weight: the precision of every weight's prior, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `DisjointLogisticPolicy`.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Foster et al. (2018); Vowpal Wabbit's `--regcb --regcbopt`.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> DisjointLogisticOptimisticRegCBPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(
        self,
        mellowness: float = 0.1,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._mellowness = check_mellowness(mellowness)
        super().__init__(tikhonov_weight, observation_spec=observation_spec, **options)


class LinearEliminationRegCBPolicy(EliminationRegCBPolicy, LinearPolicy):
    """RegCB by elimination with one linear model of features of the context and the actions.

        uniform on {a : upper(a) >= max_b lower(b)}
        bounds of a: theta . x_a +- sqrt(beta_n x_a^T A^-1 x_a), from 0 to 1
        beta_n = mellowness ln(K max(n, 1))    after n rewards

    `EliminationRegCBPolicy` says how it chooses, and `LinearPolicy` how it learns.

    Args:
        mellowness: the factor of beta_n, how far to explore; at least 0.
        gamma: forgetting factor of the model, from 0 to 1: what was seen t steps ago has the weight
            gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `LinearPolicy`.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Foster et al. (2018); Vowpal Wabbit's `--regcb`.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> LinearEliminationRegCBPolicy(observation_spec=spec).num_actions
    4
    """

    def __init__(
        self,
        mellowness: float = 0.1,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._mellowness = check_mellowness(mellowness)
        super().__init__(gamma, tikhonov_weight, observation_spec=observation_spec, **options)


class DisjointLinearEliminationRegCBPolicy(EliminationRegCBPolicy, DisjointLinearPolicy):
    """RegCB by elimination with a linear model for each action.

        uniform on {a : upper(a) >= max_b lower(b)}
        bounds of a: theta[a] . x +- sqrt(beta_n x^T A[a]^-1 x), from 0 to 1
        beta_n = mellowness ln(K max(n, 1))    after n rewards

    `EliminationRegCBPolicy` says how it chooses, and `DisjointLinearPolicy` how it learns.

    Args:
        mellowness: the factor of beta_n, how far to explore; at least 0.
        gamma: forgetting factor of the model, from 0 to 1: what was seen t steps ago has the weight
            gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `DisjointLinearPolicy`.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Foster et al. (2018); Vowpal Wabbit's `--regcb`.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> DisjointLinearEliminationRegCBPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(
        self,
        mellowness: float = 0.1,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._mellowness = check_mellowness(mellowness)
        super().__init__(gamma, tikhonov_weight, observation_spec=observation_spec, **options)


class LogisticEliminationRegCBPolicy(EliminationRegCBPolicy, LogisticPolicy):
    """RegCB by elimination with one logistic model of features of the context and the actions.

        uniform on {a : upper(a) >= max_b lower(b)}
        bounds of a: sigma(m . x_a +- sqrt(beta_n sum_i x_a[i]^2 / q[i]))
        beta_n = mellowness ln(K max(n, 1))    after n rewards

    `EliminationRegCBPolicy` says how it chooses, and `LogisticPolicy` how it learns.

    Args:
        mellowness: the factor of beta_n, how far to explore; at least 0.
        tikhonov_weight: the precision of every weight's prior, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `LogisticPolicy`.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Foster et al. (2018); Vowpal Wabbit's `--regcb`.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> LogisticEliminationRegCBPolicy(observation_spec=spec).num_actions
    4
    """

    def __init__(
        self,
        mellowness: float = 0.1,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._mellowness = check_mellowness(mellowness)
        super().__init__(tikhonov_weight, observation_spec=observation_spec, **options)


class DisjointLogisticEliminationRegCBPolicy(EliminationRegCBPolicy, DisjointLogisticPolicy):
    """RegCB by elimination with a logistic model for each action.

        uniform on {a : upper(a) >= max_b lower(b)}
        bounds of a: sigma(m[a] . x +- sqrt(beta_n sum_i x[i]^2 / q[a, i]))
        beta_n = mellowness ln(K max(n, 1))    after n rewards

    `EliminationRegCBPolicy` says how it chooses, and `DisjointLogisticPolicy` how it learns.

    Args:
        mellowness: the factor of beta_n, how far to explore; at least 0.
        tikhonov_weight: the precision of every weight's prior, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `DisjointLogisticPolicy`.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Foster et al. (2018); Vowpal Wabbit's `--regcb`.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> DisjointLogisticEliminationRegCBPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(
        self,
        mellowness: float = 0.1,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._mellowness = check_mellowness(mellowness)
        super().__init__(tikhonov_weight, observation_spec=observation_spec, **options)


def check_mellowness(mellowness: float) -> float:
    """Returns the factor of beta_n; raises TypeError or ValueError if it cannot be one."""
    return check_number("mellowness", mellowness, 0.0, MAX_PARAMETER)
