"""Learners: policies from logged data alone."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_integer, check_number, check_positive
from bandit_envs.logged.estimators.single_actions import (
    DirectMethod,
    DoublyRobust,
    Estimator,
    InversePropensityScoring,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    weigh_rows,
)
from bandit_envs.logged.features import context_of, spec_of_rows
from bandit_envs.logged.log import (
    BanditLog,
    check_log,
    check_repeatable,
    concatenate,
    require_rows,
)
from bandit_envs.logged.reward_models.regression import RewardRegression
from bandit_envs.logged.reward_models.reward_sums import fit_batches
from bandit_envs.logged.reward_models.ridge import RidgeRegression, RidgeSums
from bandit_envs.logged.seen_rows import RememberedBatches, SeenRows, remember
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.draws import softmax
from bandit_envs.policies.models import FittedRegressions, LinearScores, ValueModel
from bandit_envs.policies.models.fitted_estimators import NEVER
from bandit_envs.policies.rules import Greedy, Rule, Softmax
from bandit_envs.policies.scikit_learn.model import (
    check_estimator,
    copy_estimator,
    name_failing_estimator,
)
from bandit_envs.seeding import Seed, generator

OBJECTIVES = (
    InversePropensityScoring(),
    SelfNormalizedIPS(),
    DoublyRobust(),
    SelfNormalizedDR(),
    DirectMethod(),
)
"""What `PolicyGradientLearner` can climb."""

FOLDS = 3  # of cross-fitted models of rewards


class Learner(abc.ABC):
    """Learns a policy from a log.

    What it learns is the `model` of the policy, which any other rule takes too: a greedy policy
    that shall explore becomes `ContextualPolicy(policy.model, EpsilonGreedy(0.1), ...)`.

    Evaluate what it learns on other rows than those that it has learned from: `probabilities_of`
    warns if a policy has seen the rows. A subclass implements `_fit`, and `_fit_batches` if it does
    not need the whole log in memory.
    """

    def fit(self, log: BanditLog, batch_size: int = 1, seed: Seed = None) -> ContextualPolicy:
        """Returns a policy that learned from a log, and learns no more.

        Args:
            log: n decisions, whose observations are contexts without features of the actions.
            batch_size: the number of rows of the policy.
            seed: of the policy's draws, and of estimators whose `random_state` is None.
        """
        seen = SeenRows()
        seen.add(check_log(log))
        return remember(self._fit(log, batch_size, seed), seen)

    @property
    def streams(self) -> bool:
        """Whether `fit_batches` keeps one batch in memory rather than all rows."""
        return False

    def fit_batches(
        self, batches: Iterable[BanditLog], batch_size: int = 1, seed: Seed = None
    ) -> ContextualPolicy:
        """Returns what `fit` does of the whole log.

        Args:
            batches: of the log in order, such as `scan_log` returns. They are passed over more than
                once, so they must not be a generator.
            batch_size: the number of rows of the policy.
            seed: of the policy's draws, and of estimators whose `random_state` is None.
        """
        if self.streams:
            check_repeatable(batches)
        seen = SeenRows()
        watched = RememberedBatches(batches, seen)
        return remember(self._fit_batches(watched, batch_size, seed), seen)

    @abc.abstractmethod
    def _fit(self, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
        """Returns what `fit` does."""

    def _fit_batches(
        self, batches: Iterable[BanditLog], batch_size: int, seed: Seed
    ) -> ContextualPolicy:
        """Returns what `fit_batches` does."""
        return self._fit(concatenate(list(batches)), batch_size, seed)


class DirectMethodLearner(Learner):
    """Chooses the action whose predicted reward is the largest.

        argmax_a  q_a(x)

    where q_a is a regression of the rewards of the action a. An action that was never logged is
    chosen only if no other is available.

    Args:
        regressor: of scikit-learn, of which each action gets a copy; or a classifier of rewards.
            By default a `RidgeRegression`.

    Raises:
        TypeError: `regressor` is no estimator.

    Source: Beygelzimer & Langford, The offset tree (2009), the regression approach.

    >>> log = BanditLog(np.ones((4, 1)), [0, 1, 0, 1], [1.0, 2.0, 1.0, 2.0], [0.5] * 4)
    >>> policy = DirectMethodLearner().fit(log)
    >>> policy.num_actions
    2
    """

    def __init__(self, regressor: Any = None) -> None:
        self._regressor = _check_regressor(regressor)

    @property
    def streams(self) -> bool:
        return self._regressor is None

    def _fit(self, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
        if self.streams:
            return self._fit_batches([log], batch_size, seed)
        rng = generator(seed)
        context = context_of(require_rows(log))
        models: list[Any] = []
        for action in range(log.num_actions):
            rows = np.flatnonzero(log.action == action)
            regressor = copy_estimator(self._regressor, rng)
            models.append(fit_regressor(regressor, context[rows], log.reward[rows], action))
        return _greedy_policy(models, log, batch_size, rng)

    def _fit_batches(
        self, batches: Iterable[BanditLog], batch_size: int, seed: Seed
    ) -> ContextualPolicy:
        if not self.streams:
            return super()._fit_batches(batches, batch_size, seed)
        sums = RidgeSums()
        batch: BanditLog | None = None
        for batch in batches:
            context = context_of(batch)
            for action in np.unique(batch.action).tolist():
                rows = np.flatnonzero(batch.action == action)
                sums.add(action, context[rows], batch.reward[rows])
        return _ridge_policy(sums.fit(), batch, batch_size, seed)


class DoublyRobustLearner(Learner):
    """Chooses the action whose doubly robust reward is predicted to be the largest.

        argmax_a  g_a(x)

    where g_a is a regression on all rows i of

        q(x_i, a) + 1{a = a_i} (r_i - q(x_i, a)) / p_i

    and q are cross-fitted predictions of the rewards. So the propensities correct a bad q. An
    action that was never logged is chosen only if no other is available.

    Args:
        model: of the rewards, q, as for `RewardRegression`.
        regressor: of scikit-learn, of which each action gets a copy, g. By default a
            `RidgeRegression`.

    Raises:
        TypeError: `regressor` is no estimator.

    Source: Dudik, Langford & Li, Doubly robust policy evaluation and learning (2011), section 4.

    >>> log = BanditLog(np.ones((6, 1)), [0, 1] * 3, [1.0, 2.0] * 3, [0.5] * 6)
    >>> policy = DoublyRobustLearner().fit(log)
    >>> policy.num_actions
    2
    """

    def __init__(self, model: Any = None, regressor: Any = None) -> None:
        self._model = model
        self._regressor = _check_regressor(regressor)

    @property
    def streams(self) -> bool:
        return self._model is None and self._regressor is None

    def _fit(self, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
        if self.streams:
            return self._fit_batches([log], batch_size, seed)
        context = context_of(log)
        rewards = _correct_rewards(RewardRegression(self._model).predict(log), log)
        is_logged = np.bincount(log.action, minlength=log.num_actions) > 0
        regressor = RidgeRegression() if self._regressor is None else self._regressor
        rng = generator(seed)
        models: list[Any] = [NEVER] * log.num_actions
        for action in np.flatnonzero(is_logged).tolist():
            made = copy_estimator(regressor, rng)
            models[action] = fit_regressor(made, context, rewards[:, action], action)
        return _greedy_policy(models, log, batch_size, rng)

    def _fit_batches(
        self, batches: Iterable[BanditLog], batch_size: int, seed: Seed
    ) -> ContextualPolicy:
        if not self.streams:
            return super()._fit_batches(batches, batch_size, seed)
        model = fit_batches(batches, FOLDS)
        sums = RidgeSums()
        logged: set[int] = set()
        size = 0
        batch: BanditLog | None = None
        for batch in batches:
            context = context_of(batch)
            rewards = _correct_rewards(model.predict(batch, size), batch)
            for action in range(batch.num_actions):
                sums.add(action, context, rewards[:, action])
            logged.update(np.unique(batch.action).tolist())
            size += len(batch)
        models = {action: model for action, model in sums.fit().items() if action in logged}
        return _ridge_policy(models, batch, batch_size, seed)


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

    def _fit(self, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
        context = context_of(require_rows(log))
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
        rule = Softmax(temperature=1.0, cooling=1.0)
        return _policy_of(LinearScores(weights), rule, log, batch_size, seed)


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


def fit_regressor(regressor: Any, context: Floats, rewards: Floats, action: int) -> Any:
    """Returns what predicts the rewards of an action.

    Args:
        regressor: learns.
        context: [m, d].
        rewards: [m].
        action: for messages.

    Returns:
        A fitted estimator; or a number, if all rewards are the same or there are none.

    Raises:
        ValueError: the regressor cannot learn from these rows.
    """
    if rewards.size == 0:
        return NEVER
    if (rewards == rewards[0]).all():  # a classifier needs two classes
        return float(rewards[0])
    with name_failing_estimator(regressor, "learn from", len(rewards), f"of action {action}"):
        regressor.fit(context, rewards)
    return regressor


def _check_regressor(regressor: Any) -> Any:
    """Returns a regressor; None for ridge regressions, whose sums merge."""
    return None if regressor is None else check_estimator("regressor", regressor)


def _correct_rewards(predicted: Floats, log: BanditLog) -> Floats:
    """Makes predicted rewards [n, K] doubly robust, in their place, and returns them."""
    rows = np.arange(len(log))
    error = log.reward - predicted[rows, log.action]
    predicted[rows, log.action] += error / log.propensity
    return predicted


def _ridge_policy(
    models: Mapping[int, RidgeRegression], batch: BanditLog | None, batch_size: int, seed: Seed
) -> ContextualPolicy:
    """Returns a policy that chooses the action with the largest prediction.

    Args:
        models: by action; other actions are chosen last.
        batch: the last of the log, which says how many actions and features there are.
        batch_size: the number of rows of the policy.
        seed: of its draws.
    """
    if batch is None or not models:
        raise ValueError("the log has 0 rows; expected at least one")
    of_all = [models.get(action, NEVER) for action in range(batch.num_actions)]
    return _greedy_policy(of_all, batch, batch_size, seed)


def _greedy_policy(
    models: list[Any], log: BanditLog, batch_size: int, seed: Seed
) -> ContextualPolicy:
    """Returns a policy that chooses the action with the largest prediction."""
    if not all(isinstance(model, (float, RidgeRegression)) for model in models):
        return greedy_policy(FittedRegressions(models), log, batch_size, seed)
    weights = np.zeros((len(models), 1 + context_of(log[:1]).shape[1]))
    for action, model in enumerate(models):
        if isinstance(model, float):
            weights[action, 0] = model
        else:
            weights[action] = model.weights
    return greedy_policy(LinearScores(weights), log, batch_size, seed)


def greedy_policy(
    model: ValueModel, log: BanditLog, batch_size: int, seed: Seed
) -> ContextualPolicy:
    """Returns a policy for a log that chooses the action with the largest prediction."""
    return _policy_of(model, Greedy(), log, batch_size, seed)


def _policy_of(
    model: ValueModel, rule: Rule, log: BanditLog, batch_size: int, seed: Seed
) -> ContextualPolicy:
    """Returns a policy for the contexts and actions of a log."""
    return ContextualPolicy(
        model,
        rule,
        observation_spec=spec_of_rows(log.observation),
        num_actions=log.num_actions,
        batch_size=batch_size,
        seed=seed,
    )
