"""What the command writes to the terminal: lines, tables and progress."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from rich import progress
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from bandit_envs.evaluations.observer import LogObserver

Item = TypeVar("Item")

WIDTH = None if sys.stdout.isatty() else 120  # of tables; None for that of the terminal
OUT = Console(markup=False, emoji=False, width=WIDTH)  # titles may have brackets
ERR = Console(markup=False, emoji=False, stderr=True)


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


def track(text: str, items: Sequence[Item]) -> Iterable[Item]:
    """Yields items, with a bar in a terminal of how many; it vanishes in the end."""
    hidden = not ERR.is_terminal
    return progress.track(items, text, console=ERR, transient=True, disable=hidden)


class StepProgress(Progress):
    """A bar of the steps that tasks have taken."""

    def __init__(self, title: str, steps: int, count_steps: Callable[[], int]) -> None:
        """Starts at 0 of `steps`; `count_steps` returns how many have been taken.

        Those of tasks whose worker died are taken twice, and count once here.
        """
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} steps"),
            TimeRemainingColumn(),
            console=ERR,
            refresh_per_second=2,
        )
        self._steps = steps
        self._count_steps = count_steps
        self.add_task(title, total=steps)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Counts the steps anew at each refresh."""
        for task in self.task_ids:  # none yet while the first one is added
            self.update(task, completed=min(self._count_steps(), self._steps))
        return super().get_renderables()


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
