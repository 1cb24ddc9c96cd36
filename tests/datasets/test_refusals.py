"""What data sets refuse: each message says where the mistake is."""

import gzip
import itertools
import sys
import tracemalloc
import zipfile

import pytest

from bandit_envs import datasets
from tests.cases import for_each
from tests.datasets.test_published import ADULTS, DECISIONS, ITEMS, MUSHROOMS

COLUMNS = {"size": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"], "kind": ["b", "a", "b"]}
RATED = "1\t1\t3\t0"


def frame(index=None, **columns):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(columns, index=index)


def twice(name):
    """A data frame with two columns of one name."""
    return frame(a=[1.0, 2.0], b=[3.0, 4.0], label=[0, 1]).rename(columns={"b": name})


REFUSALS = [
    (COLUMNS, "kind", ["weight"], "no column 'weight'; it has"),
    ({0: [1.0], 1: [0]}, 2, None, r"no column 2; it has \[0, 1\]"),
    ({"kind": [0]}, "kind", None, "no features"),
    (COLUMNS, "kind", ["size", "kind"], "'kind' has two roles, label and features"),
    (COLUMNS, "kind", ["size", "size"], "features has the column 'size' twice"),
]


@for_each(("columns", "label", "features", "message"), REFUSALS)
def test_columns_that_are_no_data_set_are_refused(columns, label, features, message):
    data = pytest.importorskip("pandas").DataFrame(columns)
    with pytest.raises(ValueError, match=message):
        datasets.read_dataset(data, label, features)


@pytest.mark.parametrize("name", ["a", "label"])
def test_a_column_that_is_there_twice_is_refused_where_it_is_used(name):
    with pytest.raises(ValueError, match=f"it has 2 columns '{name}'; expected one"):
        datasets.read_dataset(twice(name), "label")


def test_ratings_need_users_items_and_ratings():
    with pytest.raises(ValueError, match="rows of user, item and rating"):
        datasets.ratings_matrix([[0, 0]])


@for_each(
    ("dtype", "label"), itertools.product(["object", "string", "Int64", "boolean"], ["a", "b"])
)
def test_a_missing_value_of_a_frame_is_named_by_its_index(dtype, label):
    pandas = pytest.importorskip("pandas")
    users = pandas.Index([7, 8], name="user")
    data = frame(users, a=[5.0, 6.0], b=pandas.array([None, True], dtype=dtype))
    with pytest.raises(ValueError, match="user 7, column b"):
        datasets.read_dataset(data, label)


def test_a_column_twice_does_not_matter_where_it_is_not_used():
    data = datasets.read_dataset(twice("a").assign(c=[5.0, 6.0]), "label", "c")
    assert data.contexts.tolist() == [[5.0], [6.0]]


@for_each(
    ("lines", "place"),
    [
        ("1,2\n3,4,5\n", "line 3"),
        ("1,2,3\n4,5,6\n", "line 2"),
        ("1,2,3\n4,5\n", "line 2"),
        ("1,2\n3\n", "line 3, column b"),
        ("1,2\n,4\n", "line 3, column a"),
        ("1,2\n\n3,4\n", "line 3, column a"),
        ("1,\n3,4\n", "line 2, column b"),
        ("1,2\ninf,4\n", "line 3, column a"),
        ("", "no rows"),
    ],
)
def test_a_bad_csv_file_is_refused_with_its_line_and_column(tmp_path, lines, place):
    pytest.importorskip("pandas")
    path = tmp_path / "data.csv"
    path.write_text(f"a,b\n{lines}")
    with pytest.raises(ValueError, match=rf"data\.csv.*{place}"):
        datasets.read_dataset(path, "b")


@for_each(
    ("load", "lines", "message"),
    [
        (datasets.load_mushroom, [MUSHROOMS[0], MUSHROOMS[1] + ",u"], "line 2, saw 24"),
        (datasets.load_mushroom, [MUSHROOMS[0], MUSHROOMS[1][:-2]], "line 2, column 23 is ''"),
        (datasets.load_mushroom, [MUSHROOMS[0][:-1]], "line 1, column 23 is ''"),
        (datasets.load_mushroom, [MUSHROOMS[0], "?" + MUSHROOMS[1][1:]], "line 2, column 1 is '?'"),
        (datasets.load_adult, [ADULTS[0], "nan" + ADULTS[1][2:]], "line 2, column 1 is 'nan'"),
        (datasets.load_adult, ["?" + ADULTS[0][2:], ADULTS[1]], "line 1, column 1 is '?'"),
        (datasets.load_adult, [ADULTS[0], ADULTS[1].replace(" 45", "x")], "line 2, column 13"),
        (datasets.load_adult, [ADULTS[0], ADULTS[1][:-4] + "?"], "line 2, column 15"),
        (datasets.load_adult, [ADULTS[0], "", "?" + ADULTS[1][2:]], "line 3, column 1 is '?'"),
        (datasets.load_covertype, [",".join(["x"] * 55)], "line 1, column 1 is 'x'"),
        (datasets.load_covertype, [",".join(["1"] * 54 + ["8"])], "line 1, column 55 is '8'"),
        (datasets.load_covertype, [",".join(["nan"] * 55)], "line 1, column 1 is 'nan'"),
        (datasets.load_covertype, [",".join(["1"] * 54)], "line 1 has 54 columns; expected 55"),
        (datasets.load_movielens, [RATED, "0\t1\t3\t0"], "line 2, column 1 is '0'"),
        (datasets.load_movielens, [RATED, "1\t0\t3\t0"], "line 2, column 2 is '0'"),
        (datasets.load_movielens, [RATED, "1\t1\tnan\t0"], "line 2, column 3 is 'nan'"),
        (datasets.load_movielens, [RATED, "1\t1\t\t0"], "line 2, column 3 is ''"),
        (datasets.load_movielens, [RATED] * 30_000 + ["1\t1\tx"], "line 30001, column 3 is 'x'"),
        (datasets.load_movielens, ["1,1,3,0"], "line 1 has 1 columns; expected 4"),
        (datasets.load_statlog_shuttle, [""], "No columns"),
    ],
)
def test_a_bad_file_of_a_publisher_is_refused_with_its_line_and_column(
    tmp_path, load, lines, message
):
    pytest.importorskip("pandas")
    path = tmp_path / "some.data"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError) as refusal:
        load(path)
    assert str(refusal.value).startswith("some.data")
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"\x1f\x8b\x08", b"\x1f\x9d\x90", b"1\xff2"]
)
def test_a_damaged_file_is_refused_by_name(tmp_path, content):
    pytest.importorskip("pandas")
    path = tmp_path / "u.data"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"u\.data"):
        datasets.load_movielens(path)


def test_an_encrypted_archive_is_refused_by_name(tmp_path):
    pytest.importorskip("pandas")
    path = tmp_path / "clicks.csv.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("clicks.csv", "a,b\n1,2\n")
    content = bytearray(path.read_bytes())
    for start in (b"PK\x03\x04", b"PK\x01\x02"):
        place = content.index(start) + (6 if start[2] == 3 else 8)
        content[place] |= 1  # the flag
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"clicks\.csv\.zip cannot be read: .*encrypted"):
        datasets.read_dataset(path, label="b")


class TimeIsUpError(Exception):
    """An error of the application, which a signal may raise while a file is read."""


@pytest.mark.parametrize("error", [TimeIsUpError(), TimeoutError("of the application")])
def test_an_error_of_the_application_passes_a_reader_of_tables(tmp_path, monkeypatch, error):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "clicks.csv"
    path.write_text("a,b\n1,2\n")

    def change_and_fail(*arguments, **options):
        path.write_text("a,b\n")
        raise error

    monkeypatch.setattr(pandas, "read_csv", change_and_fail)
    with pytest.raises(type(error)):
        datasets.read_dataset(path, label="b")


def test_a_small_archive_of_a_large_file_is_refused_before_it_fills_the_memory(tmp_path):
    pytest.importorskip("pandas")
    path = tmp_path / "covtype.data.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(64):
            file.write(bytes(2**20))
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"covtype\.data\.gz.*line 1"):
        datasets.load_covertype(path)
    assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    tracemalloc.stop()


@for_each(
    ("old", "new", "message"),
    [
        ("propensity_score", "action_prob", "all.csv.* no column propensity_score"),
        ("0.25", "0.0", "all.csv.* line 3, column propensity_score is '0.0'"),
        ("0.25", "much", "all.csv.* line 3, column propensity_score is 'much'"),
        (",bb,", ",,", "all.csv.* line 3, column user_feature_0 is ''"),
        (",3,0,", ",3,2,", "all.csv.* line 2, column click is '2'"),
        (DECISIONS[DECISIONS.index("0,2019") :], "", "all.csv has no rows"),
        (",cc,", ",,", "item_context.csv.* line 2, column item_feature_1 is ''"),
        ("+00:00,1,", "+00:00,2,", "all.csv.* line 2, column item_id is '2'"),
        ("2.0,0.0", "2.0", "all.csv.* line 3, column user-item_affinity_1"),
        ("2.0,0.0", "2.0,0.0,0.0", "all.csv.* line 3"),
        ("item_feature_2", "feature_2", "item_context.csv.* no column item_feature_2"),
        ("-0.25,cc", "low,cc", "item_context.csv.* line 2, column item_feature_0 is 'low'"),
        ("1,0,0.75,dd,e,h\n", "", "item_context.csv.* each item"),
    ],
)
def test_bad_files_of_the_open_bandit_dataset_are_refused(tmp_path, old, new, message):
    pytest.importorskip("pandas")
    (tmp_path / "all.csv").write_text(DECISIONS.replace(old, new))
    (tmp_path / "item_context.csv").write_text(ITEMS.replace(old, new))
    with pytest.raises(ValueError, match=message):
        datasets.load_open_bandit(tmp_path / "all.csv")


@pytest.mark.parametrize(
    ("package", "load"),
    [
        ("pandas", lambda: datasets.read_dataset("data.csv", "label")),
        ("pandas", lambda: datasets.load_mushroom("agaricus-lepiota.data")),
        ("pooch", datasets.load_mushroom),
        ("sklearn.datasets", datasets.load_digits),
    ],
)
def test_an_error_without_a_package_names_the_extra_that_installs_it(monkeypatch, package, load):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf"{package} is not installed.*\[datasets\]"):
        load()
