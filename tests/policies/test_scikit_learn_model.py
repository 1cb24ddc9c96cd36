"""Estimators of scikit-learn in the state of a policy: copies, files and what files may hold."""

import contextlib
import copy
import datetime
import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from bandit_envs import Policy, load_state, save_state
from bandit_envs.base.saving import EncodedModel
from bandit_envs.logged import IPSLearner, read_policy, write_log, write_policy
from bandit_envs.policies.scikit_learn.model import ScikitLearnModel, fit_weighted, predict_means
from bandit_envs.policies.scikit_learn.named_estimators import make_estimator
from bandit_envs.testing import assert_identical
from tests.cases import for_each
from tests.logged.test_learners import bad_logger_log

skops = pytest.importorskip("skops.io")
stats = pytest.importorskip("scipy.stats")
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
    "TweedieRegressor()",
    "CalibratedClassifierCV(cv=3)",
    "GaussianProcessClassifier()",
    "tests.policies.test_scikit_learn_model:make_pipeline",
]


def make_pipeline():
    classifier = linear_model.SGDClassifier(loss="log_loss", random_state=np.random.RandomState(1))
    steps = preprocessing.FunctionTransformer(double), preprocessing.StandardScaler(), classifier
    return pipeline.make_pipeline(*steps)


def double(features):
    return 2.0 * features


def leave():
    raise SystemExit(0)


class Mean:
    """An estimator of one's own."""

    def fit(self, features, rewards):
        self.mean = rewards.mean()
        return self

    def predict(self, features):
        return np.full(len(features), self.mean)


class Dated(Mean):
    """One that holds what is refused in files, unless the reader trusts it."""

    def fit(self, features, rewards):
        self.when = datetime.date(2020, 1, 1)
        return super().fit(features, rewards)


class Nameless(Mean):
    """One that no file can hold."""

    def fit(self, features, rewards):
        self.link = lambda mean: mean
        return self


class Anything(Mean):
    """One with an estimator of another class among its parameters."""

    def get_params(self, deep=True):
        return {"other": Mean()}


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
    policy = fitted(Nameless())

    with pytest.raises(TypeError, match="a Nameless cannot be written without pickle"):
        save_state(tmp_path / "state.npz", policy.get_state())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (make_estimator("Ridge"), "it holds tests.policies.test_scikit_learn_model.Mean"),
        (Dated(), "it holds tests.policies.test_scikit_learn_model.Mean"),
        (Anything(), "found a Mean; expected a Anything"),
    ],
)
def test_the_class_of_a_file_is_that_of_the_policy_or_refused(estimator, message, tmp_path):
    save_state(tmp_path / "state.npz", fitted(Mean()).get_state())
    other = ByModel(estimator)
    before = other.get_state()

    with pytest.raises(ValueError, match=message):
        other.set_state(load_state(tmp_path / "state.npz"))
    assert_identical(other.get_state(), before)


def test_values_without_keywords_are_those_of_the_first_parameters():
    assert make_estimator("Ridge(10.0)").alpha == 10.0
    estimator = make_estimator("Ridge(3, max_iter=7)")
    assert (estimator.alpha, estimator.max_iter) == (3, 7)


class Fails(Mean):
    """One that fails in a way of its own, which depends on what it is asked."""

    def fit(self, features, rewards, sample_weight=None):
        return 1 / 0

    def predict(self, features):
        return {}["missing"]


@for_each(
    ("call", "message"),
    [
        (lambda: fit_weighted(Fails(), FEATURES, LABELS, LABELS), "learn from 60 rows with weig"),
        (lambda: fit_weighted(Mean(), FEATURES, LABELS, LABELS), "argument 'sample_weight'"),
        (lambda: predict_means(Fails(), FEATURES[:1]), "Fails .* predict 1 row: KeyError: 'miss"),
    ],
)
def test_an_error_of_an_estimator_says_which_it_is_and_what_it_was_doing(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@for_each(
    ("text", "message"),
    [
        ("LogisticRegresion", "did you mean LogisticRegression"),
        ("LogisticRegression(D=3)", "cannot be made"),
        ("LogisticRegression(3, 4)", "cannot be made"),
        ("LogisticRegression(*[3])", "expected a name"),
        ("LogisticRegression(make)", "expected a name"),
        ("tests.policies.test_scikit_learn_model:leave", "cannot be made: SystemExit: 0"),
        ("LogisticRegression(", "expected a name"),
        ("sklearn.linear_model:Lin", "cannot be used"),
        ("math:pi", "neither a class nor a function"),
        ("builtins:dict", "expected an estimator"),
    ],
)
def test_names_of_no_estimator_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        make_estimator(text)


# Files of others, which must not run code.


def marker(tmp_path):
    """The file that a crafted file would write, and the text that writes it."""
    mark = tmp_path / "mark"
    return mark, f"open({str(mark)!r}, 'w').close()"


def with_distribution(estimator, text):
    """An estimator with a distribution of SciPy, which executes a text when it is made anew.

    It is made anew in each copy, too.
    """
    distribution = copy.deepcopy(stats.norm)
    distribution._parse_arg_template += f"\n{text}\n"
    estimator.note = distribution
    return estimator


def test_the_distribution_that_the_next_tests_refuse_runs_code_if_it_is_trusted(tmp_path):
    mark, text = marker(tmp_path)
    content = skops.dumps(with_distribution(linear_model.LogisticRegression(), text))
    unknown = skops.get_untrusted_types(data=content)
    mark.unlink(missing_ok=True)

    skops.loads(content, trusted=unknown)
    assert mark.exists()


def crafted_policy(folder):
    """A file of a learned policy with that distribution, and its mark."""
    mark, text = marker(folder)
    policy = IPSLearner(linear_model.LogisticRegression()).fit(bad_logger_log(50, 0))
    with_distribution(policy.model.classifier, text)
    write_policy(folder / "policy.npz", policy)
    mark.unlink(missing_ok=True)
    return folder / "policy.npz", mark


def test_a_policy_file_with_a_distribution_is_refused_and_runs_nothing(tmp_path):
    path, mark = crafted_policy(tmp_path)

    with pytest.raises(ValueError, match=r"it holds scipy.stats.*norm_gen.* with trusted="):
        read_policy(path)
    with pytest.raises(ValueError, match=r"scipy.stats"):
        read_policy(path, estimator=with_distribution(Mean(), ""))
    assert not mark.exists()


def test_the_command_refuses_a_policy_file_with_a_distribution_and_runs_nothing(tmp_path):
    pytest.importorskip("rich")
    pytest.importorskip("pandas")
    path, mark = crafted_policy(tmp_path)
    write_log(tmp_path / "log.npz", bad_logger_log(200, 1))

    command = ["evaluate", tmp_path / "log.npz", "--policy", path, "--output", tmp_path / "out"]
    done = subprocess.run(
        [sys.executable, "-m", "bandit_envs", *command], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2, done
    assert "read it in Python with trusted=" in " ".join(done.stderr.split())
    assert not mark.exists()


def test_a_state_with_a_distribution_is_refused_and_runs_nothing(tmp_path):
    mark, text = marker(tmp_path)
    policy = fitted(linear_model.LogisticRegression())
    with_distribution(policy.model().estimator, text)
    save_state(tmp_path / "state.npz", policy.get_state())
    mark.unlink(missing_ok=True)
    other = ByModel(linear_model.LogisticRegression())
    before = other.get_state()

    state = load_state(tmp_path / "state.npz")
    with pytest.raises(ValueError, match=r"it holds scipy.stats.*norm_gen"):
        other.set_state(state)
    assert_identical(other.get_state(), before)
    assert not mark.exists()


class Launcher(Mean):
    """A class of one's own that would run what it is called with."""

    def __init__(self, text=()):
        launch(text)


def launch(text):
    exec("".join(text))


class Launched(Mean):
    """One with a function among its parameters."""

    def get_params(self, deep=True):
        return {"function": launch}


def call_of(name, text, loader):
    """What a file of skops says of a call of `module.name` with a text."""
    module, _, last = name.rpartition(".")
    argument = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
    argument["content"] = json.dumps(text)
    arguments = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
    arguments["content"] = [argument]
    content = arguments if loader == "ConstructorFromReduceNode" else [argument]
    return {"__class__": last, "__module__": module, "__loader__": loader, "content": content}


def crafted(schema):
    """The content of a file of skops with another schema."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(skops.dumps(1))) as archive:
        versions = json.loads(archive.read("schema.json"))
    about = {key: versions[key] for key in ("protocol", "_skops_version")}
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("schema.json", json.dumps({**schema, **about}))
    return np.frombuffer(buffer.getvalue(), np.uint8)


@pytest.mark.parametrize(("given", "name"), [(Launcher(), "Launcher"), (Launched(), "launch")])
@pytest.mark.parametrize("loader", ["ConstructorFromReduceNode", "ListNode", "SetNode"])
def test_a_class_or_function_of_a_user_is_not_called_by_a_file(given, name, loader, tmp_path):
    mark, text = marker(tmp_path)
    content = crafted(call_of(f"{__name__}.{name}", text, loader))
    model = ScikitLearnModel(given)

    with pytest.raises(ValueError, match=f"it holds .*{name}"):
        model.decode(content)
    assert not mark.exists()

    with contextlib.suppress(TypeError):  # it is called, but may return no estimator
        model.decode(content, trusted=[f"{__name__}.{name}"])
    assert mark.exists()


def test_a_file_does_not_make_a_pipeline_that_reads_pickles_when_it_is_fitted(tmp_path):
    cached = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge())
    content = np.frombuffer(skops.dumps(cached.set_params(memory=str(tmp_path))), np.uint8)
    hidden = linear_model.Ridge()
    hidden.grid = [{"pipeline__memory": [str(tmp_path)]}]

    for written in (content, np.frombuffer(skops.dumps(hidden), np.uint8)):
        with pytest.raises(ValueError, match=r"memory is .*; expected None"):
            ScikitLearnModel(cached).decode(written)
    with pytest.raises(TypeError, match="cannot be written without pickle: memory"):
        ScikitLearnModel(cached).encode()


def test_an_estimator_of_ones_own_may_have_a_memory_of_rows():
    model = Mean()
    model.memory = FEATURES
    found = ScikitLearnModel(Mean()).decode(ScikitLearnModel(model).encode()).estimator
    np.testing.assert_array_equal(found.memory, FEATURES)


@for_each("damage", [b"", b"PK", b"{}", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_file_of_skops_is_refused(damage):
    with pytest.raises(ValueError, match="the estimator cannot be read"):
        ScikitLearnModel(Mean()).decode(np.frombuffer(damage, np.uint8))


def test_a_reader_may_trust_more_classes_in_states_and_policies(tmp_path):
    policy = fitted(Dated())
    save_state(tmp_path / "state.npz", policy.get_state())
    other = ByModel(Dated())

    with pytest.raises(ValueError, match=r"with trusted=.'datetime.date'."):
        other.set_state(load_state(tmp_path / "state.npz"))
    other.set_state(load_state(tmp_path / "state.npz", trusted=["datetime.date"]))
    assert other.model().estimator.when == datetime.date(2020, 1, 1)
    with pytest.raises(TypeError, match="expected a list of names"):
        load_state(tmp_path / "state.npz", trusted="datetime.date")


def test_what_a_reader_trusts_is_not_written_with_a_state(tmp_path):
    save_state(tmp_path / "first.npz", fitted(Dated()).get_state())
    trusting = load_state(tmp_path / "first.npz", trusted=["datetime.date"])
    save_state(tmp_path / "second.npz", trusting)

    again = load_state(tmp_path / "second.npz")
    assert isinstance(again.content.learned["model"], EncodedModel)
    with pytest.raises(ValueError, match=r"it holds datetime.date"):
        ByModel(Dated()).set_state(again)


def test_a_policy_file_of_ones_own_may_hold_what_its_reader_trusts(tmp_path):
    policy = IPSLearner(linear_model.LogisticRegression()).fit(bad_logger_log(50, 0))
    policy.model.classifier.when = datetime.date(2020, 1, 1)
    write_policy(tmp_path / "policy.npz", policy)

    with pytest.raises(ValueError, match=r"policy.npz: .*with trusted=.'datetime.date'."):
        read_policy(tmp_path / "policy.npz")
    read_policy(tmp_path / "policy.npz", trusted=["datetime.date"])


UNREADABLE = {"TunedThresholdClassifierCV"}  # it holds functions that measure


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_files_hold_every_classifier_and_regressor_that_learns_plain_rows():
    found = []
    for name, made in pytest.importorskip("sklearn.utils").all_estimators(
        type_filter=["classifier", "regressor"]
    ):
        try:
            estimator = made()
        except TypeError:  # it takes an estimator
            estimator = made(linear_model.LogisticRegression())
        try:
            fitted_model = ScikitLearnModel(copy.deepcopy(estimator).fit(FEATURES, LABELS))
        except (AttributeError, IndexError, TypeError, ValueError):
            continue  # it learns other data
        if name in UNREADABLE:
            with pytest.raises(ValueError, match="trusted"):
                ScikitLearnModel(estimator).decode(fitted_model.encode())
            continue
        again = ScikitLearnModel(estimator).decode(fitted_model.encode()).estimator
        expected = fitted_model.estimator.predict(FEATURES)
        np.testing.assert_allclose(again.predict(FEATURES), expected, rtol=1e-10, err_msg=name)
        found.append(name)
    assert len(found) > 50
