import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.logged import (
    BanditLog,
    read_dsjson,
    read_log,
    scan_log,
    write_dsjson,
)
from bandit_envs.logged.files.dsjson import line_layout
from bandit_envs.logged.joining import concatenate
from bandit_envs.tables.encoding import NumberColumn, TableEncoding
from tests.cases import for_each

ITEMS = Path(__file__).parent / "items"
"""Six decisions among two to four items each, as files of several formats have them."""


def decision(**changes):
    """A line of a log, with other values of some fields."""
    line = {
        "_label_cost": -1.0,
        "_label_probability": 0.8,
        "_label_Action": 2,
        "_labelIndex": 1,
        "o": [{"v": 1.0, "EventId": "d"}],
        "a": [2, 1],
        "p": [0.8, 0.2],
        "c": {"U": {"age": 3}, "_multi": [{"I": {"price": 1.0}}, {"I": {"price": 2.0}}]},
    }
    return {name: value for name, value in {**line, **changes}.items() if value is not None}


def candidates(*tags):
    """Candidates of one price each, with their names."""
    return [{"_tag": tag, "I": {"price": float(ord(tag))}} for tag in tags]


def read(tmp_path, *lines):
    path = tmp_path / "log.dsjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return read_dsjson(path)


@for_each(
    ("changes", "message"),
    [
        ({"_labelIndex": 0}, "_labelIndex is 0, and _label_Action 2"),
        ({"pdrop": 1.0}, "pdrop is 1; expected less than 1"),
        ({"pdrop": -0.1}, "pdrop is -0.1; expected at least 0"),
        ({"pdrop": True}, "pdrop is True; expected a number"),
        ({"_skipLearn": 1}, "_skipLearn is 1; expected true or false"),
        ({"_outcomes": []}, "_outcomes is of decisions of several slots"),
        ({"c": {"_multi": [], "_slots": []}}, "_slots is of decisions of several slots"),
        ({"c": {"U": {"__aid": 3}, "_multi": [{}, {}]}}, "__aid is of features"),
        ({"c": {"_multi": [{"_inc": [1]}, {}]}}, "_inc is of decisions of several slots"),
        ({"_label_ca_action": 2.5}, "_label_ca_action is of actions that are real numbers"),
        ({"pdf": []}, "pdf is of actions that are real numbers"),
        ({"_label_weight": 3.0}, "'_label_weight' is not read"),
        ({"c": {"_multi": [{"_tag": "a"}, {}]}}, "_tag has 1 names for 2 actions"),
        ({"c": {"_multi": [{"_tag": "a"}, {"_tag": "a"}]}}, "_tag has 1 names for 2 actions"),
        ({"_label_probability": 0.9}, "_label_probability is 0.9, and p has 0.8"),
        ({"pdrop": 0.5, "_label_probability": 0.7}, "_label_probability is 0.7, and p has 0.8"),
        ({"c": {"_multi": candidates("a", "b")}}, "its actions have names in _tag, and those of"),
        ({"c": {"U": {"age": "3"}, "_multi": [{}, {}]}}, "'U.age' is a text, and a number in"),
        ({"_label_cost": 1e308}, "line 2: _label_cost is 1e.308; expected at most"),
        ({"p": [0.8, 0.1]}, "line 2: the sum of p is 0.9; expected 1"),
        ({"p": [1.8, -0.8]}, "line 2: a probability in p is 1.8; expected at most 1"),
        ({"o": {"v": 1.0}}, "line 2: o is .*; expected a list of objects"),
        ({"o": ["v"]}, "line 2: o is .*; expected a list of objects"),
        (
            {"c": {"U": {"age": math.inf}, "_multi": [{}, {}]}},
            "line 2: the feature 'U.age' is inf; expected a finite number",
        ),
    ],
)
def test_a_field_that_is_not_read_is_refused_by_its_name(changes, message, tmp_path):
    with pytest.raises(ValueError, match=rf"log\.dsjson.*{message}"):
        read(tmp_path, decision(EventId="first"), decision(**changes))


def test_a_key_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "log.dsjson"
    path.write_text(json.dumps(decision()).replace('"age": 3', '"age": 3, "age": 4'))
    with pytest.raises(ValueError, match="line 1: an object has 'age' twice"):
        read_dsjson(path)


def test_lines_that_were_dropped_at_one_rate_stand_for_the_same_number_of_decisions(tmp_path):
    lines = [decision(pdrop=0.75), decision(pdrop=0.75, _label_cost=0.0, _label_probability=0.2)]
    log = read(tmp_path, *lines)  # the second has 0.8 * (1 - 0.75)
    assert log.propensity.tolist() == [0.8, 0.8]
    assert log.reward.tolist() == [1.0, 0.0]


def test_lines_that_must_not_be_learned_are_left_out_and_counted(tmp_path):
    with pytest.warns(UserWarning, match=r"1 lines of .*log\.dsjson are left out, as _skipLearn"):
        log = read(tmp_path, decision(), decision(_skipLearn=True, _label_cost=-9.0))
    assert log.reward.tolist() == [1.0]


@pytest.mark.parametrize("outcome", [[], [{"ActionTaken": True}]])
def test_lines_without_an_outcome_have_the_default_reward_and_are_counted(outcome, tmp_path):
    with pytest.warns(UserWarning, match="1 lines of .* have no outcome in o"):
        log = read(tmp_path, decision(), decision(o=outcome, _label_cost=0.0))
    assert log.reward.tolist() == [1.0, 0.0]


def test_a_decision_that_stands_twice_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"line 3 of log\.dsjson has the EventId of line 1"):
        read(tmp_path, decision(EventId="first"), decision(), decision(EventId="first"))


def test_a_line_has_any_number_of_items_with_names_and_features(tmp_path):
    three = {"U": {"age": 4}, "_multi": candidates("b", "c", "a")}
    lines = [
        decision(c={"U": {"age": 3}, "_multi": candidates("a", "b")}),
        decision(c=three, a=[2, 1, 3], p=[0.8, 0.2, 0.0]),
    ]
    log = read(tmp_path, *lines)
    assert log.encoding == TableEncoding(
        features=(NumberColumn("U^age"),),
        item_features=(NumberColumn("I^price"),),
        items=("a", "b", "c"),
    )
    assert log.item.tolist() == [[0, 1, -1], [1, 2, 0]]
    assert log.action.tolist() == [1, 1]
    assert log.action_probabilities.tolist() == [[0.2, 0.8, 0.0], [0.2, 0.8, 0.0]]
    assert log.observation["per_arm"][..., 0].tolist() == [[97.0, 98.0, 0.0], [98.0, 99.0, 97.0]]
    assert log.observation["mask"].tolist() == [[True, True, False], [True, True, True]]


def test_actions_without_features_have_names_and_lines_may_lack_some(tmp_path):
    def tagged(*tags):
        return {"U": {"age": 3}, "_multi": [{"_tag": tag} for tag in tags]}

    log = read(tmp_path, decision(c=tagged("a", "b")), decision(c=tagged("b", "a")))
    assert log.action_names == ("a", "b")
    assert log.available is None
    assert log.action.tolist() == [1, 0]
    assert log.action_probabilities.tolist() == [[0.2, 0.8], [0.8, 0.2]]
    log = read(tmp_path, decision(c=tagged("a", "b")), decision(c=tagged("c", "b")))
    assert log.action_names == ("a", "b", "c")
    assert log.available.tolist() == [[True, True, False], [False, True, True]]
    assert log.action_probabilities.tolist() == [[0.2, 0.8, 0.0], [0.0, 0.8, 0.2]]


def test_lines_that_the_logger_kept_of_several_weigh_more(tmp_path):
    log = read(tmp_path, decision(), decision(pdrop=0.75), decision(pdrop=0.5))
    assert log.weight.tolist() == [1.0, 4.0, 2.0]
    with pytest.warns(UserWarning, match=r"1 lines of .*log\.dsjson .* the logger passed on"):
        log = read(tmp_path, decision(), decision(_label_probability=0.2))
    assert log.weight.tolist() == [1.0, 4.0]
    assert log.propensity.tolist() == [0.8, 0.8]


def test_features_are_those_of_vowpal_wabbit(tmp_path):
    user = {"_text": "red red hat", "new": True, "old": False, "team": None, "_x": 7, "n": [1, "a"]}
    shared = {"_ignored": {"z": 1}, "U": user, "V": {"new": True, "old": False, "_x": 7, "k": "z"}}
    log = read(tmp_path, decision(c={**shared, "_multi": [{}, {}]}))
    words = ["U^_text=hat", "U^_text=red"]
    assert log.encoding.labels() == [*words, "U^new", "U^n^0", "U^n^1=a", "V^k=z", "V^new"]
    assert log.observation.tolist() == [[1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]]


def test_features_of_more_than_256_texts_are_left_out_and_named(tmp_path):
    users = [{"id": str(row), "age": row} for row in range(257)]
    lines = [decision(c={"U": user, "_multi": [{}, {}]}) for user in users]
    with pytest.warns(UserWarning, match="features of more than 256 texts are left out: 'U.id'"):
        log = read(tmp_path, *lines)
    assert log.observation[:, 0].tolist() == list(range(257))


@pytest.mark.parametrize("file", ["decisions", "pdrop", "passed"])
@pytest.mark.filterwarnings("ignore:. lines of")
def test_dsjson_gives_back_items_of_any_number(file, tmp_path):
    log = read_dsjson(ITEMS / f"{file}.dsjson")
    write_dsjson(tmp_path / "log.dsjson", log)
    assert read_log(tmp_path / "log.dsjson") == log


@pytest.mark.filterwarnings("ignore:. lines of")
def test_a_scan_of_a_folder_of_dsjson_is_its_log_in_batches(tmp_path):
    lines = (ITEMS / "passed.dsjson").read_text().splitlines(keepends=True)
    (tmp_path / "1.dsjson").write_text("".join(lines[:4]))
    (tmp_path / "2.json").write_text("".join(lines[4:]))
    scan = scan_log(tmp_path, batch_rows=3)
    assert [len(batch) for batch in scan] == [3, 1, 2]
    assert concatenate(list(scan)) == read_log(ITEMS / "passed.dsjson")
    earlier, later = scan.with_time("Timestamp").split("2026-01-01 00:00:04")
    assert (len(earlier), len(later)) == (4, 2)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_lines_are_evaluated_by_the_day_of_their_timestamps(tmp_path):
    lines = (ITEMS / "decisions.dsjson").read_text().replace("01-01T00:00:04", "02-03T00:00:00")
    lines = lines.replace("01-01T00:00:05", "02-04T00:00:00")
    (tmp_path / "log.dsjson").write_text(lines)
    found = evaluate(tmp_path / "log.dsjson", "random", "ips", by="Timestamp:month", train=None)
    sizes = {name: rows[0].rows for name, rows in found.segments.items()}
    assert sizes == {"2026-01": 4, "2026-02": 2}
    scan = scan_log(tmp_path / "log.dsjson", batch_rows=2)
    log = read_log(tmp_path / "log.dsjson", time="Timestamp")
    assert concatenate(list(scan.with_dates("Timestamp"))) == log
    assert np.datetime64(int(log.time[4]), "s") == np.datetime64("2026-02-03", "s")
    (tmp_path / "bad.dsjson").write_text(lines.replace("2026-02-03", "soon"))
    with pytest.raises(ValueError, match=r"Timestamp in line 5 of bad\.dsjson is no date"):
        list(scan_log(tmp_path / "bad.dsjson").with_dates(""))


def test_words_and_objects_in_objects_are_written_back(tmp_path):
    user = {"_text": "red red hat", "n": [1, "a"], "deep": {"er": 2}}
    log = read(tmp_path, decision(c={"U": user, "top": 3, "_multi": candidates("a", "b")}))
    write_dsjson(tmp_path / "again.dsjson", log)
    again = read_dsjson(tmp_path / "again.dsjson")
    assert {*again.encoding.labels()} == {*log.encoding.labels()}
    assert sorted(again.observation["global"][0]) == [1.0, 1.0, 1.0, 2.0, 2.0, 3.0]


@pytest.mark.parametrize("encoding", [None, TableEncoding(("hats", "shoes", "bags"))])
def test_actions_that_rows_lack_are_written_back(encoding, tmp_path):
    available = [[True, False, True], [True, True, True]]
    columns = {"action": [2, 0], "reward": [1.0, 0.0], "propensity": [0.5, 0.5]}
    log = BanditLog(np.ones((2, 1)), **columns, available=available, encoding=encoding)
    write_dsjson(tmp_path / "log.dsjson", log)
    again = read_dsjson(tmp_path / "log.dsjson")
    assert again.action_names == log.action_names
    assert again.available.tolist() == available
    assert again.action.tolist() == [2, 0]


def test_dsjson_gives_back_the_names_of_actions(tmp_path):
    encoding = TableEncoding(("hats", "shoes"))
    log = BanditLog(np.ones((2, 1)), [0, 1], [1.0, 0.0], [0.5, 0.5], encoding=encoding)
    write_dsjson(tmp_path / "log.dsjson", log)
    assert read_dsjson(tmp_path / "log.dsjson").action_names == ("hats", "shoes")


def varied_lines():
    """Lines with features of all kinds, which they do not share."""
    rng = np.random.default_rng(0)
    for number in range(40):
        user = {"age": number, "is_new": number % 3 == 0, "_text": "b a b"[: number % 6]}
        if number % 2:
            user["city"] = "abc"[number % 3]
        tags = rng.permutation(list("abcd"))[: 1 + number % 4].tolist()
        items = [{"_tag": tag, "I": {"price": rng.normal(), "at": [1.0, "x"]}} for tag in tags]
        yield decision(
            _label_Action=1,
            _labelIndex=0,
            _label_probability=1 / len(tags),
            a=[*range(1, 1 + len(tags))],
            p=[1 / len(tags)] * len(tags),
            c={"U": user, "J": {"h": 0.5}, "_multi": items},
        )


@pytest.mark.parametrize("most", [0, 3000])
def test_logs_that_are_too_large_to_keep_are_read_again_in_every_pass(most, tmp_path, monkeypatch):
    text = "".join(json.dumps(line) + "\n" for line in varied_lines())
    for name in ("1.dsjson", "2.dsjson"):
        (tmp_path / name).write_text(text)
    kept = scan_log(tmp_path, batch_rows=7)
    monkeypatch.setattr(line_layout, "KEPT_BYTES", most)
    monkeypatch.setattr(line_layout, "CHECKED_CHARACTERS", 500)
    again = scan_log(tmp_path, batch_rows=7)
    assert kept.kept is not None
    assert again.kept is None
    assert concatenate(list(again)) == concatenate(list(kept))
    assert (
        [len(batch) for batch in again] == [len(batch) for batch in kept] == [7, 7, 7, 7, 7, 5] * 2
    )


def test_a_log_that_is_kept_is_parsed_once_however_often_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "log.dsjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in varied_lines()))
    parsed = []
    loads = json.loads
    monkeypatch.setattr(json, "loads", lambda text: parsed.append(0) or loads(text))
    scan = scan_log(path).limit(10, 10**6)
    assert sum(map(len, scan)) == sum(map(len, scan)) == len(parsed) == 40


def test_a_scan_is_sent_without_what_it_keeps_and_a_file_that_changed_is_refused(tmp_path):
    path = tmp_path / "log.dsjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in varied_lines()))
    scan = scan_log(path)
    sent = pickle.loads(pickle.dumps(scan))
    assert sent.kept is None
    assert concatenate(list(sent)) == concatenate(list(scan))
    path.write_text("")
    with pytest.raises(ValueError, match="has changed since it was found"):
        next(iter(scan))
