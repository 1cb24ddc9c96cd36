"""The replacement of TF-Agents' module `piecewise_bernoulli_py_environment`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from tf_agents.trajectories import time_step as ts

from bandit_envs import environments
from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.nests import Nest
from bandit_envs.seeding import Seed

__all__ = ["PiecewiseBernoulliPyEnvironment"]


@configurable("piecewise_bernoulli_py_environment")
class PiecewiseBernoulliPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `PiecewiseBernoulliPyEnvironment`.

    As there, one action for a batch is taken in all rows.

    Args:
        piece_means, change_duration_generator, batch_size, restart_on_reset, seed, name: as for
            `bandit_envs.PiecewiseBernoulliPyEnvironment`.
    """

    def __init__(
        self,
        piece_means: ArrayLike,
        change_duration_generator: Any,
        batch_size: int = 1,
        *,
        restart_on_reset: bool = False,
        seed: Seed = None,
        name: str | None = None,
    ) -> None:
        self._piecewise = environments.PiecewiseBernoulliPyEnvironment(
            piece_means,
            change_duration_generator,
            batch_size,
            restart_on_reset=restart_on_reset,
            seed=seed,
            name=name,
        )
        super().__init__(self._piecewise)

    @property
    def _current_piece(self) -> int:
        """The index of the current piece, under the name that TF-Agents' tests read."""
        return self._piecewise.current_piece

    def _step(self, action: Nest) -> ts.TimeStep:
        if np.shape(action) == (1,):
            action = np.repeat(action, self.batch_size)
        return super()._step(action)
