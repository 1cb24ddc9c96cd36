"""Logs of items in tables with one row a decision, and lists of candidates."""

import json

import numpy as np
import pytest

from bandit_envs.logged import from_frame, read_log, scan_log
from bandit_envs.tables.decisions import candidate_table
from bandit_envs.tables.decisions.new_decisions import scan_candidates
from tests.logged.items import LONG, STRUCTS, WIDE, long_frame, struct_frame, wide_frame

pandas = pytest.importorskip("pandas")


def write(folder, frame, suffix):
    """Writes a table, with JSON for lists in CSV, and returns its path."""
    path = folder / f"log.{suffix}"
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path, index=False)
        return path
    if suffix == "jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
        return path
    first = frame.iloc[0]
    lists = [name for name in frame if isinstance(first[name], list)]
    frame.assign(**{name: frame[name].map(json.dumps) for name in lists}).to_csv(path, index=False)
    return path


def changed(row, column, value):
    frame = wide_frame()
    frame.at[row, column] = value
    return frame


@pytest.mark.parametrize(("make", "roles"), [(wide_frame, WIDE), (struct_frame, STRUCTS)])
@pytest.mark.parametrize("source", ["frame", "csv", "parquet", "jsonl"])
def test_lists_of_candidates_are_a_log_of_items(tmp_path, make, roles, source):
    expected = from_frame(long_frame(), **LONG)
    if source == "frame":
        log = from_frame(make(), **roles)
    else:
        log = read_log(write(tmp_path, make(), source), **roles)
    assert log == expected
    assert log.encoding == expected.encoding


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_lists_are_read_in_batches(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(candidate_table, "TABLE_ROWS", 32)
    batches = list(scan_log(write(tmp_path, wide_frame(), suffix), **WIDE))
    assert [len(batch) for batch in batches] == [2, 2, 2]


def test_a_wide_table_may_have_the_propensities_of_the_chosen():
    roles = {**WIDE, "propensity": "propensity", "item_features": ["price", "kind"]}
    log = from_frame(wide_frame(), **roles)
    expected = from_frame(long_frame(), **LONG)
    assert log.action_probabilities is None
    assert log.propensity.tolist() == expected.propensity.tolist()
    assert (
        log.encoding == from_frame(wide_frame(), **WIDE, item_features=["price", "kind"]).encoding
    )


def test_a_wide_table_of_new_decisions_is_read(tmp_path):
    log = from_frame(wide_frame(), **WIDE, item_features=["price", "kind"])
    new = wide_frame()[["decision", "hour", "candidates", "price", "kind"]]
    path = write(tmp_path, new, "csv")
    (batch,) = scan_candidates(path, log.encoding, decision="decision", item="candidates")
    assert batch.names.tolist() == ["d1", "d2", "d3", "d4", "d5", "d6"]
    assert np.array_equal(batch.observation["per_arm"], log.observation["per_arm"])
    assert batch.items[1].tolist() == ["b", "d", "", ""]


@pytest.mark.parametrize(
    ("row", "column", "value", "message"),
    [
        (1, "price", [2.0], "'price' is .* in row 1; expected a list that is not empty, and as"),
        (1, "price", [2.0, None], "1 of 6 decisions miss values: 'price' 1, first in row 1"),
        (1, "price", None, "1 of 6 decisions miss values: 'price' 1, first in row 1"),
        (1, "candidates", None, "1 of 6 decisions miss values: 'candidates' 1, first in row 1"),
        (1, "kind", "['sport', 'video']", "in row 1; expected a list as JSON writes it"),
        (1, "kind", 3, "'kind' is 3 in row 1; expected a list as JSON"),
        (1, "chosen", "z", "'chosen' is 'z' in row 1; expected the name of an item"),
        (1, "chosen", None, "1 of 6 decisions miss values: 'chosen' 1, first in row 1"),
        (
            1,
            "candidates",
            ["d", "d"],
            "the decision, which begins in row 1, has the item 'd' twice",
        ),
        (1, "reward", None, "1 of 6 decisions miss values: 'reward' 1, first in row 1"),
        (1, "probabilities", [0.6, 0.5], "'probabilities' with the sum 1.1"),
    ],
)
def test_lists_that_cannot_be_candidates_are_refused(row, column, value, message):
    frame = wide_frame()
    frame[column] = frame[column].astype(object)
    frame.at[row, column] = value
    if column == "chosen":
        frame = frame.assign(chosen=frame.chosen.where(frame.chosen.notna(), None))
    with pytest.raises(ValueError, match=message):
        from_frame(frame, **WIDE, item_features=["price", "kind"])


@pytest.mark.parametrize("column", ["price", "candidates", "kind"])
def test_decisions_whose_lists_miss_a_value_are_dropped(column):
    log = from_frame(changed(1, column, None), drop_missing=True, **WIDE)
    assert log.reward.tolist() == [1.0, 1.0, 0.0, 2.0, 1.0]


def test_empty_lists_are_refused():
    frame = wide_frame()
    for name in ("candidates", "price", "kind", "probabilities"):
        frame.at[2, name] = []
    with pytest.raises(ValueError, match="row 2; expected a list that is not empty"):
        from_frame(frame, **WIDE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "price"}, "column 'price' has lists; expected none"),
        ({"item_features": "reward", "reward": "propensity"}, "'reward' has no lists"),
        ({"item": "decision"}, "decision is None, and column 'decision' has no lists"),
        ({"gather": True}, "gather is True, and column 'candidates' has lists"),
    ],
)
def test_columns_of_the_wrong_kind_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        from_frame(wide_frame(), **{**WIDE, **options})


def test_fields_of_records_may_not_have_the_names_of_columns():
    frame = struct_frame().assign(price=1.0)
    with pytest.raises(ValueError, match="'price' is both a field of 'candidates' and another"):
        from_frame(frame, **STRUCTS)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "log.jsonl cannot be read: line 2 is no JSON"),
        ("[" * 99_999, "line 2 is no JSON"),
        ("[1]", "line 2 has no JSON object"),
        ('{"candidates": [{"id": "a"}]}', "'hour' 1, first in line 2"),
    ],
)
def test_bad_json_lines_are_told_by_line(tmp_path, line, message):
    path = write(tmp_path, struct_frame().iloc[:1], "jsonl")
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with pytest.raises(ValueError, match=message):
        read_log(path, **STRUCTS)


def test_a_long_table_may_be_of_json_lines(tmp_path):
    path = write(tmp_path, long_frame(), "jsonl")
    assert read_log(path, **LONG) == from_frame(long_frame(), **LONG)


def test_a_wide_table_is_cut_by_time(tmp_path):
    path = write(tmp_path, wide_frame().assign(day=[1, 2, 3, 4, 5, 6]), "csv")
    earlier, later = scan_log(path, time="day", **WIDE).split("3")
    assert (sum(map(len, earlier)), sum(map(len, later))) == (2, 4)


@pytest.mark.parametrize("suffix", ["frame", "csv", "parquet"])
def test_the_first_row_may_miss_its_list(tmp_path, suffix):
    frame = changed(0, "price", None)
    roles = {**WIDE, "item_features": ["price", "kind"], "drop_missing": True}
    if suffix == "frame":
        log = from_frame(frame, **roles)
    elif suffix == "csv":
        texts = {name: frame[name].map(json.dumps) for name in ("candidates", "kind", "price")}
        texts["probabilities"] = frame["probabilities"].map(json.dumps)
        texts["price"] = texts["price"].replace("null", "")
        frame.assign(**texts).to_csv(tmp_path / "log.csv", index=False)
        log = read_log(tmp_path / "log.csv", **roles)
    else:
        log = read_log(write(tmp_path, frame, suffix), **roles)
    assert log.reward.tolist() == [0.0, 1.0, 0.0, 2.0, 1.0]
