"""Fitted estimators of scikit-learn, such as a learner makes from a log."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import check_number, short_repr
from bandit_envs.policies.models.inputs import Inputs, Items, ModelSizes
from bandit_envs.policies.models.value_model import NEVER, FixedModel
from bandit_envs.policies.scikit_learn.model import (
    ScikitLearnModel,
    check_classifier,
    check_estimator,
    copy_unseeded,
    predict_means,
    score_classes,
)


class Classifier(NamedTuple):
    """What scores K actions."""

    model: ScikitLearnModel
    constants: Floats  # [K], the scores of actions that are not among its classes


@dataclasses.dataclass(frozen=True)
class FittedClassifier(FixedModel):
    """A fitted classifier of contexts, whose classes are actions; it does not learn.

    Experimental: it may change in any minor version.

        P(a | x)

    is the score of an action, or the decision value of a classifier without `predict_proba`.
    Actions that are not among its classes have a score so low that they are chosen only where no
    other action is available.

    Args:
        classifier: of scikit-learn, fitted to contexts [n, d] and actions [n], integers from 0. The
            model has a copy.

    Source: Beygelzimer & Langford, The offset tree (2009), for classifiers as policies.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> FittedClassifier(DecisionTreeClassifier().fit([[0.0], [1.0]], [2, 0]))
    FittedClassifier(classifier=DecisionTreeClassifier())
    """

    classifier: Any

    def __post_init__(self) -> None:
        classifier = check_classifier(self.classifier)
        if not hasattr(classifier, "classes_"):
            raise ValueError(
                f"classifier is {short_repr(classifier)}; expected one that was fitted"
            )
        classes = np.asarray(classifier.classes_)
        if classes.dtype.kind not in "iu" or classes.min() < 0:
            found = f"classifier has the classes {short_repr(classes)}"
            raise ValueError(f"{found}; expected actions, which are integers from 0")
        object.__setattr__(self, "classifier", copy_unseeded(classifier))

    def initial(self, sizes: ModelSizes, rng: Rng) -> Classifier:
        if sizes.action_dim is not None:
            raise ValueError("observation_spec has features of actions; expected a context")
        _check_fitted("classifier", self.classifier, sizes)
        largest = sizes.num_actions - 1
        classes = np.asarray(self.classifier.classes_)
        if classes.max() > largest:
            found = f"classifier has the classes {short_repr(classes)}"
            raise ValueError(f"{found}; expected actions from 0 to {largest}")
        return Classifier(ScikitLearnModel(self.classifier), np.full(sizes.num_actions, NEVER))

    def means(self, learned: Classifier, inputs: Inputs) -> Floats:
        classifier = learned.model.estimator
        scores = np.tile(learned.constants, (len(inputs.context), 1))
        scores[:, classifier.classes_] = score_classes(classifier, inputs.context)
        return scores


class Regressions(NamedTuple):
    """What predicts the rewards of K actions."""

    models: tuple[ScikitLearnModel | None, ...]  # [K]
    constants: Floats  # [K], the predictions for actions without a model


@dataclasses.dataclass(frozen=True)
class FittedRegressions(FixedModel):
    """A fitted estimator of the rewards of each action; it does not learn.

    Experimental: it may change in any minor version.

        q_a(x)      of a context x
        q(x, z_a)   if actions have features z_a

    Args:
        models: [K], fitted to contexts [n, d]; or [1], fitted to [x, z] of actions: regressors of
            scikit-learn, classifiers whose classes are rewards, or numbers, which are the
            predictions themselves. The model has copies.

    Source: Beygelzimer & Langford, The offset tree (2009), for policies by predicted rewards.

    >>> from bandit_envs.logged import RidgeRegression
    >>> model = RidgeRegression().fit(np.array([[-1.0], [1.0]]), np.array([0.0, 6.0]))
    >>> len(FittedRegressions([2.0, model]).models)
    2
    """

    models: Sequence[Any]

    def __post_init__(self) -> None:
        checked = [
            _check_model(f"models[{action}]", each) for action, each in enumerate(self.models)
        ]
        object.__setattr__(self, "models", tuple(checked))

    def for_actions(self, num_actions: int) -> FittedRegressions:
        """Returns one of more actions, which are chosen only where no other is available."""
        more = [NEVER] * (num_actions - len(self.models))
        return FittedRegressions([*self.models, *more])

    def initial(self, sizes: ModelSizes, rng: Rng) -> Regressions:
        if len(self.models) != sizes.num_outputs:
            found = f"there are {len(self.models)} models"
            expected = "one for each action" if sizes.action_dim is None else "for all items"
            raise ValueError(f"{found}; expected {sizes.num_outputs}, {expected}")
        constants = np.zeros(len(self.models))
        leaves: list[ScikitLearnModel | None] = []
        for action, model in enumerate(self.models):
            if isinstance(model, float):
                constants[action] = model
                leaves.append(None)
            else:
                _check_fitted(f"models[{action}]", model, sizes)
                leaves.append(ScikitLearnModel(model))
        return Regressions(tuple(leaves), constants)

    def means(self, learned: Regressions, inputs: Inputs) -> Floats:
        if isinstance(inputs, Items):
            return _predict_items(learned, inputs)
        values = np.tile(learned.constants, (len(inputs.context), 1))
        for action, model in enumerate(learned.models):
            if model is not None:
                values[:, action] = predict_means(model.estimator, inputs.context)
        return values


def _predict_items(learned: Regressions, inputs: Items) -> Floats:
    """Returns the predictions of the only model for all items: [B, K]."""
    features = inputs.features()
    shape = features.shape[:2]
    (model,) = learned.models
    if model is None:
        return np.full(shape, learned.constants[0])
    flat = features.reshape(shape[0] * shape[1], features.shape[2])
    return np.asarray(predict_means(model.estimator, flat)).reshape(shape)


def _check_model(name: str, model: Any) -> Any:
    """Returns a number, or a copy of an estimator; TypeError or ValueError if it is neither."""
    if isinstance(model, numbers.Real):
        return check_number(name, model)
    return copy_unseeded(check_estimator(name, model))


def _check_fitted(name: str, estimator: Any, sizes: ModelSizes) -> None:
    """Raises ValueError if an estimator was fitted to other contexts than those of a policy.

    An estimator that does not tell of how many features they were passes.
    """
    found = getattr(estimator, "n_features_in_", sizes.num_features)
    if found != sizes.num_features:
        expected = f"observation_spec has {sizes.num_features}"
        raise ValueError(f"{name} was fitted to {found} features; {expected}")
