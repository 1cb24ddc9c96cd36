"""What the command writes to the terminal: lines, tables and progress."""

import sys
from collections.abc import Callable, Iterable, Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from bandit_envs.logged import BanditLog

WIDTH = None if sys.stdout.isatty() else 120  # of tables; None for that of the terminal
OUT = Console(markup=False, emoji=False, width=WIDTH)  # titles may have brackets
ERR = Console(markup=False, emoji=False, stderr=True)


def new_table(title: str, *headings: str, caption: str | None = None) -> Table:
    """Returns an empty table, whose first column is of text and whose others are of numbers."""
    first = Column(headings[0], overflow="fold")
    others = [Column(heading, justify="right", no_wrap=True) for heading in headings[1:]]
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

    def watch(self, batches: Iterable[BanditLog]) -> Iterable[BanditLog]:
        """Returns the batches, which can be passed over again; each pass moves the bar."""
        return WatchedBatches(batches, self)


class WatchedBatches:
    """Batches of a log, each pass over which moves a bar.

    Args:
        batches: which can be passed over again.
        progress: has the bar.
    """

    def __init__(self, batches: Iterable[BanditLog], progress: RowProgress) -> None:
        self._batches = batches
        self._progress = progress
        self._passes = 0
        self._rows: int | None = None  # known after a complete pass

    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the batches."""
        self._passes += 1
        bar = self._progress.add_task(f"pass {self._passes}", total=self._rows)
        rows = 0
        for batch in self._batches:
            yield batch
            rows += len(batch)
            self._progress.update(bar, completed=rows)
        self._rows = rows
        self._progress.remove_task(bar)
