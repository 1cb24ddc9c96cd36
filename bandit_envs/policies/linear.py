"""The contextual policies with the best known names."""

from __future__ import annotations

from typing import Any

from bandit_envs.nests import Nest
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models.ridge import Ridge
from bandit_envs.policies.rules.thompson_sampling import ThompsonSampling
from bandit_envs.policies.rules.upper_bound import UpperBound


class LinUCBPolicy(ContextualPolicy):
    """LinUCB: a `ContextualPolicy` of `Ridge` and `UpperBound`.

        argmax_a  theta . x_a + alpha * sqrt(x_a^T A^-1 x_a)

    Args:
        alpha: how far to explore, in standard deviations of an estimate; at least 0.
        gamma: forgetting factor, from 0 to 1: what was seen t steps ago has the weight gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        intercept: whether a constant is added, without a penalty.
        observation_spec: of the environment.
        **options: as in `ContextualPolicy`; with `num_slots`, it shows the items with the largest
            bounds.

    Source: Li et al., A Contextual-Bandit Approach to Personalized News Article Recommendation
    (2010), algorithm 1; TF-Agents' `LinearUCBAgent`; for slates, Qin, Chen & Zhu, Contextual
    combinatorial bandit (2014), algorithm 1.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), "float32"), "per_arm": ArraySpec((4, 3), "float32")}
    >>> LinUCBPolicy(observation_spec=spec).num_actions
    4
    """

    def __init__(
        self,
        alpha: float = 1.0,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        intercept: bool = False,
        observation_spec: Nest,
        **options: Any,
    ) -> None:
        model = Ridge(gamma, tikhonov_weight, intercept=intercept)
        super().__init__(model, UpperBound(alpha), observation_spec=observation_spec, **options)


class LinearThompsonSamplingPolicy(ContextualPolicy):
    """Linear Thompson sampling: a `ContextualPolicy` of `Ridge` and `ThompsonSampling`.

        argmax_a  theta' . x_a,    theta' ~ N(theta, alpha^2 A^-1)

    Of models of single actions, theta'[a] . x is drawn, which is the same.

    Args:
        alpha: how far to explore, in standard deviations of an estimate; at least 0.
        gamma: forgetting factor, from 0 to 1: what was seen t steps ago has the weight gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        intercept: whether a constant is added, without a penalty.
        observation_spec: of the environment.
        **options: as in `ContextualPolicy`.

    Source: Agrawal & Goyal, Thompson Sampling for Contextual Bandits with Linear Payoffs (2013),
    algorithm 1. With features of actions, TF-Agents' `LinearThompsonSamplingAgent` draws each
    action's mean by itself instead.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), "float32"), "per_arm": ArraySpec((4, 3), "float32")}
    >>> LinearThompsonSamplingPolicy(observation_spec=spec).num_actions
    4
    """

    def __init__(
        self,
        alpha: float = 1.0,
        gamma: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        intercept: bool = False,
        observation_spec: Nest,
        **options: Any,
    ) -> None:
        model = Ridge(gamma, tikhonov_weight, intercept=intercept)
        rule = ThompsonSampling(alpha)
        super().__init__(model, rule, observation_spec=observation_spec, **options)
