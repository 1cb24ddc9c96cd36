"""Prints every figure with its bound at the end of a run."""

import pytest

FIGURES = pytest.StashKey[list]()


def pytest_xdist_auto_num_workers():
    """Keeps all benchmarks in one process, so that they do not disturb each other."""
    return 0


def pytest_configure(config):
    config.stash[FIGURES] = []


@pytest.fixture
def expect(request):
    """Notes a measured ratio for the table, and requires that it is within its bound."""

    def expect(title, ratio, at_most):
        request.config.stash[FIGURES].append((title, ratio, at_most))
        assert ratio.median <= at_most

    return expect


def as_text(ratio):
    """Writes a ratio as a reader thinks of it: 1.47 or 1/136."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"1/{1 / ratio:.0f}"


def pytest_terminal_summary(terminalreporter, config):
    rows = [
        (title, *map(as_text, (*ratio, bound)), "yes" if met else "NO")
        for title, ratio, bound in config.stash[FIGURES]
        for met in [ratio.median <= bound]
    ]
    if not rows:
        return
    headings = ("cost as a multiple of the reference", "median", "from", "to", "bound", "met")
    table = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*table)]
    terminalreporter.section("benchmarks: medians and quartiles of paired ratios")
    for title, *cells in table:
        numbers = (cell.rjust(width) for cell, width in zip(cells, widths[1:]))
        terminalreporter.line("  ".join((title.ljust(widths[0]), *numbers)))
