"""What sees how a log is read."""

import contextlib
from collections.abc import Callable, Iterator


class LogObserver:
    """Sees how a log is read. Its methods do nothing; subclasses override some."""

    def start_pass(self, text: str, rows: int) -> None:
        """Is called before a pass over rows of the log.

        Args:
            text: says what the pass does.
            rows: how many it reads; 0 if that is not known.
        """

    def read_rows(self, rows: int) -> None:
        """Is called when so many more rows of the pass were read."""

    def end_pass(self) -> None:
        """Is called when the pass ends, also by an error."""

    def note(self, text: str) -> None:
        """Is called with what one should know before it is done."""


@contextlib.contextmanager
def observed_pass(observer: LogObserver, text: str, rows: int) -> Iterator[Callable[[int], object]]:
    """Tells an observer of a pass. Yields a function that tells it how many rows were read."""
    observer.start_pass(text, rows)
    try:
        yield observer.read_rows
    finally:
        observer.end_pass()
