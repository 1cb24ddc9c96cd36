"""How an estimator of scikit-learn learns rewards and predicts their means."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats, Indices, Mask, Rng, sigmoid
from bandit_envs.base.checks import short_repr
from bandit_envs.base.extras import import_extra
from bandit_envs.policies.scikit_learn.model import (
    check_estimator,
    copy_estimator,
    copy_unseeded,
    fit_weighted,
    name_failing_estimator,
)
from bandit_envs.policies.scikit_learn.named_estimators import make_estimator
from bandit_envs.policies.scikit_learn.priors import SeenRewards

EXTRA = "scikit-learn"

SMALLEST = 1e-10
"""How near to 0 and 1 probabilities may be before log-odds of them are taken."""


class Rows(NamedTuple):
    """Rows that a model learns from.

    Fields:
        features: [n, D].
        rewards: [n], or labels in place of them.
        weights: [n], how much each row counts; None if all count the same.
    """

    features: Floats
    rewards: NDArray[Any]
    weights: Floats | None = None

    def take(self, rows: Indices) -> Rows:
        """Returns some rows of rows without weights."""
        return Rows(self.features[rows], self.rewards[rows])


class RewardEstimator:
    """An estimator that has learned nothing yet, and what is done with copies of it.

    A classifier learns the label 1 with weight r, and 0 with weight 1 - r, from a reward r between
    0 and 1. It predicts the log-odds of the label 1, from its `predict_proba`; without that, its
    `decision_function`; without both, from the label that it predicts. A regressor learns and
    predicts rewards as they are.

    Log-odds rank predictions whose probabilities round to 1. So where probabilities are the
    logistic function of a decision function, that function is taken.

    Args:
        estimator: an estimator or the text of one, as `make_estimator` reads it.
        is_online: whether copies learn each row once, by `partial_fit`.

    Raises:
        ModuleNotFoundError: scikit-learn is not installed.
        TypeError, ValueError: there is no such estimator, or it has no `partial_fit`.
    """

    def __init__(self, estimator: Any, is_online: bool) -> None:
        import_extra("sklearn", EXTRA)
        made = make_estimator(estimator) if isinstance(estimator, str) else estimator
        self._estimator = copy_unseeded(check_estimator("estimator", made))
        self.is_classifier = _is_classifier(self._estimator)
        method = _method(_last_step(self._estimator), is_online)
        self.takes_weights = "sample_weight" in inspect.signature(method).parameters
        self._decides_by_log_odds = _decides_by_log_odds(self._estimator)

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self._estimator).__name__

    def new(self, rng: Rng) -> Any:
        """Returns a copy. Each `random_state` that is None becomes a generator of its own."""
        return copy_estimator(self._estimator, rng)

    def check_rewards(self, rewards: Array) -> Array:
        """Returns rewards; ValueError if a classifier without weights gets one between 0 and 1."""
        takes_all = not self.is_classifier or self.takes_weights
        if not takes_all and ((rewards > 0.0) & (rewards < 1.0)).any():
            expected = f"expected 0 or 1, as {self.name} takes no sample_weight"
            raise ValueError(f"reward is {short_repr(rewards)}; {expected}")
        return rewards

    def have_seen(self, sums: SeenRewards, min_rewards: int) -> Mask:
        """Returns which models have seen so many rewards, of a classifier of both labels: [M]."""
        if not self.is_classifier:
            return np.asarray(sums.counts >= min_rewards)
        failures = sums.counts - sums.totals
        return np.asarray((sums.totals >= min_rewards) & (failures >= min_rewards))

    def can_fit(self, rewards: Floats) -> bool:
        """Returns whether there are rewards enough to fit: for a classifier, of both labels."""
        if not self.is_classifier:
            return len(rewards) > 0
        return bool((rewards > 0.0).any() and (rewards < 1.0).any())

    def resample(self, rng: Rng, rows: Rows) -> Rows:
        """Returns rows with random weights of mean 1, for one replica of a bootstrap.

        The weights are Gamma(1, 1), or if the estimator takes none, each row is repeated
        Poisson(1) times.
        """
        if self.takes_weights:
            return rows._replace(weights=rng.standard_exponential(len(rows.rewards)))
        repeats = rng.poisson(size=len(rows.rewards))
        return rows.take(np.repeat(np.arange(len(repeats)), repeats))

    def fit(self, estimator: Any, rows: Rows) -> None:
        """Fits an estimator anew."""
        labelled = self._labelled(rows)
        if labelled.weights is None:
            with name_failing_estimator(estimator, "learn from", len(labelled.rewards)):
                estimator.fit(labelled.features, labelled.rewards)
        else:
            fit_weighted(estimator, labelled.features, labelled.rewards, labelled.weights)

    def partial_fit(self, estimator: Any, rows: Rows, is_first: bool) -> None:
        """Lets an estimator, or the last step of a pipeline, learn rows once.

        Of a pipeline, each step with `partial_fit` learns the rows, and then transforms them.

        Args:
            estimator: learns.
            rows: are learned.
            is_first: whether it has learned nothing yet: then it is told which labels there are.
        """
        labelled = self._labelled(rows)
        options: dict[str, Any] = {}
        if self.is_classifier and is_first:
            options["classes"] = np.arange(2)
        if labelled.weights is not None:
            options["sample_weight"] = labelled.weights
        with name_failing_estimator(estimator, "learn online from", len(labelled.rewards)):
            _learn_more(estimator, labelled, options)

    def predict(self, estimator: Any, features: Floats) -> Floats:
        """Returns scores for features [n, D]: log-odds of a classifier, else rewards: [n].

        Raises:
            ValueError: they are NaN or infinite.
        """
        with name_failing_estimator(estimator, "predict", len(features)):
            predicted = np.asarray(self._predict(estimator, features), np.float64)
        if not np.isfinite(predicted).all():
            raise ValueError(f"{self.name} predicts {short_repr(predicted)}; expected numbers")
        return predicted

    def _predict(self, estimator: Any, features: Floats) -> Any:
        if not self.is_classifier:
            return estimator.predict(features)
        if self._decides_by_log_odds:
            return estimator.decision_function(features)
        if hasattr(estimator, "predict_proba"):
            return _log_odds(estimator.predict_proba(features)[:, 1])
        return _log_odds(estimator.predict(features))

    def scores_of(self, means: Floats) -> Floats:
        """Returns mean rewards as the scores that `predict` returns."""
        return _log_odds(means) if self.is_classifier else means

    def means_of(self, scores: Floats) -> Floats:
        """Returns scores, as `predict` returns them, as mean rewards."""
        return sigmoid(scores) if self.is_classifier else scores

    def _labelled(self, rows: Rows) -> Rows:
        """Returns rows with labels in place of rewards, if the estimator is a classifier.

        A row with a reward r between 0 and 1 becomes two rows: the label 1 with weight r, and the
        label 0 with weight 1 - r.
        """
        if not self.is_classifier:
            return rows
        is_between = (rows.rewards > 0.0) & (rows.rewards < 1.0)
        labels = (rows.rewards > 0.0).astype(np.intp)
        if not is_between.any():
            return rows._replace(rewards=labels)
        weights = np.ones(len(labels)) if rows.weights is None else rows.weights
        of_ones = np.where(is_between, weights * rows.rewards, weights)
        of_zeros = (weights * (1.0 - rows.rewards))[is_between]
        return Rows(
            features=np.concatenate((rows.features, rows.features[is_between])),
            rewards=np.concatenate((labels, np.zeros(len(of_zeros), np.intp))),
            weights=np.concatenate((of_ones, of_zeros)),
        )


def _is_classifier(estimator: Any) -> bool:
    """Returns whether an estimator says that it is one; else whether it tells probabilities."""
    if hasattr(estimator, "__sklearn_tags__") or hasattr(estimator, "_estimator_type"):
        return bool(import_extra("sklearn.base", EXTRA).is_classifier(estimator))
    return hasattr(estimator, "predict_proba")


def _decides_by_log_odds(estimator: Any) -> bool:
    """Returns whether the decision function of a classifier stands for the log-odds of label 1."""
    if not hasattr(estimator, "predict_proba"):
        return hasattr(estimator, "decision_function")
    linear = import_extra("sklearn.linear_model", EXTRA)
    last = _last_step(estimator)
    if isinstance(last, linear.SGDClassifier):
        return bool(last.loss == "log_loss")
    return isinstance(last, linear.LogisticRegression)


def _log_odds(chances: Any) -> Floats:
    """Returns log-odds of probabilities, which are first put between `SMALLEST` and 1 - it."""
    inner = np.clip(chances, SMALLEST, 1.0 - SMALLEST)
    return np.asarray(np.log(inner) - np.log1p(-inner), np.float64)


def _is_pipeline(estimator: Any) -> bool:
    return isinstance(estimator, import_extra("sklearn.pipeline", EXTRA).Pipeline)


def _last_step(estimator: Any) -> Any:
    """Returns the last step of a pipeline; of all else, the estimator itself."""
    return estimator.steps[-1][1] if _is_pipeline(estimator) else estimator


def _first_steps(estimator: Any) -> list[Any]:
    """Returns the steps of a pipeline that change features."""
    steps = estimator.steps[:-1] if _is_pipeline(estimator) else []
    return [step for _, step in steps if step is not None and step != "passthrough"]


def _learn_more(estimator: Any, rows: Rows, options: Mapping[str, Any]) -> None:
    """Lets an estimator, or the steps of a pipeline, learn rows once; the last one has options."""
    features = rows.features
    for step in _first_steps(estimator):
        if hasattr(step, "partial_fit"):
            step.partial_fit(features)
        features = step.transform(features)
    _last_step(estimator).partial_fit(features, rows.rewards, **options)


def _method(estimator: Any, is_online: bool) -> Any:
    """Returns `partial_fit` or `fit`, by which an estimator learns; TypeError if it has none."""
    if not is_online:
        return estimator.fit
    if not hasattr(estimator, "partial_fit"):
        problem = f"{type(estimator).__name__} has no partial_fit"
        raise TypeError(f"memory_size is 0, but {problem}; expected rows to fit it on")
    return estimator.partial_fit
