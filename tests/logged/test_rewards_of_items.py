"""Rewards in a second table, joined to decisions among items."""

import pytest

from bandit_envs.evaluations import evaluate, learn
from bandit_envs.logged import RewardTable, concatenate, from_frame, read_log, scan_log
from bandit_envs.logged.files.log_roles import LogRoles
from bandit_envs.logged.files.open_table import open_table
from bandit_envs.tables.parts import FramePart, Parts
from tests.logged.items import LONG, STRUCTS, WIDE, long_frame, struct_frame, wide_frame
from tests.logged.test_lists_in_tables import write

pandas = pytest.importorskip("pandas")

NAMES = [f"d{number}" for number in range(1, 7)]
DAYS = [f"2026-01-0{number}" for number in range(1, 7)]
PAID = pandas.DataFrame(
    {
        "decision": ["d5", "d3", "d1", "d3", "d6"],
        "reward": [2.0, 0.25, 1.0, 0.75, 1.0],
        "day": ["2026-01-06", "2026-01-03", "2026-01-01", "2026-01-05", "2026-01-08"],
    }
)
"""The rewards of the decisions in `tests.logged.items`, by parts."""

TABLES = {
    "long": (long_frame, LONG),
    "wide": (wide_frame, WIDE),
    "structs": (struct_frame, STRUCTS),
}


def table(kind):
    """Returns decisions without rewards, one a day, and what the columns are."""
    make, roles = TABLES[kind]
    frame = make()
    if "decision" not in frame:
        frame["decision"] = NAMES
    frame["day"] = frame["decision"].map(dict(zip(NAMES, DAYS)))
    roles = {**roles, "decision": "decision", "item_features": ["price", "kind"]}
    return frame.drop(columns="reward"), {**roles, "features": "hour"}


def expected_log(kind):
    """The log of the same decisions with their rewards in a column."""
    make, roles = TABLES[kind]
    return from_frame(make(), **{**roles, "features": "hour", "item_features": ["price", "kind"]})


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("source", ["frame", "csv", "parquet", "jsonl"])
def test_rewards_are_joined_to_decisions_among_items(tmp_path, kind, source):
    frame, roles = table(kind)
    if source == "frame":
        log = from_frame(frame, **roles, rewards=PAID)
    else:
        log = read_log(write(tmp_path, frame, source), **roles, rewards=PAID)
    assert log == expected_log(kind)


@pytest.mark.parametrize("kind", TABLES)
def test_a_window_leaves_out_whole_decisions_among_items(tmp_path, kind):
    frame, roles = table(kind)
    rewards = RewardTable(PAID, window="2d", until="2026-01-07")
    expected = expected_log(kind)[:5]
    log = from_frame(frame, **roles, time="day", rewards=rewards)
    assert log.reward.tolist() == expected.reward.tolist()
    assert log.item.tolist() == expected.item.tolist()
    assert (log.time / 86_400.0 - 20_454.0).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    path = write(tmp_path, frame, "csv")
    scan = scan_log(path, 2, **roles, time="day", rewards=rewards)
    assert concatenate(list(scan.with_dates(""))) == log
    text = "\n".join(scan.remarks())
    assert "2 of 5 decisions have no reward, which counts as 0" in text
    assert "decisions younger than 2d: 1, left out: those after 2026-01-05 00:00" in text
    assert "rewards before or too long after their decision" not in text


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", TABLES)
def test_another_column_may_cut_the_log(kind):
    frame, roles = table(kind)
    frame["number"] = frame["decision"].str[1:].astype(int)
    parts = Parts([FramePart(frame)])
    rewards = RewardTable(PAID, window="2d")
    columns = {"propensity": "propensity", "reward": "reward", "time": "day", "rewards": rewards}
    scan = open_table("it", parts, LogRoles.of(**{**columns, **roles}))
    earlier, later = scan.with_time("number").split("4")
    assert [len(earlier), len(later)] == [3, 3]
    assert next(iter(earlier)).reward.tolist() == [1.0, 0.0, 1.0]


def test_rows_of_a_decision_may_stand_anywhere_if_gathered():
    frame, roles = table("long")
    log = from_frame(frame.iloc[::-1], **roles, gather=True, rewards=PAID)
    assert log.reward.tolist() == expected_log("long").reward.tolist()[::-1]


@pytest.mark.parametrize("kind", TABLES)
def test_decisions_that_miss_values_are_left_out_before_the_join(kind):
    frame, roles = table(kind)
    frame.loc[frame["decision"] == "d3", "hour"] = None
    with pytest.raises(ValueError, match="1 of 6 decisions miss values"):
        from_frame(frame, **roles, rewards=PAID)
    log = from_frame(frame, **roles, drop_missing=True, rewards=PAID)
    assert log.reward.tolist() == [1.0, 0.0, 0.0, 2.0, 1.0]


def test_a_decision_without_an_id_is_left_out_or_refused():
    frame, roles = table("wide")
    frame.loc[2, "decision"] = None
    with pytest.raises(ValueError, match=r"'decision' .*; expected an integer or a text|miss"):
        from_frame(frame, **roles, rewards=PAID)
    log = from_frame(frame, **roles, drop_missing=True, rewards=PAID)
    assert log.reward.tolist() == [1.0, 0.0, 0.0, 2.0, 1.0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_evaluate_and_learn_take_them(tmp_path):
    frame, roles = table("long")
    scan = scan_log(write(tmp_path, frame, "csv"), **roles, rewards=PAID)
    options = {"train": None}
    found = evaluate(scan, "random", "ips", **options)
    known = evaluate(expected_log("long"), "random", "ips", **options)
    assert found.rows[1].value == known.rows[1].value == pytest.approx(1.597222222)
    learned = learn(scan, "direct_method", train=1.0).learned_from
    assert learned.size == 6
    assert learned.rewards.mean == pytest.approx(expected_log("long").reward.mean())


def test_the_command_joins_rewards_of_items(tmp_path, monkeypatch, capsys):
    pytest.importorskip("rich")
    from bandit_envs.cli import main  # noqa: PLC0415

    monkeypatch.chdir(tmp_path)
    frame, _ = table("long")
    write(tmp_path, frame, "csv")
    PAID.to_csv("paid.csv", index=False)
    roles = ["--decision", "decision", "--item", "item", "--features", "hour"]
    rewards = ["--rewards", "paid.csv", "--window", "day:3d", "--train", "none"]
    main(["evaluate", "log.csv", *roles, *rewards, "--policy", "random"])
    text = " ".join(capsys.readouterr().out.split())
    assert "2 of 5 decisions have no reward, which counts as 0" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decision": None}, "decision is None; expected the column of ids"),
        ({"rewards": PAID.assign(decision="x")}, "no decision of the log has an id"),
        ({"reward": "price"}, "has a column 'price', and rewards are in a table of their own"),
    ],
)
def test_what_cannot_be_joined_is_refused(change, message):
    frame, roles = table("wide")
    roles = {**roles, "rewards": PAID.rename(columns={"reward": change.get("reward", "reward")})}
    with pytest.raises(ValueError, match=message):
        from_frame(frame, **{**roles, **change})
