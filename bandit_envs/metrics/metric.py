"""What every metric shares: it observes trajectories, and keeps statistics of every step."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats
from bandit_envs.base.state import Stateful, check_fields
from bandit_envs.metrics.statistics import MetricResult, Statistics
from bandit_envs.trajectories import Trajectory


class _Seen(NamedTuple):
    """By step, means and squared deviations of values and of totals; and the totals [B]."""

    means: list[float]
    deviations: list[float]
    total_means: list[float]
    total_deviations: list[float]
    total: Floats
    memory: Any  # what `_values` remembers of earlier steps


class Metric(Stateful, abc.ABC):
    """An observer that keeps the statistics of one number a row and step.

    Call it with every trajectory, or put it among a driver's observers. A subclass implements
    `_values(trajectory)`, which returns the numbers [B]. It keeps four floats a step and one a row.
    If the numbers depend on earlier steps, `_initial_memory` returns arrays that `_values` updates:
    it finds them in `self._state.memory`.
    """

    ends_when_stopped: ClassVar[bool] = False
    """Whether its values are 0 in a row in which the policy has stopped: see `BestArmPolicy`."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets everything seen."""
        self._state = _Seen([], [], [], [], np.zeros(0), self._initial_memory())

    def __call__(self, trajectory: Trajectory) -> None:
        """Takes in one step of every row; if it does not fit, raises and changes nothing."""
        seen: _Seen = self._state
        values = np.asarray(self._values(trajectory), np.float64)
        rows = len(values)
        if not seen.means:
            seen = self._state = seen._replace(total=np.zeros(rows))
        elif rows != len(seen.total):
            raise ValueError(f"trajectory has {rows} rows; expected {len(seen.total)}, as before")
        total = np.add(seen.total, values, out=seen.total)
        mean = float(np.add.reduce(values)) / rows
        total_mean = float(np.add.reduce(total)) / rows
        centred = values - mean
        centred_total = total - total_mean
        seen.means.append(mean)
        seen.deviations.append(float(centred.dot(centred)))
        seen.total_means.append(total_mean)
        seen.total_deviations.append(float(centred_total.dot(centred_total)))

    @property
    def totals(self) -> NDArray[np.float64]:
        """The sum of each row's values so far: [B]."""
        return np.array(self._state.total)

    def result(self) -> MetricResult:
        """Returns the statistics of every step seen so far."""
        seen: _Seen = self._state
        rows = len(seen.total)
        return MetricResult(
            per_step=Statistics(rows, np.array(seen.means), np.array(seen.deviations)),
            cumulative=Statistics(
                rows, np.array(seen.total_means), np.array(seen.total_deviations)
            ),
            totals=self.totals,
        )

    def _initial_memory(self) -> Any:
        """Returns what `_values` remembers before the first step: a nest of arrays."""
        return None

    @abc.abstractmethod
    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        """Returns the number of each row: [B]."""

    def _check_content(self, content: Any) -> None:
        check_fields(content, _Seen, total=np.ndarray)
        columns = content[:4]
        if not all(type(column) is list for column in columns):
            raise ValueError("means and deviations are not lists")
        if len({len(column) for column in columns}) > 1:
            raise ValueError("means and deviations are not as many")


class LevelMetric(Metric):
    """A number that each row has after every step, such as the regret of a recommendation.

    The values are the changes of this number. So their sums, in `result().cumulative` and in
    `totals`, are the number itself. A subclass implements `_levels`.
    """

    @abc.abstractmethod
    def _levels(self, trajectory: Trajectory) -> NDArray[Any]:
        """Returns the number that each row has after the step of the trajectory: [B]."""

    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        levels = self._levels(trajectory)
        before = self.totals
        return levels - before if before.size else levels
