"""Action-value methods: greedy and epsilon-greedy, with a constant epsilon and with 1 / t."""

from __future__ import annotations

import typing

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_PARAMETER, check_number, check_positive
from bandit_envs.policies.arms.action_values import ActionValuePolicy, ActionValues
from bandit_envs.policies.draws import row_sums
from bandit_envs.policies.policy import PolicyOptions


class EpsilonGreedyPolicy(ActionValuePolicy):
    """Chooses the action with the largest estimated value, or with probability epsilon any action.

        A_t = argmax_a Q(a)    with probability 1 - epsilon
        Q(a) += alpha * (R - Q(a)),    alpha = 1 / N(a)  or  step_size

    With epsilon 0 the policy is greedy; with a large initial value as well, it is optimistic.

    Args:
        epsilon: the probability of choosing any action, all equally likely; from 0 to 1.
        initial_value: Q of an action before its first reward.
        step_size: alpha, above 0 and at most 1; None for the sample average.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Sutton & Barto, 2nd ed., sections 2.2 to 2.6.

    >>> from bandit_envs import KArmedTestbed
    >>> EpsilonGreedyPolicy(0.1, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(
        self,
        epsilon: float,
        initial_value: float = 0.0,
        step_size: float | None = None,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._epsilon = check_number("epsilon", epsilon, 0.0, 1.0)
        self._initial_value = check_number(
            "initial_value", initial_value, -MAX_PARAMETER, MAX_PARAMETER
        )
        if step_size is not None:
            step_size = check_positive("step_size", step_size, maximum=1.0)
        self._step_size = step_size
        super().__init__(**options)


class DecayingEpsilonGreedyPolicy(ActionValuePolicy):
    """Chooses as epsilon-greedy does, with an epsilon that falls.

        epsilon_t = min(1, c K / (d^2 t))

    t - 1 is the number of rewards that the row has learned from. With c large enough, and d at most
    the gap between the best and the second-best action, its regret is logarithmic.

    Args:
        c: how far to explore, above 0.
        d: a lower bound of that gap, above 0 and at most 1.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Auer, Cesa-Bianchi & Fischer (2002), there epsilon_n-greedy.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> policy = DecayingEpsilonGreedyPolicy(0.1, 0.8, num_actions=2)
    >>> policy.probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def __init__(self, c: float, d: float, **options: typing.Unpack[PolicyOptions]) -> None:
        self._c = check_positive("c", c, maximum=MAX_PARAMETER)
        self._d = check_positive("d", d, 1e-9, 1.0)
        super().__init__(**options)

    def _exploration(self, learned: ActionValues) -> Floats:
        t = row_sums(learned.counts) + 1.0
        return np.minimum(1.0, self._c * self.num_actions / self._d**2 / t)
