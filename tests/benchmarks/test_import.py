"""What the import costs."""

import os
import subprocess
import sys

from tests.benchmarks.pairing import Ratio


def test_the_import_costs_little_more_than_that_of_numpy(expect, tmp_path):
    # As after installation: compiled once, whatever this machine says of writing compiled files.
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
    }
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path)

    def import_seconds(module):
        """Returns how long an import takes in a fresh interpreter, whose start does not count."""
        code = (
            "import time; started = time.perf_counter(); "
            f"import {module}; print(time.perf_counter() - started)"
        )
        command = [sys.executable, "-c", code]
        return float(subprocess.check_output(command, env=environment))

    import_seconds("bandit_envs")
    pairs = [(import_seconds("bandit_envs"), import_seconds("numpy")) for _ in range(25)]
    expect("import bandit_envs / import numpy", Ratio.of(pairs), 1.5)
