"""Labelled examples as arrays, and those that scikit-learn brings along."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import NUMBERS, Array
from bandit_envs.base.extras import import_extra
from bandit_envs.names.visible import visible
from bandit_envs.rounding import spread_of
from bandit_envs.tables.cell_counts import CellCounts
from bandit_envs.tables.cells import cells_of
from bandit_envs.tables.errors import check_cells, warn_of_texts_among_numbers
from bandit_envs.tables.roles import Names, Roles, check_column_names, describe_unnamed
from bandit_envs.tables.whole_table import AnyTable, table_in_memory

if TYPE_CHECKING:
    from pandas import DataFrame


class Dataset(NamedTuple):
    """Labelled examples: features [n, d] and labels [n], integers from 0."""

    contexts: NDArray[np.float32]
    labels: NDArray[np.intp]

    def standardized(self) -> Dataset:
        """Returns the data set with features of mean 0 and variance 1; constants become 0."""
        centred = self.contexts - self.contexts.mean(axis=0)
        stds = spread_of(self.contexts)
        varies = stds > 0.0
        scaled = centred / np.where(varies, stds, np.ones_like(stds))
        return self._replace(contexts=np.where(varies, scaled, np.zeros_like(scaled)))


def read_dataset(
    table: AnyTable, label: str, features: Names | None = None, *, only: str | None = None
) -> Dataset:
    """Reads a data set from a CSV file with a header, from Parquet, or from a pandas DataFrame.

    Columns of numbers are features as they are; those of texts become a feature for each text; and
    those of dates and times become five, as `TimeColumn` says.

    Args:
        table: a data frame, or the path of a file or of a folder of such files. CSV may be
            compressed, as the suffix says. Folders inside it may be named as in a partitioned
            table, such as day=2; `day` is then a column.
        label: the column of the labels, which are numbered in sorted order.
        features: the column or columns to use as features; by default all others that have a name.
        only: a pattern, such as `*.csv`, of the files of a folder that are read. By default, a file
            that is not a table is an error, unless its name begins with "." or "_".

    Raises:
        ValueError: the file is damaged, a column is missing, or a cell has no finite value. The
            message names the file, the line and the column.
    """
    named = Roles.of(features, label=label)
    with table_in_memory(table, "datasets", only) as frame:
        roles = named.complete(list(frame))
        if roles.unnamed:
            warnings.warn(describe_unnamed(roles.unnamed), stacklevel=2)
        names = roles.names()
        check_column_names("it", names, list(frame))
        used = frame[[name for name in frame if name in names]]
        if not roles.features:
            raise ValueError(f"there are no features, as {label} is the only column")
        if not len(used):
            raise ValueError("there are no rows")
        is_known = used.notna() & ~used.isin([np.inf, -np.inf])
        check_cells(used, is_known.to_numpy(np.bool_), "text or a finite number")
        for name in used.columns:
            warn_of_texts_among_numbers(used, name, stacklevel=2)
        labels = np.unique(_cells_of(used, label), return_inverse=True)[1].reshape(-1)
        parts = [_features_of(name, _cells_of(used, name)) for name in roles.features]
        return Dataset(np.concatenate(parts, axis=1), labels)


def _cells_of(frame: DataFrame, name: str) -> Array:
    """Returns the cells of a column, which misses none, as numbers or strings."""
    cells = cells_of(frame, name)
    return cells if cells.dtype.kind in NUMBERS else cells.astype(np.str_)


def _features_of(name: str, cells: Array) -> NDArray[np.float32]:
    """Returns the features [n, ...] of a column [n]: numbers, times or levels of texts."""
    column = CellCounts.from_cells(cells, limit=len(cells)).column(name)
    encoded = column.encode(cells)
    width = encoded.shape[1]
    if width > max(50, len(cells) / 2):
        text = f"column {visible(name)} becomes {width} features, one for each of its values"
        warnings.warn(f"{text}; features= names the columns to use", stacklevel=3)
    return encoded.astype(np.float32)


def one_hot(columns: Array) -> NDArray[np.float32]:
    """Returns a feature for every value of each of the `columns` [n, m], in sorted order."""
    parts = [column[:, np.newaxis] == np.unique(column) for column in columns.T]
    return np.concatenate(parts, axis=1).astype(np.float32)


def load_digits() -> Dataset:
    """Loads 1,797 images of digits: 64 features, 10 labels.

    Source: scikit-learn's `load_digits`; Alpaydin & Kaynak (1998), UCI repository.
    """
    return _load_bundled("digits")


def load_wine() -> Dataset:
    """Loads 178 chemical analyses of wines: 13 features, 3 labels.

    Source: scikit-learn's `load_wine`; Aeberhard & Forina (1991), UCI repository.
    """
    return _load_bundled("wine")


def load_breast_cancer() -> Dataset:
    """Loads 569 diagnoses of tumours: 30 features, 2 labels.

    Source: scikit-learn's `load_breast_cancer`; Wolberg et al. (1993), UCI repository.
    """
    return _load_bundled("breast_cancer")


def _load_bundled(name: str) -> Dataset:
    """Returns a data set that scikit-learn brings along."""
    bunch = getattr(import_extra("sklearn.datasets", "datasets"), f"load_{name}")()
    labels = np.unique(bunch.target, return_inverse=True)[1].reshape(-1)
    return Dataset(np.asarray(bunch.data, np.float32), labels)
