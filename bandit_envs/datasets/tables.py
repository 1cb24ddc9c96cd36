"""Tables in files, as pandas data frames."""

from __future__ import annotations

import importlib
import os
import warnings
from pathlib import Path
from typing import Any


def read_table(path: str | os.PathLike[str], **options: Any) -> Any:
    """Reads a CSV file, a Parquet file, or a folder of Parquet files as a pandas DataFrame.

    CSV may be compressed, as the suffix says. Its numbers are read exactly. The index of its rows
    has the numbers of their lines in the file, and is named "line".

    Args:
        path: of the file or folder.
        options: of `pandas.read_csv`, for CSV.

    Raises:
        ModuleNotFoundError: pandas or pyarrow is not installed.
        ValueError: the file is damaged; the message names it.
    """
    file = Path(path)
    pandas = import_extra("pandas", "logged")
    try:
        if file.is_dir() or file.suffix == ".parquet":
            import_extra("pyarrow", "logged")
            return pandas.read_parquet(file)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            warnings.simplefilter("ignore", DeprecationWarning)  # of float_precision, in pandas 3
            frame = pandas.read_csv(
                file,
                index_col=False,
                skip_blank_lines=False,
                float_precision="round_trip",
                **options,
            )
    except (FileNotFoundError, PermissionError, ImportError):
        raise
    except pandas.errors.ParserWarning as error:
        raise ValueError(f"{file.name} has lines with more columns than names") from error
    except Exception as error:  # damaged files make the libraries raise almost anything
        raise ValueError(f"{file.name} cannot be read: {str(error).strip()}") from error
    first = 2 + options.get("skiprows", 0)
    frame.index = pandas.RangeIndex(first, first + len(frame), name="line")
    return frame


def import_extra(name: str, extra: str) -> Any:
    """Returns a module that an extra of the package installs; the error without it says which."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        advice = f'{name} is not installed; in a checkout: pip install ".[{extra}]"'
        raise ModuleNotFoundError(advice, name=error.name) from error
