"""Upper confidence bounds of average rewards: UCB, UCB1-tuned and MOSS."""

from __future__ import annotations

import typing
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.base.checks import MAX_PARAMETER, check_integer, check_positive
from bandit_envs.policies.arms.averages import (
    Averages,
    AveragesPolicy,
    current_step,
    optimistic_means,
)
from bandit_envs.policies.arms.index_policy import UpperBoundPolicy
from bandit_envs.policies.policy import PolicyOptions
from bandit_envs.trajectories import Trajectory


class ConfidenceBounds(NamedTuple):
    """What the bounds are made of; [B, K] and updated in place, except for the steps."""

    values: Floats  # Q, the average reward of the action
    counts: Indices  # N, how often it was chosen
    widths: Floats  # 1 / sqrt(N), infinite for an action never chosen
    steps: Indices  # how many rewards each row has learned from, [B]

    def with_pending(self, pending: Indices, reward_range: tuple[float, float]) -> ConfidenceBounds:
        """Returns new tables in which choices [B, K] that wait for their rewards count in N."""
        counts = self.counts + pending
        with np.errstate(divide="ignore"):
            widths = 1.0 / np.sqrt(counts)
        return ConfidenceBounds(
            values=optimistic_means(self.values, self.counts > 0, pending, reward_range),
            counts=counts,
            widths=widths,
            steps=self.steps + pending.sum(axis=1),
        )


class UCBPolicy(UpperBoundPolicy):
    """Chooses the action with the largest upper confidence bound.

        A_t = argmax_a Q_t(a) + c * sqrt(ln t / N_t(a))

    Q is the sample average. Actions never chosen come first. Here t is the step that is being
    chosen: after n rewards of a row, it is n + 1.

    Args:
        c: how far to explore, above 0.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Sutton & Barto, 2nd ed., section 2.7, equation 2.10.

    >>> from bandit_envs import KArmedTestbed
    >>> UCBPolicy(2.0, num_actions=4).probabilities(KArmedTestbed(k=4).reset())
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, c: float, **options: typing.Unpack[PolicyOptions]) -> None:
        self._c = check_positive("c", c, maximum=MAX_PARAMETER)
        super().__init__(**options)

    def _initial(self) -> ConfidenceBounds:
        return ConfidenceBounds(
            values=np.zeros(self._table_shape),
            counts=np.zeros(self._table_shape, np.intp),
            widths=np.full(self._table_shape, np.inf),
            steps=np.zeros(self.batch_size, np.intp),
        )

    def _bounds(self, learned: ConfidenceBounds) -> Floats:
        t = current_step(learned.steps)
        bounds: Floats = learned.widths * (self._c * np.sqrt(np.log(t)))
        bounds += learned.values
        return bounds

    def _learn(self, learned: ConfidenceBounds, trajectory: Trajectory) -> ConfidenceBounds:
        chosen = self._row_offsets + trajectory.action
        values = learned.values.reshape(-1)
        n = learned.counts.take(chosen) + 1
        q = values.take(chosen)
        values[chosen] = q + (trajectory.reward - q) / n
        learned.counts.reshape(-1)[chosen] = n
        learned.widths.reshape(-1)[chosen] = 1.0 / np.sqrt(n)
        return learned._replace(steps=learned.steps + 1)


class UCB1TunedPolicy(UpperBoundPolicy, AveragesPolicy):
    """Chooses the largest upper confidence bound, whose width follows the variance of the rewards.

        A_t = argmax_a Q(a) + sqrt(ln t / N(a) * min(1/4, V(a) + sqrt(2 ln t / N(a))))

    Q is the mean and V the variance of the action's rewards, which should be from 0 to 1: their
    variance is at most 1/4. Actions never chosen come first.

    Args:
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

    Source: Auer, Cesa-Bianchi & Fischer (2002).

    >>> from bandit_envs import BernoulliPyEnvironment
    >>> UCB1TunedPolicy(num_actions=2).probabilities(BernoulliPyEnvironment([0.1, 0.9]).reset())
    array([[0.5, 0.5]])
    """

    def _bounds(self, learned: Averages) -> Floats:
        ratio = learned.inverses * np.log(current_step(learned.steps))
        bounds = 2.0 * ratio
        np.sqrt(bounds, out=bounds)
        bounds += learned.variances
        np.minimum(bounds, 0.25, out=bounds)
        bounds *= ratio
        np.sqrt(bounds, out=bounds)
        bounds += learned.values
        return bounds


class MOSSPolicy(UpperBoundPolicy, AveragesPolicy):
    """Chooses the largest upper confidence bound, whose width is 0 after enough choices.

        A_t = argmax_a Q(a) + sqrt(max(0, ln(T / (K N(a)))) / N(a))

    For rewards from 0 to 1, its regret is minimax optimal up to a constant. Actions never chosen
    come first.

    Args:
        horizon: T, the number of steps; None if it is unknown, for the current step t.
        **options: `num_actions`, `batch_size`, `seed` and `count_pending`, as in `Policy`.

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

    def _bounds(self, learned: Averages) -> Floats:
        steps = current_step(learned.steps) if self._horizon is None else self._horizon
        bounds = learned.inverses * (steps / self.num_actions)
        np.log(bounds, out=bounds)
        np.maximum(bounds, 0.0, out=bounds)
        bounds *= learned.inverses
        np.sqrt(bounds, out=bounds)
        bounds += learned.values
        return bounds
