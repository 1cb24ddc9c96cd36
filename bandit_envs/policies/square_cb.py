"""SquareCB: inverse gap weighting of what linear or logistic models predict."""

from __future__ import annotations

import typing

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_PARAMETER, check_number
from bandit_envs.nests import Nest
from bandit_envs.policies.counted import CountedModels, CountingPolicy
from bandit_envs.policies.disjoint_linear import DisjointLinearPolicy
from bandit_envs.policies.inverse_gap import inverse_gap_probabilities
from bandit_envs.policies.linear import LinearPolicy
from bandit_envs.policies.logistic import DisjointLogisticPolicy, LogisticPolicy
from bandit_envs.policies.policy import BatchOptions, PolicyOptions
from bandit_envs.trajectories import TimeStep


class SquareCBPolicy(CountingPolicy):
    """Chooses an action the less often, the further its prediction is below the largest one.

        p(a) = 1 / (K + gamma_n (max_b v(b) - v(a)))    of an action that is not the best
        gamma_n = gamma_scale n^gamma_exponent          after n rewards

    The best action gets the rest; several of them share it. K counts the available actions of the
    row. A `gamma_exponent` of 0 keeps gamma_n constant.

    Falcon is the same rule. With TF-Agents' schedule, gamma_n = c sqrt(K n / P) for a network of P
    weights: `gamma_exponent` is 0.5 and `gamma_scale` is c sqrt(K / P). There, K is the number of
    available actions of each row; here, `gamma_scale` is the same for all rows.

    A subclass derives from a policy with models as well, such as `LinearPolicy`. It sets
    `_gamma_scale` and `_gamma_exponent`.

    Source: Foster & Rakhlin, Beyond UCB: Optimal and Efficient Contextual Bandits with Regression
    Oracles (2020), with the schedule of Vowpal Wabbit's `--squarecb`; Simchi-Levi & Xu, Bypassing
    the Monster (2020), for Falcon.
    """

    _gamma_scale: float
    _gamma_exponent: float

    def _probabilities(self, learned: CountedModels, time_step: TimeStep) -> Floats:
        predictions = self._means(learned.models, time_step)
        self._check_table("_means", predictions)
        gamma = self._gamma_scale * float(learned.num_rewards) ** self._gamma_exponent
        return inverse_gap_probabilities(predictions, gamma, self._available(time_step.observation))


class LinearSquareCBPolicy(SquareCBPolicy, LinearPolicy):
    """SquareCB with one linear model of features of the context and the actions.

        p(a) = 1 / (K + gamma_n (max_b v(b) - v(a)))    if a is not best;  v(a) = theta . x_a
        gamma_n = gamma_scale n^gamma_exponent          after n rewards

    `SquareCBPolicy` says how it chooses, and `LinearPolicy` how it learns.

    Args:
        gamma_scale: gamma_1, how much gaps count, from 0 to 1e37; 0 is uniform choice.
        gamma_exponent: how fast gamma_n grows, from 0 to 1.
        gamma: forgetting factor of the model, from 0 to 1: what was seen t steps ago has the weight
            gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `LinearPolicy`.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Foster & Rakhlin, Beyond UCB (2020); Vowpal Wabbit's `--squarecb`.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), "float32"), "per_arm": ArraySpec((4, 3), "float32")}
    >>> LinearSquareCBPolicy(observation_spec=spec).num_actions
    4
    """

    def __init__(
        self,
        gamma_scale: float = 10.0,
        gamma_exponent: float = 0.5,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._gamma_scale = check_gamma_scale(gamma_scale)
        self._gamma_exponent = check_gamma_exponent(gamma_exponent)
        super().__init__(gamma, tikhonov_weight, observation_spec=observation_spec, **options)


class DisjointLinearSquareCBPolicy(SquareCBPolicy, DisjointLinearPolicy):
    """SquareCB with a linear model for each action.

        p(a) = 1 / (K + gamma_n (max_b v(b) - v(a)))    if a is not best;  v(a) = theta[a] . x
        gamma_n = gamma_scale n^gamma_exponent          after n rewards

    `SquareCBPolicy` says how it chooses, and `DisjointLinearPolicy` how it learns.

    Args:
        gamma_scale: gamma_1, how much gaps count, from 0 to 1e37; 0 is uniform choice.
        gamma_exponent: how fast gamma_n grows, from 0 to 1.
        gamma: forgetting factor of the model, from 0 to 1: what was seen t steps ago has the weight
            gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `DisjointLinearPolicy`.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Foster & Rakhlin, Beyond UCB (2020); Vowpal Wabbit's `--squarecb`.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), "float32")
    >>> DisjointLinearSquareCBPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(
        self,
        gamma_scale: float = 10.0,
        gamma_exponent: float = 0.5,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._gamma_scale = check_gamma_scale(gamma_scale)
        self._gamma_exponent = check_gamma_exponent(gamma_exponent)
        super().__init__(gamma, tikhonov_weight, observation_spec=observation_spec, **options)


class LogisticSquareCBPolicy(SquareCBPolicy, LogisticPolicy):
    """SquareCB with one logistic model of features of the context and the actions.

        p(a) = 1 / (K + gamma_n (max_b v(b) - v(a)))    if a is not best;  v(a) = sigma(m . x_a)
        gamma_n = gamma_scale n^gamma_exponent          after n rewards

    `SquareCBPolicy` says how it chooses, and `LogisticPolicy` how it learns.

    Args:
        gamma_scale: gamma_1, how much gaps count, from 0 to 1e37; 0 is uniform choice.
        gamma_exponent: how fast gamma_n grows, from 0 to 1.
        tikhonov_weight: the precision of every weight's prior, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `LogisticPolicy`.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Foster & Rakhlin, Beyond UCB (2020); Vowpal Wabbit's `--squarecb`.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), "float32"), "per_arm": ArraySpec((4, 3), "float32")}
    >>> LogisticSquareCBPolicy(observation_spec=spec).num_actions
    4
    """

    def __init__(
        self,
        gamma_scale: float = 10.0,
        gamma_exponent: float = 0.5,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._gamma_scale = check_gamma_scale(gamma_scale)
        self._gamma_exponent = check_gamma_exponent(gamma_exponent)
        super().__init__(tikhonov_weight, observation_spec=observation_spec, **options)


class DisjointLogisticSquareCBPolicy(SquareCBPolicy, DisjointLogisticPolicy):
    """SquareCB with a logistic model for each action.

        p(a) = 1 / (K + gamma_n (max_b v(b) - v(a)))    if a is not best;  v(a) = sigma(m[a] . x)
        gamma_n = gamma_scale n^gamma_exponent          after n rewards

    `SquareCBPolicy` says how it chooses, and `DisjointLogisticPolicy` how it learns.

    Args:
        gamma_scale: gamma_1, how much gaps count, from 0 to 1e37; 0 is uniform choice.
        gamma_exponent: how fast gamma_n grows, from 0 to 1.
        tikhonov_weight: the precision of every weight's prior, from 1e-37 to 1e37.
        observation_spec: of the environment: features of `DisjointLogisticPolicy`.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Foster & Rakhlin, Beyond UCB (2020); Vowpal Wabbit's `--squarecb`.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), "float32")
    >>> DisjointLogisticSquareCBPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(
        self,
        gamma_scale: float = 10.0,
        gamma_exponent: float = 0.5,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._gamma_scale = check_gamma_scale(gamma_scale)
        self._gamma_exponent = check_gamma_exponent(gamma_exponent)
        super().__init__(tikhonov_weight, observation_spec=observation_spec, **options)


def check_gamma_scale(scale: float) -> float:
    """Returns the scale of gamma_n; raises TypeError or ValueError if it cannot be one."""
    return check_number("gamma_scale", scale, 0.0, MAX_PARAMETER)


def check_gamma_exponent(exponent: float) -> float:
    """Returns the exponent of gamma_n; raises TypeError or ValueError if it cannot be one."""
    return check_number("gamma_exponent", exponent, 0.0, 1.0)
