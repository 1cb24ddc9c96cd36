"""Mistakes in tables: errors name the culprit, and nothing is read in another way in silence."""

import gzip

import numpy as np
import pytest

from bandit_envs.datasets import read_dataset, read_outcomes
from bandit_envs.logged import concatenate, read_log, scan_log, write_log
from tests.logged.logs import small_log

pandas = pytest.importorskip("pandas")
HEADER = "age,note,arm,paid,p"
NAMES = {"action": "arm", "reward": "paid", "propensity": "p", "features": ["age"]}


def lines_of(size):
    return [HEADER, *(f"{20 + row % 50},x,{row % 2},{row % 3},0.5" for row in range(size))]


def write(path, lines):
    content = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


CULPRITS = [
    ("arm", "30,x,a,1,0.5", "'a'", "an integer"),
    ("arm", "30,x,0.5,1,0.5", "0.5", "an integer"),
    ("arm", "30,x,1e300,1,0.5", "1e", "an integer"),
    ("arm", "30,x,1_0,1,0.5", "'1_0'", "an integer"),
    ("arm", "30,x,\N{ARABIC-INDIC DIGIT ONE},1,0.5", "'", "an integer"),
    ("paid", "30,x,1,much,0.5", "'much'", "a number"),
    ("paid", "30,x,1,1_0,0.5", "'1_0'", "a number"),
    ("paid", "30,x,1,1e200,0.5", "1e", "finite numbers of at most"),
    ("p", "30,x,1,1,half", "'half'", "a number"),
    ("p", "30,x,1,1,0", "0.0", "above 0"),
    ("p", "30,x,1,1,0.5\0", "'0.5", "a number"),
    ("age", "old,x,1,1,0.5", "'old'", "a number"),
    ("age", "inf,x,1,1,0.5", "inf", "a finite number"),
]


@pytest.mark.parametrize("culprit", CULPRITS)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize("place", [500, 1001])
@pytest.mark.parametrize("batch_rows", [300, 65_536])
def test_one_bad_cell_of_a_thousand_good_ones_is_named(
    culprit, suffix, place, batch_rows, tmp_path
):
    name, line, value, expected = culprit
    lines = lines_of(1000)
    lines.insert(place, line)
    write(tmp_path / f"a{suffix}", lines)
    message = rf"a{suffix} .*column '{name}' is {value}.* in line {place + 1}; expected {expected}"
    with pytest.raises(ValueError, match=message):
        list(scan_log(tmp_path / f"a{suffix}", batch_rows, **NAMES))


def test_lines_count_those_inside_of_texts(tmp_path):
    lines = lines_of(10)
    lines[0] = 'age,"note\nof ours",arm,paid,p'
    lines[3] = '30,"two\nlines",1,1,0.5'
    lines[7] = "30,x,1,much,0.5"
    write(tmp_path / "a.csv", lines)
    for batch_rows in (2, 4, 100):
        with pytest.raises(ValueError, match="'paid' is 'much' in line 10; expected a number"):
            list(scan_log(tmp_path / "a.csv", batch_rows, **NAMES))
    with pytest.raises(ValueError, match="line 10, column paid is 'much'; expected a number"):
        read_outcomes(tmp_path / "a.csv", "age", ["paid"])


def test_a_bad_cell_of_a_written_log_has_its_line(tmp_path):
    write_log(tmp_path / "a.csv", small_log())
    lines = (tmp_path / "a.csv").read_text().split("\n")
    lines[5] = lines[5].replace("0.5", "half")
    (tmp_path / "a.csv").write_text("\n".join(lines))
    for read in (read_log, lambda path: list(scan_log(path, 2))):
        with pytest.raises(ValueError, match="propensity is 'half' in line 6; expected float64"):
            read(tmp_path / "a.csv")


def test_booleans_are_one_and_zero_in_any_column(tmp_path):
    lines = [HEADER, "True,x,False,TRUE,0.5", "False,x,True,false,0.5", "1,x,1,0,0.5"]
    for stop in (3, 4):
        write(tmp_path / "a.csv", lines[:stop])
        log = concatenate(list(scan_log(tmp_path / "a.csv", **NAMES)))
        assert log.action.tolist() == [0, 1, 1][: stop - 1]
        assert log.reward.tolist() == [1, 0, 0][: stop - 1]
        assert log.observation[:, 0].tolist() == [1, 0, 1][: stop - 1]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_without_rows_says_so(suffix, tmp_path):
    frame = pandas.DataFrame({name: [] for name in HEADER.split(",")})
    if suffix == ".csv":
        frame.to_csv(tmp_path / "a.csv", index=False)
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(tmp_path / "a.parquet", index=False)
    with pytest.raises(ValueError, match=rf"the log has no rows in a{suffix}"):
        scan_log(tmp_path / f"a{suffix}", **NAMES)
    with pytest.raises(ValueError, match="there are no rows"):
        read_dataset(tmp_path / f"a{suffix}", "arm")
    with pytest.raises(ValueError, match="there are no rows"):
        read_outcomes(tmp_path / f"a{suffix}", "age", ["paid"])


def test_a_label_or_feature_that_is_there_twice_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("arm,age,arm,age.1,paid\n0,1,1,5,1\n1,2,0,6,2\n")
    with pytest.raises(ValueError, match="it has 2 columns 'arm'; expected one"):
        read_dataset(tmp_path / "a.csv", "arm")
    with pytest.raises(ValueError, match="it has 2 columns 'arm'; expected one"):
        read_outcomes(tmp_path / "a.csv", "arm", ["paid"])
    found = read_dataset(tmp_path / "a.csv", "paid", ["age", "age.1"])
    assert found.contexts.tolist() == [[1, 5], [2, 6]]


@pytest.mark.filterwarnings("ignore:column age becomes")
def test_a_text_among_numbers_is_told_before_all_count_as_text(tmp_path):
    lines = lines_of(100)
    lines[60] = "old,x,1,1,0.5"
    write(tmp_path / "a.csv", lines)
    message = "line 61, column age is 'old' among numbers; so all of the column counts as text"
    with pytest.warns(UserWarning, match=message):
        read_dataset(tmp_path / "a.csv", "arm", "age")
    pytest.importorskip("sklearn")
    with pytest.warns(UserWarning, match=message):
        read_outcomes(tmp_path / "a.csv", "age", ["paid"])


def test_the_index_of_a_parquet_file_is_a_column_if_it_has_a_name(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"age": [3, 4], "arm": [0, 1]}, index=[5, 7])
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_dataset(tmp_path / "a.parquet", "arm").contexts.tolist() == [[3], [4]]
    frame.rename_axis("user").to_parquet(tmp_path / "a.parquet")
    assert np.array_equal(read_dataset(tmp_path / "a.parquet", "arm", "user").contexts, [[5], [7]])
