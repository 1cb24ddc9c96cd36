import numpy as np
import pytest
from hypothesis import given

from bandit_envs.logged import BanditLog, concatenate
from tests.logged.logs import ACTION, PROPENSITY, REWARD, logs, small_log

GOOD = {"observation": np.ones((6, 1)), "action": ACTION, "reward": REWARD}
GOOD["propensity"] = PROPENSITY


@pytest.mark.parametrize(
    ("column", "value", "row"),
    [
        ("action", [0, 1, -1, 0, 1, 2], "row 2"),
        ("reward", [0, 1, 0, np.nan, 1, 2], "row 3"),
        ("reward", [0, 1, 0, np.inf, 1, 2], "row 3"),
        ("propensity", [0.5, 0.0, 1, 1, 1, 1], "row 1"),
        ("propensity", [0.5, 0.1, 1, 1, 1, 1.1], "row 5"),
        ("propensity", [0.5, 0.1], "shape"),
        ("observation", np.full((6, 1), np.nan), "row 0"),
        ("observation", np.ones((5, 1)), "shape"),
        ("action_probabilities", np.ones((6, 3)), "row 0"),
        ("available", np.zeros((6, 3), bool), ""),
        ("expected_rewards", np.full((6, 3), np.nan), "row 0"),
        ("step", [[0]] * 6, "shape"),
    ],
)
def test_bad_values_are_refused_with_the_column_and_the_first_row(column, value, row):
    with pytest.raises(ValueError, match="action" if column == "available" else column) as error:
        BanditLog(**{**GOOD, column: value}, num_actions=3)
    assert row in str(error.value)


@pytest.mark.parametrize("column", ["action", "reward", "propensity", "observation"])
def test_objects_are_refused(column):
    with pytest.raises(TypeError, match=column):
        BanditLog(**{**GOOD, column: np.array([None] * 6)})


def test_a_log_knows_its_columns_and_says_its_size():
    log = small_log(step=np.arange(6))
    assert (len(log), log.num_actions, log.available) == (6, 3, None)
    assert log.action.tolist() == ACTION
    for part in ("6 rows", "3 actions", "0.6667", "0.1 to 0.5"):
        assert part in repr(log)
    with pytest.raises(ValueError, match="read-only"):
        log.reward[0] = 5.0


def test_a_log_keeps_no_hold_of_what_it_was_made_from():
    reward = np.array(REWARD, float)
    log = BanditLog(np.ones((6, 1)), ACTION, reward, PROPENSITY)
    reward[:] = 9.0
    assert log.reward.max() == 1.0


@given(logs())
def test_parts_of_a_log_make_it_whole_again(log):
    parts = [log[:1], log[np.arange(1, len(log))]]
    assert concatenate(parts) == log
    assert log[np.ones(len(log), bool)] == log
    assert log[:0] != log


def test_logs_with_other_columns_are_not_equal_and_not_joined():
    log, other = small_log(), small_log(step=np.arange(6))
    assert log != other
    assert other.drop("step") == log
    for name in ("steps", "action"):
        with pytest.raises(ValueError, match=name):
            other.drop(name)
    with pytest.raises(ValueError, match="columns"):
        concatenate([log, other])
