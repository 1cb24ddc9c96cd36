"""The bandit whose arms pay 1 or 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.base.arrays import Array, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.state import Seed
from bandit_envs.rewards.arms import Bernoulli, check_parameters
from bandit_envs.specs import ArraySpec


class BernoulliPyEnvironment(BanditPyEnvironment):
    """A bandit whose arms pay 1 or 0. Each row is an independent run.

        P(R_t = 1) = means[A_t]

    The observation is 1.0 in every row. One uniform float64 is drawn a reward.

    Shapes:
        B: batch_size.
        K: arms. The action, the reward and the observation are [B].

    Args:
        means: [K], or [B, K] for a problem a row: the probabilities of a reward of 1.

    Source: TF-Agents' `BernoulliPyEnvironment`, whose signature is kept.

    >>> env = BernoulliPyEnvironment([0.0, 1.0], batch_size=3, seed=0)
    >>> time_step = env.reset()
    >>> env.step([0, 1, 1]).reward, env.optimal_action()
    (array([0., 1., 1.], dtype=float32), array([1, 1, 1], dtype=int32))
    """

    independent_rows = True

    def __init__(
        self,
        means: ArrayLike = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        batch_size: int = 1,
        *,
        seed: Seed = None,
        horizon: int | None = None,
        name: str = "bernoulli",
    ) -> None:
        (probabilities,) = check_parameters(means=(means, 0.0, 1.0))
        self._law = Bernoulli(probabilities)
        super().__init__(
            ArraySpec((), np.float32, "observation"),
            np.atleast_1d(self._law.mean).shape[-1],
            self._law.spec,
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
            name=name,
        )
        self._law_means = self._law.means(self._batch_size)
        self._ones = np.ones(self._batch_size, np.float32)

    def _initial_state(self, rng: Rng) -> None:
        return None

    def _observe(self, state: None) -> NDArray[np.float32]:
        return self._ones

    def _expected_rewards(self, state: None) -> Array:
        return self._law_means

    def _draw_rewards(self, rng: Rng, state: None, action: Indices) -> Array:
        return self._law.draw(rng, action)
