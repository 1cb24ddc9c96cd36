"""What every metric shares: it observes trajectories, and keeps statistics of every step."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.state import Stateful, check_fields
from bandit_envs.metrics.statistics import MetricResult, Statistics
from bandit_envs.trajectories import Trajectory


class _Seen(NamedTuple):
    """By step, means and squared deviations of values and of totals; and the totals [B]."""

    columns: tuple[list[float], list[float], list[float], list[float]]
    total: NDArray[np.float64]


class Metric(Stateful, abc.ABC):
    """An observer that keeps the statistics of one number a row and step.

    Call it with every trajectory, or put it among a driver's observers. A subclass implements
    `_values(trajectory)`, which returns the numbers [B]. It keeps four floats a step and one a row.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets everything seen."""
        self._state = _Seen(([], [], [], []), np.zeros(0))

    def __call__(self, trajectory: Trajectory) -> None:
        """Takes in one step of every row; if it does not fit, raises and changes nothing."""
        columns, total = self._state
        means, deviations, total_means, total_deviations = columns
        values = np.asarray(self._values(trajectory), np.float64)
        rows, mean_before = len(values), 0.0
        if not means:
            total = values.copy()
        elif rows == len(total):
            total, mean_before = total + values, total_means[-1]
        else:
            raise ValueError(f"trajectory has {rows} rows; expected {len(total)}, as before")
        mean = float(np.add.reduce(values)) / rows
        centred, centred_total = values - mean, total - (mean_before + mean)
        means.append(mean)
        deviations.append(float(centred.dot(centred)))
        total_means.append(mean_before + mean)
        total_deviations.append(float(centred_total.dot(centred_total)))
        self._state = _Seen(columns, total)

    @property
    def totals(self) -> NDArray[np.float64]:
        """The sum of each row's values so far: [B]."""
        return np.array(self._state.total)

    def result(self) -> MetricResult:
        """Returns the statistics of every step seen so far."""
        columns, total = self._state
        means, deviations, total_means, total_deviations = map(np.array, columns)
        per_step = Statistics(len(total), means, deviations)
        cumulative = Statistics(len(total), total_means, total_deviations)
        return MetricResult(per_step, cumulative, self.totals)

    @abc.abstractmethod
    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        """Returns the number of each row: [B]."""

    def _check_content(self, content: Any) -> None:
        check_fields(content, _Seen, columns=tuple, total=np.ndarray)
        (columns, total), table = content, np.array(content.columns)
        are_lists = all(type(column) is list for column in columns)
        if not are_lists or table.dtype != np.float64 or table.ndim != 2 or len(table) != 4:
            raise ValueError("columns are not four lists of as many floats")
        if total.dtype != np.float64 or total.ndim != 1 or (total.size > 0) != (table.size > 0):
            raise ValueError("total is not one float a row")
