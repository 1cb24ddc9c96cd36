"""Evaluations by day, week, month or year."""

import warnings

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.evaluations.segments import Segmentation
from bandit_envs.logged import BanditLog, from_frame, read_log, scan_log, write_log

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

START = np.datetime64("2024-12-25T00:00:00", "s")


def table_in_time(size=3000, kind="text"):
    """Action 1 earns more until February, and less from then on."""
    rng = np.random.default_rng(0)
    when = START + np.sort(rng.integers(0, 100 * 86_400, size)).astype("m8[s]")
    action = rng.integers(0, 2, size)
    is_late = when >= np.datetime64("2025-02-01")
    times = when if kind == "dates" else np.datetime_as_string(when)
    return pandas.DataFrame(
        {
            "when": times,
            "age": rng.integers(20, 60, size) * 1.0,
            "action": action,
            "reward": np.where(is_late, 1.0 - action, 0.0 + action) + rng.normal(size=size),
            "propensity": 0.5,
        }
    )


MONTHS = ["2024-12", "2025-01", "2025-02", "2025-03", "2025-04"]
POLICY = {"one": "constant:number=1"}


@pytest.mark.parametrize("kind", ["text", "dates"])
def test_a_policy_that_wins_and_later_loses_is_seen_by_month(tmp_path, kind):
    frame = table_in_time(kind=kind)
    frame.to_csv(tmp_path / "log.csv", index=False)
    log = from_frame(frame, time="when")
    for each in (
        log,
        [log[:700], log[700:]],
        scan_log(tmp_path / "log.csv", 500, time="when"),
        read_log(tmp_path / "log.csv", time="when"),
    ):
        found = evaluate(each, POLICY, "snips", by="month")
        assert list(found.segments) == MONTHS
        gains = [rows[1].gain for rows in found.segments.values()]
        assert np.sign(gains).tolist() == [1.0, 1.0, -1.0, -1.0, -1.0]
        text = "By month, one gains in '2025-01' and loses in '2025-02', '2025-03'"
        assert any(text in note.replace("'2024-12', ", "") for note in found.notes)
        own = log[np.datetime_as_string((log.time * 1e6).astype("M8[us]"), "M") == "2025-02"]
        alone = evaluate(own, POLICY, "snips").rows[1]
        assert found.segments["2025-02"][1].value == pytest.approx(alone.value, rel=1e-9)


def test_a_column_of_dates_is_named_with_the_period(tmp_path):
    table_in_time().to_csv(tmp_path / "log.csv", index=False)
    scan = scan_log(tmp_path / "log.csv", 500, features=["age"])
    assert list(evaluate(scan, POLICY, "ips", by="when:month").segments) == MONTHS
    every = scan_log(tmp_path / "log.csv", 500)
    found = evaluate(every, POLICY, "dr", by="when:month")
    assert found.summary.encoding.names == ["age"]  # time is no feature then


def test_a_time_that_cuts_the_log_is_the_one_of_periods(tmp_path):
    table_in_time().to_csv(tmp_path / "log.csv", index=False)
    scan = scan_log(tmp_path / "log.csv", 500, features=["age"])
    found = evaluate(scan, "lin_ucb", "snips", until="when=2025-02-01", by="month")
    assert list(found.segments) == MONTHS[2:]
    assert found.rows[1].gain < 0.0  # what was learned until February
    with pytest.raises(ValueError, match="'when' and 'age' are named as times; expected one"):
        evaluate(scan, "lin_ucb", "snips", until="when=2025-02-01", by="age:month")


@pytest.mark.parametrize(
    ("period", "first", "number"), [("week", "2024-12-23", 15), ("year", "2024", 2)]
)
def test_periods_begin_with_their_first_day(period, first, number):
    found = evaluate(from_frame(table_in_time(), time="when"), POLICY, "ips", by=period)
    assert next(iter(found.segments)) == first
    assert len(found.segments) == number
    rows = [rows[0].rows for rows in found.segments.values()]
    assert sum(rows) == 3000


def test_weeks_begin_on_monday():
    days = np.arange("1969-12-20", "1970-01-20", dtype="M8[D]")
    seconds = days.astype("M8[s]").astype(float)
    log = BanditLog(
        np.ones((31, 1)), np.zeros(31, int), np.ones(31), np.ones(31), 2, time=seconds + 86_399.0
    )
    for name, rows in Segmentation.of("week").cut(log):
        assert pandas.Timestamp(name).day_name() == "Monday"
        assert (days[rows] - np.datetime64(name)).astype(int).tolist() in (
            list(range(7)),
            [5, 6],
            [0],
            [0, 1],
        )


def test_too_many_periods_are_refused():
    log = from_frame(table_in_time(), time="when")
    with pytest.raises(ValueError, match="the column day has more than 60 values"):
        evaluate(log, POLICY, "ips", by="day")


def test_a_feature_that_is_called_as_a_period_is_a_column():
    frame = table_in_time().rename(columns={"age": "month"})
    frame["month"] = np.arange(3000) % 12
    found = evaluate(from_frame(frame, features=["month"], time="when"), POLICY, "ips", by="month")
    assert list(found.segments) == [str(month) for month in range(12)]
    assert not found.is_over_time


def test_logs_without_times_are_refused(tmp_path):
    frame = table_in_time()
    frame.to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(ValueError, match="by is 'month', and the log has no times"):
        evaluate(from_frame(frame, features=["age"]), POLICY, "ips", by="month")
    with pytest.raises(
        ValueError, match="no column of times is named; expected its name and the period"
    ):
        evaluate(scan_log(tmp_path / "log.csv"), POLICY, "ips", by="month")
    with pytest.raises(ValueError, match="no column 'day'"):
        evaluate(scan_log(tmp_path / "log.csv"), POLICY, "ips", by="day:month")
    with pytest.raises(ValueError, match="a date or a time, as in 2024-12-31 23:59"):
        evaluate(scan_log(tmp_path / "log.csv"), POLICY, "ips", by="age:month")


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
def test_logs_in_files_keep_times(tmp_path, suffix):
    pytest.importorskip("pyarrow")
    log = from_frame(table_in_time(), time="when")
    write_log(tmp_path / f"log{suffix}", log)
    assert read_log(tmp_path / f"log{suffix}") == log
    found = evaluate(
        tmp_path / f"log{suffix}", "lin_ucb", "snips", until="time=2025-02-01", by="month"
    )
    assert list(found.segments) == MONTHS[2:]


def test_a_page_has_the_curve_over_time(tmp_path):
    pytest.importorskip("plotly")
    found = evaluate(from_frame(table_in_time(), time="when"), POLICY, "ips", by="month")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.write_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Over time" in page
    assert all(month in page for month in MONTHS)


def test_a_picture_has_the_curve_over_time():
    pytest.importorskip("matplotlib")
    from bandit_envs.evaluations.showing.estimate_figures import draw_times  # noqa: PLC0415

    found = evaluate(from_frame(table_in_time(), time="when"), POLICY, "ips", by="month")
    values, gains = draw_times(found.segments, "logged").axes
    curve = [line for line in values.get_lines() if line.get_label() == "one"]
    expected = [rows[1].value for rows in found.segments.values()]
    assert curve[0].get_ydata().tolist() == expected
    assert any(
        line.get_ydata().tolist() == [rows[1].gain for rows in found.segments.values()]
        for line in gains.get_lines()
    )


def test_times_are_of_years_that_calendars_have():
    with pytest.raises(ValueError, match=r"time is .* expected seconds since 1970"):
        BanditLog(np.ones((1, 1)), [0], [1.0], [0.5], time=[1e15])
