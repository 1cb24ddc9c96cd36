"""Off-policy estimators for many actions that share features: marginalized importance weights.

An action a has an embedding e, drawn from p(e | a), through which alone it affects the reward. Then
an action's weight is replaced by that of its embedding,

    w(x, e) = sum_a pi(a | x) p(e | a) / sum_a pi_b(a | x) p(e | a)

where pi is the policy and pi_b the logging policy. It varies less.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Floats, check_array
from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.logged.columns import (
    as_column,
    check_distributions,
    check_each,
    check_reward_range,
)
from bandit_envs.logged.estimators.estimate import Estimate
from bandit_envs.logged.estimators.sums.ratio_sums import compared_columns, free_columns
from bandit_envs.logged.estimators.terms import Terms
from bandit_envs.logged.features import NO_NAMES, flat_features_of, have_no_names
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_numbered_actions
from bandit_envs.policies.scikit_learn.model import name_failing_estimator


@dataclasses.dataclass(frozen=True)
class MarginalizedIPS:
    """Averages rewards with the weights of the embeddings of actions: mean(w(x, e) r).

    It is unbiased if actions affect rewards through their embeddings only, and each embedding that
    the policy may take was logged. Its static methods return how likely embeddings are.
    Its interval contains that of `SelfNormalizedIPS`, unless the policy takes actions that cannot
    be logged.

    Args:
        self_normalized: whether it divides by the mean weight. Where it is unbiased without, its
            bias vanishes as the log grows.

    Source: Saito & Joachims, Off-policy evaluation for large action spaces via embeddings (2022).

    >>> import warnings
    >>> table = np.full((4, 3), [0.2, 0.2, 0.6])
    >>> log = BanditLog(
    ...     np.ones((4, 1)), [0, 1, 2, 2], [1.0, 1.0, 0.0, 0.0], [0.2, 0.2, 0.6, 0.6],
    ...     action_probabilities=table,
    ... )
    >>> laws = [[[1], [0]], [[1], [0]], [[0], [1]]]  # actions 0 and 1 share an embedding
    >>> likelihoods = MarginalizedIPS.likelihoods_of_embeddings([[0], [0], [1], [1]], laws)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # of a log so small
    ...     estimate = MarginalizedIPS().estimate(log, np.full((4, 3), 1 / 3), likelihoods)
    >>> round(estimate.value, 4)
    0.8333
    """

    self_normalized: bool = dataclasses.field(default=False, kw_only=True)

    def estimate(
        self, log: BanditLog, probabilities: ArrayLike, likelihoods: ArrayLike
    ) -> Estimate:
        """Estimates the mean reward that a policy would have earned.

        Args:
            log: n logged decisions, at least two, with `action_probabilities`.
            probabilities: [n, K], the policy's probabilities of all actions.
            likelihoods: [n, K], p(e_i | a) of the embedding of each row under all actions, or a
                multiple in each row: what one of the methods `likelihoods_...` returns.

        Warns:
            UserWarning: the effective sample size is below 200, weights have a heavy tail, or their
                mean is not near 1; or the estimate differs from that of the weights of actions by
                more than noise, so that actions affect rewards not only through embeddings.
        """
        terms = self.terms(log, probabilities, likelihoods)
        return terms.sums().estimate([terms], stacklevel=3)

    def terms(self, log: BanditLog, probabilities: ArrayLike, likelihoods: ArrayLike) -> Terms:
        """Returns what each row adds to the estimate; `terms.sums()` of parts of a log merge."""
        weights = self.weigh(log, probabilities, likelihoods)
        policy = as_column("probabilities", probabilities)
        of_actions = _weigh_actions(log, policy)
        free = None
        compared = None
        if of_actions is not None:
            free = free_columns(of_actions, log.reward)
            compared = compared_columns(free, weights[np.newaxis], log.reward)
        return Terms(
            direct=np.zeros(len(log)),
            weighted=check_reward_range("the weighted reward", weights * log.reward),
            weights=weights[np.newaxis],
            normaliser=weights if self.self_normalized else None,
            estimator=repr(self),
            free=free,
            compared=compared,
            unit=log.unit,
            counts=log.weight,
        )

    @staticmethod
    def weigh(log: BanditLog, probabilities: ArrayLike, likelihoods: ArrayLike) -> Floats:
        """Returns the weights of the rows: [n]. The arguments are those of `estimate`."""
        if log.action_probabilities is None:
            raise ValueError("log has no action_probabilities; its marginal weights need them")
        shape = (len(log), log.num_actions)
        policy = as_column("probabilities", probabilities)
        check_array("probabilities has", policy, shape)
        check_distributions("probabilities", policy)
        table = as_column("likelihoods", likelihoods)
        check_array("likelihoods has", table, shape)
        check_each("likelihoods", table, table >= 0.0, "at least 0")
        logged = np.einsum("nk,nk->n", log.action_probabilities, table)
        expected = "above 0, as an action with such an embedding was logged"
        check_each("the likelihood of the logging policy", logged, logged > 0.0, expected)
        return np.asarray(np.einsum("nk,nk->n", policy, table) / logged)

    @staticmethod
    def likelihoods_of_embeddings(
        embedding: ArrayLike,
        category_probabilities: ArrayLike,
        dimensions: Sequence[int] | None = None,
    ) -> Floats:
        """Returns p(e_i | a), if dimensions are independent given the action: [n, K].

        Args:
            embedding: [n, D], the category in each dimension, from 0 to C - 1.
            category_probabilities: [K, C, D], of each category in each dimension, under each
                action.
            dimensions: those that count, from 0; None for all.
        """
        tables = as_column("category_probabilities", category_probabilities, ndim=3)
        num_categories = tables.shape[1]
        categories = as_column("embedding", embedding, "iu", np.int64)
        check_array("embedding has", categories, (len(categories), tables.shape[2]))
        is_category = (categories >= 0) & (categories < num_categories)
        check_each("embedding", categories, is_category, f"0 to {num_categories - 1}")
        likelihoods: Floats = np.ones((len(categories), len(tables)))
        for dimension in _check_dimensions(dimensions, tables.shape[2]):
            likelihoods *= tables[:, categories[:, dimension], dimension].T
        return np.asarray(likelihoods)

    @staticmethod
    def likelihoods_by_counts(log: BanditLog, dimensions: Sequence[int] | None = None) -> Floats:
        """Returns the shares of the rows of each action that have the embeddings e_i: [n, K].

        They estimate p(e_i | a), and are exact if each action has one embedding. Embeddings must
        not depend on the context. Actions that were never logged get 0; a policy that takes them
        has a mean weight below 1.

        Args:
            log: n decisions, with `embedding`.
            dimensions: those of the embedding that count, from 0; None for all.
        """
        if have_no_names(log):
            raise ValueError(f"rows of an action cannot be counted; {NO_NAMES}")
        embedding = _embedding_of(log, dimensions)
        _, kind = np.unique(embedding, axis=0, return_inverse=True)  # [n, 1] in NumPy 2.0 only
        kind = kind.reshape(len(log))
        counts = np.zeros((int(kind.max(initial=-1)) + 1, log.num_actions))
        np.add.at(counts, (kind, log.action), 1.0)
        shares = counts / np.maximum(counts.sum(axis=0), 1.0)
        return np.asarray(shares[kind])

    @staticmethod
    def likelihoods_by_posterior(log: BanditLog, posterior: ArrayLike) -> Floats:
        """Returns multiples of p(e_i | a), by Bayes' rule: [n, K].

        Args:
            log: n logged decisions, with `action_probabilities`.
            posterior: [n, K], p(a | x_i, e_i), such as `ActionPosterior` predicts from contexts and
                embeddings.
        """
        if log.action_probabilities is None:
            raise ValueError("log has no action_probabilities; Bayes' rule needs them")
        table = as_column("posterior", posterior)
        check_array("posterior has", table, (len(log), log.num_actions))
        check_distributions("posterior", table)
        prior = log.action_probabilities
        multiples: Floats = np.divide(table, prior, out=np.zeros_like(table), where=prior > 0.0)
        return multiples


class ActionPosterior:
    """Estimates p(a | x, e) by a classifier of the logged actions.

    `MarginalizedIPS.likelihoods_by_posterior` takes what it predicts. Its features are the
    observation's, flattened, and for each dimension of the embedding which category it is, except
    the first. Actions that were never logged get 0.

    It learns from the rows that it predicts. A classifier that overfits then makes weights more
    like those of `InversePropensityScoring`, which vary more but are not biased. Predictions of
    other rows would bias the estimate by their errors, which propensities divide. Prefer
    `MarginalizedIPS.likelihoods_by_counts` where embeddings do not depend on the context, and else
    `MarginalizedIPS(self_normalized=True)`, which such errors harm less.

    Args:
        model: a classifier of scikit-learn, with `predict_proba`.

    Source: Saito & Joachims, Off-policy evaluation for large action spaces via embeddings (2022).
    """

    def __init__(self, model: Any) -> None:
        if not hasattr(model, "predict_proba"):
            raise TypeError(f"model is {short_repr(model)}; expected one with predict_proba")
        self._model = model

    def predict(self, log: BanditLog, dimensions: Sequence[int] | None = None) -> Floats:
        """Returns p(a | x_i, e_i) of every action: [n, K].

        Args:
            log: n decisions, with `embedding`.
            dimensions: those of the embedding that count, from 0; None for all.
        """
        size = len(require_numbered_actions(log))
        is_category = [_indicators(column) for column in _embedding_of(log, dimensions).T]
        features = np.concatenate([flat_features_of(log), *is_category], axis=1)
        model = copy.deepcopy(self._model)
        table = np.zeros((size, log.num_actions))
        with name_failing_estimator(model, "learn and predict", size):
            model.fit(features, log.action)
            table[:, model.classes_] = model.predict_proba(features)
        return table


def _weigh_actions(log: BanditLog, policy: Floats) -> Floats | None:
    """Returns the weights of the actions of rows [n]; None if the log lacks some of the policy's.

    Args:
        log: n decisions.
        policy: [n, K], its probabilities.
    """
    logged = log.action_probabilities
    if logged is None or ((policy > 0.0) & (logged <= 0.0)).any():
        return None
    return np.asarray(policy[np.arange(len(log)), log.action] / log.propensity)


def _embedding_of(log: BanditLog, dimensions: Sequence[int] | None) -> NDArray[np.int64]:
    """Returns some dimensions of the embeddings of a log: [n, D]."""
    if log.embedding is None:
        raise ValueError("log has no embedding; expected the categories of the actions, [n, D]")
    return log.embedding[:, _check_dimensions(dimensions, log.embedding.shape[1])]


def _check_dimensions(dimensions: Sequence[int] | None, size: int) -> list[int]:
    """Returns different dimensions of embeddings, of which there are `size`; None for all."""
    if dimensions is None:
        return list(range(size))
    known = [check_integer("dimensions", each, minimum=0) for each in dimensions]
    if max(known, default=-1) >= size or len(set(known)) < max(len(known), 1):
        expected = f"some of 0 to {size - 1}, each once"
        raise ValueError(f"dimensions is {short_repr(dimensions)}; expected {expected}")
    return known


def _indicators(categories: NDArray[np.int64]) -> Floats:
    """Returns which category a row has of all but the first: [n, C - 1]."""
    known = np.unique(categories)
    return np.asarray(categories[:, np.newaxis] == known[1:], np.float64)
