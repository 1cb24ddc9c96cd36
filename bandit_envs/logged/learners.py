"""Learners: policies from logged data alone."""

from __future__ import annotations

import abc

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_integer, check_number, check_positive
from bandit_envs.logged.estimators import (
    DirectMethod,
    DoublyRobust,
    Estimator,
    InversePropensityScoring,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    weigh_rows,
)
from bandit_envs.logged.features import has_items, spec_of_rows
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.models import RewardRegression
from bandit_envs.logged.ridge import RidgeRegression
from bandit_envs.policies.draws import softmax
from bandit_envs.policies.features import ContextReader
from bandit_envs.policies.linear_scores import LinearGreedyPolicy, LinearSoftmaxPolicy
from bandit_envs.policies.policy import Policy
from bandit_envs.seeding import Seed

OBJECTIVES = (
    InversePropensityScoring(),
    SelfNormalizedIPS(),
    DoublyRobust(),
    SelfNormalizedDR(),
    DirectMethod(),
)
"""What `PolicyGradientLearner` can climb."""


class Learner(abc.ABC):
    """Learns a policy from a log.

    Evaluate what it learns on other rows than those that it has learned from.
    """

    @abc.abstractmethod
    def fit(self, log: BanditLog, batch_size: int = 1, seed: Seed = None) -> Policy:
        """Returns a policy that learned from a log, and learns no more.

        Args:
            log: n decisions, whose observations are contexts without features of the actions.
            batch_size: the number of rows of the policy.
            seed: of the policy's draws.
        """


class DirectMethodLearner(Learner):
    """Chooses the action whose predicted reward is the largest.

        argmax_a  q_a(x)

    where q_a is a ridge regression of the rewards of the action a. An action that was never logged
    has the prediction 0.

    Source: Beygelzimer & Langford, The offset tree (2009), the regression approach.

    >>> log = BanditLog(np.ones((4, 1)), [0, 1, 0, 1], [1.0, 2.0, 1.0, 2.0], [0.5] * 4)
    >>> policy = DirectMethodLearner().fit(log)
    >>> policy.num_actions
    2
    """

    def fit(self, log: BanditLog, batch_size: int = 1, seed: Seed = None) -> LinearGreedyPolicy:
        context = _context_of(log)
        weights = np.zeros((log.num_actions, 1 + context.shape[1]))
        for action in range(log.num_actions):
            rows = np.flatnonzero(log.action == action)
            if rows.size:
                model = RidgeRegression().fit(context[rows], log.reward[rows])
                weights[action] = model.weights
        return LinearGreedyPolicy(
            weights,
            observation_spec=spec_of_rows(log.observation),
            batch_size=batch_size,
            seed=seed,
        )


class DoublyRobustLearner(Learner):
    """Chooses the action whose doubly robust reward is predicted to be the largest.

        argmax_a  g_a(x)

    where g_a is a ridge regression on all rows i of

        q(x_i, a) + 1{a = a_i} (r_i - q(x_i, a)) / p_i

    and q are cross-fitted predictions of the rewards. So the propensities correct a bad q.

    Args:
        model: of the rewards, as for `RewardRegression`.

    Source: Dudik, Langford & Li, Doubly robust policy evaluation and learning (2011), section 4.

    >>> log = BanditLog(np.ones((6, 1)), [0, 1] * 3, [1.0, 2.0] * 3, [0.5] * 6)
    >>> policy = DoublyRobustLearner().fit(log)
    >>> policy.num_actions
    2
    """

    def __init__(self, model: object = None) -> None:
        self._model = model

    def fit(self, log: BanditLog, batch_size: int = 1, seed: Seed = None) -> LinearGreedyPolicy:
        context = _context_of(log)
        rewards = RewardRegression(self._model).predict(log)
        rows = np.arange(len(log))
        error = log.reward - rewards[rows, log.action]
        rewards[rows, log.action] += error / log.propensity
        weights = [RidgeRegression().fit(context, column).weights for column in rewards.T]
        return LinearGreedyPolicy(
            weights,
            observation_spec=spec_of_rows(log.observation),
            batch_size=batch_size,
            seed=seed,
        )


class PolicyGradientLearner(Learner):
    """Climbs the estimated value of a softmax policy with linear scores.

        pi(a | x) proportional to exp(w_a . [1, x])
        w <- w + step_size (gradient of V(pi) - penalty w)

    from w = 0, with features scaled to mean 0 and standard deviation 1 while it learns. V is what
    the objective estimates on the whole log.

    Args:
        objective: an estimator that keeps all weights as they are: `InversePropensityScoring()`,
            the default, `SelfNormalizedIPS()`, `DoublyRobust()`, `SelfNormalizedDR()` or
            `DirectMethod()`.
        num_steps: of the ascent.
        step_size: above 0.
        penalty: of the squared weights; at least 0.
        model: of the rewards, as for `RewardRegression`, if the objective needs predictions.

    Source: Swaminathan & Joachims, Batch learning from logged bandit feedback through
    counterfactual risk minimization (2015), and The self-normalized estimator (2015).

    >>> log = BanditLog(np.ones((4, 1)), [0, 1, 0, 1], [1.0, 2.0, 1.0, 2.0], [0.5] * 4)
    >>> policy = PolicyGradientLearner().fit(log)
    >>> policy.num_actions
    2
    """

    def __init__(
        self,
        objective: Estimator | None = None,
        num_steps: int = 300,
        step_size: float = 0.5,
        penalty: float = 1e-4,
        model: object = None,
    ) -> None:
        self._objective = InversePropensityScoring() if objective is None else objective
        if self._objective not in OBJECTIVES:
            expected = " or ".join(map(repr, OBJECTIVES))
            raise ValueError(f"objective is {objective!r}; expected {expected}")
        self._num_steps = check_integer("num_steps", num_steps, minimum=1)
        self._step_size = check_positive("step_size", step_size)
        self._penalty = check_number("penalty", penalty, 0.0)
        self._model = model

    def fit(self, log: BanditLog, batch_size: int = 1, seed: Seed = None) -> LinearSoftmaxPolicy:
        context = _context_of(log)
        mean = context.mean(axis=0)
        std = context.std(axis=0)
        std[std == 0.0] = 1.0
        features = np.column_stack([np.ones(len(log)), (context - mean) / std])
        predicted = None
        if self._objective.needs_predictions:
            predicted = RewardRegression(self._model).predict(log)
        weights = np.zeros((log.num_actions, features.shape[1]))
        for _ in range(self._num_steps):
            _, gradient = value_and_gradient(self._objective, log, features, weights, predicted)
            weights += self._step_size * (gradient - self._penalty * weights)
        weights[:, 1:] /= std
        weights[:, 0] -= weights[:, 1:] @ mean
        return LinearSoftmaxPolicy(
            weights,
            observation_spec=spec_of_rows(log.observation),
            batch_size=batch_size,
            seed=seed,
        )


def value_and_gradient(
    objective: Estimator,
    log: BanditLog,
    features: Floats,
    weights: Floats,
    predicted_rewards: Floats | None = None,
) -> tuple[float, Floats]:
    """Returns the estimated value of a linear softmax policy, and its gradient.

    Args:
        objective: an objective of `PolicyGradientLearner`.
        log: n decisions.
        features: [n, D].
        weights: [K, D], of the scores.
        predicted_rewards: [n, K], if the objective needs them.

    Returns:
        The value, and its derivatives by the weights: [K, D].
    """
    probabilities = softmax(features @ weights.T)
    rows = weigh_rows(log, probabilities, predicted_rewards)
    # The derivative of a row's probability by its scores is probability * (indicator - pi), so
    # what the row adds is `credit` times (indicator - pi).
    rewards = np.zeros_like(probabilities)
    value = 0.0
    if predicted_rewards is not None:
        rewards = probabilities * predicted_rewards
        value = float(rows.direct.mean())
    if not isinstance(objective, DirectMethod):
        credit = rows.weights * rows.residual
        if objective.self_normalised:
            mean_weight = rows.weights.mean()
            ratio = credit.mean() / mean_weight
            value += float(ratio)
            credit = rows.weights * (rows.residual - ratio) / mean_weight
        else:
            value += float(credit.mean())
        rewards[np.arange(len(log)), log.action] += credit
    by_score = rewards - rewards.sum(axis=1, keepdims=True) * probabilities
    return value, by_score.T @ features / len(log)


def _context_of(log: BanditLog) -> Floats:
    """Returns the contexts of a log as numbers: [n, d]."""
    if has_items(log):
        raise ValueError("log has features of the actions, per_arm; expected contexts alone")
    return ContextReader(spec_of_rows(log.observation)).read(log.observation, len(log))
