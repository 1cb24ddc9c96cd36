"""Settings of all tests."""

import os
import re
from collections import Counter

from hypothesis import settings

from tests.browser import browser

__all__ = ["browser"]

# Tests run in one process a core. Set before NumPy is imported, and before the processes start.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# The same examples in every run: a failure can be repeated, and a passing run stays one.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("repeatable")

MISSING = re.compile(r"(?:could not import|No module named) '(\w+)|(\w+) is not installed")


def pytest_terminal_summary(terminalreporter):
    """Says in a line for each reason why tests were skipped, above the list of failures."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        found = MISSING.search(reason)
        reasons[f"{found[1] or found[2]} is not installed" if found else reason] += 1
    if reasons:
        terminalreporter.section("skipped tests")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"SKIPPED [{count}] {reason}")
