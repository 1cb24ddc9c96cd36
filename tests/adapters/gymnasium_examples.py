"""An environment to try the Gymnasium adapters on."""

import numpy as np

from bandit_envs import ArraySpec, BoundedArraySpec, PyEnvironment, TimeStep
from bandit_envs.trajectories import StepType


class Countdown(PyEnvironment):
    """Row i counts from `starts[i]` to 0. It draws nothing.

    Its specs have a leaf of each kind. Rows that start from an even number end with discount 0,
    the others with discount 1. A row that is stepped beyond its end counts on below 0.
    """

    def __init__(self, starts):
        super().__init__(batch_size=len(starts))
        self._starts = np.array(starts)

    def action_spec(self):
        return {
            "push": BoundedArraySpec((2,), np.float32, -1.0, 1.0),
            "choice": BoundedArraySpec((), np.int32, 1, 3),
        }

    def observation_spec(self):
        return {
            "count": BoundedArraySpec((), np.int32, -100, 100),
            "details": (
                ArraySpec((2,), np.float32),
                BoundedArraySpec((3,), np.int64, -100, 100),
            ),
        }

    def _time_step(self, counts, reward):
        first, last = counts == self._starts, counts <= 0
        return TimeStep(
            np.select([first, last], [StepType.FIRST, StepType.LAST], StepType.MID),
            np.where(first, 0.0, reward).astype(np.float32),
            np.where(last & (self._starts % 2 == 0), 0.0, 1.0).astype(np.float32),
            {
                "count": counts.astype(np.int32),
                "details": (
                    np.stack([counts, counts / 2], axis=1).astype(np.float32),
                    np.stack([counts] * 3, axis=1).astype(np.int64),
                ),
            },
        )

    def _reset(self):
        return self._starts, self._time_step(self._starts, 0.0)

    def _step(self, action):
        counts = self._state.latent - 1
        return counts, self._time_step(counts, action["choice"] + action["push"].sum(axis=1))

    def _reset_rows(self, rows):
        counts = np.where(rows, self._starts, self._state.latent)
        return counts, self._time_step(counts, self.current_time_step().reward)


class Listed(Countdown):
    """Its actions are lists of dicts and tuples of lists; the first of them counts."""

    def action_spec(self):
        spec = super().action_spec()
        return [spec, ([spec["choice"]], spec["push"])]

    def _step(self, action):
        return super()._step(action[0])
