"""One way to name the roles of columns, in all readers of tables."""

import inspect

import numpy as np
import pytest

from bandit_envs.datasets import read_dataset, read_outcomes
from bandit_envs.logged import from_frame, read_log, scan_log
from bandit_envs.logged.files import read_slates
from bandit_envs.tables.roles import Roles

pandas = pytest.importorskip("pandas")

ROLES = {"action", "reward", "cost", "propensity", "features", "embedding", "time", "label"}
ROLES |= {"slot_propensity", "prefix_propensity", "slate", "slot", "example", "logger", "unit"}
ROLES |= {"weight", "by"}
ROLES |= {"decision", "item", "chosen", "item_features", "available"}
OTHERS = {"path", "frame", "table", "batch_rows", "num_actions", "drop_missing", "only"}
OTHERS |= {"layout", "text_features", "balance", "gather", "rewards"}
READERS = (scan_log, read_log, from_frame, read_slates, read_outcomes, read_dataset)


@pytest.mark.parametrize("read", READERS)
def test_every_argument_of_a_reader_is_a_role_or_says_how_to_read(read):
    assert {*inspect.signature(read).parameters} <= ROLES | OTHERS


def frame(size=6):
    return pandas.DataFrame(
        {
            "age": np.arange(float(size)),
            "arm": [0, 1] * (size // 2),
            "paid": 1.0,
            "p": 0.5,
            "place": [1, 2] * (size // 2),
            "shown": np.arange(size) // 2,
        }
    )


LOG = {"action": "arm", "reward": "paid", "propensity": "p"}


@pytest.mark.parametrize(
    "read",
    [
        lambda path: from_frame(frame(), **LOG, features=["age", "paid"]),
        lambda path: scan_log(path, **LOG, features=["age", "paid"]),
        lambda path: read_log(path, **LOG, features=["age", "paid"]),
        lambda path: read_slates(path, **LOG, features="paid", slate="shown", slot="place"),
        lambda path: read_outcomes(path, ["age", "paid"], ["p", "paid"]),
        lambda path: read_dataset(path, "paid", ["age", "paid"]),
    ],
)
def test_no_reader_takes_a_feature_that_has_another_role(read, tmp_path):
    frame().to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match=r"'paid' has two roles, \w+ and features; expected one"):
        read(tmp_path / "a.csv")


def test_a_column_has_one_role_but_for_those_that_share():
    with pytest.raises(ValueError, match="'a' has two roles, action and reward"):
        Roles.of(None, action="a", reward=["b", "a"])
    with pytest.raises(ValueError, match="reward has the column 'b' twice"):
        Roles.of(None, reward=["b", "b"])
    shared = Roles.of("t", shared=["time"], action="a", time="t")
    assert shared.names() == ["a", "t"]


def test_features_are_by_default_all_columns_that_have_a_name_and_no_other_role():
    roles = Roles.of(None, action="a", time="t").complete(["x", "a", "Unnamed: 0", "t", "y"])
    assert (roles.features, roles.unnamed) == (("x", "y"), ("Unnamed: 0",))
    assert roles.with_time("x").features == ("y",)
    named = Roles.of(["x", "t"], ["time"], action="a").complete(["x", "a", "y", "t"])
    assert named.features == ("x", "t")
    assert named.with_time("t").features == ("x", "t")


@pytest.mark.parametrize("read", [read_slates, read_outcomes, read_dataset])
def test_a_pattern_of_files_is_not_for_a_data_frame(read):
    required = {"label": "arm"} if read is read_dataset else {}
    if read is read_slates:
        required = {**LOG, "slate": "shown", "slot": "place"}
    with pytest.raises(ValueError, match=r"only is '\*\.csv', and the table is not a folder"):
        read(frame(), only="*.csv", **required)


def test_columns_may_be_named_by_numbers():
    table = frame().rename(columns={"arm": 0, "paid": 1, "p": 2, "age": 3})
    log = from_frame(table, 0, 1, 2, features=3)
    named = from_frame(frame(), **LOG, features="age")
    assert log.observation.tolist() == named.observation.tolist()
    assert log.action.tolist() == named.action.tolist()
