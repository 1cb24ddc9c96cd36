"""Settings of all tests."""

import atexit
import gc
import os
import re
import signal
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

from tests.browser import browser

__all__ = ["browser"]

# Tests run in one process a core. Set before NumPy is imported, and before the processes start.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# The same examples in every run: a failure can be repeated, and a passing run stays one.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("repeatable")

# Shells let processes in the background ignore Ctrl-C, and tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Python collects garbage as it ends, which takes seconds with the parsed package in memory.
atexit.register(gc.freeze)

MOST_PROCESSES = 8

MISSING = re.compile(
    r"(?:could not import|No module named) '(\w+)|(\w+) is not installed|needs (\w+)"
)


def pytest_configure(config):
    """Blocks the plugins that capture log messages, as no test looks at them."""
    for name in ("logging", "logging-plugin"):
        config.pluginmanager.set_blocked(name)


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    """Collects no garbage while pytest collects tests, which stay, and little while they run."""
    gc.disable()
    yield
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    gc.enable()


def pytest_addoption(parser):
    parser.addoption(
        "--cases",
        type=int,
        metavar="N",
        help="run at most N cases, spread over all of them, of each test that is not slow",
    )


@pytest.hookimpl(trylast=True)  # of the tests that -k and -m choose
def pytest_collection_modifyitems(config, items):
    """Leaves out what needs POSIX on another system, and cases above the number of --cases."""
    kept = [item for item in items if os.name == "posix" or not item.get_closest_marker("posix")]
    if (at_most := config.getoption("cases", None)) is not None:
        kept = spread_cases(kept, at_most)
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


def spread_cases(items, at_most):
    """Returns at most this number of quick cases of each test, spread evenly over them.

    The cases of a test are its parameters, and the classes of a file that inherit it. Tests start
    with different cases, so that tests with the same cases run more of these together.
    """
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow"):
            test = item.nodeid
        else:
            file = item.nodeid.partition("::")[0]
            test = file, getattr(item, "function", item.nodeid)
        cases[test].append(item)
    kept = set()
    for number, all_of in enumerate(cases.values()):
        every = -(-len(all_of) // at_most)
        kept.update(map(id, all_of[number % every :: every]))
    return [item for item in items if id(item) in kept]


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Runs these tests in one process a core, if pytest-xdist is installed and -n says nothing.

    It is not an option in setup.cfg: tests of others in a clone need no more than pytest.
    """
    is_worker = hasattr(config, "workerinput")
    if is_worker or not config.pluginmanager.hasplugin("xdist"):
        return
    if config.option.numprocesses is None and config.option.dist == "no" and not config.option.tx:
        config.option.numprocesses = "auto"
        config.option.maxprocesses = config.option.maxprocesses or MOST_PROCESSES
        config.option.dist = "worksteal"


def pytest_terminal_summary(terminalreporter):
    """Says in one line which packages skipped tests need, above the list of failures.

    If the variable SKIPPED_TESTS names a file, it gets the skipped tests in place of that: pytest
    runs them by `@FILE`, once the packages are installed.
    """
    skipped = terminalreporter.stats.get("skipped", [])
    if file := os.environ.get("SKIPPED_TESTS"):
        Path(file).write_text("".join(f"{each.nodeid}\n" for each in skipped), encoding="utf-8")
        return
    needed: Counter[str] = Counter()
    for report in skipped:
        reason = report.longrepr[2].removeprefix("Skipped: ")
        found = MISSING.search(reason)
        needed[next(filter(None, found.groups())) if found else reason] += 1
    if needed:
        count = needed.total()
        tests = "1 test needs" if count == 1 else f"{count} tests need"
        names = ", ".join(name for name, _ in needed.most_common())
        terminalreporter.section("skipped tests")
        terminalreporter.line(f"skipped: {tests} {names}")
