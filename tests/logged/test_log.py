import numpy as np
import pytest
from hypothesis import given

from bandit_envs.logged import BanditLog, concatenate
from tests.logged.logs import ACTION, PROPENSITY, REWARD, logs, small_log


def test_a_log_knows_its_columns_and_says_its_size():
    log = small_log(step=np.arange(6))
    assert (len(log), log.num_actions, log.available) == (6, 3, None)
    assert log.action.tolist() == ACTION
    for part in ("6 rows", "3 actions", "0.6667", "0.1 to 0.5"):
        assert part in repr(log)


def test_a_log_is_a_read_only_copy_of_what_it_was_made_from():
    reward = np.array(REWARD, float)
    log = BanditLog(np.ones((6, 1)), ACTION, reward, PROPENSITY)
    reward[:] = 9.0
    assert log.reward.max() == 1.0
    with pytest.raises(ValueError, match="read-only"):
        log.reward[0] = 5.0


@given(logs())
def test_parts_of_a_log_make_it_whole_again(log):
    parts = [log[:1], log[np.arange(1, len(log))]]
    assert concatenate(parts) == log
    assert log[np.ones(len(log), bool)] == log
    assert log[:0] != log


def test_a_log_without_a_column_is_another_log():
    log = small_log(step=np.arange(6))
    assert log != small_log()
    assert log.drop("step") == small_log()


def test_what_a_policy_told_has_names_of_its_own_and_rows_of_the_log():
    told = {"predicted": np.arange(12.0).reshape(6, 2)}
    log = small_log(info=told)
    assert log[2:4].info["predicted"].tolist() == [[4.0, 5.0], [6.0, 7.0]]
    assert concatenate([log[:2], log[2:]]) == log != log.drop("info") == small_log()
    with pytest.raises(ValueError, match="info is missing; expected"):
        concatenate([log, small_log()])
    for wrong in [{"reward": np.ones(6)}, np.ones(6), {1: np.ones(6)}]:
        with pytest.raises(ValueError, match="expected a dict of arrays, whose names are not"):
            small_log(info=wrong)
    with pytest.raises(ValueError, match="info has shape"):
        small_log(info={"predicted": np.ones(5)})
