"""Estimators of scikit-learn, as a part of what a policy knows."""

from __future__ import annotations

import contextlib
import copy
import io
import itertools
import json
import sys
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats, Rng
from bandit_envs.base.archives import CONTENT_ERRORS
from bandit_envs.base.checks import short_repr
from bandit_envs.base.extras import import_extra
from bandit_envs.base.saving import ForeignModel
from bandit_envs.names.notation import undisturbed
from bandit_envs.names.users_code import describe, text_of

TRUSTED = {
    # The nodes of trees, as arrays of numbers. A forged one may stop the process, as skops warns.
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    # The rows of nearest neighbours, as arrays of numbers, and their distance, which has none.
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    # The kernels of Gaussian processes by default, which are numbers or two kernels.
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    # Fitted parts of other estimators, which are estimators themselves.
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.multiclass._ConstantPredictor",
    # The optimizer of networks: numbers and arrays.
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    # Losses, which have numbers only; the last two are of scikit-learn 1.3.
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.ensemble._gb_losses.BinomialDeviance",
    "sklearn.ensemble._gb_losses.LeastSquaresError",
}
"""Classes of scikit-learn that skops does not trust, and that files may hold all the same.

None of them imports, evaluates or calls anything when it is made of what a file says.
"""

LOADERS = {"ObjectNode", "FunctionNode", "TypeNode"}
"""How skops makes the classes and functions of users: none of them is called."""


class ScikitLearnModel(ForeignModel):
    """An estimator of scikit-learn, fitted or not, as a leaf of a state.

    A file holds it as skops writes it, without pickle. Reading it makes an estimator of the same
    class. The file may hold what skops trusts, the classes in `TRUSTED`, and the class of the
    estimator itself with the classes and functions among its parameters. All else is refused,
    before anything of it is made.

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
            content: bytes = skops.dumps(self.estimator)
            for each in skops.get_untrusted_types(data=content):
                if _find_imported(each) is None:
                    raise ValueError(f"it holds a {each}, which no name leads to")
            _refuse_memory(self.estimator)
        except Exception as error:  # users' estimators may hold anything
            problem = f"a {name} cannot be written without pickle: {text_of(error)}"
            raise TypeError(problem) from error
        return np.frombuffer(content, np.uint8)

    def decode(self, content: Any, trusted: Sequence[str] = ()) -> ScikitLearnModel:
        estimator = read_estimator(content, [self.estimator], trusted)
        if type(estimator) is not type(self.estimator):
            expected = type(self.estimator).__name__
            raise TypeError(f"found a {type(estimator).__name__}; expected a {expected}")
        return ScikitLearnModel(estimator)


def read_estimator(content: Any, given: Sequence[Any], trusted: Sequence[str] = ()) -> Any:
    """Returns the estimator of what `ScikitLearnModel.encode` returned.

    Args:
        content: of a file, for example.
        given: estimators whose classes may be in it, with the classes and functions among their
            parameters. None of them is called: an object is made as pickle makes it, by
            `__setstate__` or its attributes.
        trusted: names of other classes and functions that may be in it. skops may call them with
            what `content` says.

    Raises:
        TypeError, ValueError: `content` is something else, or a class in it is refused.
    """
    if not isinstance(content, np.ndarray) or content.dtype != np.uint8:
        raise TypeError(f"found {short_repr(content)}; expected what a model is written as")
    skops = import_extra("skops.io", "scikit-learn")
    written = content.tobytes()
    try:
        known = _trusted_types(written, given, trusted)
        estimator = undisturbed(lambda: skops.loads(written, trusted=known))  # it calls np.load
        _refuse_memory(estimator)
    except (*CONTENT_ERRORS, ImportError) as error:  # skops imports what is trusted
        raise ValueError(f"the estimator cannot be read: {error}") from error
    return estimator


def _trusted_types(content: bytes, given: Sequence[Any], trusted: Sequence[str]) -> list[str]:
    """Returns the types in a file that skops does not trust; ValueError if one is refused."""
    skops = import_extra("skops.io", "scikit-learn")
    unknown: list[str] = skops.get_untrusted_types(data=content)
    called = {
        f"{node.get('__module__')}.{node.get('__class__')}"
        for node in _nodes(content)
        if node["__loader__"] not in LOADERS
    }
    known = TRUSTED.union(trusted, _names_of(given) - called)
    refused = [name for name in unknown if name not in known]
    if refused:
        found = f"it holds {', '.join(refused)}, which may run code"
        advice = f"if you wrote the file yourself, read it in Python with trusted={refused}"
        raise ValueError(f"{found}; {advice}, or with an estimator of that class of yours")
    return unknown


def _names_of(given: Sequence[Any]) -> set[str]:
    """Returns the names of the classes of estimators, and those among their parameters.

    Distributions of SciPy are not among them, because their `__setstate__` executes text.
    """
    names = set()
    for value in [*given, *itertools.chain.from_iterable(map(_parameters_of, given))]:
        has_name = hasattr(value, "__name__")  # it is a class or a function
        named = value if has_name else type(value)
        names.add(f"{getattr(named, '__module__', None)}.{named.__name__}")
    return {name for name in names if not name.startswith("scipy.stats.")}


def _nodes(content: bytes) -> Iterator[dict[str, Any]]:
    """Yields what a file of skops says of each object in it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        pending = [json.loads(archive.read("schema.json"))]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield part
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)


def _has_text(value: Any) -> bool:
    """Returns whether a value is a text, or a list or an array with one."""
    items = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(items, (list, tuple, set)):
        return any(map(_has_text, items))
    return isinstance(items, str)


def _refuse_memory(estimator: Any) -> None:
    """Raises ValueError if an estimator would read pickles from a folder when it is fitted.

    `memory` of a pipeline is such a folder.
    """
    pending: list[Any] = [estimator]
    seen: dict[int, Any] = {}
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        if isinstance(part, dict):
            for name, value in part.items():
                if str(name).rpartition("__")[2] == "memory" and _has_text(value):
                    raise ValueError(f"{name} is {short_repr(value)}; expected None")
            pending.extend(part.values())
        elif isinstance(part, (list, tuple, set)):
            pending.extend(part)
        elif isinstance(part, np.ndarray):
            pending.extend(part.flat if part.dtype.hasobject else ())
        elif hasattr(part, "__dict__"):
            pending.append(vars(part))


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
        problem = f"a {name} cannot be copied: {text_of(error)}"
        raise TypeError(f"{problem}; expected {expected}") from error


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
        ValueError: the estimator cannot learn from them, or takes no weights.
    """
    steps = getattr(estimator, "steps", None)
    name = f"{steps[-1][0]}__sample_weight" if steps else "sample_weight"
    with name_failing_estimator(estimator, "learn from", len(features), "with weights"):
        estimator.fit(features, targets, **{name: weights})


@contextlib.contextmanager
def name_failing_estimator(
    estimator: Any, verb: str, num_rows: int, which: str = ""
) -> Iterator[None]:
    """Turns an error of an estimator into a ValueError that says what it cannot do.

    Args:
        estimator: of scikit-learn, or of a user.
        verb: what it is about to do, such as "learn from".
        num_rows: with how many rows it does so.
        which: says more of the rows.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # they raise any
        rows = f"{num_rows} row{'' if num_rows == 1 else 's'} {which}".rstrip()
        name = " ".join(short_repr(estimator).split())  # it may have several lines
        raise ValueError(f"{name} cannot {verb} {rows}: {describe(error)}") from error


def predict_means(estimator: Any, features: Floats) -> Floats:
    """Returns the predicted means of targets [m] for features [m, d].

    They are the predictions of a regressor. Of a classifier, whose classes are numbers, they are
    the means of the classes by their predicted probabilities.
    """
    with name_failing_estimator(estimator, "predict", len(features)):
        if hasattr(estimator, "predict_proba"):
            return np.asarray(estimator.predict_proba(features) @ estimator.classes_, np.float64)
        return np.asarray(estimator.predict(features), np.float64)


def score_classes(classifier: Any, features: Floats) -> Floats:
    """Returns the probabilities, or else the decision values, of C classes: [m, C]."""
    with name_failing_estimator(classifier, "predict", len(features)):
        if hasattr(classifier, "predict_proba"):
            return np.asarray(classifier.predict_proba(features), np.float64)
        decision = np.asarray(classifier.decision_function(features), np.float64)
    return np.stack([-decision, decision], axis=1) if decision.ndim == 1 else decision


def check_classifier(classifier: Any) -> Any:
    """Returns a classifier of scikit-learn; TypeError if it cannot score classes."""
    check_estimator("classifier", classifier)
    if not (hasattr(classifier, "predict_proba") or hasattr(classifier, "decision_function")):
        expected = "a classifier with predict_proba or decision_function"
        raise TypeError(f"classifier is {short_repr(classifier)}; expected {expected}")
    return classifier


def _parameters_of(estimator: Any) -> list[Any]:
    """Returns the values of the parameters of an estimator, and of the estimators in them."""
    if not hasattr(estimator, "get_params"):
        return []
    values = estimator.get_params(deep=True).values()
    return [value for value in values if value is not None]


def _find_imported(name: str) -> Any:
    """Returns what `module.name` is if the module has been imported, and else None."""
    module, _, last = name.rpartition(".")
    return vars(sys.modules[module]).get(last) if module in sys.modules else None
