"""Drivers end, or say why they cannot, where TensorFlow has one thread."""

import functools
import os
import subprocess
import sys

import pytest

pytest.importorskip("tf_agents")

pytestmark = pytest.mark.slow

SECONDS = 200
"""How long all cases may take, in which they would wait forever."""

CASES = ("log", "choice", "learning", "dynamics", "draws", "draws_by_what_is_compiled")


@functools.cache
def run_on_one_processor():
    """Returns which cases ended where TensorFlow finds one processor, and what was printed."""
    processor = min(os.sched_getaffinity(0))
    command = [sys.executable, "-m", "tests.adapters.one_thread", *CASES]
    found = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        preexec_fn=functools.partial(os.sched_setaffinity, 0, {processor}),
    )
    return found.stdout.split(), found.stderr[-2000:]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="there is no affinity here")
@pytest.mark.parametrize("case", CASES)
def test_a_compiled_driver_ends_where_tensorflow_has_one_thread(case):
    ended, errors = run_on_one_processor()
    assert case in ended, errors
