"""What the command writes to the terminal: lines, tables and progress."""

import errno
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from rich import progress
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from bandit_envs.evaluations.passes import LogObserver
from bandit_envs.names.visible import visible, visible_lines
from bandit_envs.showing.tables import Grid

Item = TypeVar("Item")

SECONDS_FIRST = 60.0
"""Seconds between lines of progress where there is no terminal, in the first ten minutes."""

SECONDS_LATER = 600.0
"""Seconds between lines of progress after these ten minutes."""

GAP = 3  # characters between two columns of a table

LINE_ENDS = (" (", " rows", " over ", "% ", " to ")
"""Where lines of cells end in a table that is too wide, at the space, in the order of trials."""

WIDTH = None if sys.stdout.isatty() else 160  # of tables; None for that of the terminal


class VisibleConsole(Console):
    """A console that shows what files say as `visible` has it, in lines and in cells of tables."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Returns a text to print."""
        return super().render_str(visible_lines(text), **options)


class PipeConsole(VisibleConsole):
    """A console that raises what `print` does once nobody reads on, as after `head`."""

    def on_broken_pipe(self) -> None:
        """Raises BrokenPipeError, where Rich would end the process."""
        raise BrokenPipeError(errno.EPIPE, "nobody reads on")


OUT = PipeConsole(markup=False, emoji=False, width=WIDTH)  # titles may have brackets
ERR = VisibleConsole(markup=False, emoji=False, stderr=True)


def new_table(title: str, *headings: str, caption: str | None = None) -> Table:
    """Returns an empty table, whose first column is of text and whose others are of numbers.

    Where it is too wide, cells take several lines.
    """
    first = Column(headings[0], overflow="fold")
    others = [Column(heading, justify="right") for heading in headings[1:]]
    return Table(
        first,
        *others,
        title=title,
        caption=caption,
        box=SIMPLE_HEAD,
        pad_edge=False,
    )


def print_grid(title: str, grid: Grid, caption: str | None = None) -> None:
    """Prints a grid. Of rows with one text in the first column, it is written once.

    Where it is too wide, intervals, and then their ends, have lines of their own.
    """
    grid = _fit(grid)
    headings, *rows = grid
    table = new_table(title, *headings, caption=caption)
    if _width(grid) > OUT.width:  # names of policies take more lines, numbers do not
        table.padding = (0, 0, 0, 1)
        for column in table.columns[1:]:
            column.no_wrap = True
    last = ""
    for first, *others in rows:
        table.add_row("" if first == last else visible(first), *others)
        last = first
    OUT.print(table)


def _fit(grid: Grid) -> Grid:
    """Returns a grid in whose cells lines end where the terminal asks for it."""
    for place in LINE_ENDS:
        ended = f"{place[:-1]}\n" if place.endswith(" ") else f"\n{place[1:]}"
        if _width(grid) > OUT.width:
            grid = [[row[0], *(cell.replace(place, ended) for cell in row[1:])] for row in grid]
    return grid


def _width(grid: Grid) -> int:
    """Returns how many characters a line of a table has, with the space around its columns."""
    columns = zip(*grid)
    lines = ["\n".join(column).split("\n") for column in columns]
    return sum(max(map(len, found)) + GAP for found in lines)


def track(text: str, items: Sequence[Item]) -> Iterable[Item]:
    """Yields items, with a bar in a terminal of how many; it vanishes in the end."""
    hidden = not ERR.is_terminal
    return progress.track(items, text, console=ERR, transient=True, disable=hidden)


def describe_bytes(number: float) -> str:
    """Returns a number of bytes with two digits.

    >>> describe_bytes(3_240_000_000)
    '3.2 GB'
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            amount = number / size
            return f"{amount:.1f} {unit}" if amount < 10.0 else f"{amount:,.0f} {unit}"
    return f"{max(number / 1e3, 0.1):.1f} kB"


def describe_seconds(seconds: float) -> str:
    """Returns a time in a unit that fits.

    >>> describe_seconds(8000.0)
    '2.2 hours'
    """
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"


class StepProgress(Progress):
    """A bar of the work that tasks have done; without a terminal, a line now and then.

    Args:
        title: before the bar.
        steps: of each task: [n]. Tasks are taken to run in this order.
        work: what each task costs: [n]. The remaining time follows from it.
        count_steps: returns how many steps have been taken. Those of tasks whose worker died are
            taken twice, and count once here.
    """

    def __init__(
        self,
        title: str,
        steps: NDArray[np.int64],
        work: NDArray[np.float64],
        count_steps: Callable[[], int],
    ) -> None:
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[steps]:,} of {task.fields[all_steps]:,} steps"),
            TimeRemainingColumn(),
            console=ERR,
            refresh_per_second=2,
        )
        self._steps = np.concatenate([[0], steps.cumsum()])
        self._work = np.concatenate([[0.0], work.cumsum()])
        self._count_steps = count_steps
        self._next_line = SECONDS_FIRST
        total = float(self._work[-1])
        self.add_task(title, total=total, steps=0, all_steps=int(self._steps[-1]))

    def get_renderables(self) -> Iterable[RenderableType]:
        """Counts the steps anew at each refresh."""
        for task in self.task_ids:  # none yet while the first one is added
            steps = min(self._count_steps(), int(self._steps[-1]))
            work = float(np.interp(steps, self._steps, self._work))
            self.update(task, completed=work, steps=steps)
        if not ERR.is_terminal:
            self._log()
        return super().get_renderables()

    def _log(self) -> None:
        """Prints how far the work is, if it is time for the next line: for the log of a job."""
        for task in self.tasks:
            elapsed = task.elapsed or 0.0
            if elapsed < self._next_line or not task.completed or task.finished:
                continue
            wait = SECONDS_FIRST if elapsed < SECONDS_LATER else SECONDS_LATER
            self._next_line = elapsed + wait
            steps = f"{task.fields['steps']:,} of {task.fields['all_steps']:,} steps"
            left = elapsed * ((task.total or 0.0) / task.completed - 1.0)
            ERR.print(f"{steps}, about {describe_seconds(left)} left")


class RowProgress(Progress, LogObserver):
    """A bar of the rows of a log that a pass has read, in a terminal; it vanishes in the end."""

    def __init__(self) -> None:
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f} rows"),
            TimeRemainingColumn(),
            console=ERR,
            transient=True,
            disable=not ERR.is_terminal,
        )

    def start_pass(self, text: str, rows: int) -> None:
        """Shows a bar."""
        self._bar = self.add_task(text, total=rows or None)

    def read_rows(self, rows: int) -> None:
        """Moves the bar."""
        self.advance(self._bar, rows)

    def end_pass(self) -> None:
        """Removes the bar."""
        self.remove_task(self._bar)

    def note(self, text: str) -> None:
        """Prints a line above the bar."""
        ERR.print(text, soft_wrap=True)
