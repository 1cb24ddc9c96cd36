"""Estimates from logs that are larger than memory, a batch at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator

from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats
from bandit_envs.logged.again import Again
from bandit_envs.logged.estimators.estimate import Estimate, merge_sums
from bandit_envs.logged.estimators.single_actions import Estimator
from bandit_envs.logged.estimators.terms import Terms, sum_terms
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import check_repeatable
from bandit_envs.logged.reward_models.reward_sums import CrossFittedRidge, fit_batches
from bandit_envs.policies import Policy


def estimate_batches(
    estimator: Estimator,
    batches: Iterable[BanditLog],
    probabilities: Callable[[BanditLog], ArrayLike],
    folds: int = 3,
    weigh: Callable[[BanditLog, ArrayLike], Floats] | None = None,
) -> Estimate:
    """Estimates the mean reward that a policy would have earned, from a log in batches.

    The estimate is that of `estimator.estimate` for the whole log, with predicted rewards of
    `RewardRegression(folds=folds)` if the estimator needs them. These take another pass over the
    batches, and so do some intervals.

    Args:
        estimator: for example `DoublyRobust()`.
        batches: of the log in order, such as `scan_log` returns. They are passed over more than
            once, so they must not be a generator.
        probabilities: a function that returns the policy's probabilities [n, K] of all actions in a
            batch, such as `functools.partial(probabilities_of, policy)`.
        folds: of the models that predict rewards.
        weigh: returns by how much each row of a batch counts in these models, [n], given the
            policy's probabilities. With `reward_models.mrdr_weights`, they minimise the variance of
            `DoublyRobust` (MRDR).

    Warns:
        UserWarning: as `Estimator.estimate`.

    >>> import numpy as np
    >>> from bandit_envs.logged import DoublyRobust
    >>> log = BanditLog(np.ones((900, 1)), [0, 1, 1] * 300, [1, 0, 1] * 300, [0.5] * 900)
    >>> batches = [log[:500], log[500:]]
    >>> uniform = lambda batch: np.full((len(batch), 2), 0.5)
    >>> round(estimate_batches(DoublyRobust(), batches, uniform).value, 2)
    0.75
    """
    check_repeatable(batches)
    if isinstance(probabilities, Policy) or not callable(probabilities):
        found = f"probabilities is of type {type(probabilities).__name__}"
        expected = "a function of a batch, such as functools.partial(probabilities_of, policy)"
        raise TypeError(f"{found}; expected {expected}")
    model = None
    if estimator.needs_predictions:
        of_batch = None
        if weigh is not None:
            of_batch = functools.partial(_weigh_batch, weigh, probabilities)
        model = fit_batches(batches, folds, of_batch)
    terms = Again(functools.partial(_make_terms, estimator, batches, probabilities, model))
    return merge_sums(sum_terms(terms)).estimate(terms, stacklevel=3)


def _make_terms(
    estimator: Estimator,
    batches: Iterable[BanditLog],
    probabilities: Callable[[BanditLog], ArrayLike],
    model: CrossFittedRidge | None,
) -> Iterator[Terms]:
    """Yields the terms of an estimate, batch by batch.

    Args:
        estimator: whose terms they are.
        batches: of the log, in order.
        probabilities: of the policy, as for `estimate_batches`.
        model: predicts the rewards; None for estimators that need no predictions.
    """
    first_row = 0
    for batch in batches:
        predicted = None if model is None else model.predict(batch, first_row)
        yield estimator.terms(batch, probabilities(batch), predicted)
        first_row += len(batch)


def _weigh_batch(
    weigh: Callable[[BanditLog, ArrayLike], Floats],
    probabilities: Callable[[BanditLog], ArrayLike],
    batch: BanditLog,
) -> Floats:
    """Returns by how much each row of a batch counts in models of rewards: [n]."""
    return weigh(batch, probabilities(batch))
