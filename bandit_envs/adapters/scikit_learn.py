"""Policies around any classifier or regressor of scikit-learn."""

from __future__ import annotations

import typing
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.adapters.scikit_learn_fitting import Models
from bandit_envs.adapters.scikit_learn_policy import EstimatorOptions, EstimatorPolicy
from bandit_envs.arrays import Floats, Mask, Rng
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.checks import (
    MAX_PARAMETER,
    MIN_STD,
    check_integer,
    check_number,
    check_positive,
)
from bandit_envs.policies.draws import largest_values, softmax, uniform
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.inverse_gap import inverse_gap_probabilities
from bandit_envs.policies.thompson import ThompsonSamplingPolicy
from bandit_envs.trajectories import TimeStep, Trajectory

COLDEST = 1e-3
"""The least share of its first temperature to which a softmax cools."""


class SklearnEpsilonGreedyPolicy(IndexPolicy, EstimatorPolicy):
    """Chooses the action whose estimator predicts most, or with probability epsilon any action.

        argmax_a f_a(x)    f_a(x): the reward that the estimator of a predicts

    Args:
        estimator: a classifier or a regressor, or its text, such as "LogisticRegression(C=0.1)".
        epsilon: the probability of choosing any action, all equally likely; from 0 to 1.
        **options: as in `EstimatorPolicy`.

    Source: Cortes, Adapting Multi-Armed Bandits Policies to Contextual Bandits Scenarios (2018),
    algorithm 4, with a constant epsilon.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> policy = SklearnEpsilonGreedyPolicy(
    ...     "LogisticRegression", epsilon=0.1, observation_spec=spec, num_actions=4
    ... )
    """

    def __init__(
        self,
        estimator: Any,
        epsilon: float,
        **options: typing.Unpack[EstimatorOptions],
    ) -> None:
        self._epsilon = check_number("epsilon", epsilon, 0.0, 1.0)
        super().__init__(estimator, **options)

    def _scores(self, learned: Models, time_step: TimeStep) -> Floats:
        return self._scores_of_first(learned, time_step.observation, self.batch_size)


class SklearnSoftmaxPolicy(EstimatorPolicy):
    """Draws actions from a softmax of what their estimators predict.

        pi(a) = exp(s(a) / temperature_t) / sum_b exp(s(b) / temperature_t)
        temperature_t = temperature * cooling^t    after t rows

    The score s is the predicted reward of a regressor, and the predicted log-odds of a classifier.
    The temperature stays above a thousandth of the first one.

    Args:
        estimator: a classifier or a regressor, or its text, such as "LogisticRegression(C=0.1)".
        temperature: above 0; the lower it is, the greedier the policy.
        cooling: by how much each row multiplies the temperature, above 0 and at most 1.
        **options: as in `EstimatorPolicy`.

    Source: Cortes (2018), there SoftmaxExplorer, whose multiplier is 1 / temperature.
    """

    def __init__(
        self,
        estimator: Any,
        temperature: float = 1.0,
        cooling: float = 0.9996,
        **options: typing.Unpack[EstimatorOptions],
    ) -> None:
        self._temperature = check_positive("temperature", temperature, MIN_STD, MAX_PARAMETER)
        self._cooling = check_positive("cooling", cooling, maximum=1.0)
        super().__init__(estimator, **options)

    def _probabilities(self, learned: Models, time_step: TimeStep) -> Floats:
        scores = self._scores_of_first(learned, time_step.observation, self.batch_size)
        share = max(self._cooling**learned.sums.num_rows, COLDEST)
        available = self._available(time_step.observation)
        if available is not None:  # so that the largest available one does not become 0
            scores = np.where(available, scores, -np.inf)
        return softmax(scores, 1.0 / (self._temperature * share))


class AdaptiveModels(NamedTuple):
    """What `SklearnAdaptiveGreedyPolicy` knows.

    Fields:
        models: of the rewards.
        largest: [window], the largest predictions for the last rows.
        threshold: below it, actions are drawn.
    """

    models: Models
    largest: Floats
    threshold: float


class SklearnAdaptiveGreedyPolicy(EstimatorPolicy):
    """Chooses the action whose estimator predicts most, if that is above a threshold; else any.

        argmax_a f_a(x)    if max_a f_a(x) > threshold

    The threshold is at first 1 / (2 sqrt(K)). After each `window` rows, it becomes a percentile of
    the largest predictions for them, made before they were learned from. The percentile of t rows
    is percentile * decay^t.

    Args:
        estimator: a classifier or a regressor, or its text, such as "LogisticRegression(C=0.1)".
        percentile: from 0 to 100.
        decay: above 0 and at most 1.
        window: at least 1.
        **options: as in `EstimatorPolicy`.

    Source: Cortes (2018), there ContextualAdaptiveGreedy.
    """

    def __init__(
        self,
        estimator: Any,
        percentile: float = 30.0,
        decay: float = 0.9998,
        window: int = 500,
        **options: typing.Unpack[EstimatorOptions],
    ) -> None:
        self._percentile = check_number("percentile", percentile, 0.0, 100.0)
        self._decay = check_positive("decay", decay, maximum=1.0)
        self._window = check_integer("window", window, minimum=1, maximum=2**31)
        super().__init__(estimator, **options)

    def _initial(self) -> Any:
        threshold = 0.5 / np.sqrt(self.num_actions)
        return AdaptiveModels(super()._initial(), np.zeros(self._window), float(threshold))

    def _learn(self, learned: AdaptiveModels, trajectory: Trajectory) -> AdaptiveModels:
        values = self._values(learned.models, trajectory.observation, len(trajectory.action))
        available = available_actions(trajectory.observation, self.num_actions)
        _, largest = largest_values(_only(values, available))
        threshold = self._threshold_after(learned, largest[:, 0])
        self._learn_rows(learned.models, trajectory)
        return learned._replace(threshold=threshold)

    def _threshold_after(self, learned: AdaptiveModels, largest: Floats) -> float:
        """Adds largest predictions [n] to the window, and returns the threshold after them."""
        threshold = learned.threshold
        num_rows = learned.models.sums.num_rows
        while len(largest) > 0:
            place = num_rows % self._window
            part = largest[: self._window - place]
            learned.largest[place : place + len(part)] = part
            num_rows += len(part)
            if num_rows % self._window == 0:
                percentile = self._percentile * self._decay**num_rows
                threshold = float(np.percentile(learned.largest, percentile))
            largest = largest[len(part) :]
        return threshold

    def _probabilities(self, learned: AdaptiveModels, time_step: TimeStep) -> Floats:
        values = self._values(learned.models, time_step.observation, self.batch_size)
        available = self._available(time_step.observation)
        values = _only(values, available)
        _, largest = largest_values(values)
        is_low = largest <= learned.threshold
        return uniform(np.where(is_low, values > -np.inf, values == largest))


class SklearnSquareCBPolicy(EstimatorPolicy):
    """Chooses actions by inverse gap weighting of what their estimators predict.

        p(a) = 1 / (K + gamma_t (max_b f(b) - f(a)))    of an action that is not the best
        gamma_t = gamma_scale * t^gamma_exponent        after t rows

    The best actions share the rest. K is the number of available actions.

    Args:
        estimator: a classifier or a regressor, or its text, such as "LogisticRegression(C=0.1)".
        gamma_scale: at least 0; the larger it is, the greedier the policy.
        gamma_exponent: from 0 to 1; 0 for a constant gamma.
        **options: as in `EstimatorPolicy`.

    Source: Foster & Rakhlin, Beyond UCB: Optimal and Efficient Contextual Bandits with Regression
    Oracles (2020).
    """

    def __init__(
        self,
        estimator: Any,
        gamma_scale: float = 10.0,
        gamma_exponent: float = 0.5,
        **options: typing.Unpack[EstimatorOptions],
    ) -> None:
        self._gamma_scale = check_number("gamma_scale", gamma_scale, 0.0, MAX_PARAMETER)
        self._gamma_exponent = check_number("gamma_exponent", gamma_exponent, 0.0, 1.0)
        super().__init__(estimator, **options)

    def _probabilities(self, learned: Models, time_step: TimeStep) -> Floats:
        values = self._values(learned, time_step.observation, self.batch_size)
        gamma = self._gamma_scale * learned.sums.num_rows**self._gamma_exponent
        available = self._available(time_step.observation)
        return inverse_gap_probabilities(values, gamma, available)


class SklearnThompsonSamplingPolicy(ThompsonSamplingPolicy, EstimatorPolicy):
    """Chooses by estimators fitted to bootstrap samples: one drawn for each row and action.

        argmax_a f_(a,r)(x)    r: a replica drawn for each action

    Each replica gives each row a weight Gamma(1, 1), or if the estimator takes no `sample_weight`,
    repeats it Poisson(1) times. Where one model predicts the rewards of all actions, one replica is
    drawn for each row. While models have seen too little, a mean reward is drawn from the prior.

    Args:
        estimator: a classifier or a regressor, or its text, such as "LogisticRegression(C=0.1)".
        num_replicas: how many estimators are in the place of each, at least 2.
        **options: as in `EstimatorPolicy`.

    Source: Cortes (2018), there BootstrappedTS; Osband & Van Roy, Bootstrapped Thompson Sampling
    and Deep Exploration (2015).
    """

    def __init__(
        self,
        estimator: Any,
        num_replicas: int = 10,
        **options: typing.Unpack[EstimatorOptions],
    ) -> None:
        self._num_replicas = check_integer("num_replicas", num_replicas, 2, 10_000)
        super().__init__(estimator, **options)

    def _draw_values(self, rng: Rng, learned: Models, time_step: TimeStep) -> Floats:
        size = self.batch_size
        predictions = self._predictions(learned, time_step.observation, size)
        num_models = self._features.num_outputs
        replica = rng.integers(self._num_replicas, size=(size, num_models))
        prior = self._prior.draw(rng, learned.sums, size)
        rows = np.arange(size)[:, np.newaxis]
        drawn = predictions.scores[replica, rows, np.arange(self.num_actions)]
        return np.where(predictions.is_known, drawn, self._prior_scores(prior))


class SklearnUCBPolicy(IndexPolicy, EstimatorPolicy):
    """Chooses the action with the largest percentile of what replicas of its estimator predict.

        argmax_a percentile_r f_(a,r)(x)    r: the replicas

    Replicas learn as those of `SklearnThompsonSamplingPolicy` do. While models have seen too
    little, the percentile is that of the prior.

    Args:
        estimator: a classifier or a regressor, or its text, such as "LogisticRegression(C=0.1)".
        num_replicas: how many estimators are in the place of each, at least 2.
        percentile: above 0 and at most 100.
        **options: as in `EstimatorPolicy`.

    Source: Cortes (2018), there BootstrappedUCB.
    """

    _prior_successes = 3.0

    def __init__(
        self,
        estimator: Any,
        num_replicas: int = 10,
        percentile: float = 80.0,
        **options: typing.Unpack[EstimatorOptions],
    ) -> None:
        self._num_replicas = check_integer("num_replicas", num_replicas, 2, 10_000)
        self._percentile = check_positive("percentile", percentile, maximum=100.0)
        super().__init__(estimator, **options)

    def _scores(self, learned: Models, time_step: TimeStep) -> Floats:
        predictions = self._predictions(learned, time_step.observation, self.batch_size)
        bounds = np.percentile(predictions.scores, self._percentile, axis=0)
        prior = self._prior.quantile(learned.sums, self._percentile / 100.0)
        return np.where(predictions.is_known, bounds, self._prior_scores(prior))


def _only(values: Floats, available: Mask | None) -> Floats:
    """Returns values [n, K], with -inf in place of those of actions that are not available."""
    return values if available is None else np.where(available, values, -np.inf)
