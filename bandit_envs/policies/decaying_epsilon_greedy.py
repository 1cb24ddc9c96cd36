"""Epsilon-greedy whose epsilon falls as 1 / t."""

from __future__ import annotations

import typing

from bandit_envs.base.checks import MAX_PARAMETER, check_positive
from bandit_envs.policies.epsilon_greedy import ActionValues, EpsilonGreedyPolicy
from bandit_envs.policies.policy import Sizes


class DecayingEpsilonGreedyPolicy(EpsilonGreedyPolicy):
    """Chooses as epsilon-greedy does, with an epsilon that falls.

        epsilon_t = min(1, c K / (d^2 t))

    With c large enough, and d at most the gap between the best and the second-best action, its
    regret is logarithmic.

    Args:
        c: how much it explores, above 0.
        d: a lower bound of the gap, from 1e-9 to 1.

    Source: Auer, Cesa-Bianchi & Fischer (2002), figure 3, there epsilon_n-greedy.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> policy = DecayingEpsilonGreedyPolicy(0.1, 0.8, num_actions=2)
    >>> policy.probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def __init__(self, c: float, d: float, **sizes: typing.Unpack[Sizes]) -> None:
        c, d = check_positive("c", c, maximum=MAX_PARAMETER), check_positive("d", d, 1e-9, 1.0)
        super().__init__(0.0, **sizes)
        self._first_epsilon = c * self._num_actions / d**2

    def _exploration(self, learned: ActionValues) -> float:
        t = int(learned.counts[0].sum()) + 1
        return min(1.0, self._first_epsilon / t)
