"""What the import costs."""

import os
import subprocess
import sys

from tests.benchmarks.pairing import Ratio


def test_the_import_beside_that_of_numpy(note, one_round, tmp_path):
    # As after installation: compiled once, whatever this machine says of writing compiled files.
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
    }
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path)

    def import_seconds(module):
        """Returns how long an import takes in a fresh interpreter, whose start does not count."""
        code = (
            "import time; started = time.process_time(); "
            f"import {module}; print(time.process_time() - started)"
        )
        command = [sys.executable, "-c", code]
        return float(subprocess.check_output(command, env=environment))

    import_seconds("bandit_envs")
    pairs = [
        (import_seconds("bandit_envs"), import_seconds("numpy"))
        for _ in range(2 if one_round else 25)
    ]
    note("import bandit_envs / import numpy", Ratio.from_pairs(pairs))
