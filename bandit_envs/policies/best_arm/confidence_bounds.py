"""LUCB and KL-LUCB: they find the best action with confidence, by bounds of mean rewards."""

from __future__ import annotations

import typing

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_positive
from bandit_envs.policies.best_arm.best_arm_policy import Pulls
from bandit_envs.policies.best_arm.pair_policy import PairPolicy
from bandit_envs.policies.best_arm.reward_laws import NormalLaw, RewardLaw, check_std, law_of
from bandit_envs.policies.best_arm.stopping import StoppingLevel, check_delta
from bandit_envs.policies.policy import PolicyOptions


class LUCBPolicy(PairPolicy):
    """Chooses the leader and its strongest rival in turn, by bounds for sums of rewards.

        U(a), L(a) = Q(a) ± s sqrt(2 ln(5 K t^4 / (4 delta)) / N(a))

    The leader a has the largest mean reward Q, and the rival b the largest U of all others. After t
    steps, the policy stops if L(a) > U(b). It errs with a probability of at most delta.

    Args:
        delta: the largest probability of error, at most 1.
        reward_std: s, the standard deviation of normal rewards; for rewards from 0 to 1, whatever
            their distribution, 0.5.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Kalyanakrishnan, Tewari, Auer & Stone, PAC Subset Selection in Stochastic Multi-armed
    Bandits (2012).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> LUCBPolicy(0.1, num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def __init__(
        self, delta: float, reward_std: float = 0.5, **options: typing.Unpack[PolicyOptions]
    ) -> None:
        self._delta = check_delta(delta)
        self._reward_std = check_positive("reward_std", reward_std, MIN_STD, MAX_PARAMETER)
        super().__init__(**options)

    def _reward_law(self) -> RewardLaw:
        return NormalLaw(self._reward_std)

    def _upper_bounds(self, pulls: Pulls) -> Floats:
        return pulls.values + np.sqrt(self._level(pulls)[:, np.newaxis] / pulls.counts)

    def _lower_bounds(self, pulls: Pulls, actions: Indices) -> Floats:
        rows = np.arange(len(actions))
        radius = np.sqrt(self._level(pulls) / pulls.counts[rows, actions])
        return pulls.values[rows, actions] - radius

    def _level(self, pulls: Pulls) -> Floats:
        """Returns the squares of the radius of an action chosen once: [n]."""
        t = pulls.steps.astype(np.float64)
        logarithm = np.log(1.25 * self.num_actions * t**4 / self._delta)
        return np.asarray(2.0 * self._reward_std**2 * logarithm)


class KLLUCBPolicy(PairPolicy):
    """Chooses the leader and its strongest rival in turn, by bounds from the divergence of laws.

        U(a) = max{q: N(a) kl(Q(a), q) <= level_t},    L(a) = min{q: N(a) kl(Q(a), q) <= level_t}

    The leader a has the largest mean reward Q, and the rival b the largest U of all others. After t
    steps, the policy stops if L(a) > U(b).

    Args:
        delta: the largest probability of error, at most 1.
        reward_std: the standard deviation of normal rewards; None for rewards from 0 to 1.
        threshold: level_t. "practical" is ln((ln t + 1) / delta), "kl_lucb" is the proven one.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Kaufmann & Kalyanakrishnan, Information Complexity in Bandit Subset Selection (2013).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> KLLUCBPolicy(0.1, num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    reward_range = 0.0, 1.0

    def __init__(
        self,
        delta: float,
        reward_std: float | None = None,
        threshold: str = "practical",
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._delta = check_delta(delta)
        self._reward_std = check_std(reward_std)
        self._threshold = threshold
        self._law = law_of(self._reward_std)
        self.reward_range = self._law.reward_range
        super().__init__(**options)
        self._level = StoppingLevel(threshold, self._delta)

    def _reward_law(self) -> RewardLaw:
        return self._law

    def _upper_bounds(self, pulls: Pulls) -> Floats:
        level = self._level.after(pulls.steps, self.num_actions)[:, np.newaxis]
        return self._law.upper_bounds(pulls.values, level / pulls.counts)

    def _lower_bounds(self, pulls: Pulls, actions: Indices) -> Floats:
        rows = np.arange(len(actions))
        level = self._level.after(pulls.steps, self.num_actions) / pulls.counts[rows, actions]
        return self._law.lower_bounds(pulls.values[rows, actions], level)
