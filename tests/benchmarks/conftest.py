"""Prints what was measured at the end of a run. A slow machine fails no benchmark."""

import pytest

from tests.benchmarks.pairing import Ratio, paired_seconds

MEASURED = pytest.StashKey[list]()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Keeps all benchmarks in one process, so that they do not disturb each other."""
    return 0


def pytest_addoption(parser):
    text = "run each benchmark once, to see that it works; nothing is measured"
    parser.addoption("--one-round", action="store_true", help=text)


@pytest.fixture
def one_round(request):
    """Whether benchmarks only show that they work."""
    return request.config.getoption("--one-round", default=False)


def pytest_configure(config):
    config.stash[MEASURED] = []


@pytest.fixture
def note(request):
    """Returns a function that notes a ratio for the table, with the goal that it should meet."""

    def note(title, ratio, goal=None):
        request.config.stash[MEASURED].append((title, ratio, goal))

    return note


@pytest.fixture
def compare(note, one_round):
    """Returns a function that notes what a candidate costs, as a multiple of a reference.

    `scale` is the cost of one candidate in calls of it, and that of one reference: 1/100 if the
    candidate does something a hundred times that the reference does once.
    """

    def compare(title, candidate, reference, *, goal=None, scale=1.0, **options):
        if one_round:
            candidate()
            reference()
            return
        seconds = paired_seconds(candidate, reference, **options)
        note(title, Ratio.from_pairs(seconds, scale), goal)

    return compare


def as_text(ratio):
    """Writes a ratio as a reader thinks of it: 1.47 or 1/136."""
    if ratio is None:
        return ""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"1/{1 / ratio:.0f}"


def pytest_terminal_summary(terminalreporter, config):
    rows = [("cost as a multiple of the reference", "median", "from", "to", "goal")]
    for title, ratio, goal in config.stash[MEASURED]:
        rows.append((title, *map(as_text, (*ratio, goal))))
    if len(rows) == 1:
        return
    widths = [max(map(len, column)) for column in zip(*rows)]
    terminalreporter.section("benchmarks: medians and quartiles of paired ratios")
    for title, *cells in rows:
        numbers = [cell.rjust(width) for cell, width in zip(cells, widths[1:])]
        terminalreporter.line("  ".join([title.ljust(widths[0]), *numbers]))
