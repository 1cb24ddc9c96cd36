"""What `evaluate` estimates for the segments of a log."""

import dataclasses
import functools

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.logged import BanditLog, DirectMethodLearner, from_frame, scan_log, write_log
from bandit_envs.metrics.holm import holm
from tests.evaluations.logs import Unread, record_log, split_log, write_parts

POLICIES = ["constant:number=2", "random"]
COUNTRIES = ["DE", "FR", "US"]


def make_log(size=3000):
    """A log whose observations are dicts with texts and whole numbers, from a uniform policy."""
    rng = np.random.default_rng(0)
    country = rng.choice(COUNTRIES, size, p=[0.5, 0.3, 0.2])
    action = rng.integers(3, size=size)
    chance = 0.2 + 0.3 * ((country == "FR") & (action == 2))
    reward = rng.random(size) < chance
    observation = {"country": country, "hour": np.arange(size) % 12, "x": rng.normal(size=size)}
    return BanditLog(observation, action, reward, np.full(size, 1 / 3), 3)


@pytest.fixture(scope="module")
def log():
    return make_log()


@pytest.fixture(scope="module")
def recorded():
    return record_log()


@pytest.fixture(scope="module")
def few(recorded):
    """The first rows of a log."""
    return recorded[:800]


@pytest.fixture(scope="module")
def in_memory(few):
    """Returns what is found in the segments of the log as it is, by whether all rows count."""
    return functools.cache(lambda all_rows: evaluate_streams(few, all_rows))


def evaluate_streams(log, all_rows, **options):
    policies = {"text": "lin_ucb", "learned": DirectMethodLearner()}
    options |= {"by": "action", "baseline": "learned", "all_rows": all_rows}
    return evaluate(log, policies, ["snips", "dr"], **options)


def check_same_segments(found, expected, rel=1e-12):
    """Checks that the tables of two evaluations are the same, up to rounding."""
    assert list(found.segments) == list(expected.segments)
    for name, rows in found.segments.items():
        for row, same in zip(rows, expected.segments[name], strict=True):
            for value, other in zip(row, same, strict=True):
                if isinstance(value, float):
                    assert value == pytest.approx(other, rel=rel, abs=1e-12, nan_ok=True)
                else:
                    assert value == other


@pytest.mark.parametrize("by", ["country", "observation.country"])
def test_each_segment_has_the_table_of_its_rows(log, by):
    found = evaluate(log, POLICIES, ["ips", "snips"], by=by)
    assert list(found.segments) == COUNTRIES
    for country, rows in found.segments.items():
        alone = evaluate(log[log.observation["country"] == country], POLICIES, ["ips", "snips"])
        for row, expected in zip(rows, alone.rows, strict=True):
            for field in ("policy", "estimator", "rows", "warnings", "gain_rows"):
                assert getattr(row, field) == getattr(expected, field)
            for field in ("value", "standard_error", "gain", "gain_standard_error", "max_weight"):
                assert getattr(row, field) == pytest.approx(getattr(expected, field), nan_ok=True)
    whole = evaluate(log, POLICIES, ["ips", "snips"])
    assert found.rows[1:] == whole.rows[1:]
    assert sum(rows[0].rows for rows in found.segments.values()) == len(log)
    assert found.segments["FR"][1].gain > found.segments["DE"][1].gain + 0.1


def test_notes_say_where_policies_gain_and_lose(log):
    found = evaluate(log, POLICIES, ["snips"], by="country")
    assert found.notes == [
        "By country, constant:number=2 gains in 'FR', by snips and corrected p-values.",
        "By country, random has no certain gain or loss, by snips and corrected p-values.",
    ]
    same = evaluate(log, {"a": "random", "b": "random"}, ["snips"], by="country")
    assert same.notes == [
        "By country, each of a and b has no certain gain or loss, by snips and corrected p-values."
    ]
    over = evaluate(log, POLICIES, ["snips"], by="country", baseline="constant:number=2")
    assert over.notes[0].startswith("By country, random loses in 'FR', by snips")


def test_p_values_are_corrected_for_policies_and_segments(log):
    found = evaluate(log, POLICIES, "snips", by="country")
    alone = [
        evaluate(log[log.observation["country"] == country], policy, "snips").rows[1].p_value
        for country in COUNTRIES
        for policy in POLICIES
    ]
    p_values = [row.p_value for rows in found.segments.values() for row in rows[1:]]
    assert p_values == pytest.approx(holm(alone), rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "all_rows"),
    [("batches", False), pytest.param("folder", True, marks=pytest.mark.slow), ("workers", True)],
)
def test_segments_of_streams_are_those_of_memory(
    few, in_memory, tmp_path, monkeypatch, *, kind, all_rows
):
    expected = in_memory(all_rows)
    options = {}
    assert list(expected.segments) == ["0", "1", "2"]
    given = split_log(few, 3)
    if kind == "workers":
        pytest.importorskip("joblib")
        monkeypatch.setattr("bandit_envs.evaluations.logs.BATCH_ROWS", 200)
        options = {"workers": 2, "backend": "threading"}
    elif kind == "folder":
        given = write_parts(tmp_path / "parts", few)
    check_same_segments(evaluate_streams(given, all_rows, **options), expected)


def test_segments_have_the_rows_that_a_policy_has_not_seen(recorded):
    policies = {"learned": DirectMethodLearner(), "uniform": "random"}
    sizes = np.bincount(recorded.action[600:])
    found = evaluate(recorded, policies, "dr", by="action")
    for name, rows in found.segments.items():
        assert {row.rows for row in rows} == {sizes[int(name)]}
    found = evaluate(recorded, policies, "dr", by="action", all_rows=True, baseline="learned")
    logged, learned, uniform = found.segments["1"]
    assert logged.rows == uniform.rows == np.bincount(recorded.action)[1]
    assert learned.rows == uniform.gain_rows == sizes[1]


def test_a_segment_warns_of_actions_that_it_lacks(log):
    lacks = dataclasses.replace(log, action=np.where(log.observation["hour"] == 3, 0, log.action))
    found = evaluate(lacks, "constant:number=2", "ips", by="hour")
    assert list(found.segments) == [f"{hour}" for hour in range(12)]
    for hour, rows in found.segments.items():
        assert ("never logged: [2]" in rows[1].warnings) == (hour == "3")


def test_a_feature_of_a_table_cuts_a_log(tmp_path):
    pytest.importorskip("pandas")
    lines = [f"{row % 3},{row / 7},{row % 2},{row % 5},0.5" for row in range(600)]
    (tmp_path / "a.csv").write_text("\n".join(["shop,x,action,reward,propensity", *lines]))
    scan = scan_log(tmp_path / "a.csv", batch_rows=100, features=["x", "shop"])
    found = evaluate(scan, "random", "ips", by="shop")
    assert {name: rows[0].rows for name, rows in found.segments.items()} == dict.fromkeys(
        "012", 200
    )
    with pytest.raises(
        ValueError, match=r"the column x has 0\.14.*; segments are of whole numbers"
    ):
        evaluate(scan, "random", "ips", by="x")


def test_a_column_of_texts_of_a_table_cuts_a_log(tmp_path):
    pytest.importorskip("pandas")
    lines = [
        f"{COUNTRIES[row % 3]},{row % 2},{row % 5},0.5,2024-01-0{1 + row % 9}" for row in range(600)
    ]
    header = "country,action,reward,propensity,day"
    (tmp_path / "a.csv").write_text("\n".join([header, *lines]))
    scan = scan_log(tmp_path / "a.csv", batch_rows=100, features=["day", "country"])
    found = evaluate(scan, "random", "ips", by="country")
    sizes = {name: rows[0].rows for name, rows in found.segments.items()}
    assert sizes == dict.fromkeys(COUNTRIES, 200)
    with pytest.raises(ValueError, match="the column day is of times; segments are of whole"):
        evaluate(scan, "random", "ips", by="day")


def test_the_refusal_of_a_column_that_was_not_read_says_how_to_read_it(tmp_path):
    pytest.importorskip("pandas")
    lines = [f"{0.01 * row},{row % 2},{row % 3 % 2},0.5,{'ab'[row % 2]}" for row in range(20)]
    (tmp_path / "a.csv").write_text("\n".join(["x,action,reward,propensity,town", *lines]))
    known = r"\['x', 'action', 'reward', 'propensity'\]"
    with pytest.raises(ValueError, match=f"by is 'town'.* of {known}.*; to cut by another"):
        evaluate(scan_log(tmp_path / "a.csv", features=["x"]), "random", "ips", by="town")


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("town", r"by is 'town'; expected a column of \['action', 'reward', .* day:month"),
        ("x", "the column x has .*; segments are of whole numbers or texts"),
    ],
)
def test_columns_that_cut_no_log_are_refused(log, by, message):
    with pytest.raises(ValueError, match=message):
        evaluate(log, "random", "ips", by=by)


@pytest.mark.parametrize("batches", [1, 7])
def test_too_many_segments_are_refused(log, batches):
    with_users = dataclasses.replace(log, observation={"user": np.arange(len(log)) // 20})
    with pytest.raises(ValueError, match="the column user has more than 50 values"):
        evaluate(split_log(with_users, batches), "random", "ips", by="user")


@pytest.mark.parametrize("by", [3, "", ["country"]])
def test_what_names_no_column_is_refused_before_the_log_is_read(by):
    with pytest.raises(TypeError, match=r"by is .*; expected the name of a column"):
        evaluate(Unread(), "random", by=by)


def test_a_segment_of_one_row_is_named(log):
    country = log.observation["country"].copy()
    country[0] = "AT"
    found = evaluate(
        dataclasses.replace(log, observation={"country": country}), "random", "ips", by="country"
    )
    assert found.segments["AT"] == []
    assert found.notes[-1] == "Of one row, and so without estimates: country AT."


def test_the_tables_of_segments_are_a_frame_and_a_file(log, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    found = evaluate(log, "random", "ips", by="country")
    frame = found.segment_estimates
    assert frame.columns[0] == "country"
    assert frame["country"].tolist() == ["DE", "DE", "FR", "FR", "US", "US"]
    found.write(tmp_path)
    lines = (tmp_path / "segments.csv").read_text().splitlines()
    assert lines[0].startswith("country,policy,estimator,rows,")
    assert len(lines) == 7
    evaluate(log, "random", "ips").write(tmp_path)
    assert not (tmp_path / "segments.csv").exists()


def test_the_command_shows_a_table_for_each_segment(log, tmp_path, monkeypatch):
    for package in ("joblib", "filelock", "matplotlib", "rich"):
        pytest.importorskip(package)
    from tests.command_line import rows, run  # noqa: PLC0415 - needs packages of the command

    monkeypatch.setattr("bandit_envs.showing.plots.to_image", lambda *arguments: b"")
    write_log(tmp_path / "log.npz", log)
    specs = [word for policy in POLICIES for word in ("--policy", policy)]
    options = ["--estimator", "snips", "--by", "country", "--output", tmp_path / "out"]
    outcome = run("evaluate", tmp_path / "log.npz", *specs, *options)
    assert outcome.code == 0, outcome.err
    for country in COUNTRIES:
        assert f"country: {country}" in outcome.out
    assert outcome.out.count("corrected by Holm for 6 comparisons") == 3
    written = rows(tmp_path / "out" / "segments.csv")
    assert [row["country"] for row in written] == ["DE"] * 3 + ["FR"] * 3 + ["US"] * 3


def test_a_segment_names_actions_that_it_lacks():
    pandas = pytest.importorskip("pandas")
    rows = np.arange(400)
    country = np.where(rows < 200, "DE", "FR")
    item = np.where(rows % 2 == 0, "hat", np.where(rows < 200, "hat", "shoes"))
    table = pandas.DataFrame({"action": item, "country": country, "reward": 1.0 * (rows % 3 == 0)})
    found = evaluate(from_frame(table.assign(propensity=0.5)), "random", "ips", by="country")
    assert "never logged: ['shoes']" in found.segments["DE"][1].warnings
    assert "never logged" not in found.segments["FR"][1].warnings
