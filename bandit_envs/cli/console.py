"""What the command writes to the terminal: lines, tables and progress."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

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


class StepProgress(Progress):
    """A bar of the steps that tasks have taken."""

    def __init__(self, title: str, steps: int, count_steps: Callable[[], int]) -> None:
        """Starts at 0 of `steps`; `count_steps` returns how many have been taken."""
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} steps"),
            TimeRemainingColumn(),
            console=ERR,
            refresh_per_second=2,
        )
        self._count_steps = count_steps
        self.add_task(title, total=steps)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Counts the steps anew at each refresh."""
        for task in self.task_ids:  # none yet while the first one is added
            self.update(task, completed=self._count_steps())
        return super().get_renderables()


class RowProgress(Progress):
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

    @contextlib.contextmanager
    def show_pass(self, text: str, rows: int) -> Iterator[Callable[[int], None]]:
        """Shows a bar while a pass reads `rows`, or 0 if their number is not known.

        Yields a function that moves the bar by numbers of rows.
        """
        bar = self.add_task(text, total=rows or None)
        try:
            yield lambda read: self.advance(bar, read)
        finally:
            self.remove_task(bar)
