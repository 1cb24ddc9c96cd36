"""Estimators of scikit-learn, as a part of what a policy knows."""

from __future__ import annotations

import copy
import itertools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats, Rng
from bandit_envs.base.checks import short_repr
from bandit_envs.base.state import ForeignModel
from bandit_envs.datasets.tables import import_extra

PACKAGES = {"sklearn", "numpy", "scipy"}
"""Their classes may be in the file of any estimator."""


class ScikitLearnModel(ForeignModel):
    """An estimator of scikit-learn, fitted or not, as a leaf of a state.

    A file holds it as skops writes it, without pickle. Reading it makes an estimator of the same
    class. Parts of it may be of the classes of scikit-learn, NumPy, SciPy, and of the packages of
    the estimator itself and of those in its parameters; all else is refused.

    Args:
        estimator: has `fit` and `predict`, as those of scikit-learn.

    Raises:
        TypeError: `estimator` has no `fit`, or is a class.

    >>> from bandit_envs.logged import RidgeRegression
    >>> model = ScikitLearnModel(RidgeRegression().fit(np.eye(2), np.array([1.0, 3.0])))
    >>> model.estimator.predict(np.zeros((1, 2)))
    array([2.])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = check_estimator("estimator", estimator)

    def encode(self) -> NDArray[np.uint8]:
        name = type(self.estimator).__name__
        skops = import_extra("skops.io", "scikit-learn")
        try:
            content = skops.dumps(self.estimator)
            _trusted_types(content, [self.estimator])
        except Exception as error:  # users' estimators may hold anything
            raise TypeError(f"a {name} cannot be written without pickle: {error}") from error
        return np.frombuffer(content, np.uint8)

    def decode(self, content: Any) -> ScikitLearnModel:
        estimator = read_estimator(content, [self.estimator])
        if type(estimator) is not type(self.estimator):
            expected = type(self.estimator).__name__
            raise TypeError(f"found a {type(estimator).__name__}; expected a {expected}")
        return ScikitLearnModel(estimator)


def read_estimator(content: Any, given: Sequence[Any]) -> Any:
    """Returns the estimator of what `ScikitLearnModel.encode` returned.

    Args:
        content: of a file, for example.
        given: estimators whose classes, and those of their packages, may be in it beside those of
            scikit-learn, NumPy and SciPy.

    Raises:
        TypeError, ValueError: `content` is something else, or a class in it is refused.
    """
    if not isinstance(content, np.ndarray) or content.dtype != np.uint8:
        raise TypeError(f"found {short_repr(content)}; expected what a model is written as")
    skops = import_extra("skops.io", "scikit-learn")
    written = content.tobytes()
    return skops.loads(written, trusted=_trusted_types(written, given))


def _trusted_types(content: bytes, given: Sequence[Any]) -> list[str]:
    """Returns the types in a file that skops does not know; ValueError if one is refused."""
    skops = import_extra("skops.io", "scikit-learn")
    known = [*given, *itertools.chain.from_iterable(map(_parameters_of, given))]
    packages = PACKAGES | {_package_of(each) for each in known if _is_estimator(each)}
    unknown: list[str] = skops.get_untrusted_types(data=content)
    for name in unknown:
        found = _find_imported(name)
        is_class = isinstance(found, type) and name.partition(".")[0] in packages
        if not is_class and not any(each is found for each in known):
            expected = f"classes of {', '.join(sorted(packages))}"
            raise ValueError(f"it holds a {name}; expected {expected}")
    return unknown


def check_estimator(name: str, estimator: Any) -> Any:
    """Returns an estimator of scikit-learn; TypeError if it is something else."""
    if isinstance(estimator, type) or not callable(getattr(estimator, "fit", None)):
        expected = "an estimator of scikit-learn, such as LogisticRegression()"
        raise TypeError(f"{name} is {short_repr(estimator)}; expected {expected}")
    return estimator


def copy_unseeded(estimator: Any) -> Any:
    """Returns a deep copy of an estimator with its seeds; TypeError if it cannot be copied."""
    try:
        return copy.deepcopy(estimator)
    except Exception as error:  # users' estimators may hold anything
        name = type(estimator).__name__
        expected = "an estimator that copy.deepcopy copies, as states hold copies of it"
        raise TypeError(f"a {name} cannot be copied: {error}; expected {expected}") from error


def copy_estimator(estimator: Any, rng: Rng) -> Any:
    """Returns a copy of an estimator, to fit.

    Each `random_state` that is None becomes a generator of its own: else `fit` would draw from
    NumPy's global generator, and no run would repeat. A number would do too, but then each
    `partial_fit` would start the same generator anew, which takes longer than to learn a few rows.
    """
    made = copy_unseeded(estimator)
    if hasattr(made, "get_params"):
        for name, value in made.get_params(deep=True).items():
            if value is None and name.endswith("random_state"):
                made.set_params(**{name: np.random.RandomState(int(rng.integers(2**31)))})
    return made


def fit_weighted(estimator: Any, features: Floats, targets: Array, weights: Floats) -> None:
    """Lets an estimator learn from features [m, d] and targets [m], which count by weights [m].

    The last step of a pipeline gets the weights.

    Raises:
        TypeError: the estimator takes no weights.
    """
    steps = getattr(estimator, "steps", None)
    name = f"{steps[-1][0]}__sample_weight" if steps else "sample_weight"
    estimator.fit(features, targets, **{name: weights})


def predict_means(estimator: Any, features: Floats) -> Floats:
    """Returns the predicted means of targets [m] for features [m, d].

    They are the predictions of a regressor. Of a classifier, whose classes are numbers, they are
    the means of the classes by their predicted probabilities.
    """
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(features) @ estimator.classes_, np.float64)
    return np.asarray(estimator.predict(features), np.float64)


def score_classes(classifier: Any, features: Floats) -> Floats:
    """Returns the probabilities, or else the decision values, of C classes: [m, C]."""
    if hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.predict_proba(features), np.float64)
    decision = np.asarray(classifier.decision_function(features), np.float64)
    return np.stack([-decision, decision], axis=1) if decision.ndim == 1 else decision


def check_classifier(name: str, classifier: Any) -> Any:
    """Returns a classifier of scikit-learn; TypeError if it cannot score classes."""
    check_estimator(name, classifier)
    if not (hasattr(classifier, "predict_proba") or hasattr(classifier, "decision_function")):
        expected = "a classifier with predict_proba or decision_function"
        raise TypeError(f"{name} is {short_repr(classifier)}; expected {expected}")
    return classifier


def _parameters_of(estimator: Any) -> list[Any]:
    """Returns the values of the parameters of an estimator, and of the estimators in them."""
    if not hasattr(estimator, "get_params"):
        return []
    values = estimator.get_params(deep=True).values()
    return [value for value in values if value is not None]


def _is_estimator(value: object) -> bool:
    """Returns whether a value is an estimator, or a part of one such as a kernel."""
    return hasattr(value, "fit") or hasattr(value, "get_params")


def _package_of(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _find_imported(name: str) -> Any:
    """Returns what `module.name` is if the module has been imported, and else None."""
    module, _, last = name.rpartition(".")
    return vars(sys.modules[module]).get(last) if module in sys.modules else None
