"""The numbers of a study under every NumPy that the package works with."""

from pathlib import Path

import numpy as np
import pytest

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
    """Compares with the `curves.csv` that this study leaves under NumPy 1.26.

    Processors may differ in the last bits: of float64 in the testbed's statistics, and of float32
    in the products of features and weights that the contextual rewards are made of.
    """
    assert sweep(tmp_path, study, "--curves", "csv").code == 0
    expected = rows(REFERENCE / f"curves_{name}_numpy_1.26.csv")
    found = rows(tmp_path / "results" / "curves.csv")
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            if key in ("environment", "policy"):
                assert ours[key] == value
            else:
                np.testing.assert_allclose(float(ours[key]), float(value), rtol, atol)
