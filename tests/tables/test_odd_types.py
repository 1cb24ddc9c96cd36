"""Columns of types that would be texts by accident are refused by name."""

import datetime
import decimal
import uuid

import numpy as np
import pytest

from bandit_envs.datasets import read_dataset, read_outcomes
from bandit_envs.logged import from_frame, read_log
from bandit_envs.logged.learners import DirectMethodLearner
from bandit_envs.logged.learners.policy_files import read_policy, write_policy

pandas = pytest.importorskip("pandas")

ROWS = 12
ODD = {
    "timedelta": pandas.to_timedelta(np.arange(ROWS) % 3, unit="D"),
    "timedelta[s]": pandas.Series(np.arange(ROWS).astype("m8[s]")),
    "complex": (np.arange(ROWS) % 3) * 1j,
    "bytes": [b"DE", b"FR"] * (ROWS // 2),
    "NumPy's bytes": pandas.Series(np.array([b"DE", b"FR"] * (ROWS // 2)), dtype=object),
    "Period": pandas.period_range("2024-01", periods=ROWS, freq="M"),
    "Interval": pandas.interval_range(0, ROWS),
    "category of Interval": pandas.cut(np.arange(ROWS), 3),
    "mixed": ["DE", *[b"FR"] * (ROWS - 1)],
    "time": [datetime.time(12, 30)] * ROWS,
    "tuple": [(1, 2)] * ROWS,
    "UUID": [uuid.UUID(int=1)] * ROWS,
}
PLAIN = {
    "decimal": [decimal.Decimal("1.5")] * ROWS,
    "date": [datetime.date(2024, 12, 31)] * ROWS,
    "bool": np.arange(ROWS) % 2 == 0,
    "category": pandas.Series(["DE", "FR"] * (ROWS // 2), dtype="category"),
    "string": pandas.Series(["DE", "FR"] * (ROWS // 2), dtype="string"),
    "zone": pandas.date_range("2024-01-01", periods=ROWS, tz="Europe/Berlin"),
    "mixed": [*["DE"] * (ROWS - 2), 1, 2.5],
}
REFUSED = "column 'odd' is .* in row 0.*expected a number, a text, a date or a time"


def make(column, **others):
    """A log as a table, with a column of its own."""
    table = {
        "action": np.arange(ROWS) % 2,
        "reward": np.arange(ROWS) % 3.0,
        "propensity": 0.5,
        "odd": column,
    }
    return pandas.DataFrame({**table, **others})


@pytest.mark.parametrize("role", ["features", "action", "reward", "propensity"])
@pytest.mark.parametrize("kind", ODD)
def test_a_log_refuses_it_in_any_role(kind, role):
    column = ODD[kind]
    expected = REFUSED.replace("row 0", "row 1") if kind == "mixed" else REFUSED
    named = {"features": ["odd"]} if role == "features" else {role: "odd", "features": []}
    with pytest.raises(ValueError, match=expected):
        from_frame(make(column), **named)


@pytest.mark.parametrize("kind", PLAIN)
def test_a_log_takes_what_is_plain(kind):
    assert len(from_frame(make(PLAIN[kind]), features=["odd"])) == ROWS


@pytest.mark.parametrize("kind", ["timedelta", "bytes", "complex"])
def test_data_sets_and_outcomes_refuse_it(kind):
    table = make(ODD[kind])
    with pytest.raises(ValueError, match=REFUSED):
        read_dataset(table, "action")
    with pytest.raises(ValueError, match=REFUSED):
        read_outcomes(table, ["reward"], ["odd", "propensity"])


def test_what_has_learned_refuses_it(tmp_path):
    log = from_frame(make(PLAIN["category"]), features=["odd"])
    write_policy(tmp_path / "policy.npz", DirectMethodLearner().fit(log))
    with pytest.raises(ValueError, match=REFUSED):
        read_policy(tmp_path / "policy.npz").choose(make(ODD["bytes"]))


def test_a_gap_is_no_odd_type():
    column = pandas.Series(["DE", None] * (ROWS // 2), dtype=object)
    assert len(from_frame(make(column), features=["odd"], drop_missing=True)) == ROWS // 2


def test_texts_of_parquet_without_utf8_are_refused_by_file_and_row(tmp_path):
    pytest.importorskip("pyarrow")
    make(ODD["bytes"]).to_parquet(tmp_path / "log.parquet")
    with pytest.raises(ValueError, match=r"log\.parquet.* column 'odd' is b'DE' in row 0"):
        read_log(tmp_path / "log.parquet")
