"""Folders of logs and tables: every file is read, or named."""

import bz2
import gzip
import lzma
import os
import shutil
import socket
import zipfile

import numpy as np
import pytest

from bandit_envs.datasets import read_dataset, read_outcomes
from bandit_envs.logged import LogRecorder, concatenate, read_log, scan_log, write_log
from tests.logged.logs import small_log

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
NAMES = {"action": "arm", "reward": "paid", "propensity": "p", "features": ["age"]}
HEADER = "age,arm,paid,p\n"


def table(*ages, arm=0):
    return HEADER + "".join(f"{age},{arm},1,0.5\n" for age in ages)


def put(folder, **files):
    """Writes files, whose names are given with __ for a dot."""
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def put_below(folder, path, text):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)


def ages(path, **options):
    """The feature of all rows, in the order of the scan."""
    names = {**NAMES, "num_actions": 2, **options}
    return concatenate(list(scan_log(path, **names))).observation[:, 0].tolist()


def zipped(content):
    with zipfile.ZipFile("table.zip", "w") as archive:
        archive.writestr("table.csv", content)
    with open("table.zip", "rb") as file:
        return file.read()


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".csv", bytes),
        (".gz", gzip.compress),
        (".gzip", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zip", zipped),
    ],
)
@pytest.mark.parametrize("change", [str.lower, str.upper])
def test_a_table_is_read_whatever_compressed_it_and_in_capitals_or_not(
    suffix, compress, change, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "log"
    folder.mkdir()
    name = change("b.csv" if suffix == ".csv" else f"b.csv{suffix}")
    (folder / name).write_bytes(compress(table(3, 4).encode()))
    put(folder, **{"0__csv": table(1, 2)})
    assert ages(folder) == [1, 2, 3, 4]
    assert ages(folder / name) == [3, 4]
    assert len(read_dataset(folder, "arm").labels) == 4
    assert read_dataset(folder / name, "arm", "age").contexts[:, 0].tolist() == [3, 4]


def test_zst_is_read(tmp_path):
    pytest.importorskip("zstandard")
    pandas.DataFrame({"age": [1], "arm": [0], "paid": [1.0], "p": [0.5]}).to_csv(
        tmp_path / "a.csv.zst", index=False
    )
    assert ages(tmp_path) == [1]


@pytest.mark.parametrize("suffix", [".parquet", ".pq", ".parq", ".PQ"])
def test_parquet_is_read_by_any_of_its_suffixes(suffix, tmp_path):
    frame = pandas.DataFrame({"age": [1, 2], "arm": [0, 1], "paid": [1.0, 1.0], "p": [0.5, 0.5]})
    frame.to_parquet(tmp_path / f"a{suffix}")
    assert ages(tmp_path) == ages(tmp_path / f"a{suffix}") == [1, 2]
    assert read_dataset(tmp_path, "arm").labels.tolist() == [0, 1]


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet", ".PQ", ".CSV", ".Npz", ".csv.gz"])
def test_a_log_is_read_whatever_compressed_it_and_in_capitals_or_not(suffix, tmp_path):
    written = {".PQ": ".parquet", ".csv.gz": ".csv"}.get(suffix, suffix)
    write_log(tmp_path / f"log{written}", small_log())
    name = tmp_path / f"log{suffix}"
    if suffix == ".csv.gz":
        name.write_bytes(gzip.compress((tmp_path / "log.csv").read_bytes()))
        (tmp_path / "log.csv").unlink()
    elif suffix != written:
        (tmp_path / f"log{written}").rename(name)
    for path in (tmp_path, name):
        assert read_log(path) == small_log()
        assert concatenate(list(scan_log(path, 4))) == small_log()


FOREIGN = ["b.txt", "b.npz", "b.CSV.tar", "README.md", "Thumbs.db", "b", "b.csv.part", "x/b.txt"]
READERS = {
    "scan_log of tables": lambda path, **only: scan_log(path, **NAMES, **only),
    "scan_log": scan_log,
    "read_log": read_log,
    "read_dataset": lambda path, **only: read_dataset(path, "arm", **only),
    "read_outcomes": lambda path, **only: read_outcomes(path, "age", ["paid"], **only),
}


def put_good_file(reader, folder):
    if reader in ("scan_log", "read_log"):
        write_log(folder / "a.csv", small_log())
    else:
        put(folder, a__csv=table(1, 2, 3))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_is_not_read_is_named(reader, name, tmp_path):
    if reader in ("scan_log", "read_log") and name == "b.npz":
        name = "b.tsv"
    put_good_file(reader, tmp_path)
    put_below(tmp_path, name, "what is this")
    with pytest.raises(ValueError, match=rf"has {name}, which cannot be read; .*only="):
        READERS[reader](tmp_path)
    READERS[reader](tmp_path, only="*.csv")


@pytest.mark.parametrize("reader", READERS)
def test_hidden_files_and_folders_are_left_out(reader, tmp_path):
    put_good_file(reader, tmp_path)
    for name in (
        "_SUCCESS",
        ".a.csv.crc",
        "_metadata",
        ".DS_Store",
        "_temporary/b.csv",
        ".x/b.csv",
        "a.html",
    ):
        put_below(tmp_path, name, "no table")
    READERS[reader](tmp_path)


def test_a_pattern_says_what_is_left_out(tmp_path):
    put(tmp_path, a__csv=table(1), b__CSV=table(2), notes__txt="")
    put_below(tmp_path, "day=1/c.csv", table(3))
    scan = scan_log(tmp_path, only="[ab].csv", **NAMES)
    assert [part.name for part in scan.parts.found] == ["a.csv", "b.CSV"]
    assert scan.parts.left_out == ["day=1/c.csv", "notes.txt"]
    assert ages(tmp_path, only="day=1/*") == [3]
    with pytest.raises(ValueError, match="has no files that are read"):
        ages(tmp_path, only="*.parquet")
    with pytest.raises(ValueError, match=r"only is '\*\.csv', and .* is not a folder"):
        ages(tmp_path / "a.csv", only="*.csv")
    with pytest.raises(FileNotFoundError, match=r"\*\.csv does not exist; .*only="):
        ages(tmp_path / "*.csv")


def link_file(folder):
    (folder / "b.csv").symlink_to(folder / "a.csv")


def hard_link(folder):
    os.link(folder / "a.csv", folder / "b.csv")


def link_folder(folder):
    (folder / "x").mkdir()
    put(folder / "x", b__csv=table(1))
    (folder / "y").symlink_to(folder / "x")


def link_to_itself(folder):
    (folder / "x").symlink_to(folder)


@pytest.mark.posix
@pytest.mark.parametrize("link", [link_file, hard_link, link_folder, link_to_itself])
def test_what_a_link_would_count_twice_is_refused(link, tmp_path):
    put(tmp_path, a__csv=table(1, 2))
    link(tmp_path)
    with pytest.raises(ValueError, match="the same by a link; their rows would count twice"):
        ages(tmp_path)


@pytest.mark.posix
def test_a_link_to_a_file_elsewhere_is_read(tmp_path):
    put(tmp_path, a__csv=table(1))
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "b.csv").symlink_to(tmp_path / "a.csv")
    assert ages(tmp_path / "log") == [1]
    (tmp_path / "a.csv").unlink()
    with pytest.raises(ValueError, match=r"has b\.csv, a link to nothing"):
        ages(tmp_path / "log")


def make_pipe(path):
    os.mkfifo(path)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.posix
@pytest.mark.parametrize(("make", "kind"), [(make_pipe, "pipe"), (make_socket, "socket")])
@pytest.mark.parametrize("reader", READERS)
def test_what_would_be_waited_for_is_refused(make, kind, reader, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    put_good_file(reader, tmp_path)
    make("b.csv")
    for path in (tmp_path, tmp_path / "b.csv"):
        with pytest.raises(ValueError, match=rf"b\.csv is a {kind}; expected a file"):
            READERS[reader](path)


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path):
    put(tmp_path, a__csv=table(*range(10)), b__csv=table(10))
    scan = scan_log(tmp_path, batch_rows=5, **NAMES)
    batches = iter(scan)
    next(batches)
    with (tmp_path / "a.csv").open("a") as file:
        file.write("11,0,1,0.5\n")
    with pytest.raises(ValueError, match=r"a\.csv cannot be read: it has changed since it was"):
        list(batches)
    with pytest.raises(ValueError, match=r"a\.csv cannot be read: it has changed since it was"):
        list(scan)
    assert len(ages(tmp_path)) == 12


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_a_file_that_is_written_anew_between_two_passes_is_refused(suffix, tmp_path):
    write_log(tmp_path / f"a{suffix}", small_log())
    scan = scan_log(tmp_path)
    assert concatenate(list(scan)) == small_log()
    os.utime(tmp_path / f"a{suffix}", (1, 1))
    with pytest.raises(ValueError, match=rf"a{suffix} cannot be read: it has changed"):
        list(scan)


def test_folders_of_a_partitioned_table_are_read_with_their_keys(tmp_path):
    for day, age in ((10, 3), (2, 1), (9, 2)):
        put_below(tmp_path, f"day={day}/part-0.csv", table(age, age))
    names = {**NAMES, "features": ["day", "age"], "num_actions": 2}
    log = concatenate(list(scan_log(tmp_path, **names)))
    assert log.observation.tolist() == [[2, 1], [2, 1], [9, 2], [9, 2], [10, 3], [10, 3]]
    earlier, later = scan_log(tmp_path, time="day", **NAMES).split("9")
    assert (len(earlier), len(later)) == (2, 4)
    found = read_dataset(tmp_path, "day", "age")
    assert found.labels.tolist() == [0, 0, 1, 1, 2, 2]


def test_what_pandas_writes_in_partitions_is_read_back(tmp_path):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "age": rng.integers(9, size=60),
            "arm": rng.integers(2, size=60),
            "paid": rng.random(60),
            "p": np.full(60, 0.5),
            "day": rng.choice(["2024-12-31", "2025/01/01 é=1"], 60),
            "hour": rng.integers(12, size=60),
        }
    )
    frame.to_parquet(tmp_path, partition_cols=["day", "hour"])
    ordered = frame.sort_values(["day", "hour"], kind="stable")
    names = {**NAMES, "features": ["hour", "age"]}
    scan = scan_log(tmp_path, time="day", **names)
    log = concatenate(list(scan))
    assert log.observation.tolist() == ordered[["hour", "age"]].to_numpy().tolist()
    assert log.reward.tolist() == ordered["paid"].tolist()
    earlier, _ = scan.split("2025")
    assert len(earlier) == (frame["day"] < "2025").sum()
    outcomes = read_outcomes(tmp_path, "hour", ["paid"])
    assert outcomes.contexts[:, 0].tolist() == ordered["hour"].tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["2", "10"], [2, 10]),
        (["-1", "0.5"], [-1.0, 0.5]),
        (["01", "2"], [1, 2]),
    ],
)
def test_keys_that_are_numbers_are_numbers(values, expected, tmp_path):
    for number, value in enumerate(values):
        put_below(tmp_path, f"x={value}/{number}.csv", table(1))
    assert ages(tmp_path, features="x") == expected


LONG = "1700000000000000001"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([LONG, "1700000000000000002", "-3"], [-3, int(LONG), int(LONG) + 1]),
        ([LONG, "0.5"], ["0.5", LONG]),
        (["99999999999999999998", "99999999999999999999"], None),
        ([LONG, "__HIVE_DEFAULT_PARTITION__"], [LONG, None]),
        (["2", "1e999"], ["1e999", "2"]),
    ],
)
def test_no_two_keys_become_one_as_they_are_long(values, expected, tmp_path):
    for value in values:
        put_below(tmp_path, f"x={value}/a.csv", table(1))
    found = [part.keys["x"] for part in scan_log(tmp_path, **NAMES).parts.found]
    assert found == (values if expected is None else expected)


def test_keys_are_of_one_type_in_all_folders(tmp_path):
    for value in ("1", "2b", "1e"):
        put_below(tmp_path, f"x={value}/a.csv", table(1))
    scan = scan_log(tmp_path, **NAMES)
    assert [part.keys["x"] for part in scan.parts.found] == ["1", "1e", "2b"]
    with pytest.raises(ValueError, match=r"x=1e/a\.csv .*'x' is '1e' in line 2; expected a number"):
        ages(tmp_path, features="x")


def test_a_key_that_is_missing_is_a_missing_value(tmp_path):
    put_below(tmp_path, "x=__HIVE_DEFAULT_PARTITION__/a.csv", table(1, 2))
    put_below(tmp_path, "x=5/a.csv", table(3))
    with pytest.raises(ValueError, match=r"2 of 3 rows miss values: 'x' 2, first in line 2 of x="):
        ages(tmp_path, features="x")
    assert ages(tmp_path, features="x", drop_missing=True) == [5]


def test_a_key_that_is_a_column_of_the_file_too_is_refused(tmp_path):
    put_below(tmp_path, "age=5/a.csv", table(7))
    with pytest.raises(ValueError, match=r"a\.csv .*has a column 'age', and its folder says age=5"):
        ages(tmp_path)
    with pytest.raises(ValueError, match=r"a\.csv .*has a column 'age', and its folder says age=5"):
        read_dataset(tmp_path, "arm")


def test_folders_with_different_keys_are_refused(tmp_path):
    put_below(tmp_path, "day=5/a.csv", table(7))
    put(tmp_path, b__csv=table(1))
    message = r"the folders of day=5/a\.csv have the keys \['day'\]; expected none, as b\.csv has"
    with pytest.raises(ValueError, match=message):
        ages(tmp_path)


def test_other_folders_are_read_in_the_order_of_their_names(tmp_path):
    put(tmp_path, c__csv=table(3))
    put_below(tmp_path, "b/x/2.csv", table(2))
    put_below(tmp_path, "a/1.csv", table(1))
    assert ages(tmp_path) == [1, 2, 3]
    (tmp_path / "c.csv").unlink()
    shutil.rmtree(tmp_path / "a")
    put_below(tmp_path, "b/3.csv", table(0.5, arm="x"))
    with pytest.raises(ValueError, match=r"b/3\.csv cannot be read: column 'arm' is 'x' in line 2"):
        ages(tmp_path)


def test_files_of_a_folder_have_the_same_columns(tmp_path):
    put(tmp_path, a__csv=table(1, 2), b__csv="arm,age,note\n0,3,x\n")
    with pytest.raises(ValueError, match=r"b\.csv cannot be read: it has the column 'note', un"):
        read_dataset(tmp_path, "arm")
    put(tmp_path, b__csv="p,arm,age,paid\n0.5,1,3,9\n")
    assert read_dataset(tmp_path, "arm", "age").contexts[:, 0].tolist() == [1, 2, 3]
    put(tmp_path, b__csv="p,arm,age,paid\n0.5,1,,9\n")
    with pytest.raises(ValueError, match=r"line 2 of b\.csv, column age"):
        read_dataset(tmp_path, "arm", "age")


def test_a_recorder_writes_to_a_folder_without_files(tmp_path):
    put(tmp_path, notes__txt="")
    with pytest.raises(ValueError, match=r"has notes\.txt; expected a folder without files"):
        LogRecorder(3, folder=tmp_path)
