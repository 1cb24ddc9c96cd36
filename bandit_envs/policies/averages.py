"""Policies that learn the average reward of every action: UCB, UCB1-tuned, MOSS, Boltzmann."""

from __future__ import annotations

import abc
import typing

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_integer, check_positive
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.policy import Policy, PolicyOptions
from bandit_envs.trajectories import TimeStep, Trajectory


class Averages(typing.NamedTuple):
    """What was seen of every action; [B, K] and updated in place, but for the steps."""

    counts: Floats  # N, how often the action was chosen
    sums: Floats  # of its rewards
    values: Floats  # Q, their mean
    variances: Floats  # their mean squared distance from it
    inverses: Floats  # 1 / N, infinite for an action never chosen
    steps: Indices  # how many rewards each row has learned from, [B]


class AveragePolicy(Policy):
    """A policy that learns average rewards."""

    def _initial(self) -> typing.Any:
        counts, sums, values, variances = np.zeros((4, *self._table_shape))
        inverses = np.full(self._table_shape, np.inf)
        return Averages(counts, sums, values, variances, inverses, np.zeros(self.batch_size, int))

    def _learn(self, learned: typing.Any, trajectory: Trajectory) -> typing.Any:
        chosen, reward = self._row_offsets + trajectory.action, trajectory.reward
        counts, sums, values, variances, inverses = (table.reshape(-1) for table in learned[:5])
        counts[chosen] = n = counts.take(chosen) + 1.0
        sums[chosen] = total = sums.take(chosen) + reward
        inverses[chosen] = 1.0 / n
        before, variance = values.take(chosen), variances.take(chosen)
        values[chosen] = after = total / n
        variances[chosen] = variance + ((reward - before) * (reward - after) - variance) / n
        return learned._replace(steps=learned.steps + 1)


class AverageIndexPolicy(IndexPolicy, AveragePolicy):
    """Chooses the action with the largest index, a function of its average reward and of N.

    A subclass implements `_indices`. Actions never chosen come first: their index is infinite.
    """

    @abc.abstractmethod
    def _indices(self, learned: typing.Any, t: Indices, time_step: TimeStep) -> Floats:
        """Returns the index of every action at step t [B, 1], at least 2: [B, K]."""

    def _scores(self, learned: typing.Any, time_step: TimeStep) -> Floats:
        # At the first step all indices are infinite, if only ln t is not 0.
        t = np.maximum(learned.steps + 1, 2)[:, np.newaxis]
        return self._indices(learned, t, time_step)


class ConfidenceBounds(typing.NamedTuple):
    """Q, N and 1 / sqrt(N), each [B, K] and updated in place, and the steps of each row, [B]."""

    values: Floats
    counts: NDArray[np.int64]
    widths: Floats
    steps: Indices


class UCBPolicy(AverageIndexPolicy):
    """Chooses the action with the largest upper confidence bound.

        A_t = argmax_a Q_t(a) + c * sqrt(ln t / N_t(a))

    Q is the sample average. Actions never chosen come first.

    Source: Sutton & Barto, 2nd ed., section 2.7, equation 2.10.

    >>> from bandit_envs import KArmedTestbed
    >>> UCBPolicy(2.0, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, c: float, **options: typing.Unpack[PolicyOptions]) -> None:
        self._c = check_positive("c", c, maximum=MAX_PARAMETER)
        super().__init__(**options)

    def _initial(self) -> typing.Any:
        shape = self._table_shape
        steps = np.zeros(self.batch_size, int)
        return ConfidenceBounds(
            np.zeros(shape), np.zeros(shape, int), np.full(shape, np.inf), steps
        )

    def _indices(self, learned: ConfidenceBounds, t: Indices, time_step: TimeStep) -> Floats:
        bounds = learned.widths * (self._c * np.sqrt(np.log(t)))
        bounds += learned.values
        return bounds

    def _learn(self, learned: typing.Any, trajectory: Trajectory) -> typing.Any:
        chosen = self._row_offsets + trajectory.action
        values, counts = learned.values.reshape(-1), learned.counts.reshape(-1)
        n = counts.take(chosen) + 1
        q = values.take(chosen)
        values[chosen], counts[chosen] = q + (trajectory.reward - q) / n, n
        learned.widths.reshape(-1)[chosen] = 1.0 / np.sqrt(n)
        return learned._replace(steps=learned.steps + 1)


class UCB1TunedPolicy(AverageIndexPolicy):
    """Chooses the largest upper confidence bound, whose width follows the variance of the rewards.

        A_t = argmax_a Q(a) + sqrt(ln t / N(a) * min(1/4, V(a) + sqrt(2 ln t / N(a))))

    Q is the mean and V the variance of the action's rewards, which should be from 0 to 1: their
    variance is at most 1/4.

    Source: Auer, Cesa-Bianchi & Fischer (2002).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> UCB1TunedPolicy(num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def _indices(self, learned: Averages, t: Indices, time_step: TimeStep) -> Floats:
        ratio = learned.inverses * np.log(t)
        bounds = np.sqrt(2.0 * ratio)
        bounds += learned.variances
        np.minimum(bounds, 0.25, out=bounds)
        bounds *= ratio
        np.sqrt(bounds, out=bounds)
        bounds += learned.values
        return bounds


class MOSSPolicy(AverageIndexPolicy):
    """Chooses the largest upper confidence bound, whose width is 0 after enough choices.

        A_t = argmax_a Q(a) + sqrt(max(0, ln(T / (K N(a)))) / N(a))

    For rewards from 0 to 1, its regret is minimax optimal up to a constant.

    Args:
        horizon: T, the number of steps; None if it is unknown, for the current step t.

    Source: Audibert & Bubeck, Minimax Policies for Adversarial and Stochastic Bandits (2009).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> MOSSPolicy(1000, num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def __init__(self, horizon: int | None = None, **options: typing.Unpack[PolicyOptions]) -> None:
        if horizon is not None:
            horizon = check_integer("horizon", horizon, minimum=1)
        self._horizon = horizon
        super().__init__(**options)

    def _indices(self, learned: Averages, t: Indices, time_step: TimeStep) -> Floats:
        steps = t if self._horizon is None else self._horizon
        bounds = np.log(learned.inverses * (steps / self.num_actions))
        np.maximum(bounds, 0.0, out=bounds)
        bounds *= learned.inverses
        np.sqrt(bounds, out=bounds)
        bounds += learned.values
        return bounds


class BoltzmannPolicy(AveragePolicy):
    """Draws actions from a softmax of their average rewards.

        pi(a) = exp(Q(a) / temperature) / sum_b exp(Q(b) / temperature)

    Q is the sample average, and 0 before the first reward. The lower the temperature, the greedier
    the policy.

    Source: Cesa-Bianchi, Gentile, Lugosi & Neu, Boltzmann Exploration Done Right (2017).

    >>> from bandit_envs import KArmedTestbed
    >>> BoltzmannPolicy(0.1, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, temperature: float, **options: typing.Unpack[PolicyOptions]) -> None:
        self._temperature = check_positive("temperature", temperature, MIN_STD, MAX_PARAMETER)
        super().__init__(**options)

    def _probabilities(self, learned: Averages, time_step: TimeStep) -> Floats:
        values = learned.values
        weights: Floats = values - values.max(axis=1, keepdims=True)
        weights *= 1.0 / self._temperature
        np.exp(weights, out=weights)
        weights /= weights @ np.ones((self.num_actions, 1))
        return weights
