"""Tables of decisions that are still to be made."""

import numpy as np
import pytest

from bandit_envs.logged import from_frame
from bandit_envs.tables.decisions import candidate_table
from bandit_envs.tables.decisions.new_decisions import scan_candidates
from bandit_envs.tables.encoding import NumberColumn, TableEncoding, TextColumn
from tests.logged.items import LONG, long_frame

pandas = pytest.importorskip("pandas")

FIXED = TableEncoding(("hats", "shoes"), (NumberColumn("age"), TextColumn("country", ("DE",))))


def new_frame():
    """The table of items without what is known only after the decisions."""
    return long_frame().drop(columns=["chosen", "propensity", "reward"])


@pytest.mark.parametrize("table_rows", [2, 100])
def test_candidates_are_seen_as_a_log_has_them(tmp_path, monkeypatch, table_rows):
    monkeypatch.setattr(candidate_table, "TABLE_ROWS", table_rows)
    log = from_frame(long_frame(), **LONG)
    new_frame().to_csv(tmp_path / "new.csv", index=False)
    batches = list(scan_candidates(tmp_path / "new.csv", log.encoding, **LONG))
    names = [name for batch in batches for name in batch.names]
    assert names == ["d1", "d2", "d3", "d4", "d5", "d6"]
    for entry, expected in log.observation.items():
        found = np.concatenate([batch.observation[entry] for batch in batches])
        assert np.array_equal(found, expected)
    assert batches[0].items[0].tolist() == ["a", "b", "c", ""]
    assert np.array_equal(batches[0].mask, batches[0].observation["mask"])


def test_contexts_without_items_are_batches_too():
    frame = pandas.DataFrame({"age": [1.0, 2.0, 3.0], "country": ["DE", "FR", "DE"]})
    scan = scan_candidates(frame, FIXED, batch_rows=2)
    batches = list(scan)
    assert [batch.names.tolist() for batch in batches] == [[0, 1], [2]]
    assert batches[0].observation.tolist() == [[1.0, 1.0], [2.0, 0.0]]
    assert batches[0].items is None


def test_contexts_may_have_names():
    frame = pandas.DataFrame({"user": ["u", "v"], "age": [1.0, 2.0], "country": ["DE", "DE"]})
    (batch,) = scan_candidates(frame, FIXED, decision="user")
    assert batch.names.tolist() == ["u", "v"]


def test_texts_that_the_policy_does_not_know_are_told_by_line(tmp_path):
    encoding = from_frame(long_frame(), **LONG).encoding
    new_frame().replace({"kind": {"video": "podcast"}}).to_csv(tmp_path / "new.csv", index=False)
    (problem,) = scan_candidates(tmp_path / "new.csv", encoding, **LONG).problems
    assert "'kind' has 4 cells with texts that the policy does not know" in problem
    assert "'podcast' in line 6 of new.csv" in problem


def test_gaps_are_told_by_line_or_their_decisions_dropped(tmp_path):
    encoding = from_frame(long_frame(), **LONG).encoding
    frame = new_frame()
    frame.loc[4, "price"] = None
    frame.to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(
        ValueError, match=r"1 of 6 decisions .* 'price' 1, first in line 6 of new.c"
    ):
        list(scan_candidates(tmp_path / "new.csv", encoding, **LONG))
    scan = scan_candidates(tmp_path / "new.csv", encoding, drop_missing=True, **LONG)
    assert [name for batch in scan for name in batch.names] == ["d1", "d3", "d4", "d5", "d6"]
    assert scan.problems == ("1 of 6 decisions miss values, and are left out",)


@pytest.mark.parametrize("batch_rows", [1, 100])
def test_decisions_that_are_left_out_count_in_the_numbers_of_others(batch_rows):
    frame = pandas.DataFrame({"age": [None, 2.0, None, 4.0, 5.0], "country": "DE"})
    scan = scan_candidates(frame, FIXED, drop_missing=True, batch_rows=batch_rows)
    assert [name for batch in scan for name in batch.names] == [1, 3, 4]


def test_a_decision_counts_once_in_a_column_whatever_candidates_miss():
    encoding = from_frame(long_frame(), **LONG).encoding
    frame = new_frame()
    frame.loc[frame["decision"] == "d1", ["price", "hour"]] = None
    with pytest.raises(ValueError, match=r"1 of 6 decisions miss values: 'hour' 1, .* 'price' 1,"):
        list(scan_candidates(frame, encoding, **LONG))


def test_a_table_that_does_not_fit_the_policy_is_refused():
    encoding = from_frame(long_frame(), **LONG).encoding
    with pytest.raises(ValueError, match="item is None; expected a column"):
        scan_candidates(new_frame(), encoding, decision="decision")
    with pytest.raises(ValueError, match="item is 'item'; expected None"):
        scan_candidates(new_frame(), FIXED, **LONG)
    with pytest.raises(ValueError, match="no column 'price'"):
        scan_candidates(new_frame().drop(columns="price"), encoding, **LONG)
    with pytest.raises(ValueError, match="'d1' begins again in row 2"):
        scan_candidates(
            new_frame().replace({"decision": {"d6": "d1"}}).iloc[::-1], encoding, **LONG
        )
