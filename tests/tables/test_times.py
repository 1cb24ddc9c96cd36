"""Times that cut logs."""

import datetime

import numpy as np
import pytest

from bandit_envs.tables.cells import as_times, parse_time
from bandit_envs.tables.times import TimesOfRows, count_rows_by_time
from tests.cases import for_each

DATES = [datetime.date(2024, 1, day) for day in (1, 2, 2, 3)]


def parts_of(values):
    """The times of two parts of a log."""
    return [
        TimesOfRows(part, lambda row, start=start: f"row {start + row}")
        for start, part in ((0, values[:2]), (2, values[2:]))
    ]


@for_each(
    ("values", "limit"),
    [
        (np.array([5, 7, 7, 9]), "8"),
        (np.array([5.0, 7.0, 7.0, 9.0]), "7.5"),
        (np.array([2**60, 2**60 + 1, 2**60 + 2, 2**60 + 3]), str(2**60 + 3)),
        (np.array(["a", "b", "b", "c"]), "c"),
        (np.array(["a", "b", "b", "c"], object), "bb"),
        (np.array(DATES, "datetime64[ns]"), "2024-01-03"),
        (np.array(DATES, object), "2024-01-03"),
    ],
)
def test_rows_before_a_time_are_counted(values, limit):
    assert count_rows_by_time("time", limit, parts_of(values)) == (3, 1)


@pytest.mark.parametrize(
    "limit", ["2024-01-03", "2024-01-02T23:59:59", "2024-01-03T01:00:00+01:00"]
)
def test_times_with_a_zone_are_compared_in_it(limit):
    pandas = pytest.importorskip("pandas")
    values = pandas.Series(DATES).astype("datetime64[ns]").dt.tz_localize("UTC").to_numpy()
    assert count_rows_by_time("time", limit, parts_of(values)) == (3, 1)


def test_rows_out_of_order_are_named():
    with pytest.raises(ValueError, match="time is 1 in row 3, after rows that are not below 2"):
        count_rows_by_time("time", "2", parts_of(np.array([1, 2, 2, 1])))


@for_each("limit", ["2024-1-3", "2024-01-03T00:00", "3 January", "202"])
def test_a_limit_that_does_not_sort_among_dates_in_texts_is_refused(limit):
    values = np.array([f"{day} 12:00:00" for day in DATES])
    with pytest.raises(ValueError, match="'2024-01-01 12:00:00' in the first row; write"):
        count_rows_by_time("time", limit, parts_of(values))


@pytest.mark.parametrize("limit", ["2024-01-03", "2024-01-03 12", "2024-01-03 12:00:00"])
def test_a_part_of_a_date_cuts_dates_in_texts(limit):
    values = np.array([f"{day} 12:00:00" for day in DATES])
    assert count_rows_by_time("time", limit, parts_of(values)) == (3, 1)


@pytest.mark.parametrize("values", [[True, False], [1.0, 2.0], [None, 1]])
def test_a_limit_that_cannot_be_compared_is_refused(values):
    with pytest.raises(ValueError, match=r"time is .* in the first row"):
        count_rows_by_time("time", "soon", parts_of(np.array(values)))


@for_each(
    "texts",
    [
        ["2024-02-29", "1970-01-01", "0001-01-01", "2024-02-29"],
        ["2024-12-31 23:59", "2024-12-31T00:00"],
        ["2024-12-31 23:59:59", "1969-12-31T23:59:59"],
        ["2024-12-31", "2024-12-31 23:59"],
        ["2023-02-29", "2023-02-28"],
        ["2024-12-31 24:00", "2024-12-31 23:60"],
        ["2024-12-31_23:59", "2024-12-31 23:58"],
        ["2024-12-3\0", "2024-12-31"],
        ["2024-12-\u0661\u0662", "2024-12-31"],
        ["2024-12-31 23:59Z", "2024-12-31 23:59+01:00", " 2024-12-31"],
        ["1970-01-01", "soon"],
        ["2024-12-31", None, float("nan"), 3],
        [],
    ],
)
def test_columns_of_times_are_those_of_their_cells(texts):
    found = as_times(np.array(texts, object))
    expected = np.array([parse_time(text) for text in texts], "M8[us]")
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.isnat(found), [parse_time(text) is None for text in texts])
    assert found.dtype == "M8[us]"
