"""Logs in batches, from files and folders."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from bandit_envs.logged import (
    DirectMethod,
    DoublyRobust,
    InversePropensityScoring,
    RewardRegression,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    concatenate,
    estimate_batches,
    from_frame,
    read_log,
    scan_log,
    write_log,
)
from bandit_envs.tables.missing import MissingValues
from tests.logged.logs import drawn, logs, small_log

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
anywhere = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
SUFFIXES = [".npz", ".csv", ".parquet"]
NAMES = {"action": "arm", "reward": "paid", "propensity": "p", "features": ["age", "visits"]}


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(log=logs())
@anywhere
def test_the_batches_of_a_file_are_its_log(suffix, log, tmp_path):
    write_log(tmp_path / f"log{suffix}", log)
    batches = list(scan_log(tmp_path / f"log{suffix}", batch_rows=2))
    assert concatenate(batches) == log
    assert [len(batch) for batch in batches[:-1]] == [2] * (len(batches) - 1)


def test_the_files_of_a_folder_follow_one_another_and_are_read_anew_in_every_loop(tmp_path):
    log = drawn(np.random.default_rng(0), 100)
    cuts = [0, 10, 45, 100]
    for place, suffix in enumerate(SUFFIXES):
        write_log(tmp_path / f"{place}{suffix}", log[cuts[place] : cuts[place + 1]])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".0.npz.part").touch()
    scan = scan_log(tmp_path, batch_rows=30)
    assert [len(batch) for batch in scan] == [10, 30, 5, 30, 25]
    assert concatenate(list(scan)) == log


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_embeddings_are_read_from_the_columns_named(suffix, tmp_path):
    frame = users_frame().assign(brand=np.arange(100) % 7, size=np.arange(100) % 3)
    write = frame.to_csv if suffix == ".csv" else frame.to_parquet
    write(tmp_path / f"table{suffix}", index=False)
    scan = scan_log(tmp_path, 30, embedding=["brand", "size"], num_actions=3, **NAMES)
    log = concatenate(list(scan))
    assert log.embedding.tolist() == frame[["brand", "size"]].to_numpy().tolist()
    halves = frame.assign(size=np.arange(100) / 2.0)
    with pytest.raises(ValueError, match=r"'size' is 0\.5 in row 1; expected an integer"):
        from_frame(halves, embedding="size", **NAMES)


def users_frame(size=100):
    rng = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "note": ["x"] * size,
            "age": rng.integers(18, 80, size),
            "visits": rng.normal(size=size),
            "arm": rng.integers(3, size=size),
            "paid": rng.normal(size=size),
            "p": np.full(size, 1 / 3),
        }
    )


def write_frame(frame, file):
    if file.suffix == ".parquet":
        frame.to_parquet(file, index=False)
    else:
        frame.to_csv(file, index=False)


@pytest.mark.parametrize("names", [["a.csv"], ["a.parquet"], ["a.csv.gz", "b.parquet", "c.csv"]])
def test_users_tables_become_batches_with_the_columns_asked_for(names, tmp_path):
    frame = users_frame()
    for name, part in zip(names, np.array_split(np.arange(100), len(names))):
        write_frame(frame.iloc[part], tmp_path / name)
    expected = from_frame(frame, *list(NAMES.values())[:3], features=NAMES["features"])
    path = tmp_path if len(names) > 1 else tmp_path / names[0]
    batches = list(scan_log(path, batch_rows=33, **NAMES))
    assert concatenate(batches) == expected
    assert {batch.num_actions for batch in batches} == {3}
    batches = list(scan_log(path, num_actions=5, **NAMES))
    assert {batch.num_actions for batch in batches} == {5}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_parts_may_be_empty_or_have_numbers_of_other_types(suffix, tmp_path):
    frame = users_frame()
    others = {"arm": np.int8, "age": np.float32, "paid": str}
    parts = [frame[:50], frame[:0], frame[50:].astype(others)]
    for number, part in enumerate(parts):
        write_frame(part, tmp_path / f"{number}{suffix}")
    expected = from_frame(frame, *list(NAMES.values())[:3], features=NAMES["features"])
    log = concatenate(list(scan_log(tmp_path, batch_rows=30, **NAMES)))
    assert log == expected


@pytest.mark.parametrize(("name", "bad"), [("visits", "-"), ("arm", 0.5)])
def test_a_bad_value_has_its_line_in_the_file(name, bad, tmp_path):
    frame = users_frame().astype({name: object})
    frame.loc[77, name] = bad
    write_frame(frame, tmp_path / "a.csv")
    message = rf"a\.csv .*column '{name}' is '?{bad}'? in line 79; expected"
    with pytest.raises(ValueError, match=message):
        list(scan_log(tmp_path, batch_rows=30, **NAMES))


@pytest.mark.parametrize(("suffix", "place"), [(".parquet", "row 77"), (".csv", "line 79")])
@pytest.mark.parametrize("batch_rows", [1, 30, 100])
def test_a_bad_decision_has_its_place_in_the_file(suffix, place, batch_rows, tmp_path):
    frame = users_frame()
    frame["age"] = frame["age"].astype(float)
    frame.loc[77, "p"] = 0.0
    frame.loc[61, "age"] = None
    write_frame(frame, tmp_path / f"a{suffix}")
    with pytest.raises(ValueError, match=f"column 'p' is 0.0 in {place}; expected above 0"):
        list(scan_log(tmp_path, batch_rows, drop_missing=True, **NAMES))


def test_missing_values_are_counted_in_all_files_or_left_out(tmp_path):
    frame = users_frame()
    frame["age"] = frame["age"].astype(float)
    frame.loc[[3, 70, 71], "age"] = None
    frame.loc[[71, 90], "paid"] = None
    frame.loc[5, "note"] = None
    write_frame(frame[:50], tmp_path / "a.csv")
    write_frame(frame[50:], tmp_path / "b.parquet")
    message = (
        r"4 of 100 rows miss values: 'age' 3, first in line 5 of a\.csv; "
        r"'paid' 2, first in row 21 of b\.parquet; --drop-missing"
    )
    with pytest.raises(ValueError, match=message):
        list(scan_log(tmp_path, batch_rows=20, **NAMES))
    scan = scan_log(tmp_path, batch_rows=20, drop_missing=True, **NAMES)
    complete = frame.drop(index=[3, 70, 71, 90])
    expected = from_frame(complete, *list(NAMES.values())[:3], features=NAMES["features"])
    assert concatenate(list(scan)) == expected
    missing = scan.find_missing()
    assert (missing.size, missing.rows) == (100, 4)


def scan_of(folder, **columns):
    """Scans a folder with a good file and one whose columns are replaced, or left out if None."""
    frame = users_frame(6)
    write_frame(frame, folder / "a.csv")
    kept = frame.drop(columns=[name for name, value in columns.items() if value is None])
    write_frame(
        kept.assign(**{k: v for k, v in columns.items() if v is not None}), folder / "b.csv"
    )
    return lambda: list(scan_log(folder, **NAMES))


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"paid": None}, ValueError, r"b\.csv cannot be read: it has no column 'paid'"),
        ({"paid": np.inf}, ValueError, r"b\.csv .*column 'paid' is inf in line 2"),
        ({"p": 0.0}, ValueError, r"b\.csv .*column 'p' is 0.0 in line 2"),
        ({"arm": 0.5}, ValueError, r"b\.csv .*'arm' is 0.5"),
        ({"age": "old"}, ValueError, r"b\.csv .*'old'"),
    ],
)
def test_a_bad_part_of_a_folder_is_named(columns, error, message, tmp_path):
    with pytest.raises(error, match=message):
        scan_of(tmp_path, **columns)()


def read_folder(folder):
    return list(scan_log(folder))


@pytest.mark.parametrize("read", [read_folder, read_log])
def test_files_that_do_not_fit_or_are_damaged_are_named(tmp_path, read):
    log = small_log()
    write_log(tmp_path / "a.npz", log)
    others = {
        "step is numbers of shape (); expected missing": small_log(step=np.arange(6)),
        "observation is numbers of shape (1,); expected numbers of shape (2,)": (
            dataclasses.replace(log, observation=log.observation[:, :1])
        ),
        "observation is {'x': 'numbers of shape (2,)'}; expected numbers of shape (2,)": (
            dataclasses.replace(log, observation={"x": log.observation})
        ),
        "logs differ in their number of actions": dataclasses.replace(log, num_actions=4),
    }
    for message, other in others.items():
        write_log(tmp_path / "b.npz", other)
        with pytest.raises(ValueError, match=r"b\.npz .*" + re.escape(message)):
            read(tmp_path)
    (tmp_path / "b.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-50])
    with pytest.raises(ValueError, match=r"b\.npz (cannot be read|does not hold a log)"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"path": "nowhere.csv"}, FileNotFoundError, "nowhere.csv does not exist"),
        ({"path": "."}, ValueError, "no files that are read; expected"),
        (
            {"path": ".", "features": "x"},
            ValueError,
            r"that are read; .* \.parquet, .*\.csv",
        ),
        ({"path": ".", "batch_rows": 0}, ValueError, "batch_rows is 0"),
        ({"path": "x.csv", "features": "reward"}, ValueError, "'reward' has two roles"),
    ],
)
def test_there_must_be_a_log_to_scan(arguments, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        scan_log(**arguments)


@pytest.mark.parametrize("actions", [[0, 3, 3, 1], [1, 3, 2, 2], [0, 5000, 1, 1], [None, 2, 0, 1]])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "Int64", "float64", "str"])
def test_actions_are_numbered_alike_whatever_files_say_of_them(actions, dtype, tmp_path):
    if (None in actions and dtype in ("int64", "uint8")) or (max(map(int, actions[1:])) > 255):
        dtype = "Int64"
    frame = pandas.DataFrame({"action": actions, "reward": 1.0, "propensity": 0.5, "age": 1.0})
    frame["action"] = frame["action"].astype("Int64").astype(dtype)
    found = []
    for place, options in enumerate([{}, {"row_group_size": 1}, {"write_statistics": False}]):
        frame.to_parquet(tmp_path / f"{place}.parquet", **options)
        try:
            scan = scan_log(tmp_path / f"{place}.parquet", drop_missing=True)
            found.append((scan.num_actions, list(concatenate(list(scan)).action)))
        except ValueError as error:
            found.append(str(error).replace(f"{place}.parquet", "file"))
    assert found == found[:1] * 3


def test_actions_of_a_table_that_count_from_one_are_refused(tmp_path):
    frame = users_frame()
    frame["arm"] += 1
    write_frame(frame, tmp_path / "a.csv")
    with pytest.raises(ValueError, match="'arm' counts actions from 1"):
        scan_log(tmp_path / "a.csv", **NAMES)


@pytest.mark.parametrize(
    "estimator",
    [
        InversePropensityScoring(),
        SelfNormalizedIPS(),
        DirectMethod(),
        DoublyRobust(),
        SelfNormalizedDR(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("batch_rows", [7, 100, 5000])
def test_an_estimate_of_batches_is_that_of_the_log_in_memory(estimator, batch_rows, tmp_path):
    log = drawn(np.random.default_rng(0), 1000)
    log = dataclasses.replace(log, reward=log.reward + 5.0 + log.observation[:, 0])
    for part in range(4):
        write_log(tmp_path / f"{part}.npz", log[250 * part : 250 * part + 250])

    def probabilities(batch):
        table = np.exp(np.outer(batch.observation[:, 1], [-1.0, 0.0, 1.0]))
        return table / table.sum(axis=1, keepdims=True)

    whole = estimator.estimate(log, probabilities(log), RewardRegression().predict(log))
    found = estimate_batches(estimator, scan_log(tmp_path, batch_rows), probabilities)
    assert found.value == pytest.approx(whole.value, rel=1e-12)
    assert found.standard_error == pytest.approx(whole.standard_error, rel=1e-12)
    for name in ("interval", "normal_interval", "bernstein_interval", "bootstrap_interval"):
        assert getattr(found, name)() == pytest.approx(getattr(whole, name)(), rel=1e-11)


def test_batches_that_can_be_passed_over_once_only_are_refused():
    batches = (log for log in [small_log()])
    with pytest.raises(TypeError, match="batches can be passed over once only"):
        estimate_batches(DoublyRobust(), batches, np.eye)


def test_a_log_needs_a_row_for_every_fold_of_its_models():
    log = small_log()[:2]
    with pytest.raises(ValueError, match="log has 2 rows; expected at least 3, one a fold"):
        estimate_batches(DoublyRobust(), [log[:1], log[1:]], lambda batch: np.eye(3)[:1])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("read", [read_log, lambda file: list(scan_log(file))])
def test_a_table_of_another_origin_needs_names_of_its_columns(suffix, read, tmp_path):
    write_frame(users_frame(), tmp_path / f"a{suffix}")
    with pytest.raises(ValueError, match=r"has no column 'action'; it has \['note', 'age'"):
        read(tmp_path / f"a{suffix}")


def test_a_log_without_rows_has_no_estimate(tmp_path):
    write_log(tmp_path / "a.csv", small_log()[:0])
    with pytest.raises(ValueError, match="log has 0 rows; expected at least two"):
        estimate_batches(InversePropensityScoring(), scan_log(tmp_path), lambda _: np.eye(3)[:0])


@pytest.mark.parametrize("names", [["a.csv"], ["a.csv", "b.parquet"]])
def test_a_scan_is_split_at_a_time(names, tmp_path):
    frame = users_frame()
    frame["day"] = np.arange(100) // 10
    for name, part in zip(names, np.array_split(np.arange(100), len(names))):
        write_frame(frame.iloc[part], tmp_path / name)
    earlier, later = scan_log(tmp_path, batch_rows=33, time="day", **NAMES).split("6")
    assert (len(earlier), len(later)) == (60, 40)
    whole = concatenate(list(scan_log(tmp_path, **NAMES)))
    assert concatenate(list(earlier)) == whole[:60]
    assert concatenate(list(later)) == whole[60:]


def test_a_scan_without_times_is_not_split(tmp_path):
    write_frame(users_frame(), tmp_path / "a.csv")
    with pytest.raises(ValueError, match="the scan has no column of times"):
        scan_log(tmp_path, **NAMES).split("6")


def test_a_message_of_missing_values_has_at_most_five_columns():
    frame = pandas.DataFrame({name: [1.0, None] for name in "abcdefgh"})
    with pytest.raises(ValueError, match="'e' 1, first in row 1; and 3 more columns; --drop-"):
        MissingValues.from_frame(frame, list(frame)).check_none()
