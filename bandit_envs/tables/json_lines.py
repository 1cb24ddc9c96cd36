"""Files of JSON lines of any size, as data frames of some rows each."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bandit_envs.base.extras import import_extra
from bandit_envs.tables.roles import check_column_names

if TYPE_CHECKING:
    from pandas import DataFrame


def scan_json_lines(
    file: Path, batch_rows: int, names: Sequence[str] | None = None
) -> Iterator[DataFrame]:
    """Yields the rows of a file of JSON lines. Their index has their lines, and is named "line".

    Args:
        file: with an object in each line. A key that a line lacks is a missing value.
        batch_rows: the most rows of a data frame.
        names: of the keys to read; None for those of the first line.
    """
    pandas = import_extra("pandas", "logged")
    known = read_keys(file)
    wanted = known if names is None else list(names)
    check_column_names("it", wanted, known)
    rows = _read_objects(file)
    while batch := list(itertools.islice(rows, batch_rows)):
        lines = pandas.Index([line for line, _ in batch], name="line")
        columns = {name: [row.get(name) for _, row in batch] for name in wanted}
        yield pandas.DataFrame(columns, index=lines)


def read_keys(file: Path) -> list[str]:
    """Returns the keys of the first line of a file of JSON lines; none of an empty file."""
    for _, row in _read_objects(file):
        return list(row)
    return []


def _read_objects(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the objects in a file, and their lines; ValueError if one is bad."""
    with file.open(encoding="utf-8") as lines:
        for number, text in enumerate(lines, start=1):
            if not text.strip():
                continue
            try:
                row = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"line {number} is no JSON: {error}") from error
            if not isinstance(row, dict):
                raise ValueError(f"line {number} has no JSON object; expected one")
            yield number, row
