"""Mistakes in tables, folders and batches of logs, and what their errors name."""

import gzip
import re

import numpy as np
import pytest

from bandit_envs import RandomPolicy
from bandit_envs.logged import (
    DirectMethodLearner,
    DoublyRobust,
    DoublyRobustLearner,
    InversePropensityScoring,
    PolicyGradientLearner,
    RewardRegression,
    estimate_batches,
    from_frame,
    probabilities_of,
    read_log,
    scan_log,
    write_log,
)
from tests.logged.logs import drawn, small_log

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
NAMES = {"action": "arm", "reward": "paid", "propensity": "p", "features": ["age"]}
TABLE = "age,arm,paid,p\n30,0,1,0.5\n40,1,0,0.5\n55,0,1,0.5\n"


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("age,arm,paid,p,age\n30,0,1,0.5,7\n40,1,0,0.5,7\n")
    columns = [[30, 40], [0, 1], [1.0, 0.0], [0.5, 0.5], [7, 7]]
    table = pyarrow.Table.from_arrays(
        [pyarrow.array(column) for column in columns], ["age", "arm", "paid", "p", "age"]
    )
    parquet.write_table(table, tmp_path / "b.parquet")
    for name in ("a.csv", "b.parquet"):
        with pytest.raises(ValueError, match=rf"{name} .*has 2 columns 'age'; expected one"):
            list(scan_log(tmp_path / name, num_actions=2, **NAMES))
    with pytest.raises(ValueError, match="frame has 2 columns 'age'; expected one"):
        from_frame(table.to_pandas(), **NAMES)


@pytest.mark.parametrize("line", [2, 3, 50, 99])
@pytest.mark.parametrize("note", [",note", ""])
def test_a_line_with_a_comma_too_many_is_refused(line, note, tmp_path):
    lines = [f"age,arm,paid,p{note}", *[f"30,{row % 2},1,0.5{note}" for row in range(98)]]
    lines[line - 1] = f"30,5,0,1,0.5{note}"  # it would be action 5
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"a\.csv cannot be read: .*(fields in line|line 2 or a)"):
        list(scan_log(tmp_path / "a.csv", batch_rows=20, num_actions=6, **NAMES))


def test_lines_may_end_with_a_comma(tmp_path):
    (tmp_path / "a.csv").write_text(TABLE.replace("0.5\n", "0.5,\n"))
    assert sum(map(len, scan_log(tmp_path / "a.csv", **NAMES))) == 3


def test_the_index_of_a_frame_is_a_column_of_its_parquet_file(tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    frame = pandas.read_csv(tmp_path / "a.csv")
    frame.set_index("age").to_parquet(tmp_path / "a.parquet")
    (batch,) = scan_log(tmp_path / "a.parquet", **NAMES)
    assert batch == from_frame(frame, **NAMES)


def test_ids_in_place_of_actions_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text(TABLE.replace("30,0,", "30,812345678,"))
    message = "column 'arm' has the action 812345678, and 3 rows; number the actions from 0"
    with pytest.raises(ValueError, match=message):
        scan_log(tmp_path / "a.csv", **NAMES)


@pytest.mark.parametrize("num_actions", [-1, "3", 2.0])
def test_the_number_of_actions_of_a_table_is_checked_before_it_is_read(num_actions, tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    with pytest.raises((TypeError, ValueError), match=re.escape(f"num_actions is {num_actions!r}")):
        scan_log(tmp_path / "a.csv", num_actions=num_actions, **NAMES)
    frame = pandas.read_csv(tmp_path / "a.csv")
    with pytest.raises((TypeError, ValueError), match="num_actions is"):
        from_frame(frame, num_actions=num_actions, **NAMES)


def test_a_feature_is_named_once(tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    with pytest.raises(ValueError, match="features has the column 'age' twice"):
        scan_log(tmp_path / "a.csv", **{**NAMES, "features": ["age", "age"]})


def test_a_table_beside_its_compressed_copy_is_refused(tmp_path):
    (tmp_path / "clicks.1.csv").write_text(TABLE)
    (tmp_path / "clicks.2.csv").write_text(TABLE)
    assert sum(map(len, scan_log(tmp_path, **NAMES))) == 6
    (tmp_path / "clicks.1.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    message = r"has clicks\.1\.csv and clicks\.1\.csv\.gz, whose rows would count twice"
    with pytest.raises(ValueError, match=message):
        scan_log(tmp_path, **NAMES)


def test_a_time_that_is_missing_is_told_before_rows_are_counted(tmp_path):
    (tmp_path / "a.csv").write_text("age,arm,paid,p,day\n30,0,1,0.5,1\n,1,0,0.5,2\n50,0,1,0.5,\n")
    with pytest.raises(ValueError, match=r"2 of 3 rows miss values: .*'day' 1, first in line 4"):
        scan_log(tmp_path, time="day", **NAMES).split("2")
    earlier, later = scan_log(tmp_path, time="day", drop_missing=True, **NAMES).split("2")
    assert (len(earlier), len(later)) == (1, 0)


@pytest.mark.parametrize("read", [scan_log, read_log])
def test_a_log_in_two_formats_is_refused(read, tmp_path):
    for suffix in (".npz", ".csv"):
        write_log(tmp_path / f"log{suffix}", small_log())
    with pytest.raises(ValueError, match=r"has log\.csv and log\.npz"):
        read(tmp_path)


def scan_of(folder):
    """A scan, where somebody may have meant a log."""
    write_log(folder / "log.npz", small_log())
    return scan_log(folder)


@pytest.mark.parametrize(
    "call",
    [
        DirectMethodLearner().fit,
        DoublyRobustLearner().fit,
        PolicyGradientLearner().fit,
        RewardRegression().predict,
        lambda scan: InversePropensityScoring().estimate(scan, np.ones((6, 3)) / 3),
        lambda scan: probabilities_of(RandomPolicy(3), scan),
    ],
)
def test_a_scan_is_no_log(call, tmp_path):
    with pytest.raises(TypeError, match="log is of type WrittenScan; expected a BanditLog"):
        call(scan_of(tmp_path))


@pytest.mark.parametrize(
    "call",
    [
        DirectMethodLearner().fit_batches,
        DoublyRobustLearner().fit_batches,
        PolicyGradientLearner().fit_batches,
        lambda log: estimate_batches(DoublyRobust(), log, lambda _: 0),
    ],
)
def test_a_log_is_no_batches(call):
    with pytest.raises(TypeError, match="batches is one BanditLog; expected a list"):
        call(small_log())


@pytest.mark.parametrize("probabilities", [RandomPolicy(3), np.full((6, 3), 1 / 3)])
def test_probabilities_of_batches_are_a_function(probabilities):
    with pytest.raises(TypeError, match=r"functools\.partial\(probabilities_of, policy\)"):
        estimate_batches(InversePropensityScoring(), [small_log()], probabilities)


@pytest.mark.parametrize(
    "learner", [DirectMethodLearner(), DoublyRobustLearner(), PolicyGradientLearner()]
)
def test_nothing_is_learned_from_no_rows(learner):
    nothing = drawn(np.random.default_rng(0), 0)
    with pytest.raises(ValueError, match="log has 0 rows; expected at least"):
        learner.fit(nothing)
    with pytest.raises(ValueError, match="log has 0 rows; expected at least"):
        learner.fit_batches([nothing])
