"""The numbers of a study under every NumPy that the package works with."""

from pathlib import Path

import numpy as np
import pytest

from bandit_envs.studies import load
from bandit_envs.studies.showing.study_tables import study_tables
from tests.command_line import CONTEXTUAL, TESTBED, rows, sweep

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

REFERENCE = Path(__file__).parents[1] / "reference"


@pytest.mark.parametrize(
    ("name", "study", "rtol", "atol"),
    [("contextual", CONTEXTUAL, 1e-6, 1e-6), ("testbed", TESTBED, 1e-8, 1e-12)],
)
def test_numpy_1_26_and_2_write_the_same_curves(tmp_path, name, study, rtol, atol):
    """Compares with the curves that this study has under NumPy 1.26.

    Processors may differ in the last bits: of float64 in the testbed's statistics, and of float32
    in the products of features and weights that the contextual rewards are made of.
    """
    assert sweep(tmp_path, study).code == 0
    expected = rows(REFERENCE / f"curves_{name}_numpy_1.26.csv")
    found = load(tmp_path / "results")
    table = study_tables(found.study)["curves"]
    size = len(table.numbers)
    assert len(expected) == size * len(found.pairs)
    for place, pair in enumerate(found.pairs):
        own = expected[size * place : size * (place + 1)]
        assert {row["environment"] for row in own} == {str(pair.environment)}
        assert {row["policy"] for row in own} == {str(pair.policy)}
        columns = {"step": table.numbers, **table.columns(pair)}
        assert list(own[0]) == ["environment", "policy", *columns]
        for key, values in columns.items():
            theirs = [float(row[key]) for row in own]
            np.testing.assert_allclose(values, theirs, rtol, atol)
