"""`bandit-envs evaluate --slates`: tables of slates."""

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate_slates
from bandit_envs.logged.files import read_slates
from tests.command_line import rows, run

pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")
pandas = pytest.importorskip("pandas")
SLATES = ["--slates", "--slate", "visit", "--slot", "place", "--action", "item", "--reward", "paid"]


@pytest.fixture
def file(tmp_path):
    """A table of random slates, one row a slot, with names of items."""
    rng = np.random.default_rng(0)
    shown = np.argsort(rng.random((300, 3)), axis=1)[:, :2].reshape(-1)
    table = pandas.DataFrame({"visit": np.repeat(np.arange(300), 2), "place": [1, 2] * 300})
    table["item"] = np.array(["boots", "hats", "shoes"])[shown]
    table["paid"] = rng.integers(0, 2, 600)
    table["new"] = np.repeat(np.arange(300) % 2, 2)
    table["propensity"] = 1 / 6
    table["p"] = 1 / 3
    table["q"] = [1 / 3, 1 / 6] * 300
    table.to_csv(tmp_path / "slates.csv", index=False)
    return tmp_path / "slates.csv"


def estimate(file, *arguments):
    output = file.parent / "out"
    policy = ["--policy", "random_slate", "--features", "new", "--output", output]
    outcome = run("evaluate", file, *SLATES, *arguments, *policy)
    return outcome, rows(output / "estimates.csv") if outcome.code == 0 else []


def test_a_table_is_evaluated_as_in_python(file):
    outcome, found = estimate(file, "--slot-propensity", "p", "--prefix-propensity", "q")
    assert outcome.code == 0, outcome.err
    roles = {
        "action": "item",
        "reward": "paid",
        "slate": "visit",
        "slot": "place",
        "features": "new",
    }
    log = read_slates(file, slot_propensity="p", prefix_propensity="q", **roles)
    expected = evaluate_slates(log, "random_slate").rows
    assert [row["estimator"] for row in found] == [row.estimator for row in expected]
    assert [float(row["value"]) for row in found] == [row.value for row in expected]
    assert "300 slates of 2 slots, 3 items" in outcome.out


def test_segments_gains_and_a_page_are_those_of_single_actions(file):
    outcome, _ = estimate(file, "--by", "new")
    assert outcome.code == 0, outcome.err
    assert "gain over logged" in outcome.out
    found = rows(file.parent / "out" / "segments.csv")
    assert [row["new"] for row in found] == ["0"] * 3 + ["1"] * 3
    assert "Policies on slates.csv" in (file.parent / "out" / "evaluation.html").read_text()


def test_propensities_of_slates_are_in_the_usual_column(file):
    outcome, found = estimate(file)
    assert outcome.code == 0, outcome.err
    assert [row["estimator"] for row in found] == ["mean", "slate_ips", "slate_snips"]


def test_a_gate_fails_below_its_bound(file):
    outcome, _ = estimate(file, "--fail-below", "2")
    assert outcome.code == 1
    assert "random_slate: the interval of slate_ips begins at" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--estimator", "ips"], "expected no --estimator"),
        (["--by", "paid"], "by is 'paid'; expected a column of ['new']"),
        (["--train-until", "visit=3"], "do not learn"),
        (["--bandwidth", "0.1"], "or --bandwidth"),
        (["--workers", "2"], "--slates reads the whole log into memory; expected no --workers"),
        (["--backend", "threading"], "expected no --workers, --backend or --address"),
    ],
)
def test_options_that_slates_do_not_have_are_refused(file, arguments, message):
    outcome, _ = estimate(file, *arguments)
    assert outcome.code == 2
    assert message in " ".join(outcome.err.split())


def test_options_of_slates_need_slates(file):
    outcome = run("evaluate", file, "--slate", "visit", "--policy", "random")
    assert outcome.code == 2
    assert "--slate is for logs of slates; expected --slates" in outcome.err


def test_a_table_without_the_default_column_is_told_which_options_name_probabilities(file):
    table = pandas.read_csv(file).drop(columns="propensity")
    table.to_csv(file, index=False)
    outcome, _ = estimate(file)
    assert outcome.code == 2
    assert "--slot-propensity or --prefix-propensity" in outcome.err
