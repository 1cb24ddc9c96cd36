"""Logs of items with features in users' tables."""

import itertools
import pickle

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.logged import from_frame, read_log, scan_log
from bandit_envs.logged.joining import concatenate
from bandit_envs.tables import parts
from bandit_envs.tables.decisions import candidate_rows, candidate_table
from tests.logged.items import DECISIONS, LONG, long_frame

pandas = pytest.importorskip("pandas")


def read(frame, **options):
    return from_frame(frame, **LONG, **options)


def changed(row, column, value):
    frame = long_frame()
    frame[column] = frame[column].astype(object)
    frame.loc[row, column] = value
    return frame


def split_files(folder, frame, limits):
    folder.mkdir()
    ends = [0, *limits, len(frame)]
    for number, (start, stop) in enumerate(itertools.pairwise(ends)):
        frame.iloc[start:stop].to_csv(folder / f"part-{number}.csv", index=False)
    return folder


def test_a_long_table_is_a_log_of_items():
    log = read(long_frame())
    assert log.encoding.labels() == ["hour"]
    assert log.encoding.of_items().labels() == ["price", "kind=news", "kind=sport", "kind=video"]
    assert log.encoding.items == ("a", "b", "c", "d", "e", "f")
    assert log.item.tolist()[:2] == [[0, 1, 2, -1], [1, 3, -1, -1]]
    assert log.action.tolist() == [1, 1, 1, 1, 0, 1]
    assert log.reward.tolist() == [1.0, 0.0, 1.0, 0.0, 2.0, 1.0]
    assert log.propensity.tolist() == [0.5, 0.4, 0.25, 0.8, 0.1, 0.2]
    assert log.action_probabilities[1].tolist() == [0.6, 0.4, 0.0, 0.0]
    assert log.observation["global"].ravel().tolist() == [0.2, 0.7, 0.4, 0.9, 0.1, 0.6]
    assert log.observation["per_arm"][1].tolist() == [
        [2.0, 0.0, 1.0, 0.0],
        [1.5, 0.0, 0.0, 1.0],
        [0.0] * 4,
        [0.0] * 4,
    ]
    assert log.observation["mask"].sum(axis=1).tolist() == [3, 2, 4, 2, 3, 4]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_gives_the_log_of_its_frame(tmp_path, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
        long_frame().to_parquet(tmp_path / "log.parquet", index=False)
    else:
        long_frame().to_csv(tmp_path / "log.csv", index=False)
    assert read_log(tmp_path / f"log.{suffix}", **LONG) == read(long_frame())


@pytest.mark.parametrize("options", [{"features": "hour"}, {"item_features": ["price", "kind"]}])
def test_columns_without_a_role_are_those_of_the_other_features(options):
    assert read(long_frame(), **options) == read(long_frame())


def test_a_column_that_never_changes_in_a_decision_is_no_feature_of_items(tmp_path):
    frame = long_frame()
    frame["user"] = "user of " + frame["decision"]
    assert read(frame, features="hour") == read(long_frame())
    frame.to_csv(tmp_path / "log.csv", index=False)
    remarks = scan_log(tmp_path / "log.csv", features="hour", **LONG).remarks()
    assert "column 'user' is not used; --unit user, or unit='user'" in "\n".join(remarks)
    named = scan_log(tmp_path / "log.csv", features="hour", unit="user", **LONG)
    assert "is not used" not in "\n".join(named.remarks())


def test_a_table_may_have_no_context():
    log = read(long_frame().drop(columns="hour"))
    assert log.observation["global"].shape == (6, 0)


def test_a_mask_is_left_out_if_all_decisions_have_as_many_candidates():
    frame = long_frame()
    log = read(frame[frame.decision.isin(["d3", "d6"])])
    assert "mask" not in log.observation


def test_only_the_propensities_of_the_chosen_may_be_known():
    frame = long_frame()
    log = read(frame.assign(propensity=frame.propensity.where(frame.chosen == 1)))
    assert log.action_probabilities is None
    assert log.propensity.tolist() == read(frame).propensity.tolist()


def test_one_propensity_may_be_that_of_all_decisions():
    assert read(long_frame(), propensity=0.25).propensity.tolist() == [0.25] * 6


def test_items_that_look_like_numbers_keep_their_names(tmp_path):
    frame = long_frame()
    frame["item"] = frame.item.map({name: f"0{place}" for place, name in enumerate("abcdef")})
    frame.to_csv(tmp_path / "log.csv", index=False)
    assert read_log(tmp_path / "log.csv", **LONG).encoding.items == tuple(f"0{n}" for n in range(6))


@pytest.mark.parametrize("table_rows", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("limits", [(), (3, 9), (1, 2, 4), (2, 6, 7, 8, 12)])
def test_a_decision_may_go_on_in_the_next_batch_and_file(tmp_path, monkeypatch, table_rows, limits):
    monkeypatch.setattr(candidate_table, "TABLE_ROWS", table_rows)
    folder = split_files(tmp_path / "log", long_frame(), limits)
    scan = scan_log(folder, **LONG)
    expected = read(long_frame())
    assert concatenate(list(scan)) == expected
    by_part = [batch for part in scan.cut(by_workers=True) for batch in part]
    assert concatenate(by_part) == expected


def test_padded_numbers_of_a_batch_are_bounded(tmp_path, monkeypatch):
    long_frame().to_csv(tmp_path / "log.csv", index=False)
    monkeypatch.setattr(candidate_rows, "BATCH_NUMBERS", 2 * 4 * 4)
    batches = list(scan_log(tmp_path / "log.csv", **LONG))
    assert max(map(len, batches)) == 2
    assert concatenate(batches) == read(long_frame())


def test_rows_that_stand_anywhere_are_gathered(tmp_path):
    frame = long_frame()
    shuffled = frame.sample(frac=1.0, random_state=0)
    log = read(shuffled, gather=True)
    order = [list(DECISIONS).index(name) for name in shuffled.decision.drop_duplicates()]
    expected = read(frame)[order]
    assert log.propensity.tolist() == expected.propensity.tolist()
    assert log.reward.tolist() == expected.reward.tolist()
    folder = split_files(tmp_path / "log", shuffled, (7,))
    assert read_log(folder, gather=True, **LONG) == log


def test_decisions_that_miss_values_are_dropped_whole():
    expected = read(long_frame())[[0, 1, 2, 4, 5]]
    log = read(changed(9, "price", None), drop_missing=True)
    assert log.reward.tolist() == expected.reward.tolist()
    assert log.observation["mask"].tolist() == expected.observation["mask"].tolist()


@pytest.mark.parametrize("features", [None, "hour"])
def test_a_gap_of_the_context_is_no_change(features):
    frame = changed(1, "hour", None).astype({"hour": float})
    log = read(frame, drop_missing=True, features=features)
    assert log.encoding.names == ["hour"]
    assert log.observation["global"].ravel().tolist() == [0.7, 0.4, 0.9, 0.1, 0.6]


def test_texts_in_brackets_are_no_lists():
    frame = long_frame()
    frame["kind"] = "[" + frame["kind"] + "] offer"
    log = read(frame)
    assert "kind=[news] offer" in log.encoding.of_items().labels()


def test_a_scan_says_how_many_decisions_miss_values(tmp_path):
    changed(9, "price", None).to_csv(tmp_path / "log.csv", index=False)
    remarks = scan_log(tmp_path / "log.csv", drop_missing=True, **LONG).remarks()
    assert "1 of 6 decisions miss values, and are left out" in remarks
    assert "6 items, 2 to 4 in a decision" in remarks


def test_a_scan_of_items_is_cut_by_time(tmp_path):
    frame = long_frame()
    frame["hour"] = frame.decision.map({f"d{n}": n for n in range(7)})
    frame.to_csv(tmp_path / "log.csv", index=False)
    earlier, later = scan_log(tmp_path / "log.csv", time="hour", **LONG).split("3")
    assert (sum(map(len, earlier)), sum(map(len, later))) == (2, 4)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (lambda: changed(4, "chosen", 0), "decision 'd2', which begins in row 3, has no chosen"),
        (lambda: changed(5, "chosen", 1), "decision 'd3', .* row 5, has several chosen"),
        (lambda: changed(2, "chosen", 2), "'chosen' is 2 in row 2, of decision 'd1'; expected 1"),
        (lambda: changed(1, "item", "a"), "decision 'd1', .* row 0, has the item 'a' twice"),
        (lambda: changed(1, "reward", None), "'reward' 1, first in row 1, of decision 'd1'"),
        (lambda: changed(0, "reward", 0.5), "'reward' is 0.5 in row 0, of decision 'd1'"),
        (lambda: changed(10, "propensity", None), "'propensity' 1, first in row 10"),
        (lambda: changed(13, "propensity", 0.2), "decision 'd5', .* has 'propensity' with the sum"),
        (lambda: changed(2, "hour", 0.3), "'hour' is 0.3 in row 2, of decision 'd1'"),
        (lambda: changed(2, "decision", None), "'decision' is None in row 2; expected the name"),
        (lambda: changed(5, "decision", "d1"), "'d1' begins again in row 5 .first in row 0.; sort"),
        (lambda: long_frame()[["decision", "item", "chosen", "propensity", "reward"]], "no column"),
        (lambda: long_frame().iloc[:0], "the table has no rows"),
    ],
)
def test_tables_that_cannot_be_logs_of_items_are_refused(frame, message):
    with pytest.raises(ValueError, match=message):
        read(frame(), features="hour" if "hour" in frame() else ())


def test_errors_name_the_file_and_the_line(tmp_path):
    folder = split_files(tmp_path / "log", changed(9, "chosen", 1), (8, 10))
    with pytest.raises(ValueError, match=r"part-1.csv .* 'd4', which begins in line 3"):
        list(scan_log(folder, **LONG))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decision": "decision"}, "decision is given; expected item"),
        ({"item_features": "price"}, "item_features is given; expected item"),
        ({"chosen": "taken"}, "chosen is given; expected item"),
        ({"gather": True}, "gather is True; expected item"),
        ({**LONG, "action": "item"}, "action is given; expected a log of actions"),
        ({**LONG, "embedding": "price"}, "embedding is given; expected a log of actions"),
        ({**LONG, "num_actions": 3}, "num_actions is 3; expected None"),
        ({**LONG, "propensity": 1.5}, "propensity is 1.5; expected above 0"),
        ({**LONG, "item_features": "hour", "features": "hour"}, "two roles"),
    ],
)
def test_arguments_of_another_kind_of_log_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        from_frame(long_frame(), **options)


def test_numbered_items_and_decisions_are_read():
    frame = long_frame()
    frame["item"] = frame.item.map({name: 10 * place for place, name in enumerate("abcdef")})
    frame["decision"] = frame.decision.str[1:].astype(int)
    log = read(frame)
    assert log.encoding.items == ("0", "10", "20", "30", "40", "50")
    assert np.array_equal(log.item, read(long_frame()).item)


@pytest.mark.parametrize(
    ("role", "other"), [("unit", "u9"), ("time", "2024-01-09"), ("weight", 9.0)]
)
def test_what_is_said_of_a_decision_is_the_same_in_its_rows(tmp_path, role, other):
    values = {"unit": "u1", "time": "2024-01-01", "weight": 1.0}
    frame = long_frame().assign(extra=values[role])
    assert len(from_frame(frame, **LONG, **{role: "extra"})) == 6
    frame.loc[4, "extra"] = other
    frame.to_csv(tmp_path / "log.csv", index=False)
    message = f"'extra' is {other!r} in line 6, of decision 'd2'; expected the same value"
    with pytest.raises(ValueError, match=message):
        read_log(tmp_path / "log.csv", **LONG, **{role: "extra"})


def test_rows_that_learn_by_time_have_one_time_in_a_decision(tmp_path):
    frame = long_frame().assign(day=np.repeat(np.arange(1.0, 7.0), [3, 2, 4, 2, 3, 4]))
    frame.loc[4, "day"] = 9.0
    frame.to_csv(tmp_path / "log.csv", index=False)
    log = scan_log(tmp_path / "log.csv", **LONG, features=["hour"], item_features=["price"])
    with pytest.raises(ValueError, match=r"'day' is 9\.0 in line 6, of decision 'd2'"):
        evaluate(log, "first", "ips", until="day=4")


def test_whole_numbers_of_decisions_are_shown_as_such():
    frame = long_frame()
    frame["decision"] = frame["decision"].str[1:].astype(int)
    frame["chosen"] = 0
    with pytest.raises(ValueError, match="decision 1, which begins in row 0, has no chosen"):
        from_frame(frame, **LONG)


def odd_frame():
    """A table whose batches have other kinds of cells: numbers, then texts, then nothing."""
    rng = np.random.default_rng(0)
    size = 240
    return pandas.DataFrame(
        {
            "id": np.repeat([f"{number:03}" for number in range(80)], 3),
            "user": np.repeat([f"{number % 7:02}" for number in range(80)], 3),
            "day": np.repeat([f"2026-01-{1 + number // 9:02}" for number in range(80)], 3),
            "hour": np.repeat(rng.normal(size=80), 3),
            "item": rng.permuted(np.tile(["01", "2", "c"], (80, 1)), axis=1).ravel(),
            "price": rng.normal(size=size).round(3),
            "code": [f"{number:02}" if number < 90 else f"c{number % 5}" for number in range(size)],
            "kind": [["a", "b", ""][number // 80] for number in range(size)],
            "chosen": np.tile([0, 1, 0], 80),
            "reward": np.repeat(rng.normal(size=80), 3),
        }
    )


def scan_odd(path):
    roles = {"decision": "id", "item": "item", "chosen": "chosen", "reward": "reward"}
    features = {"features": ["hour"], "item_features": ["price", "code", "kind"]}
    return scan_log(path, **roles, **features, propensity=1 / 3, unit="user", drop_missing=True)


@pytest.mark.parametrize("table_rows", [16, 65_536])
def test_text_files_that_are_kept_in_memory_give_the_log_of_those_that_are_read_again(
    tmp_path, monkeypatch, table_rows
):
    monkeypatch.setattr(candidate_table, "TABLE_ROWS", table_rows)
    folder = split_files(tmp_path / "log", odd_frame(), [50, 130])
    kept = scan_odd(folder)
    monkeypatch.setattr(parts, "KEPT_BYTES", 0)
    again = scan_odd(folder)
    assert [type(part) for part in again.parts.found] == [parts.FilePart] * 3
    assert kept.encoding == again.encoding
    for one, other in ((kept, again), (kept.with_dates("day"), again.with_dates("day"))):
        expected = concatenate(list(other))
        assert len(expected) == 53
        assert concatenate(list(one)) == expected
        assert concatenate(list(pickle.loads(pickle.dumps(one)))) == expected


def test_a_small_text_file_is_parsed_once_however_often_it_is_read(tmp_path, monkeypatch):
    parsed = []
    scan_csv = parts.csv_files.scan_csv

    def count(file, batch_rows, *names, **options):
        parsed.append(batch_rows)
        return scan_csv(file, batch_rows, *names, **options)

    monkeypatch.setattr(parts.csv_files, "scan_csv", count)
    path = tmp_path / "log.csv"
    long_frame().to_csv(path, index=False)
    scan = scan_log(path, **LONG)
    assert concatenate(list(scan)) == concatenate(list(scan))
    assert parsed[1:] == [candidate_table.TABLE_ROWS]  # the first looks for lists in some rows
    path.write_text("")
    with pytest.raises(ValueError, match="has changed since it was found"):
        next(iter(scan))
