"""Corrections of p-values for the number of tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p-values as Holm corrects them, so that chance seldom makes any of them small.

    The smallest of m is multiplied by m, the next by m - 1, and so on; the order stays.

    Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure (1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, np.float64)
    order = values.argsort()
    factors = np.arange(len(values), 0, -1)
    increasing = np.maximum.accumulate(values[order] * factors)
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(increasing, 1.0)
    numbers: list[float] = corrected.tolist()
    return numbers
