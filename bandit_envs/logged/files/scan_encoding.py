"""The encoding of tables in files, found in one pass over them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from bandit_envs.base.extras import import_extra
from bandit_envs.datasets.encoding import MAX_NAMES, CellCounts, TableEncoding
from bandit_envs.datasets.folders import NAMED, Part, Parts, is_parquet, refuse_changes
from bandit_envs.datasets.tables import errors_that_name
from bandit_envs.logged.files.encoding_search import FoundCells, TableColumns, search_cells
from bandit_envs.logged.files.frame_batches import parquet_metadata, scan_frames
from bandit_envs.logged.files.frames import check_named_actions


def find_encoding(
    parts: Parts, columns: TableColumns, batch_rows: int, num_actions: int | None
) -> tuple[TableColumns, TableEncoding, int]:
    """Returns the columns, how they become numbers, and the number of actions.

    The columns know then how many rows each of several logging policies has.

    Args:
        parts: the files, in order.
        columns: which columns are those of a log.
        batch_rows: how many rows are read at a time.
        num_actions: if it is given, and the first rows have numbers alone, no others are read but
            to count those of several logging policies; 0 if actions are real numbers.

    Raises:
        ValueError: there are no rows; actions are neither names nor numbers that can be; or a
            column has too many different texts.
    """
    encoded = columns.encoded(num_actions)
    empty = FoundCells(dict.fromkeys(encoded, CellCounts()))
    if num_actions is not None and columns.loggers is None:
        first = empty
        for found in _search(parts, encoded, columns, batch_rows, ()):
            first = first.merge(found)
            if any(counts.size for counts in found.counts.values()):
                break
        if all(counts.is_number for counts in first.counts.values()):
            return columns, first.encoding(columns), num_actions
    found = _merge(empty, _search(parts, encoded, columns, batch_rows, ()))
    half_read = found.find_half_read(columns)
    if half_read:  # such as 007 in a batch of numbers, which would be 7
        found = _merge(empty, _search(parts, encoded, columns, batch_rows, half_read))
    if num_actions == 0:
        return columns.with_rows(found.loggers), found.encoding(columns), 0
    if not found.counts[columns.action].size:
        names = ", ".join(part.name for part in parts.found[:NAMED])
        raise ValueError(f"the log has no rows in {names}, or none with an action")
    encoding = found.encoding(columns)
    if num_actions is None and found.are_real(columns):
        return columns.with_rows(found.loggers), encoding, 0
    check_named_actions(num_actions, encoding)
    number = len(encoding.actions) or num_actions or found.count_actions(columns.action)
    return columns.with_rows(found.loggers), encoding, number


def _merge(found: FoundCells, batches: Iterator[FoundCells]) -> FoundCells:
    for each in batches:
        found = found.merge(each)
    return found


def _search(
    parts: Parts,
    encoded: Sequence[str],
    columns: TableColumns,
    batch_rows: int,
    texts: Sequence[str],
) -> Iterator[FoundCells]:
    """Yields what cells the batches of a table have.

    Of Parquet files, features are not read whose type says that they are numbers, nor actions of
    which the file says the smallest and the largest.
    """
    for part in parts.found:
        with errors_that_name(part.name), refuse_changes(part):
            known = FoundCells()
            if is_parquet(part.name):
                numbers = [name for name in encoded if name not in texts]
                known = _find_numbers(part, numbers, columns.action)
            names = [name for name in encoded if name not in known.counts]
            yield known
            read = names if columns.loggers is None else columns.used()
            frames = scan_frames(part, batch_rows, read, columns.texts(texts)) if read else ()
            for frame in frames:
                found = search_cells(frame, columns, names, texts)
                if found.problem:
                    problem = f"{part.name} cannot be read: {found.problem}"
                    found = dataclasses.replace(found, problem=problem)
                yield found


def _find_numbers(part: Part, names: Sequence[str], action: str) -> FoundCells:
    """Returns what a Parquet file says of columns of numbers, which then need not be read.

    Args:
        part: the file.
        names: of columns of features, and of the actions.
        action: the column of the actions.
    """
    import_extra("pyarrow", "logged")
    from pyarrow import types  # noqa: PLC0415

    metadata = parquet_metadata(part)
    schema = metadata.schema.to_arrow_schema()
    found = FoundCells()
    for name in names:
        if schema.names.count(name) != 1:
            continue
        kind = schema.field(name).type
        if name == action:
            if types.is_integer(kind):
                found = found.merge(_find_range(metadata, name))
        elif types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
            found = found.merge(FoundCells({name: CellCounts(is_whole=False)}))
    return found


def _find_range(metadata: Any, action: str) -> FoundCells:
    """Returns how many actions a Parquet file has, its smallest and its largest.

    There is nothing if the file does not say them of all its parts.

    Args:
        metadata: of the file.
        action: the column of the actions, of integers.
    """
    found = FoundCells()
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        columns = [group.column(place) for place in range(group.num_columns)]
        (known,) = [each.statistics for each in columns if each.path_in_schema == action]
        if known is None or not (known.has_min_max and known.has_null_count):
            return FoundCells()
        rows = group.num_rows - known.null_count
        counts = CellCounts(numbers=rows, is_whole=False, limit=MAX_NAMES)
        found = found.merge(FoundCells({action: counts}, known.min, known.max))
    return found
