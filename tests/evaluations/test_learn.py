"""What `learn` learns from logs."""

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate, learn
from bandit_envs.evaluations.passes import LogObserver
from bandit_envs.logged import (
    DirectMethodLearner,
    DoublyRobustLearner,
    PolicyGradientLearner,
    probabilities_of,
    read_policy,
)
from tests.cases import for_each
from tests.evaluations.logs import Batches, Unread, record_log, split_log, write_parts

LEARNERS = ["direct_method", "doubly_robust"]


@pytest.fixture(scope="module")
def log():
    return record_log()


@pytest.fixture
def folder(log, tmp_path):
    return write_parts(tmp_path / "parts", log)


def weights_of(learned):
    return learned.policy.get_state().content.learned.model


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_library_writes_the_file_of_the_command(folder, tmp_path, learner):
    for package in ("joblib", "filelock", "matplotlib", "rich"):
        pytest.importorskip(package)
    from tests.command_line import run  # noqa: PLC0415 - needs packages of the command

    file = tmp_path / "command.npz"
    outcome = run("learn", folder, "--learner", learner, "--output", file)
    assert outcome.code == 0, outcome.err
    found = learn(folder, learner)
    found.write(tmp_path / "library.npz")
    assert (tmp_path / "library.npz").read_bytes() == file.read_bytes()
    learn(folder, learner, workers=2, backend="threading").write(file)
    again = read_policy(file)
    assert (again.rows_learned, again.log) == (600, found.learned_from.identify())


@pytest.mark.parametrize(
    ("text", "learner"),
    [
        ("direct_method", DirectMethodLearner()),
        ("doubly_robust", DoublyRobustLearner()),
        ("policy_gradient:num_steps=5", PolicyGradientLearner(num_steps=5)),
    ],
)
def test_what_is_learned_is_what_the_learner_learns_from_the_first_rows(log, text, learner):
    expected = learner.fit(log[:900])
    for given in (text, learner):
        found = learn(log, given, train=0.75)
        table = probabilities_of(found.policy, log[900:])
        assert np.allclose(table, probabilities_of(expected, log[900:]), rtol=1e-12)
        assert (found.learned_from.size, found.summary.size) == (900, 1200)


@pytest.mark.parametrize(
    ("backend", "options", "kind", "learner"),
    [
        ("threading", {}, "files", "doubly_robust"),
        ("threading", {"until": "step=13"}, "files", "direct_method"),
        ("threading", {"until": "step=13"}, "batches", "doubly_robust"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("threading", {"train": 1.0}, "files", "doubly_robust"),
                ("threading", {}, "log", "doubly_robust"),
                ("threading", {}, "iterable", "direct_method"),
                ("loky", {}, "batches", "doubly_robust"),
                ("loky", {"until": "step=13"}, "files", "direct_method"),
            )
        ),
    ],
    ids=str,
)
def test_two_workers_learn_what_one_process_learns(
    log, folder, monkeypatch, *, backend, kind, learner, options
):
    pytest.importorskip("joblib")
    monkeypatch.setattr("bandit_envs.evaluations.logs.BATCH_ROWS", 500)
    given = {
        "files": folder,
        "log": log,
        "batches": split_log(log),
        "iterable": Batches(split_log(log)),
    }[kind]
    expected = learn(given, learner, **options)
    found = learn(given, learner, workers=2, backend=backend, **options)
    assert np.allclose(weights_of(found), weights_of(expected), rtol=1e-12, atol=1e-12)
    assert found.learned_from.identify() == expected.learned_from.identify()
    with pytest.warns(UserWarning, match="has learned from rows of this log"):
        evaluate(split_log(log), found.policy, "ips")


@for_each(
    ("learner", "options", "error", "message"),
    [
        (
            "policy_gradient",
            {"workers": 2},
            ValueError,
            r"learner policy_gradient: PolicyGradientLearner keeps all rows in memory, so it takes "
            r"no workers; expected a DirectMethodLearner\(\), DoublyRobustLearner\(\)",
        ),
        (PolicyGradientLearner(), {"backend": "dask"}, ValueError, "takes no workers"),
        ("doubly_robus", {}, ValueError, "did you mean doubly_robust"),
        ("policy_gradient:num_steps=0", {}, ValueError, "num_steps is 0"),
        ("doubly_robust", {"train": 0.0}, ValueError, "train is 0"),
        ("doubly_robust", {"train": None}, ValueError, "train is None"),
    ],
)
def test_mistakes_are_told_before_the_log_is_read(learner, options, error, message):
    with pytest.raises(error, match=message):
        learn(Unread(), learner, **options)


def test_a_learner_that_keeps_many_rows_says_so_to_the_observer(log, monkeypatch):
    class Notes(LogObserver):
        def __init__(self):
            self.texts = []

        def note(self, text):
            self.texts.append(text)

    monkeypatch.setattr("bandit_envs.evaluations.logs.IN_MEMORY", 1000)
    notes = Notes()
    learn(log, "policy_gradient:num_steps=2", observer=notes)
    (text,) = notes.texts
    assert "policy_gradient:num_steps=2 keeps all 600 rows in memory" in text
    learn(log, "doubly_robust", observer=notes)
    assert len(notes.texts) == 1


def test_a_policy_that_was_written_is_evaluated_on_other_rows(log, tmp_path):
    learn(split_log(log), train=0.7).write(tmp_path / "policy.npz")
    found = evaluate(log, tmp_path / "policy.npz", "ips")
    assert [row.rows for row in found.rows] == [360, 360]


def test_a_regressor_of_scikit_learn_takes_no_workers():
    linear_model = pytest.importorskip("sklearn.linear_model")
    learner = DirectMethodLearner(linear_model.Ridge())
    with pytest.raises(ValueError, match="takes no workers"):
        learn(Unread(), learner, workers=2)
