"""Logs of items with features, from sets that change."""

import dataclasses

import numpy as np
import pytest

from bandit_envs.logged import BanditLog, read_log, scan_log, write_log
from bandit_envs.logged.files.log_roles import LogColumns
from bandit_envs.tables.encoding import NumberColumn, TableEncoding, TextColumn
from tests.cases import for_each

ENCODING = TableEncoding(
    features=(NumberColumn("hour"),),
    item_features=(NumberColumn("price"), TextColumn("kind", ("news", "sport"))),
    items=("a", "b", "c"),
)


def make_log(**changes):
    columns = {
        "observation": {
            "global": np.ones((2, 1)),
            "per_arm": np.zeros((2, 2, 3)),
            "mask": np.array([[True, True], [True, False]]),
        },
        "action": [1, 0],
        "reward": [1.0, 0.0],
        "propensity": [0.5, 1.0],
        "item": [[0, 2], [1, -1]],
        "encoding": ENCODING,
    }
    return BanditLog(**{**columns, **changes})


def test_plain_values_hold_the_encoding_of_items():
    assert TableEncoding.from_plain(ENCODING.plain()) == ENCODING


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet"])
def test_a_file_holds_a_log_of_items(tmp_path, suffix):
    pytest.importorskip(
        "pandas" if suffix == "csv" else "pyarrow" if suffix == "parquet" else "numpy"
    )
    log = make_log()
    write_log(tmp_path / f"log.{suffix}", log)
    assert read_log(tmp_path / f"log.{suffix}") == log


@for_each(
    ("changes", "message"),
    [
        ({"action": [1, 1]}, "action is 1 in row 1; expected an available action"),
        ({"item": [[0, 2], [1, 0]]}, "item is 0 in row 1; expected a number from 0"),
        ({"item": [[0, -1], [1, -1]]}, "item is -1 in row 0; expected a number from 0"),
        ({"item": [[0, 3], [1, -1]]}, "item is 3 in row 0; expected at most 2"),
        ({"observation": np.ones((2, 1)), "encoding": None}, "observation has no per_arm"),
        (
            {"encoding": dataclasses.replace(ENCODING, features=())},
            "expected an entry global of shape",
        ),
    ],
)
def test_what_was_not_offered_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make_log(**changes)


OTHERS = {"time", "features", "item", "decision", "chosen", "item_features"}
"""A written log takes `time`; with the others, its file is read as a table."""

GIVEN = {"num_actions": 2, "drop_missing": True, "embedding": ["x"], "gather": True}


@for_each("name", sorted({*LogColumns.__annotations__} - OTHERS))
def test_what_says_the_columns_of_a_table_is_refused_for_a_written_log(tmp_path, name):
    write_log(tmp_path / "log.npz", make_log())
    others = {"logger": {"propensity": {"a": "p", "b": "q"}}, "balance": {"logger": "b"}}
    given = {**others.get(name, {}), name: GIVEN.get(name, "x" if name != "balance" else True)}
    with pytest.raises(ValueError):
        scan_log(tmp_path / "log.npz", **given)
