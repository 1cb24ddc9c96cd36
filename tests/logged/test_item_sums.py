"""What a summary says of the items of a log."""

import dataclasses
import math

import numpy as np
import pytest

from bandit_envs.logged.summary import ItemSums, LogSummary
from tests.logged.item_fixture import ENCODING, make_fixture


def test_a_summary_counts_where_items_were_offered_and_chosen():
    log = make_fixture()
    summary = LogSummary.from_batches([log[:2], log[2:3], log[3:]])
    rows = summary.items.rows(ENCODING.items)
    assert [row.item for row in rows[:2]] == ["a", "b"]
    of_items = {row.item: row for row in rows}
    assert of_items["b"][1:] == (4, 1, 0.5, 1.0)
    assert of_items["c"][1:] == (3, 2, pytest.approx(0.175), 1.5)
    assert of_items["f"].offered == 1
    assert math.isnan(of_items["f"].reward)
    assert math.isnan(of_items["f"].propensity)
    whole = ItemSums.from_log(log)
    np.testing.assert_array_equal(summary.items.sums, whole.sums)
    assert whole.count_offers(ENCODING.items.index("d")) == 3
    assert "up to 4 of 6 items" in str(summary)
    assert summary.item_rows() == rows


def test_items_without_numbers_are_not_called_actions():
    log = dataclasses.replace(make_fixture().drop("item"), encoding=None)
    assert "6 rows, up to 4 items in a decision, mean reward" in str(LogSummary.from_batches([log]))
    assert "6 rows, up to 4 items in a decision" in repr(log)
    fixed = {name: log.observation[name] for name in ("global", "per_arm")}
    text = repr(dataclasses.replace(log, observation=fixed, action_probabilities=None))
    assert "6 rows, 4 items in a decision" in text


def test_a_summary_counts_where_actions_are_available():
    log = make_fixture()
    parts = [LogSummary.from_batches([log[:2]]), LogSummary.from_batches([log[2:]])]
    assert parts[0].merge(parts[1]).offers.tolist() == [6, 6, 4, 2]


def test_a_log_without_items_has_none():
    log = make_fixture()
    assert ItemSums.from_log(log.drop("item")).rows() == []
