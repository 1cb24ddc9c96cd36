"""The parts of a table or log: a file, or a data frame in memory."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from bandit_envs.tables import csv_files, json_lines, parquet_files
from bandit_envs.tables.errors import errors_that_name, is_of_reading
from bandit_envs.tables.parquet_files import IntegerRange
from bandit_envs.tables.suffixes import is_json_lines, is_parquet

if TYPE_CHECKING:
    from pandas import DataFrame

Key: TypeAlias = int | float | str | None
"""What the name of a folder such as day=2 says; None or NaN if it is missing."""

KEPT_BYTES = 2**27
"""The most bytes of rows of text files that are kept, so that passes need not parse them again."""

AnyPart_co = TypeVar("AnyPart_co", bound="Part", covariant=True)


class Part(abc.ABC):
    """A part of a table, which is read again in every loop over its rows."""

    name: str
    """Names it in messages; "" if it needs no name."""

    num_bytes: int
    """How large its file is; the largest number there is if it has none."""

    @abc.abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Names the part in errors of what is done with its rows."""

    @abc.abstractmethod
    def column_names(self) -> list[str]:
        """Returns the names of its columns."""

    @abc.abstractmethod
    def frames(
        self, names: Sequence[str], batch_rows: int, texts: Sequence[str] = ()
    ) -> Iterator[DataFrame]:
        """Yields the rows in batches.

        Args:
            names: of the columns to read.
            batch_rows: the most rows of a batch.
            texts: columns whose cells are texts, even where they look like numbers.
        """

    def find_numbers(self, names: Sequence[str]) -> list[str]:
        """Returns which columns are known to be of numbers before their cells are read."""
        return []

    def find_range(self, name: str) -> IntegerRange | None:
        """Returns what is known of a column of integers before its cells are read."""
        return None


@dataclasses.dataclass(frozen=True)
class FramePart(Part):
    """A data frame, which is the only part of a table."""

    frame: DataFrame
    name = ""
    num_bytes = sys.maxsize

    def reading(self) -> AbstractContextManager[None]:
        return contextlib.nullcontext()

    def column_names(self) -> list[str]:
        return list(self.frame)

    def frames(
        self, names: Sequence[str], batch_rows: int, texts: Sequence[str] = ()
    ) -> Iterator[DataFrame]:
        yield self.frame[list(names)]


class Version(NamedTuple):
    """What tells whether a file has changed."""

    size: int  # in bytes
    changed: int  # when, in nanoseconds

    @classmethod
    def of(cls, file: Path) -> Version:
        """Returns the version of a file; ValueError if it cannot be read more than once."""
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):
            kinds = {stat.S_IFIFO: "pipe", stat.S_IFDIR: "folder", stat.S_IFSOCK: "socket"}
            kind = kinds.get(stat.S_IFMT(found.st_mode), "device")
            raise ValueError(f"{file} is a {kind}; expected a file, which can be read again")
        return cls(found.st_size, found.st_mtime_ns)


@dataclasses.dataclass(frozen=True)
class FilePart(Part):
    """A file of a table or log, as it was when it was found.

    Args:
        file: where it is.
        name: in messages: the path inside the folder of the table.
        keys: what the names of its folders say, such as day=2. They are columns, too.
        version: of the file.
    """

    file: Path
    name: str
    keys: Mapping[str, Key]
    version: Version

    @classmethod
    def find(cls, file: Path, name: str, keys: Mapping[str, Key] | None = None) -> FilePart:
        """Returns a file as it is now."""
        return cls(file, name, keys or {}, Version.of(file))

    @property
    def num_bytes(self) -> int:  # type: ignore[override]
        return self.version.size

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Names the file in errors; ValueError if it changes before it was read, or meanwhile."""
        with errors_that_name(self.name):
            self._check_version()
            try:
                yield
            except Exception as error:
                if is_of_reading(error):
                    self._check_version()  # which explains what is wrong with the content
                raise
            self._check_version()

    def column_names(self) -> list[str]:
        with self.reading():
            own = self._own_names()
        return [*own, *(key for key in self.keys if key not in own)]

    def frames(
        self, names: Sequence[str], batch_rows: int, texts: Sequence[str] = ()
    ) -> Iterator[DataFrame]:
        """Yields the rows in batches, whose index has the lines of CSV, or the rows of Parquet.

        Raises:
            ValueError: a column is missing, or is both in the file and a key of its folders.
        """
        own = [name for name in names if name not in self.keys]
        keys = {name: self.keys[name] for name in names if name in self.keys}
        if keys:
            self._refuse_keys([name for name in self._own_names() if name in keys])
        if is_parquet(self.name):
            frames = parquet_files.scan_parquet(self.file, batch_rows, own)
        elif is_json_lines(self.name):
            frames = json_lines.scan_json_lines(self.file, batch_rows, own)
        else:
            kinds = {name: str for name in texts if name in own}
            frames = csv_files.scan_csv(self.file, batch_rows, own, dtype=kinds)
        for frame in frames:
            yield frame.assign(**keys)[list(names)] if keys else frame

    def whole(self, **options: Any) -> DataFrame:
        """Returns all rows, with columns of the keys; `options` are of `pandas.read_csv`."""
        if is_parquet(self.name):
            frame = parquet_files.read_parquet(self.file)
        elif is_json_lines(self.name):
            frame = next(json_lines.scan_json_lines(self.file, sys.maxsize))
        else:
            (frame,) = csv_files.scan_csv(self.file, sys.maxsize, **options)
        self._refuse_keys(frame.columns)
        return frame.assign(**self.keys) if self.keys else frame

    def find_numbers(self, names: Sequence[str]) -> list[str]:
        return parquet_files.find_numbers(self.file, names) if is_parquet(self.name) else []

    def find_range(self, name: str) -> IntegerRange | None:
        return parquet_files.find_range(self.file, name) if is_parquet(self.name) else None

    def _own_names(self) -> list[str]:
        """Returns the names of the columns of the file."""
        if is_parquet(self.name):
            return parquet_files.read_column_names(self.file)
        if is_json_lines(self.name):
            return json_lines.read_keys(self.file)
        return csv_files.read_names(self.file)

    def _refuse_keys(self, names: Sequence[str]) -> None:
        """Raises ValueError if a column of the file has the name of a key of its folders."""
        for name in names:
            if name in self.keys:
                found = f"it has a column {name!r}, and its folder says {name}={self.keys[name]}"
                raise ValueError(f"{found}; rename one of them")

    def _check_version(self) -> None:
        now = Version.of(self.file)
        if now != self.version:
            sizes = f"from {self.version.size} bytes to {now.size}"
            problem = f"it has changed since it was found, {sizes}"
            raise ValueError(f"{problem}; read it again once nothing writes to it")


@dataclasses.dataclass(frozen=True)
class KeptPart(FilePart):
    """A file whose rows are kept in memory, in data frames as `frames` yields them.

    Args:
        kept: the data frames; () where the part was sent, so that the file is read.
        batch_rows: the most rows of each.
        texts: its columns whose cells were read as texts.
    """

    kept: Sequence[DataFrame] = dataclasses.field(default=(), repr=False, compare=False)
    batch_rows: int = 0
    texts: Sequence[str] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "kept": ()}

    def frames(
        self, names: Sequence[str], batch_rows: int, texts: Sequence[str] = ()
    ) -> Iterator[DataFrame]:
        """Yields the rows in batches, from memory if they were read in the same way."""
        are_same = bool(self.kept) and batch_rows == self.batch_rows
        if not are_same or not all(self._has(name, name in texts) for name in names):
            yield from super().frames(names, batch_rows, texts)
            return
        for frame in self.kept:
            yield frame[list(names)]

    def _has(self, name: str, is_text: bool) -> bool:
        """Returns whether a column is kept, with cells that are texts, or as they look."""
        if name not in self.kept[0]:
            return False
        if name in self.texts:
            return is_text
        return not is_text or all(frame[name].dtype == "str" for frame in self.kept)


def keep_small(
    parts: Parts[Part], names: Sequence[str], batch_rows: int, texts: Sequence[str]
) -> Parts[Part]:
    """Returns the same parts, with their rows in memory if they are files of text and small.

    Args:
        parts: of a table.
        names: of the columns that are kept.
        batch_rows: the most rows of a data frame.
        texts: columns whose cells are texts, even where they look like numbers.
    """
    found: list[Part] = []
    size = 0
    if sum(part.num_bytes for part in parts.found) > KEPT_BYTES:
        return parts
    for part in parts.found:
        if not isinstance(part, FilePart) or is_parquet(part.name):
            return parts
        kept = []
        with part.reading():
            for frame in part.frames(names, batch_rows, texts):
                size += int(frame.memory_usage(deep=True).sum())
                if size > KEPT_BYTES:
                    return parts
                kept.append(frame)
        found.append(
            KeptPart(
                file=part.file,
                name=part.name,
                keys=part.keys,
                version=part.version,
                kept=kept,
                batch_rows=batch_rows,
                texts=texts,
            )
        )
    return dataclasses.replace(parts, found=found)


@dataclasses.dataclass(frozen=True)
class Parts(Generic[AnyPart_co]):
    """The parts of a table or log, in order.

    Args:
        found: the parts.
        left_out: the names of the files that were not asked for.
    """

    found: Sequence[AnyPart_co]
    left_out: Sequence[str] = ()
