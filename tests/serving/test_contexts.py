"""Cells of contexts become features as those of tables do, or are refused."""

import datetime
import decimal
import fractions
import itertools

import numpy as np
import pytest

from bandit_envs.serving.contexts import ContextEncoder, make_encoding
from tests.cases import for_each
from tests.serving.services import open_arms

READER = ContextEncoder(
    make_encoding({"age": "number", "country": ["DE", "FR"], "seen": "time"}).features, width=8
)
MORNING = datetime.datetime(2024, 1, 1, 6)
AHEAD = datetime.timezone(datetime.timedelta(hours=5))


def read(**cells):
    """The features of a context, of which some cells are given."""
    return READER.read({"age": 1.0, "country": "DE", "seen": MORNING, **cells})


@for_each(
    "cell",
    [
        1,
        True,
        np.True_,
        np.float32(1),
        np.int8(1),
        "1.0",
        decimal.Decimal(1),
        fractions.Fraction(1),
    ],
)
def test_a_number_may_be_of_any_kind(cell):
    np.testing.assert_array_equal(read(age=cell), read())


@for_each(
    "cell",
    [
        MORNING.replace(tzinfo=AHEAD),  # as a clock showed it there
        np.datetime64("2024-01-01T06:00"),
        np.datetime64("2024-01-01T06:00:00", "ns"),
        "2024-01-01 06:00",
        "2024-01-01T06:00:00Z",
    ],
)
def test_a_time_may_be_of_any_kind(cell):
    np.testing.assert_array_equal(read(seen=cell), read())


def test_names_of_texts_may_be_scalars_of_numpy():
    np.testing.assert_array_equal(read(country=np.str_("DE")), read())


@for_each(
    ("name", "cell"),
    itertools.product(
        ["age", "country", "seen"],
        [None, float("nan"), [1], np.ones(2), {"a": 1}, np.datetime64("NaT", "s")],
    ),
)
def test_a_missing_cell_and_a_container_are_refused(name, cell):
    with pytest.raises(ValueError, match=f"context\\['{name}'\\] is ") as error:
        read(**{name: cell})
    assert "\n" not in str(error.value)


@for_each(
    ("name", "cell"),
    [
        ("age", decimal.Decimal("sNaN")),
        ("age", fractions.Fraction(10**400)),
        ("age", 10**400),
        ("seen", "2024-02-31"),
        ("seen", 3),
        ("seen", datetime.time(1)),
    ],
)
def test_a_cell_without_a_value_is_refused(name, cell):
    with pytest.raises(ValueError, match=f"context\\['{name}'\\] is "):
        read(**{name: cell})


def test_missing_cells_of_pandas_are_refused():
    pandas = pytest.importorskip("pandas")
    np.testing.assert_array_equal(read(seen=pandas.Timestamp(MORNING)), read())
    for name in ("age", "country"):
        with pytest.raises(ValueError, match=f"context\\['{name}'\\] is <NA>"):
            read(**{name: pandas.NA})
    with pytest.raises(ValueError, match=r"context\['seen'\] is NaT"):
        read(seen=pandas.NaT)
    with pytest.raises(TypeError, match="expected a dict of age, country, seen") as error:
        READER.read(pandas.Series({"age": 1.0, "country": "DE"}))
    assert "\n" not in str(error.value)


def test_texts_that_no_file_can_keep_are_refused(tmp_path):
    with open_arms(tmp_path) as service:
        for call in (
            lambda: service.decide(id="half \ud800"),
            lambda: service.reward("half \ud800", 1.0),
            lambda: service.add_action("half \ud800"),
        ):
            with pytest.raises(ValueError, match="UTF-8"):
                call()
        long = service.decide(id="long" * 10**5)
        assert service.reward(long.id, 1.0)
