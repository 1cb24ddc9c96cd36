"""The replacement of TF-Agents' module `bernoulli_py_environment`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from numpy.typing import ArrayLike

from bandit_envs import environments
from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.seeding import Seed

__all__ = ["BernoulliPyEnvironment"]


@configurable("bernoulli_py_environment")
class BernoulliPyEnvironment(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `BernoulliPyEnvironment`.

    Args:
        means, batch_size, seed, name: as for `bandit_envs.BernoulliPyEnvironment`.
    """

    def __init__(
        self,
        means: ArrayLike,
        batch_size: int = 1,
        *,
        seed: Seed = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            environments.BernoulliPyEnvironment(means, batch_size, seed=seed, name=name)
        )
