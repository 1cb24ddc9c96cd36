"""Estimators of scikit-learn in the state of a policy: copies, files and what files may hold."""

import copy
import datetime

import numpy as np
import pytest

from bandit_envs import Policy, load_state, save_state
from bandit_envs.policies.named_estimators import make_estimator
from bandit_envs.policies.scikit_learn_model import ScikitLearnModel
from bandit_envs.testing import assert_identical

pytest.importorskip("skops")
linear_model = pytest.importorskip("sklearn.linear_model")
pipeline = pytest.importorskip("sklearn.pipeline")
preprocessing = pytest.importorskip("sklearn.preprocessing")

FEATURES = np.random.default_rng(0).normal(size=(60, 3))
LABELS = (FEATURES.sum(axis=1) > 0.0).astype(int)

ESTIMATORS = [
    "LogisticRegression(C=100)",
    "RandomForestClassifier(n_estimators=3, random_state=0)",
    "GradientBoostingRegressor(n_estimators=3)",
    "HistGradientBoostingClassifier(max_iter=3)",
    "MLPClassifier(max_iter=3)",
    "KNeighborsClassifier()",
    "GaussianProcessRegressor()",
    "SGDRegressor(random_state=0)",
    "tests.policies.test_scikit_learn_model:make_pipeline",
]


def make_pipeline():
    classifier = linear_model.SGDClassifier(loss="log_loss", random_state=np.random.RandomState(1))
    steps = preprocessing.FunctionTransformer(double), preprocessing.StandardScaler(), classifier
    return pipeline.make_pipeline(*steps)


def double(features):
    return 2.0 * features


class Mean:
    """An estimator of one's own."""

    def fit(self, features, rewards):
        self.mean = rewards.mean()
        return self

    def predict(self, features):
        return np.full(len(features), self.mean)


class Refuses(Mean):
    """One that holds what is refused in files."""

    def fit(self, features, rewards):
        self.when = datetime.date(2020, 1, 1)
        return self


class ByModel(Policy):
    """Knows an estimator, and whether it has learned."""

    learns_by_row = False

    def __init__(self, estimator, **options):
        self._estimator = estimator
        super().__init__(num_actions=2, **options)

    def _initial(self):
        return {"model": ScikitLearnModel(copy.deepcopy(self._estimator)), "count": np.zeros(1)}

    def _select(self, rng, learned, time_step):
        return learned["model"].estimator.predict(time_step.observation).astype(int)

    def model(self):
        return self._state.learned["model"]


def fitted(estimator):
    policy = ByModel(estimator)
    with np.errstate(all="ignore"):
        policy.model().estimator.fit(FEATURES, LABELS)
    return policy


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("text", ESTIMATORS)
def test_a_policy_goes_on_with_the_estimator_of_a_file(text, tmp_path):
    policy = fitted(make_estimator(text))
    expected = policy.model().estimator.predict(FEATURES)
    state = policy.get_state()
    assert_identical(state.content.learned, copy.deepcopy(policy._state.learned))
    save_state(tmp_path / "state.npz", state)
    other = ByModel(make_estimator(text))

    other.set_state(load_state(tmp_path / "state.npz"))

    np.testing.assert_array_equal(other.model().estimator.predict(FEATURES), expected)
    assert other.model().estimator is not policy.model().estimator


def test_a_state_from_a_file_can_be_saved_again(tmp_path):
    policy = fitted(Mean())
    save_state(tmp_path / "first.npz", policy.get_state())
    save_state(tmp_path / "second.npz", load_state(tmp_path / "first.npz"))

    other = ByModel(Mean())
    other.set_state(load_state(tmp_path / "second.npz"))

    assert other.model().estimator.mean == LABELS.mean()


def test_an_estimator_that_no_file_can_hold_is_refused_when_it_is_saved(tmp_path):
    policy = fitted(Refuses())

    with pytest.raises(TypeError, match="a Refuses cannot be written without pickle"):
        save_state(tmp_path / "state.npz", policy.get_state())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (make_estimator("Ridge"), "it holds a tests.policies.test_scikit_learn_model.Mean"),
        (Refuses(), "found a Mean; expected a Refuses"),
    ],
)
def test_the_class_of_a_file_is_that_of_the_policy_or_refused(estimator, message, tmp_path):
    save_state(tmp_path / "state.npz", fitted(Mean()).get_state())
    other = ByModel(estimator)
    before = other.get_state()

    with pytest.raises(ValueError, match=message):
        other.set_state(load_state(tmp_path / "state.npz"))
    assert_identical(other.get_state(), before)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LogisticRegresion", "did you mean LogisticRegression"),
        ("LogisticRegression(D=3)", "cannot be made"),
        ("LogisticRegression(3)", "expected a name"),
        ("LogisticRegression(", "expected a name"),
        ("sklearn.linear_model:Lin", "cannot be used"),
        ("math:pi", "neither a class nor a function"),
        ("builtins:dict", "expected an estimator"),
    ],
)
def test_names_of_no_estimator_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        make_estimator(text)
