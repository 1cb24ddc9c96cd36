"""Logs as data frames, and data frames of users as logs."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given

from bandit_envs.logged import BanditLog, from_frame, to_frame
from bandit_envs.tables.whole_table import read_table
from tests.logged.logs import drawn, logs

pandas = pytest.importorskip("pandas")


def users_frame(**columns):
    """A table of two decisions; `columns` replace or join its own."""
    own = {"age": [1.0, 2.0], "arm": [0, 1], "paid": [1.0, 0.0], "p": [0.5, 0.5]}
    return pandas.DataFrame({**own, **columns})


def read_users_frame(frame, features=("age",), **options):
    return from_frame(frame, "arm", "paid", "p", features=features, **options)


@given(log=logs())
def test_a_frame_gives_back_the_log(log):
    assert from_frame(to_frame(log)) == log


def test_a_frame_of_a_log_may_be_filtered():
    log = drawn(np.random.default_rng(0), 30)
    frame = to_frame(log)
    assert from_frame(frame[frame.reward > 0.5]) == log[log.reward > 0.5]


def test_a_users_frame_becomes_a_log():
    expected = BanditLog(np.array([[1.0], [2.0]]), [0, 1], [1.0, 0.0], [0.5, 0.5])
    assert read_users_frame(users_frame()) == expected
    assert read_users_frame(users_frame(), features="age") == expected
    assert read_users_frame(users_frame(arm=[0.0, 1.0])) == expected
    assert read_users_frame(users_frame(arm=[1, 2]), num_actions=3).num_actions == 3


def test_features_are_numbers_of_any_dtypes():
    visits = pandas.array([3, 4], dtype="Int64")
    frame = users_frame(new=[True, False], visits=visits)
    log = read_users_frame(frame, ["new", "visits", "age"])
    assert log.observation.tolist() == [[1.0, 3.0, 1.0], [0.0, 4.0, 2.0]]


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"p": [0.5, 0.0]}, ValueError, r"column 'p' is 0.0 in row 1; expected"),
        ({"age": ["1", "Bern"]}, ValueError, "'age' is 'Bern' in row 1; expected a number"),
        ({"age": [0.0, np.inf]}, ValueError, "'age' is inf in row 1; expected a finite number"),
        ({"paid": ["yes", "no"]}, ValueError, "'paid' is 'yes' in row 0; expected a number"),
        ({"arm": [1, 2]}, ValueError, "'arm' counts actions from 1"),
        ({"arm": [0, "blue"]}, ValueError, "'arm' is 'blue' in row 1"),
        ({"arm": [0.0, 0.5]}, ValueError, "'arm' is 0.5 in row 1"),
        ({"arm": [0, np.inf]}, ValueError, "'arm' is inf in row 1"),
    ],
)
def test_what_is_wrong_is_named_as_the_user_names_it(columns, error, message):
    with pytest.raises(error, match=message):
        read_users_frame(users_frame(**columns))


def test_numbers_of_any_type_are_read():
    paid = [Decimal("1.0"), Decimal(0)]
    age = pandas.Categorical([1, 2])
    assert read_users_frame(users_frame(paid=paid, p=["0.5", "0.5"], age=age)) == read_users_frame(
        users_frame()
    )


def test_a_column_has_one_role():
    for name in ("arm", "paid", "p"):
        with pytest.raises(ValueError, match=f"column '{name}' has two roles, .* and features"):
            read_users_frame(users_frame(), ["age", name])
    with pytest.raises(
        ValueError, match="column 'p' has two roles, reward and propensity; expected"
    ):
        from_frame(users_frame(), "arm", "p", "p", features="age")


def test_a_frame_without_a_column_is_refused():
    with pytest.raises(ValueError, match="no column 'old'"):
        read_users_frame(users_frame(), ["old"])
    with pytest.raises(ValueError, match="no column 'action'"):
        from_frame(users_frame())


def test_missing_values_are_counted_by_column_with_the_line_of_the_file(tmp_path):
    path = tmp_path / "clicks.csv"
    path.write_text("age,arm,paid,p,note\n1,0,1,0.5,\n,1,,0.5,\n3,1,,0.5,a\n")
    frame = read_table(path)
    message = r"'paid' 2, first in line 3; 'age' 1, first in line 3; --drop-missing"
    with pytest.raises(ValueError, match=message):
        read_users_frame(frame)
    assert len(read_users_frame(frame.dropna(subset=["age", "paid"]))) == 1


def test_patterns_stand_for_columns_of_features():
    frame = users_frame(e1=[1.0, 2.0], e2=[3.0, 4.0])
    log = read_users_frame(frame, features="e*")
    assert log.encoding.names == ["e1", "e2"]
    with pytest.raises(ValueError, match=r"no column 'x[*]'"):
        read_users_frame(frame, features="x*")


def test_one_propensity_may_be_that_of_all_rows():
    log = from_frame(users_frame(), "arm", "paid", 0.5, features="age")
    assert log.propensity.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match=r"propensity is 0\.0; expected above 0"):
        from_frame(users_frame(), "arm", "paid", 0.0, features="age")
