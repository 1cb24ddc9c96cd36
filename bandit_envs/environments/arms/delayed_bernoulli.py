"""The bandit whose arms pay 1 or 0, some steps later."""

from __future__ import annotations

import typing

from numpy.typing import ArrayLike

from bandit_envs.base.bandit_py_environment import Options
from bandit_envs.environments.arms.bernoulli import BernoulliPyEnvironment
from bandit_envs.wrappers.delays import DelayedRewards


class DelayedBernoulliBandit(DelayedRewards):
    """A Bernoulli bandit whose rewards come later. Each row is an independent run.

        P(R_t = 1) = means[A_t],    and step t + delay pays R_t

    It is `DelayedRewards(BernoulliPyEnvironment(means), delay)` as one class, which studies and the
    command can name: `bandit_envs.environments:DelayedBernoulliBandit`.

    Args:
        means: as in `BernoulliPyEnvironment`.
        delay: of all rewards, or one for each arm.
        batch_size: B.
        **options: `seed`, `horizon` and `name`, as in every environment.

    >>> env = DelayedBernoulliBandit([1.0, 1.0], delay=[0, 1])
    >>> time_step = env.reset()
    >>> env.step([1]).reward, env.step([0]).reward
    (array([0.], dtype=float32), array([2.], dtype=float32))
    """

    independent_rows = True

    def __init__(
        self,
        means: ArrayLike = (0.5, 0.46, 0.42, 0.38, 0.34, 0.3),
        delay: ArrayLike = 500,
        batch_size: int = 1,
        **options: typing.Unpack[Options],
    ) -> None:
        super().__init__(BernoulliPyEnvironment(means, batch_size, **options), delay)
