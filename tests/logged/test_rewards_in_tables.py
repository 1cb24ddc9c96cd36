"""Rewards in a second table, joined to decisions by their ids."""

import pickle

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.logged import RewardTable, SelfNormalizedIPS, from_frame, read_log, scan_log
from bandit_envs.logged.estimators import LateRewards
from tests.command_line import run

pd = pytest.importorskip("pandas")

NAMES = {"decision": "id", "reward": "paid"}


def decisions(size=6):
    """Decisions, one a day."""
    return pd.DataFrame(
        {
            "id": [f"d{number}" for number in range(size)],
            "when": pd.date_range("2026-01-01", periods=size, freq="D").astype(str),
            "action": ["red", "blue"] * (size // 2),
            "propensity": [0.5] * size,
            "age": np.arange(size) / size,
        }
    )


CONVERSIONS = pd.DataFrame(
    {
        "paid": [2.0, 1.0, 4.0, 8.0],
        "id": ["d1", "d4", "d1", "d99"],
        "when": ["2026-01-05", "2026-01-05", "2026-01-02", "2026-01-07"],
    }
)


def test_the_sum_of_a_decision_counts_and_0_without_any():
    log = from_frame(decisions(), **NAMES, rewards=CONVERSIONS, features="age")
    assert log.reward.tolist() == [0.0, 6.0, 0.0, 0.0, 1.0, 0.0]
    known = from_frame(decisions().assign(paid=log.reward), reward="paid", features="age")
    assert known.action.tolist() == log.action.tolist()


def test_the_first_by_its_time_counts_if_asked():
    more = CONVERSIONS.replace({"when": {"2026-01-07": "2026-02-04"}})
    table = RewardTable(more, window="30d", only_first=True)
    log = from_frame(decisions(), **NAMES, rewards=table, time="when")
    assert log.reward.tolist() == [0.0, 4.0, 0.0, 0.0, 1.0]
    table = RewardTable(CONVERSIONS, only_first=True)
    assert from_frame(decisions(), **NAMES, rewards=table).reward[1] == 2.0  # in the table's order


def test_a_window_leaves_out_late_rewards_and_young_decisions():
    table = RewardTable(CONVERSIONS, window="2d")
    log = from_frame(decisions(), **NAMES, rewards=table, time="when", features="age")
    assert log.reward.tolist() == [0.0, 4.0, 0.0, 0.0, 1.0]  # d5 is one day old on January 7
    assert log.observation[:, 0].tolist() == (np.arange(5) / 6).tolist()


def test_decisions_after_the_last_reward_are_young():
    more = decisions()
    more.loc[5, "when"] = "2026-06-01"
    table = RewardTable(CONVERSIONS, window="2d")
    with pytest.warns(UserWarning, match="no reward of .* is of the last 145 days of the log"):
        log = from_frame(more, **NAMES, rewards=table, time="when")
    assert log.reward.tolist() == [0.0, 4.0, 0.0, 0.0, 1.0]


def seldom_rewarded(size=200):
    """A decision an hour, and rewards of four of them, the last long before the newest."""
    start = pd.Timestamp("2026-01-01")
    logs = pd.DataFrame(
        {
            "id": range(size),
            "when": start + pd.to_timedelta(np.arange(size), unit="h"),
            "action": 0,
            "propensity": 1.0,
            "age": 1.0,
        }
    )
    hours = np.array([10, 60, 120, 160])
    paid = pd.DataFrame({"id": hours - 5, "when": start + pd.to_timedelta(hours, unit="h")})
    return logs, paid.assign(paid=1.0)


def test_rare_rewards_are_exported_when_the_newest_decision_was_made():
    logs, paid = seldom_rewarded()
    names = {**NAMES, "time": "when"}
    log = from_frame(logs, **names, rewards=RewardTable(paid, window="12h"))
    assert (len(log), log.reward.sum()) == (188, 4.0)  # up to 12 hours before hour 199
    early = RewardTable(paid, window="12h", until="2026-01-07 16:00")  # hour 160
    assert len(from_frame(logs, **names, rewards=early)) == 149
    age = early.arrivals(logs, decision="id", reward="paid", time="when").age
    assert (age[150] / 3600.0, age[199]) == (10.0, 0.0)


def test_rewards_that_end_long_before_the_log_are_exported_then():
    logs, paid = seldom_rewarded()
    many = paid.loc[np.repeat(0, 60)].assign(id=np.arange(60), when=logs["when"][:60].to_numpy())
    table = RewardTable(many, window="12h")
    with pytest.warns(UserWarning, match=r"of the last 5.83 days of the log, .* 2026-01-03 11:00"):
        log = from_frame(logs, **NAMES, time="when", rewards=table)
    assert log.reward.tolist() == [1.0] * 48  # none counts as 0 whose reward may be missing
    named = RewardTable(many, window="12h", until="2026-02-01")
    assert len(from_frame(logs, **NAMES, time="when", rewards=named)) == 200


def test_rewards_with_dates_alone_count_from_the_day_of_the_decision_on():
    logs = decisions().assign(when=lambda frame: frame["when"].str[:10] + " 18:30")
    table = RewardTable(CONVERSIONS, window="2d", until="2026-02-01")
    log = from_frame(logs, **NAMES, rewards=table, time="when")
    assert log.reward.tolist() == [0.0, 4.0, 0.0, 0.0, 1.0, 0.0]
    found = table.arrivals(logs, decision="id", reward="paid", time="when")
    assert found.delay[[1, 4]].tolist() == [0.0, 0.0]
    times = CONVERSIONS.assign(when=CONVERSIONS["when"] + " 06:00")
    table = RewardTable(times, window="2d", until="2026-02-01")
    log = from_frame(logs, **NAMES, rewards=table, time="when")
    assert log.reward.tolist() == [0.0] * 6  # those that come before their decision


def test_decisions_without_a_reward_are_left_out_if_asked():
    table = RewardTable(CONVERSIONS, drops_unrewarded=True)
    assert from_frame(decisions(), **NAMES, rewards=table).reward.tolist() == [6.0, 1.0]


@pytest.fixture
def folder(tmp_path):
    """Files of both tables, in which ids are numbers."""
    logs = decisions()
    logs["id"] = [int(text[1:]) for text in logs["id"]]
    paid = CONVERSIONS.assign(id=[int(text[1:]) for text in CONVERSIONS["id"]])
    (tmp_path / "log").mkdir()
    logs[:3].to_csv(tmp_path / "log" / "a.csv", index=False)
    logs[3:].to_csv(tmp_path / "log" / "b.csv", index=False)
    paid.to_parquet(tmp_path / "conversions.parquet")
    return tmp_path


def test_files_in_batches_have_the_same_rewards(folder):
    table = RewardTable(folder / "conversions.parquet", window="2d")
    scan = scan_log(folder / "log", 2, **NAMES, rewards=table, time="when", features="age")
    batches = list(scan)
    assert max(map(len, batches)) == 2
    found = np.concatenate([batch.reward for batch in batches]).tolist()
    assert found == [0.0, 4.0, 0.0, 0.0, 1.0]
    again = pickle.loads(pickle.dumps(scan))  # as workers are sent it
    assert np.concatenate([batch.reward for batch in again]).tolist() == found
    text = "\n".join(scan.remarks())
    assert "the sum of a decision's, up to 2d after it" in text
    assert "3 of 5 decisions have no reward, which counts as 0" in text
    assert "decisions younger than 2d: 1, left out" in text
    assert "rewards before or too long after their decision: 1" in text
    assert "rewards of no decision of the log: 1" in text
    earlier, later = scan.split("2026-01-03")
    assert (len(earlier), len(later)) == (2, 3)


@pytest.mark.parametrize(("own", "other"), [("", "Z"), ("+02:00", "Z"), ("+02", "")])
def test_times_of_two_zones_are_refused(own, other):
    logs = decisions()
    logs["when"] += " 12:00" + own
    sales = CONVERSIONS.assign(when=CONVERSIONS["when"] + " 13:30" + other)
    with pytest.raises(ValueError, match="expected one zone in both"):
        from_frame(logs, **NAMES, rewards=RewardTable(sales, window="2d"), time="when")


def test_a_zone_may_be_written_in_several_ways():
    logs = decisions()
    logs["when"] = pd.to_datetime(logs["when"] + " 12:00", utc=True)
    sales = CONVERSIONS.assign(when=CONVERSIONS["when"] + " 13:30Z")
    table = RewardTable(sales, window="2d")
    log = from_frame(logs, **NAMES, rewards=table, time="when", features="age")
    assert log.reward.tolist() == [0.0, 4.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(("time", "told"), [(" 08:00:00", True), ("", False)])
def test_rewards_that_stand_twice_are_counted(tmp_path, time, told):
    decisions().to_csv(tmp_path / "log.csv", index=False)
    sales = CONVERSIONS.assign(when=CONVERSIONS["when"] + time)
    table = RewardTable(pd.concat([sales, sales[:2]]), window="2d")
    scan = scan_log(tmp_path / "log.csv", **NAMES, rewards=table, time="when", features="age")
    text = "rewards with the decision, the time and the value of another: 2, which count, too"
    assert (text in scan.remarks()) == told


def test_evaluate_takes_it_and_says_what_counts(folder):
    path = str(folder / "conversions.parquet")
    log = read_log(folder / "log", **NAMES, rewards=path, features="age")
    scan = scan_log(folder / "log", **NAMES, rewards=path, features="age")
    found = evaluate(scan, {"even": "random"}, [SelfNormalizedIPS()], train=None)
    assert found.rows[0].value == pytest.approx(log.reward.mean())


def test_the_value_is_that_of_one_table():
    rng = np.random.default_rng(0)
    size = 4000
    logs = pd.DataFrame(
        {
            "id": rng.permutation(size),
            "action": rng.integers(0, 2, size),
            "propensity": 0.5,
            "age": rng.random(size),
        }
    )
    rows = rng.integers(0, size, 3000)
    paid = pd.DataFrame({"id": logs["id"].to_numpy()[rows], "reward": rng.random(3000)})
    known = np.bincount(rows, paid["reward"], minlength=size)
    log = from_frame(logs, decision="id", rewards=paid, features="age")
    np.testing.assert_allclose(log.reward, known, rtol=1e-12)


def test_late_rewards_of_young_decisions_are_corrected():
    rng = np.random.default_rng(3)
    size = 20_000
    start = np.datetime64("2026-01-01", "s")
    day = 86_400
    made = np.sort(rng.uniform(0.0, 20.0, size))
    delay = rng.exponential(4.0, size).clip(max=9.9)
    action = rng.integers(0, 2, size)
    pays = rng.random(size) < np.where(action == 1, 0.4, 0.2)
    is_known = pays & (made + delay <= 20.0)
    logs = pd.DataFrame(
        {
            "id": np.arange(size),
            "when": start + (made * day).astype(int),
            "action": action,
            "propensity": 0.5,
            "x": 1.0,
        }
    )
    when = start + ((made + delay) * day).astype(int)
    paid = pd.DataFrame({"id": np.arange(size), "reward": 1.0, "when": when})[is_known]
    table = RewardTable(paid, window="10d")
    found = table.arrivals(logs, decision="id", time="when")
    assert found.age.max() == 10 * day
    columns = logs[["action", "propensity", "x"]].assign(reward=found.reward)
    with pytest.warns(UserWarning, match="take longer than"):
        late = LateRewards.from_rows(from_frame(columns), found.delay, found.age)
    estimate = late.estimate(SelfNormalizedIPS(), np.tile([0.0, 1.0], (len(late.log), 1)))
    assert columns["reward"][action == 1].mean() < 0.36
    assert abs(estimate.value - 0.4) < 3.0 * estimate.standard_error
    old = from_frame(logs, decision="id", rewards=table, time="when", features="x")
    assert old.reward[old.action == 1].mean() == pytest.approx(0.4, abs=0.025)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decision": None}, "decision is None; expected the column of ids"),
        ({"rewards": CONVERSIONS.assign(id="x")}, "no decision of the log has an id"),
        ({"rewards": CONVERSIONS[["id"]]}, "the table of rewards has no column 'paid'"),
        ({"rewards": CONVERSIONS.assign(paid=np.nan)}, "4 of 4 rows miss values"),
        ({"rewards": RewardTable(CONVERSIONS, window="2d")}, "no column of times is named"),
        (
            {"rewards": RewardTable(CONVERSIONS, window="2 years"), "time": "when"},
            "window is '2 years'; expected a number of s, min, h, d, w",
        ),
        ({"reward": "age"}, "has a column 'age', and rewards are in a table of their own"),
        (
            {"rewards": RewardTable(CONVERSIONS, window="2d", until="May"), "time": "when"},
            "until is 'May'; expected a date or a time",
        ),
        (
            {"rewards": RewardTable(CONVERSIONS, until="2026-01-07")},
            "until is '2026-01-07', and window is None",
        ),
        (
            {"rewards": RewardTable(CONVERSIONS, window="8d"), "time": "when"},
            "all 6 decisions are younger than 8d on 2026-01-07 00:00",
        ),
    ],
)
def test_what_cannot_be_joined_is_refused(change, message):
    arguments = {**NAMES, "rewards": CONVERSIONS, **change}
    if arguments["reward"] == "age":
        arguments["rewards"] = CONVERSIONS.rename(columns={"paid": "age"})
    with pytest.raises(ValueError, match=message):
        from_frame(decisions(), **arguments)


def test_a_decision_that_is_twice_in_the_log_is_refused():
    twice = pd.concat([decisions(), decisions()[1:2]], ignore_index=True)
    with pytest.raises(ValueError, match=r"column 'id' is 'd1' in row .*each decision once"):
        from_frame(twice, **NAMES, rewards=CONVERSIONS)


def test_arrivals_have_one_delay_a_decision():
    names = {"decision": "id", "reward": "paid", "time": "when"}
    with pytest.raises(ValueError, match=r"column 'id' is 'd1' .*only_first=True"):
        RewardTable(CONVERSIONS, window="5d").arrivals(decisions(), **names)
    found = RewardTable(CONVERSIONS, window="5d", only_first=True).arrivals(decisions(), **names)
    assert found.reward.tolist() == [0.0, 4.0, 0.0, 0.0, 1.0, 0.0]
    days = 86_400.0
    np.testing.assert_array_equal(found.delay / days, [np.nan, 0.0, np.nan, np.nan, 0.0, np.nan])
    assert (found.age / days).tolist() == [5.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    with pytest.raises(ValueError, match="window is None"):
        RewardTable(CONVERSIONS).arrivals(decisions(), **names)
    with pytest.raises(ValueError, match="drops_unrewarded is True; expected False"):
        RewardTable(CONVERSIONS, "5d", drops_unrewarded=True).arrivals(decisions(), **names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--window", "when:2d"], "--rewards is not given; expected a table"),
        (["--rewards", "conversions.parquet", "--window", "2d"], "expected COLUMN:14d"),
        (
            ["--rewards", "conversions.parquet", "--window", "when:2d", "--train", "age=0.5"],
            "'age' and 'when' are named as times",
        ),
        (["--rewards", "conversions.parquet", "--slot", "id"], "slates have no --rewards"),
    ],
)
def test_options_of_rewards_that_do_not_fit_are_refused(folder, monkeypatch, options, message):
    pytest.importorskip("rich")
    monkeypatch.chdir(folder)
    code, _, err = run("evaluate", "log", "--decision", "id", *options, "--policy", "random")
    assert code
    assert message in " ".join(err.split())


def test_the_command_joins_rewards(folder, monkeypatch, capsys):
    pytest.importorskip("rich")
    from bandit_envs.cli import main  # noqa: PLC0415

    monkeypatch.chdir(folder)
    names = ["--decision", "id", "--reward", "paid", "--rewards", "conversions.parquet"]
    rest = ["--features", "age", "--train", "none", "--policy", "random"]
    main(["evaluate", "log", *names, "--window", "when:2d", *rest])
    text = " ".join(capsys.readouterr().out.split())
    assert "3 of 5 decisions have no reward, which counts as 0" in text
    assert "the table has no times of day; exported 2026-01-07 00:00, the time of the" in text
    main(["evaluate", "log", *names, "--window", "when:2d:2026-01-05 12:00", *rest])
    text = " ".join(capsys.readouterr().out.split())
    assert "exported 2026-01-05 12:00, as it is said" in text
    assert "decisions younger than 2d: 3, left out: those after 2026-01-03 12:00" in text
