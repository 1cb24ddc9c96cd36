"""Passes over the parts of a log, here, by workers or on a cluster, and what sees them."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import functools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from bandit_envs.evaluations.named import describe_type
from bandit_envs.logged import BanditLog
from bandit_envs.logged.again import Again
from bandit_envs.logged.reward_models.reward_sums import number_batches
from bandit_envs.logged.summary import LogRows
from bandit_envs.names.users_code import exits_as_errors, printable
from bandit_envs.running.apply import Apply
from bandit_envs.running.backends import check_backend, start_workers

Result = TypeVar("Result")


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
        return number_batches(self.batches, self.first_row)

    def until(self, stop: int) -> LogPart:
        """Returns the rows of the part that come before row `stop` of the log."""
        size = min(self.size, stop - self.first_row)
        if size == self.size:
            return self
        return LogPart(LogRows(self.batches, 0, size), self.first_row, size)


class Passes(abc.ABC):
    """Does things with all parts of a log.

    Args:
        observer: is told how many rows were read.
    """

    are_by_workers: ClassVar[bool]
    """Whether parts are sent to workers, so they should be files rather than in memory."""

    def __init__(self, observer: LogObserver) -> None:
        self.observer = observer

    @abc.abstractmethod
    def over(
        self, parts: Sequence[LogPart], do: Callable[[LogPart], Result], text: str
    ) -> list[Result]:
        """Returns what `do` returns for each part, in their order; `text` says what it does."""

    @contextlib.contextmanager
    def watch(self, rows: LogRows, text: str) -> Iterator[Iterable[BanditLog]]:
        """Yields rows that this process reads one after the other, and that are observed."""
        with observed_pass(self.observer, text, len(rows)) as advance:
            yield _watch(rows, advance)


class PassesHere(Passes):
    """Does everything in this process."""

    are_by_workers = False

    def over(
        self, parts: Sequence[LogPart], do: Callable[[LogPart], Result], text: str
    ) -> list[Result]:
        rows = sum(part.size for part in parts)
        with observed_pass(self.observer, text, rows) as advance:
            return [do(_watch_part(part, advance)) for part in parts]


@dataclasses.dataclass(frozen=True)
class PartResult(Generic[Result]):
    """What a worker made of a part."""

    number: int  # of the part
    result: Result | None
    rows: int
    problem: str = ""  # what went wrong


class PassesByWorkers(Passes):
    """Gives each part to one of some workers.

    Args:
        apply: of the engine of the workers.
        observer: is told of the rows of the parts that were read.
        pickles: whether the workers are other processes, which are sent what they do.
    """

    are_by_workers = True

    def __init__(self, apply: Apply, observer: LogObserver, pickles: bool) -> None:
        super().__init__(observer)
        self._apply = apply
        self._pickles = pickles

    def over(
        self, parts: Sequence[LogPart], do: Callable[[LogPart], Result], text: str
    ) -> list[Result]:
        if self._pickles:
            _check_pickles(do)
        outcomes = self._apply(functools.partial(_try, do), list(enumerate(parts)))
        found: dict[int, Any] = {}
        rows = sum(part.size for part in parts)
        with observed_pass(self.observer, text, rows) as advance, contextlib.closing(outcomes):
            for outcome in outcomes:
                if outcome.problem:
                    raise ValueError(outcome.problem)
                found[outcome.number] = outcome.result
                advance(outcome.rows)
        return [found[number] for number in range(len(parts))]


def _check_pickles(do: Callable[[LogPart], Any]) -> None:
    """Raises ValueError if other processes cannot be sent what they should do."""
    try:
        with exits_as_errors():
            pickle.dumps(do)
    except Exception as error:  # users' classes raise any
        raise ValueError(f"workers cannot be sent a policy: {printable(error)}") from error


def _try(do: Callable[[LogPart], Result], numbered: tuple[int, LogPart]) -> PartResult[Result]:
    """Returns what a worker makes of a part, or what went wrong."""
    number, part = numbered
    rows: list[int] = []
    try:
        with exits_as_errors():
            result = do(_watch_part(part, rows.append))
    except Exception as error:  # users' classes raise any
        return PartResult(number, None, sum(rows), printable(error))
    return PartResult(number, result, sum(rows))


def _watch_part(part: LogPart, advance: Callable[[int], object]) -> LogPart:
    """Returns a part that tells how many rows are read."""
    return dataclasses.replace(part, batches=_watch(part.batches, advance))


def _watch(batches: Iterable[BanditLog], advance: Callable[[int], object]) -> Again[BanditLog]:
    """Returns batches of a log that tell how many rows are read.

    Args:
        batches: which can be passed over again.
        advance: is called with the number of the rows of each batch, once it was used.
    """
    return Again(functools.partial(_tell_rows, batches, advance))


def _tell_rows(
    batches: Iterable[BanditLog], advance: Callable[[int], object]
) -> Iterator[BanditLog]:
    for batch in batches:
        yield batch
        advance(len(batch))


def check_readers(
    workers: int, backend: str, address: str | None, observer: LogObserver | None
) -> None:
    """Raises TypeError or ValueError if `start_passes` would not take its arguments."""
    if observer is not None and not isinstance(observer, LogObserver):
        raise TypeError(f"observer is {describe_type(observer)}; expected a LogObserver")
    if needs_workers(workers, backend, address):
        check_backend(backend, workers, address)


def needs_workers(workers: int, backend: str, address: str | None) -> bool:
    """Returns whether others than this process read the log."""
    return backend != "loky" or workers != 1 or address is not None


@contextlib.contextmanager
def start_passes(
    workers: int, backend: str, address: str | None, observer: LogObserver | None
) -> Iterator[Passes]:
    """Starts workers, or joins a cluster, if asked; yields what reads logs.

    Args:
        workers: how many.
        backend: "loky", "threading", "dask" or "ray".
        address: of a running cluster.
        observer: sees how logs are read.
    """
    watcher = observer or LogObserver()
    if not needs_workers(workers, backend, address):
        yield PassesHere(watcher)
        return
    with start_workers(backend, workers, address) as apply:
        yield PassesByWorkers(apply, watcher, backend != "threading")
