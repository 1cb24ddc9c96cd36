"""How an estimator of scikit-learn learns rewards and predicts their means."""

from __future__ import annotations

import copy
import inspect
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Indices, Rng, sigmoid
from bandit_envs.base.checks import short_repr
from bandit_envs.datasets.tables import import_extra
from bandit_envs.policies.named_estimators import make_estimator
from bandit_envs.policies.scikit_learn_model import check_estimator, fit_weighted

EXTRA = "scikit-learn"


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
    0 and 1. It predicts the probability of the label 1; without `predict_proba`, the logistic
    function of its decision function; without that, the label itself. A regressor learns and
    predicts rewards as they are.

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
        self._estimator = copy.deepcopy(check_estimator("estimator", made))
        self.is_classifier = _is_classifier(self._estimator)
        method = _method(_last_step(self._estimator), is_online)
        self.takes_weights = "sample_weight" in inspect.signature(method).parameters
        self._random_states = _unset_random_states(self._estimator)

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self._estimator).__name__

    def new(self, rng: Rng) -> Any:
        """Returns a copy. Each `random_state` that is None gets a seed."""
        made = copy.deepcopy(self._estimator)
        if self._random_states:
            seeds = rng.integers(2**31, size=len(self._random_states)).tolist()
            made.set_params(**dict(zip(self._random_states, seeds)))
        return made

    def check_rewards(self, rewards: Floats) -> None:
        """Raises ValueError if a classifier without weights gets a reward between 0 and 1."""
        if not self.is_classifier or self.takes_weights:
            return
        if ((rewards > 0.0) & (rewards < 1.0)).any():
            expected = f"expected 0 or 1, as {self.name} takes no sample_weight"
            raise ValueError(f"reward is {short_repr(rewards)}; {expected}")

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
        features = labelled.features
        for step in _first_steps(estimator):
            if hasattr(step, "partial_fit"):
                step.partial_fit(features)
            features = step.transform(features)
        options: dict[str, Any] = {}
        if self.is_classifier and is_first:
            options["classes"] = np.arange(2)
        if labelled.weights is not None:
            options["sample_weight"] = labelled.weights
        _last_step(estimator).partial_fit(features, labelled.rewards, **options)

    def predict(self, estimator: Any, features: Floats) -> Floats:
        """Returns the predicted means of rewards for features [n, D]: [n].

        Raises:
            ValueError: they are NaN or infinite.
        """
        predicted = np.asarray(self._predict(estimator, features), np.float64)
        if not np.isfinite(predicted).all():
            raise ValueError(f"{self.name} predicts {short_repr(predicted)}; expected numbers")
        return predicted

    def _predict(self, estimator: Any, features: Floats) -> Any:
        if not self.is_classifier:
            return estimator.predict(features)
        if hasattr(estimator, "predict_proba"):
            return estimator.predict_proba(features)[:, 1]
        if hasattr(estimator, "decision_function"):
            return sigmoid(np.asarray(estimator.decision_function(features), np.float64))
        return estimator.predict(features)

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


def _is_pipeline(estimator: Any) -> bool:
    return isinstance(estimator, import_extra("sklearn.pipeline", EXTRA).Pipeline)


def _last_step(estimator: Any) -> Any:
    """Returns the last step of a pipeline; of all else, the estimator itself."""
    return estimator.steps[-1][1] if _is_pipeline(estimator) else estimator


def _first_steps(estimator: Any) -> list[Any]:
    """Returns the steps of a pipeline that change features."""
    steps = estimator.steps[:-1] if _is_pipeline(estimator) else []
    return [step for _, step in steps if step is not None and step != "passthrough"]


def _method(estimator: Any, is_online: bool) -> Any:
    """Returns the method that copies learn by; TypeError if there is none."""
    if not is_online:
        return estimator.fit
    if not hasattr(estimator, "partial_fit"):
        problem = f"{type(estimator).__name__} has no partial_fit"
        raise TypeError(f"memory_size is 0, but {problem}; expected rows to fit it on")
    return estimator.partial_fit


def _unset_random_states(estimator: Any) -> list[str]:
    """Returns the names of the parameters, also of nested estimators, that await a seed."""
    if not hasattr(estimator, "get_params"):
        return []
    parameters = estimator.get_params(deep=True).items()
    return [name for name, value in parameters if name.endswith("random_state") and value is None]
