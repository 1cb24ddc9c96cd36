"""One way to name the roles of columns, in all readers of tables."""

import inspect

import numpy as np
import pytest

from bandit_envs.cli.parser import make_parser
from bandit_envs.datasets import read_dataset, read_outcomes
from bandit_envs.logged import from_frame, read_log, scan_log, write_log
from bandit_envs.logged.files import log_roles, read_slates
from bandit_envs.logged.files.log_roles import LogColumns
from bandit_envs.logged.files.reward_table import RewardTable
from bandit_envs.logged.learners.saved_policy import SavedPolicy
from bandit_envs.policies.split_tests.variant_tables import compare_variants
from bandit_envs.tables.decisions.new_decisions import scan_candidates
from bandit_envs.tables.roles import ROLES, Roles, is_given

pandas = pytest.importorskip("pandas")

NAMED = {*LogColumns.__annotations__} - {*log_roles.HOW_TO_READ}
HOW = {"path", "frame", "table", "batch_rows", "num_actions", "drop_missing", "only", "gather"}
HOW |= {"columns", "balance", "rewards", "layout", "text_features", "seed", "self", "encoding"}
HOW |= {"opened", "closed", "shares", "delta", "tolerance", "threshold", "planned", "control"}
HOW |= {"closes_by_results", "confidence"}
READERS = (scan_log, read_log, from_frame, read_slates, read_outcomes, read_dataset)
READERS += (compare_variants, scan_candidates, SavedPolicy.scan, SavedPolicy.choose)
READERS += (RewardTable.arrivals,)


@pytest.mark.parametrize("read", READERS)
def test_every_argument_of_a_reader_is_a_role_or_says_how_to_read(read):
    assert {*inspect.signature(read).parameters} <= {*ROLES} | HOW


def test_all_readers_of_logs_take_the_same_columns_with_the_same_defaults():
    parameters = inspect.signature(from_frame).parameters
    assert {*parameters} == {"frame", *NAMED, *log_roles.HOW_TO_READ}
    for role in NAMED:
        assert not is_given(role, parameters[role].default)
    for name, default in log_roles.HOW_TO_READ.items():
        assert parameters[name].default is default
    assert not log_roles.LogRoles.of(**{role: ROLES[role].default for role in NAMED}).given
    assert log_roles.LogRoles.of(features=[], gather=True).given == ["features", "gather"]
    for read in (scan_log, read_log):
        with pytest.raises(TypeError, match="'rewrad' is given; expected one of action, item"):
            read("a.csv", rewrad="paid")


@pytest.mark.parametrize("command", ["evaluate", "learn", "apply", "route", "show"])
def test_options_that_name_columns_are_roles(command):
    (chosen,) = [each for each in make_parser()._actions if each.dest == "command"]
    options = chosen.choices[command]._actions
    named = {option.dest for option in options if option.metavar in ("COLUMN", "COLUMN|P")}
    assert named <= {*ROLES}
    for option in options:
        if option.dest in ROLES and option.default is not None:
            assert option.default == ROLES[option.dest].default


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
        lambda path: read_slates(path, **LOG, features="paid", decision="shown", slot="place"),
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
        required = {**LOG, "decision": "shown", "slot": "place"}
    with pytest.raises(ValueError, match=r"only is '\*\.csv', and the table is not a folder"):
        read(frame(), only="*.csv", **required)


def test_columns_may_be_named_by_numbers():
    table = frame().rename(columns={"arm": 0, "paid": 1, "p": 2, "age": 3})
    log = from_frame(table, 0, 1, 2, features=3)
    named = from_frame(frame(), **LOG, features="age")
    assert log.observation.tolist() == named.observation.tolist()
    assert log.action.tolist() == named.action.tolist()


def test_a_false_of_numpy_says_nothing_of_a_table(tmp_path):
    log = from_frame(frame(), **LOG, features="age")
    write_log(tmp_path / "log.npz", log)
    found = read_log(tmp_path / "log.npz", drop_missing=np.False_, gather=np.False_)
    assert len(found) == len(log)
