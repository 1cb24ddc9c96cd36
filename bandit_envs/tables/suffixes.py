"""How the names of files of tables end, and what these ends say."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

COMPRESSIONS = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".bz2": "bz2",
    ".zip": "zip",
    ".xz": "xz",
    ".zst": "zstd",
}
"""How pandas calls what compressed a file, by the file's suffix."""

PARQUET_SUFFIXES = (".parquet", ".parq", ".pq")
CSV_SUFFIXES = (".csv", *(f".csv{suffix}" for suffix in COMPRESSIONS))
JSON_LINES_SUFFIXES = (".jsonl",)
TABLE_SUFFIXES = (*PARQUET_SUFFIXES, *CSV_SUFFIXES, *JSON_LINES_SUFFIXES)
"""How the names of tables end, in capitals or not."""

DECISION_SUFFIXES = (".sqlite", ".sqlite3", ".db")
"""How the names of files of decisions end, in capitals or not."""

COMPANIONS = ("-wal", "-shm", "-journal", "-learner")
"""What follows the name of a file of decisions in those of files beside it, which are no data."""


def ends_with(name: str, suffixes: Sequence[str]) -> str:
    """Returns the longest of some suffixes that a name has, in capitals or not; "" if it has none.

    >>> ends_with("clicks.CSV", [".csv", ".csv.gz"])
    '.csv'
    """
    fitting = [suffix for suffix in suffixes if name.lower().endswith(suffix)]
    return max(fitting, key=len, default="")


def is_companion(name: str) -> bool:
    """Whether the name of a file is that of one that SQLite or a service keeps beside decisions.

    >>> is_companion("shop.sqlite-wal")
    True
    """
    return bool(
        ends_with(name, [f"{suffix}{more}" for suffix in DECISION_SUFFIXES for more in COMPANIONS])
    )


def is_parquet(name: str | os.PathLike[str]) -> bool:
    """Whether the name of a file is that of a Parquet file."""
    return bool(ends_with(os.fspath(name), PARQUET_SUFFIXES))


def is_json_lines(name: str | os.PathLike[str]) -> bool:
    """Whether the name of a file is that of a file of JSON lines."""
    return bool(ends_with(os.fspath(name), JSON_LINES_SUFFIXES))


def compression_of(file: Path) -> str:
    """Returns how pandas calls what compressed a file, as its name says."""
    return COMPRESSIONS.get(file.suffix.lower(), "infer")
