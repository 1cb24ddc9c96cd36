"""Parquet files of any size, as data frames of some rows each, and what they say of themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bandit_envs.base.extras import import_extra
from bandit_envs.tables.roles import check_column_names

if TYPE_CHECKING:
    from pandas import DataFrame

BUFFER = 2**16  # bytes of a column that are read at a time


class IntegerRange(NamedTuple):
    """What a file says of a column of integers."""

    rows: int  # that miss no value
    smallest: int
    largest: int


def scan_parquet(
    file: Path, batch_rows: int, names: Sequence[str] | None = None
) -> Iterator[DataFrame]:
    """Yields the rows of a Parquet file. Their index has their numbers, and is named "row".

    Args:
        file: which is read by column.
        batch_rows: the most rows of a data frame.
        names: of the columns to read; None for all.
    """
    pandas = import_extra("pandas", "logged")
    row = 0
    with _open(file, pre_buffer=False, buffer_size=BUFFER) as table:
        known = table.schema_arrow.names
        wanted = known if names is None else list(names)
        check_column_names("it", wanted, known)
        read = wanted or known[:1]  # which say how many rows there are
        for batch in table.iter_batches(batch_rows, columns=read, use_threads=False):
            # The metadata would make an index of some columns; blocks would be copies of columns.
            # Lists stay as they are: an array for each would cost ten times as much.
            frame = batch.to_pandas(
                ignore_metadata=True, split_blocks=True, types_mapper=_keep_lists
            )
            frame.index = pandas.RangeIndex(row, row + len(frame), name="row")
            row += len(frame)
            yield frame if list(frame) == wanted else frame[wanted]


def _keep_lists(kind: Any) -> Any:
    """Returns the dtype of a column of lists, as Arrow has it; None for others."""
    types = import_extra("pyarrow", "logged").types
    are_lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return import_extra("pandas", "logged").ArrowDtype(kind) if are_lists else None


def read_parquet(file: Path) -> DataFrame:
    """Returns all rows of a Parquet file, but for an index without a name of its own."""
    with _open(file) as table:
        # An index that has a name is a column, as in CSV; pandas gives others such names.
        found = table.read().to_pandas(ignore_metadata=True)
    unnamed = [name for name in found.columns if re.fullmatch(r"__index_level_\d+__", name)]
    frame: DataFrame = found.drop(columns=unnamed)
    frame.index.name = "row"
    return frame


def read_metadata(file: Path) -> Any:
    """Returns what a Parquet file says of its columns, of their parts and of its writer."""
    return _parquet().read_metadata(file)


def read_column_names(file: Path) -> list[str]:
    """Returns the names of the columns of a Parquet file."""
    return list(read_metadata(file).schema.to_arrow_schema().names)


def find_numbers(file: Path, names: Sequence[str]) -> list[str]:
    """Returns which columns of a Parquet file are of numbers, as their type says."""
    types = import_extra("pyarrow", "logged").types
    schema = read_metadata(file).schema.to_arrow_schema()
    return [
        name
        for name in names
        if schema.names.count(name) == 1
        and any(
            is_kind(schema.field(name).type)
            for is_kind in (types.is_integer, types.is_floating, types.is_boolean)
        )
    ]


def find_range(file: Path, name: str) -> IntegerRange | None:
    """Returns what a Parquet file says of a column of integers; None if it does not say it.

    Args:
        file: which has row groups, of which each may have statistics.
        name: of the column.
    """
    types = import_extra("pyarrow", "logged").types
    metadata = read_metadata(file)
    schema = metadata.schema.to_arrow_schema()
    if schema.names.count(name) != 1 or not types.is_integer(schema.field(name).type):
        return None
    found = []
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        columns = [group.column(place) for place in range(group.num_columns)]
        (known,) = [each.statistics for each in columns if each.path_in_schema == name]
        if known is None or not (known.has_min_max and known.has_null_count):
            return None
        found.append(IntegerRange(group.num_rows - known.null_count, known.min, known.max))
    if not found:
        return None
    return IntegerRange(
        rows=sum(each.rows for each in found),
        smallest=min(each.smallest for each in found),
        largest=max(each.largest for each in found),
    )


def _open(file: Path, **options: Any) -> Any:
    """Opens a Parquet file, whose pages are compared with their checksums, if they have some."""
    return _parquet().ParquetFile(file, page_checksum_verification=True, **options)


def _parquet() -> Any:
    """Returns the part of pyarrow that reads and writes Parquet."""
    import_extra("pyarrow", "logged")
    from pyarrow import parquet  # noqa: PLC0415

    return parquet
