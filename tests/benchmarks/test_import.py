"""What the import costs."""

import subprocess
import sys

from tests.benchmarks.pairing import Ratio


def import_seconds(module):
    """Returns how long an import takes in a fresh interpreter, whose own start does not count."""
    code = (
        "import time; started = time.perf_counter(); "
        f"import {module}; print(time.perf_counter() - started)"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return float(finished.stdout)


def test_the_import_costs_little_more_than_that_of_numpy(expect):
    import_seconds("bandit_envs")  # writes the compiled files
    pairs = [(import_seconds("bandit_envs"), import_seconds("numpy")) for _ in range(25)]
    expect("import bandit_envs / import numpy", Ratio.of(pairs), 1.5)
