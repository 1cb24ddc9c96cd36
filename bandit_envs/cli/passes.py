"""Passes over the parts of a log: in this process, or by workers."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import functools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from bandit_envs.base.users_code import exits_as_errors
from bandit_envs.cli.console import RowProgress
from bandit_envs.datasets.folders import Part
from bandit_envs.logged import BanditLog
from bandit_envs.logged.files.scan import TableScan, WrittenScan
from bandit_envs.logged.summary import LogRows
from bandit_envs.studies.definition.choice import printable
from bandit_envs.studies.running.backends import Apply

Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class FileBatches:
    """The batches of a file of a log. Every loop over them reads the file anew.

    Args:
        scan: of the log.
        part: the file.
    """

    scan: WrittenScan | TableScan
    part: Part

    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the batches."""
        return self.scan.scan_part(self.part)


@dataclasses.dataclass(frozen=True)
class LogPart:
    """A part of a log, which workers can be sent.

    Args:
        batches: which can be passed over more than once.
        first_row: the number of its first row in the log.
        size: the number of its rows.
    """

    batches: Iterable[BanditLog]
    first_row: int = 0
    size: int = 0

    def __iter__(self) -> Iterator[tuple[int, BanditLog]]:
        """Yields the batches, with the number of the first row of each."""
        first_row = self.first_row
        for batch in self.batches:
            yield first_row, batch
            first_row += len(batch)


class Passes(abc.ABC):
    """Does things with all parts of a log.

    Args:
        progress: shows how many rows were read.
    """

    reads_files: ClassVar[bool]
    """Whether parts should be files rather than in memory."""

    def __init__(self, progress: RowProgress) -> None:
        self._progress = progress

    @abc.abstractmethod
    def over(
        self, parts: Sequence[LogPart], do: Callable[[LogPart], Result], text: str
    ) -> list[Result]:
        """Returns what `do` returns for each part, in their order; `text` says what it does."""

    @contextlib.contextmanager
    def watch(self, rows: LogRows, text: str) -> Iterator[Iterable[BanditLog]]:
        """Yields rows that this process reads one after the other, and that a bar shows."""
        with self._progress.show_pass(text, len(rows)) as advance:
            yield WatchedBatches(rows, advance)


class PassesHere(Passes):
    """Does everything in this process."""

    reads_files = False

    def over(
        self, parts: Sequence[LogPart], do: Callable[[LogPart], Result], text: str
    ) -> list[Result]:
        rows = sum(part.size for part in parts)
        with self._progress.show_pass(text, rows) as advance:
            return [do(_watch_part(part, advance)) for part in parts]


class Outcome(NamedTuple, Generic[Result]):
    """What a worker made of a part."""

    number: int  # of the part
    result: Result | None
    rows: int
    problem: str = ""  # what went wrong


class PassesByWorkers(Passes):
    """Gives each part to one of some workers.

    Args:
        apply: of the engine of the workers.
        progress: shows the rows of the parts that were read.
    """

    reads_files = True

    def __init__(self, apply: Apply, progress: RowProgress) -> None:
        super().__init__(progress)
        self._apply = apply

    def over(
        self, parts: Sequence[LogPart], do: Callable[[LogPart], Result], text: str
    ) -> list[Result]:
        try:
            with exits_as_errors():
                pickle.dumps(do)
        except Exception as error:  # users' classes raise any
            raise ValueError(f"workers cannot be sent a policy: {printable(error)}") from error
        outcomes = self._apply(functools.partial(_try, do), list(enumerate(parts)))
        found: dict[int, Any] = {}
        rows = sum(part.size for part in parts)
        with self._progress.show_pass(text, rows) as advance, contextlib.closing(outcomes):
            for outcome in outcomes:
                if outcome.problem:
                    raise ValueError(outcome.problem)
                found[outcome.number] = outcome.result
                advance(outcome.rows)
        return [found[number] for number in range(len(parts))]


def _try(do: Callable[[LogPart], Result], numbered: tuple[int, LogPart]) -> Outcome[Result]:
    """Returns what a worker makes of a part, or what went wrong."""
    number, part = numbered
    rows: list[int] = []
    try:
        with exits_as_errors():
            result = do(_watch_part(part, rows.append))
    except Exception as error:  # damaged files and users' classes raise any
        return Outcome(number, None, sum(rows), printable(error))
    return Outcome(number, result, sum(rows))


def _watch_part(part: LogPart, advance: Callable[[int], object]) -> LogPart:
    """Returns a part that tells how many rows are read."""
    return dataclasses.replace(part, batches=WatchedBatches(part.batches, advance))


@dataclasses.dataclass(frozen=True)
class WatchedBatches:
    """Batches of a log that tell how many rows are read.

    Args:
        batches: which can be passed over again.
        advance: is called with the number of the rows of each batch.
    """

    batches: Iterable[BanditLog]
    advance: Callable[[int], object]

    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the batches."""
        for batch in self.batches:
            yield batch
            self.advance(len(batch))
