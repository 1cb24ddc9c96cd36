import json
import math
import re

import numpy as np
import pytest

from bandit_envs.logged import (
    BanditLog,
    read_dsjson,
    scan_log,
    write_dsjson,
)
from bandit_envs.tables.encoding import TableEncoding


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


@pytest.mark.parametrize(
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
        ({"c": {"_multi": [{}, {}, {}]}}, "line 1 has 2 actions, line 2 3; expected one number"),
        ({"EventId": "first"}, "line 2: EventId is 'first', as in line 1"),
        ({"pdrop": 0.9}, "pdrop is 0 in line 1, 0.9 in line 2; .* rows have no weights"),
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
    with pytest.raises(ValueError, match=rf"log\.dsjson does not hold a log: .*{message}"):
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


def test_tags_name_the_actions_wherever_they_stand(tmp_path):
    lines = [
        decision(c={"U": {"age": 3}, "_multi": candidates("a", "b")}),
        decision(c={"U": {"age": 4}, "_multi": candidates("b", "a")}),
    ]
    log = read(tmp_path, *lines)
    assert log.action_names == ("a", "b")
    assert log.action.tolist() == [1, 0]
    assert log.action_probabilities.tolist() == [[0.2, 0.8], [0.8, 0.2]]
    assert log.observation["per_arm"][..., 0].tolist() == [[97.0, 98.0], [97.0, 98.0]]


def test_actions_that_change_from_line_to_line_are_read_by_their_features_alone(tmp_path):
    first = decision(c={"U": {"age": 3}, "_multi": candidates("a", "b")})
    log = read(tmp_path, first, decision(c={"U": {"age": 4}, "_multi": candidates("b", "c")}))
    assert log.action_names == ()
    assert log.observation["per_arm"][..., 0].tolist() == [[97.0, 98.0], [98.0, 99.0]]
    with pytest.raises(ValueError, match="line 2 has other names of actions in _tag than line 1"):
        read(
            tmp_path,
            decision(c={"U": {"age": 3}, "_multi": [{"_tag": "a"}, {"_tag": "b"}]}),
            decision(c={"U": {"age": 3}, "_multi": [{"_tag": "b"}, {"_tag": "c"}]}),
        )


def test_features_are_those_of_vowpal_wabbit(tmp_path):
    user = {"_text": "red red hat", "new": True, "old": False, "team": None, "_x": 7, "n": [1, "a"]}
    shared = {"_ignored": {"z": 1}, "U": user, "_multi": [{}, {}]}
    log = read(tmp_path, decision(c=shared))
    assert log.observation.tolist() == [[2.0, 1.0, 1.0, 1.0, 1.0]]  # red, hat, new, n^0, n^1=a


def test_dsjson_gives_back_the_names_of_actions(tmp_path):
    encoding = TableEncoding(("hats", "shoes"))
    log = BanditLog(np.ones((2, 1)), [0, 1], [1.0, 0.0], [0.5, 0.5], encoding=encoding)
    write_dsjson(tmp_path / "log.dsjson", log)
    assert read_dsjson(tmp_path / "log.dsjson").action_names == ("hats", "shoes")


def test_a_file_of_dsjson_is_refused_with_what_reads_it(tmp_path):
    path = tmp_path / "log.dsjson"
    path.write_text(json.dumps(decision()))
    with pytest.raises(ValueError, match=re.escape("read_dsjson")):
        scan_log(path)
