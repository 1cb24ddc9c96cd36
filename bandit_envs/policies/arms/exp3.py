"""Policies for adversarial rewards: Exp3, Exp3.S and Tsallis-INF."""

from __future__ import annotations

import math
import typing
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.checks import check_positive
from bandit_envs.policies.draws import row_sums
from bandit_envs.policies.learned import make_room
from bandit_envs.policies.policy import Policy, PolicyOptions
from bandit_envs.trajectories import TimeStep, Trajectory

SMALLEST = 1e-9
"""The smallest probability in an estimate, so that actions of another policy do not overflow it."""


class Exp3Policy(Policy):
    """Draws actions by exponential weights of estimated rewards, mixed with uniform exploration.

        pi(a) = (1 - gamma) w(a) / sum_b w(b) + gamma / K
        w(A) *= exp(gamma R / (K pi(A)))

    Rewards are numbers from 0 to 1, and may be chosen by an adversary.

    Args:
        gamma: the share of uniform exploration, above 0 and at most 1.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Auer, Cesa-Bianchi, Freund & Schapire (2002).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> Exp3Policy(0.1, num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    reward_range = 0.0, 1.0
    _shared = 1e-300  # what every weight gets at a step; this little only keeps it above 0

    def __init__(self, gamma: float, **options: typing.Unpack[PolicyOptions]) -> None:
        self._gamma = check_positive("gamma", gamma, maximum=1.0)
        super().__init__(**options)

    def _initial(self) -> Floats:
        """Returns the weights, whose sum in every row is 1; updated in place."""
        return np.full(self._table_shape, 1.0 / self.num_actions)

    def _probabilities(self, learned: Floats, time_step: TimeStep) -> Floats:
        return self._mixed(learned)

    def _learn(self, learned: Floats, trajectory: Trajectory) -> Floats:
        chosen = self._row_offsets + trajectory.action
        table = self._restricted(self._mixed(learned), trajectory.observation)
        pi = table.take(chosen)
        learned.reshape(-1)[chosen] *= np.exp(
            self._gamma / self.num_actions * trajectory.reward / pi
        )
        learned += self._shared
        learned /= row_sums(learned)[:, np.newaxis]
        return learned

    def _add_actions(self, learned: Floats, known: int) -> Floats:
        """Gives new actions the mean of all weights; the others keep their ratios."""
        grown: Floats = super()._add_actions(learned, known)
        make_room(grown, known)
        return grown

    def _mixed(self, weights: Floats) -> Floats:
        """Returns the weights, mixed with uniform exploration: [B, K]."""
        return (1.0 - self._gamma) * weights + self._gamma / self.num_actions


class Exp3SPolicy(Exp3Policy):
    """Exp3 that shares weight among the actions at every step, for rewards whose laws change.

        pi(a) = (1 - gamma) w(a) / sum_b w(b) + gamma / K
        w(a)  = w(a) exp(1[a = A] gamma R / (K pi(A))) + e alpha / K sum_b w(b)

    Args:
        gamma: the probability of exploring, above 0 and at most 1. For c changes in T steps,
            min(1, sqrt(K (c ln(K T) + e) / ((e - 1) T))) fits.
        alpha: how much it shares, above 0 and at most 1; 1 / T fits.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Auer, Cesa-Bianchi, Freund & Schapire (2002), figure 6.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> policy = Exp3SPolicy(0.1, 0.001, num_actions=2)
    >>> policy.probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def __init__(self, gamma: float, alpha: float, **options: typing.Unpack[PolicyOptions]) -> None:
        self._alpha = check_positive("alpha", alpha, maximum=1.0)
        super().__init__(gamma, **options)

    @property
    def _shared(self) -> float:  # type: ignore[override]
        return math.e * self._alpha / self.num_actions


class Estimates(NamedTuple):
    """Estimated losses and what follows from them; updated in place, except for the steps."""

    losses: Floats  # L, the sum of the estimated losses, [B, K]; less the smallest of the row
    shifts: Floats  # x, below 0, [B, 1]
    probabilities: Floats  # [B, K]
    steps: Indices  # how many rewards each row has learned from, [B]


class TsallisINFPolicy(Policy):
    """Draws actions so that Tsallis entropy balances their estimated losses.

        pi(a)  = 4 / (eta (L(a) - x))^2,    eta = 2 / sqrt(t)
        L(A)  += (1 - R) / pi(A)

    The number x, less than every L, makes the sum of pi equal 1. Rewards are numbers from 0 to 1,
    stochastic or chosen by an adversary.

    Args:
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Zimmert & Seldin (2021), with alpha = 1/2 and importance-weighted losses.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> TsallisINFPolicy(num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    reward_range = 0.0, 1.0
    _rate = 2.0

    def _initial(self) -> Estimates:
        uniform = np.full(self._table_shape, 1.0 / self.num_actions)
        shifts = np.full((self.batch_size, 1), -math.sqrt(self.num_actions))
        steps = np.zeros(self.batch_size, np.intp)
        return Estimates(np.zeros(self._table_shape), shifts, uniform, steps)

    def _probabilities(self, learned: Estimates, time_step: TimeStep) -> Floats:
        return learned.probabilities

    def _learn(self, learned: Estimates, trajectory: Trajectory) -> Estimates:
        loss = 1.0 - trajectory.reward.astype(np.float64)
        losses, shifts, probabilities, steps = learned
        chosen = self._row_offsets + trajectory.action
        pi = self._restricted(probabilities, trajectory.observation).take(chosen)
        baseline = self._baseline(learned)
        losses += baseline
        loss -= baseline.reshape(-1).take(chosen)
        losses.reshape(-1)[chosen] += loss / np.maximum(pi, SMALLEST)
        smallest = losses.min(axis=1, keepdims=True)
        losses -= smallest
        shifts -= smallest
        self._balance(learned, self._rate / np.sqrt(steps + 2)[:, np.newaxis])
        return learned._replace(steps=steps + 1)

    def _add_actions(self, learned: Estimates, known: int) -> Estimates:
        """Gives new actions the smallest loss that is estimated of any."""
        grown: Estimates = super()._add_actions(learned, known)
        self._balance(grown, self._rate / np.sqrt(grown.steps + 1)[:, np.newaxis])
        return grown

    def _baseline(self, learned: Estimates) -> Floats:
        """Returns B(a), which estimated losses are compared with: [B, K]."""
        return np.zeros(self._table_shape)

    def _balance(self, learned: Estimates, eta: Floats) -> None:
        """Finds x and the probabilities, by Newton's method from the last x."""
        losses, x, probabilities, _ = learned
        ones = np.ones((self.num_actions, 1))  # a product with it sums rows
        largest = -2.0 / eta
        for _ in range(30):
            # At -2 / eta, the best action alone has probability 1: x is not above. The sum is
            # convex in x, so Newton's method descends to x after its first step.
            np.minimum(x, largest, out=x)
            root = 2.0 / (eta * (losses - x))
            np.multiply(root, root, out=probabilities)
            surplus = probabilities @ ones - 1.0
            if np.abs(surplus).max() < 1e-12:
                break
            root *= probabilities
            x -= surplus / (eta * (root @ ones))
        probabilities /= surplus + 1.0


class ReducedVarianceTsallisINFPolicy(TsallisINFPolicy):
    """Tsallis-INF with estimated losses of less variance.

        L(a) += 1[a = A] (1 - R - B(a)) / pi(a) + B(a),    B(a) = 1/2 if pi(a) >= eta^2, else 0

    Here eta = 4 / sqrt(t). All else is as in `TsallisINFPolicy`.

    Args:
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Zimmert & Seldin (2021), with alpha = 1/2 and reduced-variance losses.

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> policy = ReducedVarianceTsallisINFPolicy(num_actions=2)
    >>> policy.probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    _rate = 4.0

    def _baseline(self, learned: Estimates) -> Floats:
        eta_squared = self._rate**2 / (learned.steps + 1)[:, np.newaxis]
        return np.where(learned.probabilities >= eta_squared, 0.5, 0.0)
