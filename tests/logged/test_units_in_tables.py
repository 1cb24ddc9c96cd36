"""Units of tables: a user has the same number, whatever kind of file has the rows."""

import numpy as np
import pytest

from bandit_envs.logged import from_frame, read_log
from bandit_envs.logged.files.unit_columns import read_units
from bandit_envs.logged.rows.units import as_units
from tests.logged.test_lists_in_tables import write

pandas = pytest.importorskip("pandas")

USERS = [17, 3, 17, 0, -5, 10**18]
KINDS = {
    "integers": pandas.Series,
    "floats": lambda users: pandas.Series([*users[:-1], 12.0]),
    "texts": lambda users: pandas.Series([str(user) for user in users]),
    "texts of floats": lambda users: pandas.Series([f"{user}.0" for user in users]),
    "objects": lambda users: pandas.Series([*users[:2], "17", 0.0, *users[4:]], dtype=object),
    "integers with gaps": lambda users: pandas.Series(users, dtype="Int64"),
    "categories": lambda users: pandas.Series(users, dtype="category"),
    "categories of texts": lambda users: pandas.Series(map(str, users), dtype="category"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_unit_has_one_number_in_all_kinds_of_columns(kind):
    column = KINDS[kind](USERS)
    found = read_units(pandas.DataFrame({"user": column}), "user").tolist()
    assert found[:-1] == USERS[:-1]
    assert found[-1] == (12 if kind == "floats" else USERS[-1])


def test_other_texts_are_hashes_as_those_of_arrays():
    texts = ["ann", "007", "17.5", "+17", "1e3", "-0", "", "9" * 30, "17 "]
    frame = pandas.DataFrame({"user": [*texts, "17"]})
    assert read_units(frame, "user").tolist() == [*as_units(texts).tolist(), 17]


def test_integers_of_64_bits_without_a_sign_are_those_of_their_texts():
    numbers = [2**64 - 1, 2**63]
    as_numbers = pandas.DataFrame({"user": np.array(numbers, np.uint64)})
    as_texts = pandas.DataFrame({"user": list(map(str, numbers))})
    assert read_units(as_numbers, "user").tolist() == read_units(as_texts, "user").tolist()


@pytest.mark.parametrize("cell", [None, 1.5, float("nan"), True, b"a", 2.0**60])
@pytest.mark.parametrize("dtype", [object, None])
def test_what_is_no_unit_is_refused(cell, dtype):
    frame = pandas.DataFrame({"user": pandas.Series(["a", cell] if dtype else [cell], dtype=dtype)})
    with pytest.raises(ValueError, match=r"column 'user' is .*; expected an? "):
        read_units(frame, "user")


def decisions(users=40, size=200):
    """Decisions among two actions, and which user each is of."""
    rng = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "user": rng.integers(0, users, size),
            "action": rng.integers(0, 2, size),
            "reward": rng.random(size),
            "propensity": 0.5,
            "age": rng.random(size),
        }
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("kind", ["int64", "float64", str])
def test_all_files_of_actions_have_the_same_units(tmp_path, suffix, kind):
    frame = decisions()
    path = write(tmp_path, frame.assign(user=frame["user"].astype(kind)), suffix)
    log = read_log(path, unit="user")
    assert log.unit.tolist() == frame["user"].tolist()
    assert from_frame(frame, unit="user").unit.tolist() == frame["user"].tolist()


def long_table(frame):
    """The same decisions, with a row for each of two candidates."""
    rows = frame.loc[frame.index.repeat(2)].reset_index(drop=True)
    place = np.arange(len(rows)) % 2
    rows["chosen"] = (rows["action"] == place).astype(int)
    return rows.assign(id=np.arange(len(rows)) // 2, item=place, price=place * 1.0)


def table_of_lists(frame):
    """The same decisions, with lists of two candidates."""
    size = len(frame)
    lists = {"item": [["0", "1"]] * size, "price": [[0.0, 1.0]] * size}
    return frame.assign(chosen=frame["action"].astype(str), **lists)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("kind", ["int64", "float64", str])
def test_all_files_of_items_have_the_same_units(tmp_path, suffix, kind):
    frame = decisions(size=20)
    users = frame["user"].tolist()
    typed = frame.assign(user=frame["user"].astype(kind))
    names = {"item": "item", "item_features": "price", "features": "age", "unit": "user"}
    path = write(tmp_path, long_table(typed), suffix)
    assert read_log(path, decision="id", **names).unit.tolist() == users
    path = write(tmp_path, table_of_lists(typed), suffix)
    assert read_log(path, **names).unit.tolist() == users
