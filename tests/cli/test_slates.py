"""`bandit-envs evaluate` on tables of slates."""

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.logged.files import read_slates
from tests.command_line import rows, run

pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")
pandas = pytest.importorskip("pandas")
SLATES = ["--decision", "visit", "--slot", "place", "--action", "item", "--reward", "paid"]


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
    outcome, found = estimate(file, "--propensity", "slot:p", "--propensity", "prefix:q")
    assert outcome.code == 0, outcome.err
    roles = {
        "action": "item",
        "reward": "paid",
        "decision": "visit",
        "slot": "place",
        "features": "new",
    }
    log = read_slates(file, slot_propensity="p", prefix_propensity="q", **roles)
    expected = evaluate(log, "random_slate").rows
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


def test_intervals_of_slates_are_by_units(file):
    table = pandas.read_csv(file)
    table.assign(user=table["visit"] // 6).to_csv(file, index=False)
    _, by_slates = estimate(file)
    outcome, by_units = estimate(file, "--unit", "user", "--overwrite")
    assert outcome.code == 0, outcome.err
    assert "rows of one unit belong together" in outcome.out
    assert [row["value"] for row in by_units] == [row["value"] for row in by_slates]
    assert all(one["low"] != other["low"] for one, other in zip(by_units, by_slates))


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
        (["--estimator", "ips"], "estimator ips is not for actions that are slates"),
        (["--by", "paid"], "by is 'paid'; expected a column of ['new']"),
        (["--train", "visit=3"], "policies do not learn from slates"),
        (["--workers", "2"], "workers is 2, but a log of slates is in memory; leave it out"),
        (["--workers", "threading:1"], "a log of slates is in memory"),
        (["--propensity", "estimate"], "slates have no estimated propensities"),
        (["--logger", "new"], "slates have no --logger"),
    ],
)
def test_options_that_slates_do_not_have_are_refused(file, arguments, message):
    outcome, _ = estimate(file, *arguments)
    assert outcome.code == 2
    assert message in " ".join(outcome.err.split())


def test_columns_with_commas_are_the_slots_of_slates(file, tmp_path):
    table = pandas.read_csv(file)
    wide = table.pivot(index="visit", columns="place", values=["item", "paid", "p"])
    wide.columns = [f"{name}_{place}" for name, place in wide.columns]
    wide.to_csv(tmp_path / "wide.csv", index=False)
    outcome = run(
        "evaluate",
        tmp_path / "wide.csv",
        *("--action", "item_1,item_2", "--reward", "paid_1,paid_2", "--features", ""),
        *("--propensity", "slot:p_1,p_2", "--policy", "random_slate"),
        *("--output", tmp_path / "out"),
    )
    assert outcome.code == 0, outcome.err
    found = rows(tmp_path / "out" / "estimates.csv")
    assert [row["estimator"] for row in found] == ["mean", "slot_ips", "slot_snips"]


def test_a_table_without_the_default_column_is_told_which_options_name_probabilities(file):
    table = pandas.read_csv(file).drop(columns="propensity")
    table.to_csv(file, index=False)
    outcome, _ = estimate(file)
    assert outcome.code == 2
    assert "--propensity COLUMN, slot:A,B or prefix:A,B" in outcome.err
