"""Indices from the Kullback-Leibler divergence of Bernoulli laws: KL-UCB and IMED."""

from __future__ import annotations

import typing

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_number
from bandit_envs.policies.arms.averages import Averages, AveragesPolicy, current_step
from bandit_envs.policies.arms.index_policy import IndexPolicy, UpperBoundPolicy
from bandit_envs.policies.policy import PolicyOptions
from bandit_envs.trajectories import TimeStep

BELOW_1 = np.nextafter(1.0, 0.0)


class KLUCBPolicy(UpperBoundPolicy, AveragesPolicy):
    """Chooses the largest upper confidence bound by the divergence of Bernoulli laws.

        A_t = argmax_a max{q: N(a) kl(Q(a), q) <= ln t + c ln ln t}
        kl(p, q) = p ln(p / q) + (1 - p) ln((1 - p) / (1 - q))

    Rewards are numbers from 0 to 1. The bounds are exact to 1e-10.

    Args:
        c: at least 0; the theory asks for 3, and 0 does best in practice.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Garivier & Cappé (2011).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> KLUCBPolicy(num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    reward_range = 0.0, 1.0

    def __init__(self, c: float = 0.0, **options: typing.Unpack[PolicyOptions]) -> None:
        self._c = check_number("c", c, 0.0, 1e6)
        super().__init__(**options)

    def _bounds(self, learned: Averages) -> Floats:
        log_t = np.log(current_step(learned.steps))
        level = log_t + self._c * np.log(np.maximum(log_t, 1.0))
        bounds = kl_upper_bounds(learned.values, learned.inverses * level)
        bounds[learned.counts == 0.0] = np.inf
        return bounds


class IMEDPolicy(IndexPolicy, AveragesPolicy):
    """Chooses the action with the smallest empirical divergence from the best.

        A_t = argmin_a N(a) kl(Q(a), max_b Q(b)) + ln N(a)

    The divergence kl is that of `KLUCBPolicy`. The maximum is over the available actions. Actions
    never chosen come first. Rewards are numbers from 0 to 1.

    Args:
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Honda & Takemura (2015), for Bernoulli laws.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> IMEDPolicy(num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    reward_range = 0.0, 1.0
    can_count_pending = True

    def _scores(self, learned: Averages, time_step: TimeStep) -> Floats:
        p = learned.values
        available = self._available(time_step.observation)
        known = p if available is None else np.where(available, p, 0.0)
        best = np.clip(known.max(axis=1, keepdims=True), 1e-300, BELOW_1)
        p = np.clip(p, 1e-300, BELOW_1)
        divergence = p * (np.log(p) - np.log(best))
        divergence += (1.0 - p) * (np.log1p(-p) - np.log1p(-best))
        return np.asarray(np.log(learned.inverses) - learned.counts * divergence)


def kl_upper_bounds(p: Floats, divergence: Floats) -> Floats:
    """Returns the largest q with kl(p, q) <= `divergence`, for p from 0 to 1; exact to 1e-10."""
    p = np.clip(p, 1e-300, BELOW_1)
    rest = 1.0 - p
    target = p * np.log(p) + rest * np.log(rest) - divergence
    # kl(p, q) is at least entropy(p) - (1 - p) ln(1 - q), and at least (q - p)^2 / (2 q (1 - p)).
    spread = divergence * rest
    q = np.minimum(-np.expm1(target / rest), p + spread + np.sqrt(spread * (spread + 2.0 * p)))
    np.clip(q, p, BELOW_1, out=q)
    for _ in range(5):  # Newton's method descends from above, as kl is convex in q
        excess = target - p * np.log(q) - rest * np.log1p(-q)
        q -= excess * q * (1.0 - q) / np.maximum(q - p, 1e-17)
        np.clip(q, p, BELOW_1, out=q)
    return q
