"""The numbers of a study under every NumPy that the package works with."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from tests.experiments.sweeps import CONTEXTUAL, TESTBED, sweep
from tests.experiments.test_sweep_command import rows

REFERENCE = Path(__file__).parents[1] / "reference"


@pytest.mark.parametrize(("name", "study"), [("contextual", CONTEXTUAL), ("testbed", TESTBED)])
def test_numpy_1_26_and_2_write_the_same_curves(tmp_path, name, study):
    """Held against what NumPy 1.26 wrote: there, byte for byte on one machine.

    Rewards are float32, and linear algebra rounds their last bit differently from processor to
    processor. So here, what remains must agree to six digits.
    """
    assert sweep(tmp_path, study, "--workers", "1").code == 0
    expected = rows(REFERENCE / f"curves_{name}_numpy_1.26.csv")
    found = rows(tmp_path / "results" / "curves.csv")
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            if key in ("environment", "policy"):
                assert ours[key] == value
            else:
                np.testing.assert_allclose(float(ours[key]), float(value), rtol=1e-6, atol=1e-6)
