"""What every metric shares: it observes trajectories, and keeps statistics of every step."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_fields, check_integer
from bandit_envs.base.state import SavedState, Stateful
from bandit_envs.metrics.statistics import MetricResult, Statistics, is_kept, kept_steps
from bandit_envs.nests import map_structure
from bandit_envs.specs import ArraySpec, assert_arrays_nest
from bandit_envs.trajectories import Trajectory

MORE_ROWS = 8
"""Where there is no room for another step, the arrays grow by a part of so many."""


class _Seen(NamedTuple):
    """The statistics of the kept steps, of which the last row is always of the last step."""

    points: Floats
    """Mean and squared deviation of the values, and of the totals: [n, 4], some without use."""

    counts: list[int]
    """How many steps there were, and of how many there are rows in `points`."""

    total: Floats
    """The sum of the values of each row of the batch: [B]."""

    memory: Any
    """What `_values` remembers of earlier steps."""


class Metric(Stateful, abc.ABC):
    """An observer that keeps the statistics of one number a row and step.

    Call it with every trajectory, or put it among a driver's observers. A subclass implements
    `_values(trajectory)`, which returns the numbers [B]. If the numbers depend on earlier steps,
    `_initial_memory` returns arrays that `_values` updates: it finds them in `self._state.memory`.

    It keeps one number a row, and four numbers a step: of all steps up to 10,000, then of 1,000
    each time the number of steps doubles. The sums are of all steps.

    Args:
        every: if given, it keeps the numbers of every so many steps in place of these. The last
            step is always kept.
    """

    ends_when_stopped: ClassVar[bool] = False
    """Whether its values are 0 in a row in which the policy has stopped: see `BestArmPolicy`."""

    def __init__(self, every: int | None = None) -> None:
        self._every = None if every is None else check_integer("every", every, minimum=1)
        self.reset()

    def reset(self) -> None:
        """Forgets everything seen."""
        self._state = _Seen(np.zeros((0, 4)), [0, 0], np.zeros(0), self._initial_memory())

    def __call__(self, trajectory: Trajectory) -> None:
        """Takes in one step of every row; if it does not fit, raises and changes nothing."""
        seen: _Seen = self._state
        values = np.asarray(self._values(trajectory), np.float64)
        rows = len(values)
        if not seen.counts[0]:
            seen = self._state = seen._replace(total=np.zeros(rows))
        elif rows != len(seen.total):
            raise ValueError(f"trajectory has {rows} rows; expected {len(seen.total)}, as before")
        total = seen.total
        point = self._next_point()
        if rows == 1:  # the mean is the value, without deviation
            total[0] += values[0]
            point[0] = values[0]
            point[2] = total[0]
            return
        total += values
        mean = float(np.add.reduce(values)) / rows
        total_mean = float(np.add.reduce(total)) / rows
        centred = values - mean
        centred_total = total - total_mean
        point[0] = mean
        point[1] = centred.dot(centred)
        point[2] = total_mean
        point[3] = centred_total.dot(centred_total)

    def _next_point(self) -> Floats:
        """Returns the row of `points` for the next step, which is that of a step not to keep."""
        seen: _Seen = self._state
        points = seen.points
        counts = seen.counts
        if is_kept(counts[0], self._every):  # step 0 counts as kept: the first step needs a row
            counts[1] += 1
            if counts[1] > len(points):
                more = np.zeros((100 + len(points) // MORE_ROWS, 4))
                points = np.concatenate([points, more])
                self._state = seen._replace(points=points)
        counts[0] += 1
        point: Floats = points[counts[1] - 1]
        return point

    @property
    def totals(self) -> NDArray[np.float64]:
        """The sum of each row's values so far: [B]."""
        return np.array(self._state.total)

    def result(self) -> MetricResult:
        """Returns the statistics of the kept steps so far."""
        seen: _Seen = self._state
        rows = len(seen.total)
        mean, deviation, total_mean, total_deviation = seen.points[: seen.counts[1]].T.copy()
        return MetricResult(
            per_step=Statistics(rows, mean, deviation),
            cumulative=Statistics(rows, total_mean, total_deviation),
            totals=self.totals,
            steps=kept_steps(seen.counts[0], self._every),
        )

    def _shared_state(self) -> SavedState:
        saved = super()._shared_state()
        seen: _Seen = saved.content
        return saved._replace(content=seen._replace(points=seen.points[: seen.counts[1]]))

    def _initial_memory(self) -> Any:
        """Returns what `_values` remembers before the first step: a nest of arrays."""
        return None

    @abc.abstractmethod
    def _values(self, trajectory: Trajectory) -> NDArray[Any]:
        """Returns the number of each row: [B]."""

    def _state_key(self) -> dict[str, int | None]:
        return {**super()._state_key(), "every": self._every}

    def _check_content(self, content: Any) -> None:
        check_fields(content, _Seen, points=np.ndarray, counts=list, total=np.ndarray)
        steps, rows = content.counts
        if rows != len(kept_steps(steps, self._every)):
            raise ValueError(f"there are {rows} points of {steps} steps")
        if content.points.shape != (rows, 4):
            raise ValueError(f"points have shape {content.points.shape}; expected {(rows, 4)}")
        memory = self._initial_memory()
        if memory is not None:
            specs = map_structure(ArraySpec.from_array, memory)
            assert_arrays_nest(content.memory, specs, "memory: ")


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
