"""Labelled examples as arrays, and those that scikit-learn brings along."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import NUMBERS
from bandit_envs.base.checks import as_list


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
    """Makes a data set of named columns. Those that are not numbers become one-hot features.

    Args:
        columns: arrays [n] by name.
        label: the column of the labels, which are numbered in sorted order.
        features: the column or columns to use as features; all others by default.
    """
    names = [name for name in columns if name != label] if features is None else as_list(features)
    for name in (label, *names):
        if name not in columns:
            found = ", ".join(map(str, columns))
            raise ValueError(f"there is no column {name!r}; the columns are {found}")
    labels = np.unique(_complete(columns, label), return_inverse=True)[1]
    parts: list[NDArray[Any]] = []
    for name in names:
        column = _complete(columns, name)[:, np.newaxis]
        is_text = column.dtype.kind not in NUMBERS
        if is_text and (width := len(np.unique(column))) > max(50, len(column) / 2):
            text = f"column {name} becomes {width} features, one for each of its values"
            warnings.warn(f"{text}; features= names the columns to use", stacklevel=2)
        parts.append(one_hot(column) if is_text else column)
    if not parts or not len(labels):
        raise ValueError(f"there are no {'rows' if parts else 'features'}")
    return Dataset(np.concatenate(parts, axis=1).astype(np.float32), labels.reshape(-1))


def one_hot(columns: NDArray[Any]) -> NDArray[np.float32]:
    """Returns a feature for every value of each of the `columns` [n, m], in sorted order."""
    parts = [column[:, np.newaxis] == np.unique(column) for column in columns.T]
    return np.concatenate(parts, axis=1).astype(np.float32)


def from_frame(frame: Any, label: str, features: str | Sequence[str] | None = None) -> Dataset:
    """Makes a data set of a pandas DataFrame, as `from_columns` does."""
    used = frame if features is None else frame.filter([label, *as_list(features)])
    missing = np.argwhere((used.isna() | used.isin([np.inf, -np.inf])).to_numpy())
    if len(missing):
        row, column = missing[0]
        place = f"{frame.index.name or 'row'} {frame.index[row]}, column {used.columns[column]}"
        found = f"{place} is {used.iat[row, column]}"
        raise ValueError(f"{found}; expected text or a finite number")
    return from_columns(frame, label, features)


def from_bunch(bunch: Any) -> Dataset:
    """Makes a data set of what scikit-learn's `load_*` and `fetch_*` functions return."""
    frame = bunch.get("frame")  # with as_frame=True
    if frame is not None:
        return from_frame(frame, bunch.target.name)
    labels = np.unique(_complete(bunch, "target"), return_inverse=True)[1]
    return Dataset(np.asarray(bunch.data, np.float32), labels)


def read_dataset(
    path: str | os.PathLike[str], label: str, features: str | Sequence[str] | None = None
) -> Dataset:
    """Reads a CSV file with a header, or a Parquet file, as `from_columns` does."""
    import pandas  # noqa: PLC0415

    name = Path(path).name
    try:
        if name.endswith(".parquet"):
            frame = pandas.read_parquet(path)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("error", pandas.errors.ParserWarning)
                frame = pandas.read_csv(path, index_col=False, skip_blank_lines=False)
            frame.index = pandas.RangeIndex(2, len(frame) + 2, name="line")
        return from_frame(frame, label, features)
    except FileNotFoundError:
        raise
    except pandas.errors.ParserWarning as error:
        raise ValueError(f"{name}, line 2 has more columns than line 1") from error
    except (ValueError, OSError) as error:
        raise ValueError(f"{name} cannot be read: {str(error).strip()}") from error


def _complete(columns: Mapping[str, ArrayLike], name: str) -> NDArray[Any]:
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
    return from_bunch(_module().load_digits())


def load_wine() -> Dataset:
    """Loads 178 chemical analyses of wines: 13 features, 3 labels.

    Source: scikit-learn's `load_wine`; Aeberhard & Forina (1991), UCI repository.
    """
    return from_bunch(_module().load_wine())


def load_breast_cancer() -> Dataset:
    """Loads 569 diagnoses of tumours: 30 features, 2 labels.

    Source: scikit-learn's `load_breast_cancer`; Wolberg et al. (1993), UCI repository.
    """
    return from_bunch(_module().load_breast_cancer())


def _module() -> Any:
    try:
        import sklearn.datasets  # noqa: PLC0415
    except ModuleNotFoundError as error:
        advice = 'scikit-learn is not installed; in a checkout: pip install ".[datasets]"'
        raise ModuleNotFoundError(advice, name=error.name) from error
    return sklearn.datasets
