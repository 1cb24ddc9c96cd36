"""Labelled examples as arrays, and those that scikit-learn brings along."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import NUMBERS, Array
from bandit_envs.base.checks import as_list
from bandit_envs.base.extras import import_extra
from bandit_envs.datasets.encoding import CellCounts
from bandit_envs.datasets.tables import (
    PathLike,
    check_cells,
    describe_unnamed,
    errors_that_name,
    find_unnamed,
    read_table,
    warn_of_texts_among_numbers,
)

if TYPE_CHECKING:
    from pandas import DataFrame


class Dataset(NamedTuple):
    """Labelled examples: features [n, d] and labels [n], integers from 0."""

    contexts: NDArray[np.float32]
    labels: NDArray[np.intp]

    def standardized(self) -> Dataset:
        """Returns the data set with features of mean 0 and variance 1; constants become 0."""
        centred = self.contexts - self.contexts.mean(axis=0)
        stds = self.contexts.std(axis=0)
        return self._replace(contexts=centred / np.where(stds > 0.0, stds, 1.0))


def from_columns(
    columns: Mapping[str, ArrayLike], label: str, features: str | Sequence[str] | None = None
) -> Dataset:
    """Makes a data set of named columns.

    Columns of numbers are features as they are; those of texts become a feature for each text; and
    those of dates and times become five, as `TimeColumn` says.

    Args:
        columns: arrays [n] by name.
        label: the column of the labels, which are numbered in sorted order.
        features: the column or columns to use as features; all others by default.
    """
    others = [name for name in columns if name != label]
    names = others if features is None else as_list(features)
    for name in (label, *names):
        if name not in columns:
            found = ", ".join(map(str, columns))
            raise ValueError(f"there is no column {name!r}; the columns are {found}")
    if not names:
        raise ValueError(f"there are no features, as {label} is the only column")
    labels = np.unique(_complete(columns, label), return_inverse=True)[1].reshape(-1)
    if not len(labels):
        raise ValueError("there are no rows")
    parts = [_features_of(name, _complete(columns, name)) for name in names]
    return Dataset(np.concatenate(parts, axis=1), labels)


def _features_of(name: str, cells: Array) -> NDArray[np.float32]:
    """Returns the features [n, ...] of a column [n]: numbers, times or levels of texts."""
    column = CellCounts.from_cells(cells, limit=len(cells)).column(name)
    encoded = column.encode(cells)
    width = encoded.shape[1]
    if width > max(50, len(cells) / 2):
        text = f"column {name} becomes {width} features, one for each of its values"
        warnings.warn(f"{text}; features= names the columns to use", stacklevel=3)
    return encoded.astype(np.float32)


def one_hot(columns: Array) -> NDArray[np.float32]:
    """Returns a feature for every value of each of the `columns` [n, m], in sorted order."""
    parts = [column[:, np.newaxis] == np.unique(column) for column in columns.T]
    return np.concatenate(parts, axis=1).astype(np.float32)


def from_frame(
    frame: DataFrame, label: str, features: str | Sequence[str] | None = None
) -> Dataset:
    """Makes a data set of a pandas DataFrame.

    Args:
        frame: the data frame, in which no two columns that are used have one name.
        label: the column of the labels, which are numbered in sorted order.
        features: the column or columns to use as features; by default all others that have a name.
    """
    used = frame
    unnamed = (
        find_unnamed(frame.columns.difference([label], sort=False)) if features is None else []
    )
    if unnamed:
        warnings.warn(describe_unnamed(unnamed), stacklevel=2)
        used = frame = frame.drop(columns=unnamed)
    if features is not None:
        used = frame.loc[:, frame.columns.isin([label, *as_list(features)])]
    twice = used.columns[used.columns.duplicated()]
    if len(twice):
        raise ValueError(f"two columns of frame are called {twice[0]}; expected different names")
    is_known = used.notna() & ~used.isin([np.inf, -np.inf])
    check_cells(used, is_known.to_numpy(np.bool_), "text or a finite number")
    for name in used.columns:
        warn_of_texts_among_numbers(used, name, stacklevel=2)
    return from_columns(frame, label, features)


def from_bunch(bunch: Any) -> Dataset:
    """Makes a data set of what scikit-learn's `load_*` and `fetch_*` functions return."""
    frame = bunch.get("frame")  # with as_frame=True
    if frame is not None:
        return from_frame(frame, bunch.target.name)
    labels = np.unique(_complete(bunch, "target"), return_inverse=True)[1]
    return Dataset(np.asarray(bunch.data, np.float32), labels)


def read_dataset(
    path: PathLike,
    label: str,
    features: str | Sequence[str] | None = None,
    *,
    only: str | None = None,
) -> Dataset:
    """Reads a CSV file with a header, a Parquet file, or a folder of such files.

    Args:
        path: of the file or folder. CSV may be compressed, as the suffix says. Folders inside it
            may be named as in a partitioned table, such as day=2; `day` is then a column.
        label: the column of the labels, which are numbered in sorted order.
        features: the column or columns to use as features; by default all others that have a name.
        only: a pattern, such as `*.csv`, of the files of a folder that are read. By default, a file
            that is not a table is an error, unless its name begins with "." or "_".
    """
    frame = read_table(path, "datasets", only)
    with errors_that_name(Path(path).name):
        return from_frame(frame, label, features)


def _complete(columns: Mapping[str, ArrayLike], name: str) -> Array:
    """Returns a column as numbers or strings; ValueError if it misses a value."""
    column = np.asarray(columns[name])
    if column.dtype.kind in NUMBERS:
        missing = ~np.isfinite(column)
    else:
        objects = np.asarray(columns[name], object)  # in an array of strings, NaN would be one
        missing = np.array([value is None or value != value for value in objects], np.bool_)
        if not missing.any():
            column = column.astype(np.str_)
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(f"column {name}: row {row} has no finite value")
    return column


def load_digits() -> Dataset:
    """Loads 1,797 images of digits: 64 features, 10 labels.

    Source: scikit-learn's `load_digits`; Alpaydin & Kaynak (1998), UCI repository.
    """
    return from_bunch(import_extra("sklearn.datasets", "datasets").load_digits())


def load_wine() -> Dataset:
    """Loads 178 chemical analyses of wines: 13 features, 3 labels.

    Source: scikit-learn's `load_wine`; Aeberhard & Forina (1991), UCI repository.
    """
    return from_bunch(import_extra("sklearn.datasets", "datasets").load_wine())


def load_breast_cancer() -> Dataset:
    """Loads 569 diagnoses of tumours: 30 features, 2 labels.

    Source: scikit-learn's `load_breast_cancer`; Wolberg et al. (1993), UCI repository.
    """
    return from_bunch(import_extra("sklearn.datasets", "datasets").load_breast_cancer())
