"""One table of several logging policies: a column says which wrote a row."""

import numpy as np
import pytest

from bandit_envs.logged import (
    InversePropensityScoring,
    balance_loggers,
    combine_estimates,
    concatenate,
    from_frame,
)
from bandit_envs.logged.loggers import logs_of_loggers, read_balanced
from tests.command_line import rows, run

pandas = pytest.importorskip("pandas")
ITEMS = np.array(["boots", "hats", "shoes"])
CHOICES = {"a": np.array([0.2, 0.3, 0.5]), "b": np.array([0.6, 0.4, 0.0])}
ROLES = {"action": "item", "reward": "paid", "propensity": "p", "features": ["country"]}


def table(size=4000, seed=0):
    """Two policies, of which one never shows shoes; shoes pay 0.6, others 0.2."""
    rng = np.random.default_rng(seed)
    logger = rng.choice(["a", "b"], size)
    item = np.where(
        logger == "a", rng.choice(3, size, p=CHOICES["a"]), rng.choice(3, size, p=CHOICES["b"])
    )
    frame = pandas.DataFrame({"country": rng.choice(["DE", "FR"], size), "logger": logger})
    frame["item"] = ITEMS[item]
    frame["paid"] = (rng.random(size) < np.where(item == 2, 0.6, 0.2)).astype(float)
    for name, chances in CHOICES.items():
        frame[f"p_{name}"] = chances[item]
    frame["p"] = np.where(logger == "a", frame["p_a"], frame["p_b"])
    return frame


def test_each_log_has_its_rows_and_the_encoding_of_the_whole():
    frame = table()
    logs = logs_of_loggers(frame, "logger", **ROLES)
    assert list(logs) == ["a", "b"]
    assert {log.encoding.actions for log in logs.values()} == {tuple(ITEMS)}
    assert {log.num_actions for log in logs.values()} == {3}
    order = np.argsort(frame["logger"], kind="stable")
    whole = from_frame(frame.drop(columns="logger"), **ROLES)
    assert concatenate([*logs.values()]) == whole[order.to_numpy()]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_are_read_as_frames_are(tmp_path, suffix):
    path = tmp_path / f"table.{suffix}"
    if suffix == "csv":
        table(300).to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow")
        table(300).to_parquet(path, index=False)
    assert logs_of_loggers(path, "logger", **ROLES) == logs_of_loggers(
        table(300), "logger", **ROLES
    )


def test_without_features_all_others_are_but_not_the_logger():
    logs = logs_of_loggers(table(50), "logger", **{**ROLES, "features": None})
    assert logs["a"].encoding.labels() == ["country=DE", "country=FR", "p_a", "p_b"]


def test_both_ways_to_join_them_are_near_the_truth():
    frame = table(20_000)
    logs = logs_of_loggers(frame, "logger", **ROLES)
    columns = [frame.loc[frame["logger"] == name, ["p_a", "p_b"]].to_numpy() for name in logs]
    balanced = balance_loggers([*logs.values()], columns)
    policy = np.tile([0.5, 0.0, 0.5], (len(balanced), 1))
    found = InversePropensityScoring().estimate(balanced, policy)
    assert abs(found.value - 0.4) < 5 * found.standard_error
    of_boots = np.array([1.0, 0.0, 0.0])  # which both may show
    estimates = [
        InversePropensityScoring().estimate(log, np.tile(of_boots, (len(log), 1)))
        for log in logs.values()
    ]
    combined = combine_estimates(estimates)
    assert abs(combined.value - 0.2) < 5 * combined.standard_error


def test_rows_without_a_logger_and_gaps_are_refused():
    frame = table(50)
    with pytest.raises(ValueError, match="the table has no column 'writer'"):
        logs_of_loggers(frame, "writer", **ROLES)
    with pytest.raises(ValueError, match="expected a table without gaps"):
        logs_of_loggers(frame, "logger", **ROLES, drop_missing=True)
    frame.loc[7, "logger"] = None
    with pytest.raises(ValueError, match="'logger' 1, first in row 7"):
        logs_of_loggers(frame, "logger", **ROLES)


def test_a_balanced_log_is_that_of_balance_loggers_in_the_order_of_the_table():
    frame = table(500)
    roles = {name: value for name, value in ROLES.items() if name != "propensity"}
    found = read_balanced(frame, "logger", {"a": "p_a", "b": "p_b"}, **roles)
    logs = logs_of_loggers(frame, "logger", **ROLES)
    columns = [frame.loc[frame["logger"] == name, ["p_a", "p_b"]].to_numpy() for name in logs]
    expected = balance_loggers([*logs.values()], columns)
    order = np.argsort(frame["logger"].to_numpy(), kind="stable")
    np.testing.assert_allclose(found.propensity[order], expected.propensity, rtol=1e-12)
    np.testing.assert_array_equal(found.action[order], expected.action)
    assert not found.estimated


@pytest.mark.parametrize(
    ("propensity", "message"),
    [
        ({"a": "p_a"}, "expected those of column 'logger': 'a', 'b'"),
        ({"a": "p_a", "b": "p_c"}, "the table has no column 'p_c'"),
        ({"a": "p_a", "b": "country"}, "expected a number"),
    ],
)
def test_propensities_that_cannot_be_those_of_the_loggers_are_refused(propensity, message):
    with pytest.raises(ValueError, match=message):
        read_balanced(table(50), "logger", propensity, action="item", reward="paid")


def test_the_command_balances_loggers(tmp_path):
    for package in ("joblib", "matplotlib", "rich"):
        pytest.importorskip(package)
    table(2000).to_csv(tmp_path / "table.csv", index=False)
    roles = ["--logger", "logger", "--action", "item", "--reward", "paid", "--features", "country"]
    options = [*roles, "--policy", "random", "--no-train", "--output", tmp_path / "out"]
    outcome = run("evaluate", tmp_path / "table.csv", *options, "--propensity", "a=p_a,b=p_b")
    assert outcome.code == 0, outcome.err
    roles = {"action": "item", "reward": "paid", "features": "country"}
    log = read_balanced(table(2000), "logger", {"a": "p_a", "b": "p_b"}, **roles)
    expected = InversePropensityScoring().estimate(log, np.full((2000, 3), 1 / 3)).value
    estimates = rows(tmp_path / "out" / "estimates.csv")
    (found,) = [row for row in estimates if row["estimator"] == "ips"]
    assert float(found["value"]) == pytest.approx(expected)
    options += ["--propensity", "p_a", "--overwrite"]
    outcome = run("evaluate", tmp_path / "table.csv", *options)
    assert outcome.code == 2
    assert "expected NAME=COLUMN,NAME=COLUMN" in " ".join(outcome.err.split())
