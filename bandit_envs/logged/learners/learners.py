"""Learners: policies from logged data alone."""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

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
    require_propensities,
    require_rows,
)
from bandit_envs.logged.reward_models.regression import RewardRegression
from bandit_envs.logged.reward_models.reward_sums import (
    CrossFittedRidge,
    NumberedBatches,
    RewardSums,
    number_batches,
)
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

Result = TypeVar("Result")


class PassOverParts(Protocol):
    """Passes over the parts of a log."""

    def __call__(self, visit: Callable[[NumberedBatches], Result]) -> list[Result]:
        """Returns what `visit` returns for each part, in order."""


class Learner(abc.ABC):
    """Learns a policy from a log.

    What it learns is the `model` of the policy, which any other rule takes too: a greedy policy
    that should explore becomes `ContextualPolicy(policy.model, EpsilonGreedy(0.1), ...)`.

    Evaluate what it learns on other rows than those that it has learned from: `probabilities_of`
    warns if a policy has seen the rows. A subclass implements `_fit`. If it does not need the whole
    log in memory, as the sums of its parts merge, it says so by `streams`, and implements
    `_fit_parts`.
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
        """Whether `fit_batches` keeps one batch in memory rather than all rows.

        Then the sums of parts merge, and `fit_parts` takes these from workers.
        """
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
            here = functools.partial(_pass_here, check_repeatable(batches))
            return self.fit_parts(here, batch_size, seed)
        seen = SeenRows()
        log = concatenate(list(RememberedBatches(batches, seen)))
        return remember(self._fit(log, batch_size, seed), seen)

    def fit_parts(
        self, over: PassOverParts, batch_size: int = 1, seed: Seed = None
    ) -> ContextualPolicy:
        """Returns what `fit` does of a log whose parts others read, such as workers.

        Args:
            over: passes over the log. It is given a function that can be pickled, and returns what
                this returns for each part of the log, in order. It is called more than once.
            batch_size: the number of rows of the policy.
            seed: of the policy's draws.

        Raises:
            ValueError: the learner keeps all rows in memory.

        >>> log = BanditLog(np.ones((4, 1)), [0, 1, 0, 1], [1.0, 2.0, 1.0, 2.0], [0.5] * 4)
        >>> parts = [[(0, log[:2])], [(2, log[2:])]]  # with the numbers of their first rows
        >>> learner = DirectMethodLearner()
        >>> learner.fit_parts(lambda visit: [visit(part) for part in parts]).num_actions
        2
        """
        self.require_merging("parts")
        seen = SeenRows()

        def over_and_see(visit: Callable[[NumberedBatches], Result]) -> list[Result]:
            found = over(functools.partial(_visit_and_see, visit))
            for _, seen_in_part in found:
                seen.merge(seen_in_part)
            return [result for result, _ in found]

        return remember(self._fit_parts(over_and_see, batch_size, seed), seen)

    def require_merging(self, what: str) -> None:
        """Raises ValueError if the sums of parts do not merge.

        Args:
            what: needs that they do, in the message.
        """
        if not self.streams:
            expected = "a DirectMethodLearner() or DoublyRobustLearner() with the regressions"
            problem = f"{type(self).__name__} keeps all rows in memory, so it takes no {what}"
            raise ValueError(f"{problem}; expected {expected} of the package, whose sums merge")

    @abc.abstractmethod
    def _fit(self, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
        """Returns what `fit` does."""

    def _fit_parts(self, over: PassOverParts, batch_size: int, seed: Seed) -> ContextualPolicy:
        """Returns what `fit_parts` does."""
        raise NotImplementedError(f"{type(self).__name__} streams, but has no _fit_parts")


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
            return self._fit_parts(functools.partial(_pass_here, [log]), batch_size, seed)
        rng = generator(seed)
        context = context_of(require_rows(log))
        models: list[Any] = []
        for action in range(log.num_actions):
            rows = np.flatnonzero(log.action == action)
            regressor = copy_estimator(self._regressor, rng)
            models.append(fit_regressor(regressor, context[rows], log.reward[rows], action))
        return _greedy_policy(models, log, batch_size, rng)

    def _fit_parts(self, over: PassOverParts, batch_size: int, seed: Seed) -> ContextualPolicy:
        return _ridge_policy(over(_sum_logged_rewards), batch_size, seed)


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
            return self._fit_parts(functools.partial(_pass_here, [log]), batch_size, seed)
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

    def _fit_parts(self, over: PassOverParts, batch_size: int, seed: Seed) -> ContextualPolicy:
        sums = over(functools.partial(RewardSums.from_batches, folds=FOLDS))
        model = functools.reduce(RewardSums.merge, sums, RewardSums(FOLDS, {})).fit()
        return _ridge_policy(over(functools.partial(_sum_all_rewards, model)), batch_size, seed)


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
    predicted[rows, log.action] += error / require_propensities(log).propensity
    return predicted


@dataclasses.dataclass(frozen=True)
class _ActionSums:
    """What a part of a log says of its actions. Those of parts merge.

    Args:
        ridge: the sums of the regressions of actions.
        logged: the actions that were taken.
        sample: a row, which shows how many actions and features there are; None without rows.
    """

    ridge: RidgeSums = dataclasses.field(default_factory=RidgeSums)
    logged: frozenset[int] = frozenset()
    sample: BanditLog | None = None

    def merge(self, other: _ActionSums) -> _ActionSums:
        """Returns the sums of the rows of both."""
        sample = other.sample if self.sample is None else self.sample
        return _ActionSums(self.ridge.merge(other.ridge), self.logged | other.logged, sample)


def _sum_logged_rewards(part: NumberedBatches) -> _ActionSums:
    """Returns the sums of the rewards of the actions that were taken, in a part of a log."""
    found = _ActionSums()
    for _, batch in part:
        ridge = RidgeSums()
        context = context_of(batch)
        logged = np.unique(batch.action).tolist()
        for action in logged:
            rows = np.flatnonzero(batch.action == action)
            ridge.add(action, context[rows], batch.reward[rows])
        found = found.merge(_ActionSums(ridge, frozenset(logged), batch[:1]))
    return found


def _sum_all_rewards(model: CrossFittedRidge, part: NumberedBatches) -> _ActionSums:
    """Returns the sums of the doubly robust rewards of all actions, in a part of a log."""
    found = _ActionSums()
    for first_row, batch in part:
        ridge = RidgeSums()
        context = context_of(batch)
        rewards = _correct_rewards(model.predict(batch, first_row), batch)
        for action in range(batch.num_actions):
            ridge.add(action, context, rewards[:, action])
        logged = frozenset(np.unique(batch.action).tolist())
        found = found.merge(_ActionSums(ridge, logged, batch[:1]))
    return found


def _pass_here(
    batches: Iterable[BanditLog], visit: Callable[[NumberedBatches], Result]
) -> list[Result]:
    """Returns what `visit` does of a log, which is one part."""
    return [visit(number_batches(batches))]


def _visit_and_see(
    visit: Callable[[NumberedBatches], Result], part: NumberedBatches
) -> tuple[Result, SeenRows]:
    """Returns what `visit` does of a part of a log, and which rows these are."""
    seen = SeenRows()

    def watch() -> Iterator[tuple[int, BanditLog]]:
        for first_row, batch in part:
            seen.add(batch)
            yield first_row, batch

    return visit(watch()), seen


def _ridge_policy(parts: Iterable[_ActionSums], batch_size: int, seed: Seed) -> ContextualPolicy:
    """Returns a policy that chooses the action with the largest prediction.

    Args:
        parts: of the log. Actions that were never taken are chosen last.
        batch_size: the number of rows of the policy.
        seed: of its draws.
    """
    sums = functools.reduce(_ActionSums.merge, parts, _ActionSums())
    if sums.sample is None or not sums.logged:
        raise ValueError("the log has 0 rows; expected at least one")
    models = sums.ridge.fit()
    of_all = [
        models[action] if action in sums.logged else NEVER
        for action in range(sums.sample.num_actions)
    ]
    return _greedy_policy(of_all, sums.sample, batch_size, seed)


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
    policy = ContextualPolicy(
        model,
        rule,
        observation_spec=spec_of_rows(log.observation),
        num_actions=log.num_actions,
        batch_size=batch_size,
        seed=seed,
    )
    policy.encoding = log.encoding
    return policy
