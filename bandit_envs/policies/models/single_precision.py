"""Models that keep their numbers as float32, and what these can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Floats
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_positive, short_repr

DTYPES = ("float64", "float32")
"""The names of the dtypes that models may have."""

MAX_FEATURE = 1e9
"""The largest feature that a model of float32 takes, so that no square or sum overflows."""

MAX_TARGET = 1e12
"""The largest reward that a model of float32 learns from, so that no weight overflows."""

MAX_SINGLE_PARAMETER = 1e12
"""The largest `tikhonov_weight` of a model of float32; the smallest is its inverse."""


def check_dtype(dtype: Any) -> str:
    """Returns the name of a model's dtype; ValueError if `DTYPES` does not have it."""
    try:
        name = "" if dtype is None else np.dtype(dtype).name
    except TypeError:
        name = ""
    if name not in DTYPES:
        raise ValueError(f'dtype is {short_repr(dtype)}; expected "float64" or "float32"')
    return name


def check_weight_of(dtype: str, tikhonov_weight: float) -> float:
    """Returns the regularisation of a model of a dtype; ValueError if it is out of its range."""
    if dtype == "float64":
        return check_positive("tikhonov_weight", tikhonov_weight, MIN_STD, MAX_PARAMETER)
    return check_positive(
        "tikhonov_weight", tikhonov_weight, 1.0 / MAX_SINGLE_PARAMETER, MAX_SINGLE_PARAMETER
    )


def check_rows_for(dtype: Any, features: Floats, rewards: Array) -> None:
    """Raises ValueError if a model of a dtype cannot learn from features and rewards."""
    if dtype == np.float64:
        return
    _check_largest("observation has a feature", features, MAX_FEATURE)
    _check_largest("trajectory has a reward", rewards, MAX_TARGET)


def in_dtype(features: Floats, dtype: Any) -> Floats:
    """Returns features in the dtype of a model; ValueError if they are too large for it."""
    if dtype == np.float32:
        _check_largest("observation has a feature", features, MAX_FEATURE)
    return features.astype(dtype)


def _check_largest(what: str, values: Array, largest: float) -> None:
    """Raises ValueError if a number is larger than what a model of float32 takes."""
    found = float(np.abs(values).max(initial=0.0))
    if found > largest:
        raise ValueError(f"{what} of size {found:g}; a model of float32 takes up to {largest:g}")
