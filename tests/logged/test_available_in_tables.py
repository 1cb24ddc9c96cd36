"""Logs of named actions from sets that change, in users' tables."""

import json

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.logged import SelfNormalizedIPS, from_frame, read_log, scan_log
from bandit_envs.logged.joining import concatenate

pandas = pytest.importorskip("pandas")

ROLES = {"action": "item", "reward": "paid", "propensity": "p", "features": "x"}


def table(**columns):
    own = {
        "x": [1.0, 2.0, 3.0, 4.0],
        "item": ["A", "B", "C", "A"],
        "paid": [0, 1, 1, 0],
        "p": [0.5, 0.5, 0.5, 1.0],
        "items": [["A", "B"], ["A", "B"], ["C", "D"], ["A"]],
    }
    return pandas.DataFrame({**own, **columns})


def read(frame, **options):
    return from_frame(frame, **{**ROLES, "available": "items", **options})


def test_a_column_says_which_actions_were_available():
    log = read(table())
    assert log.encoding.actions == ("A", "B", "C", "D")
    assert log.available.astype(int).tolist() == [
        [1, 1, 0, 0],
        [1, 1, 0, 0],
        [0, 0, 1, 1],
        [1, 0, 0, 0],
    ]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_gives_the_log_of_its_frame(tmp_path, suffix):
    path = tmp_path / f"log.{suffix}"
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
        table().to_parquet(path, index=False)
    else:
        table(items=table()["items"].map(json.dumps)).to_csv(path, index=False)
    assert read_log(path, available="items", **ROLES) == read(table())
    batches = list(scan_log(path, 2, available="items", **ROLES))
    assert concatenate(batches) == read(table())


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_share_is_told_where_the_one_action_is_not_available():
    log = read(table())
    found = evaluate([log[:1], log[1:]], "constant:number=B", "ips", train=None)
    text = "constant:number=B chooses uniformly in 2 of 4 rows, where its action is not available"
    assert any(text in note for note in found.notes)
    always = read(table(items=[["A", "B", "C", "D"]] * 4))
    found = evaluate(always, "constant:number=B", "ips", train=None)
    assert not any("chooses uniformly" in note for note in found.notes)


def test_numbered_actions_are_available_by_number():
    log = read(table(item=[0, 1, 2, 0], items=[[0, 1], [0, 1], [2, 3], [0]]))
    assert log.num_actions == 4
    assert np.array_equal(log.available, read(table()).available)


def test_the_best_available_action_has_its_value():
    rng = np.random.default_rng(0)
    can = rng.random((4000, 3)) < [1.0, 1.0, 0.5]
    names = np.array(["A", "B", "C"])
    action = np.array([rng.choice(np.flatnonzero(row)) for row in can])
    frame = pandas.DataFrame(
        {
            "x": 1.0,
            "item": names[action],
            "paid": (rng.random(4000) < np.array([0.2, 0.4, 0.8])[action]).astype(int),
            "p": 1.0 / can.sum(axis=1),
            "items": [names[row].tolist() for row in can],
        }
    )
    log = read(frame)
    best = np.where(log.available[:, 2], 2, 1)
    estimate = SelfNormalizedIPS().estimate(log, np.eye(3)[best])
    assert abs(estimate.value - 0.6) < 0.04


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"items": [["A"], ["A"], ["C"], ["A"]]}, "'item' is 'B' in row 1; expected an available"),
        ({"items": [["A"], ["B"], None, ["A"]]}, "1 of 4 rows miss values: 'items' 1"),
        ({"items": ["A|B", "A|B", "C", "A"]}, "'items' is 'A|B' in row 0; expected a list as JSON"),
        ({"items": [["A"], ["B", None], ["C"], ["A"]]}, "in row 1; expected the name of an action"),
        ({"items": [["A"], ["B"], [], ["A"]]}, "'item' is 'C' in row 2; expected an available"),
    ],
)
def test_sets_that_cannot_be_are_refused(columns, message):
    with pytest.raises(ValueError, match=message.replace("|", "[|]")):
        read(table(**columns))


def test_real_numbers_are_not_available_by_list():
    with pytest.raises(ValueError, match="available is given, and actions are real numbers"):
        read(table(item=[0.5, 1.5, 2.5, 0.5]), num_actions=0)
