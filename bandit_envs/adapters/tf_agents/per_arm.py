"""The drop-in replacement of TF-Agents' per-arm environment."""

# gin has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import gin
import numpy as np
from numpy.typing import NDArray

from bandit_envs import environments
from bandit_envs.adapters.tf_agents.adapted import TFAgentsBanditEnvironment
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.rewards import RewardFunction
from bandit_envs.sampling import SamplingFunction
from bandit_envs.specs import Nest
from bandit_envs.base.state import Seed


class _AnyArm(environments.StationaryStochasticPerArmPyEnvironment):
    """Rewards arms beyond `num_actions` too, for not all policies of TF-Agents heed them."""

    def _checked(self, action: Nest) -> NDArray[np.intp]:
        return BanditPyEnvironment._checked(self, action)


class StationaryStochasticPerArmPyEnvironment(TFAgentsBanditEnvironment):
    """TF-Agents' environment of this name: change the import, and the script runs as before.

    It is `bandit_envs.StationaryStochasticPerArmPyEnvironment`, adapted: see there for samplers and
    reward models, which make it fast, and repeatable by `seed` and `set_state`. As in TF-Agents, an
    arm beyond `num_actions` is rewarded like any other; all other bad actions are refused.

    gin configures it under the bare name of the class, which from the import of this module on
    means this one; TF-Agents' own is still found by a longer name.

    Args:
        global_context_sampling_fn: draws users: a sampler, or a function without arguments.
        arm_context_sampling_fn: draws items: a sampler, or a function without arguments.
        max_num_actions: K.
        reward_fn: a `RewardModel`, or a function that draws one reward from one vector.
        num_actions_fn: draws how many actions there are: a sampler, or a function; None for K.
        batch_size: B.
        name: what to call the environment.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.

    Raises:
        TypeError: an argument is of a wrong type.
        ValueError: an argument has a wrong value.

    Source: TF-Agents' `StationaryStochasticPerArmPyEnvironment`.

    >>> draw = np.random.default_rng(0).normal
    >>> user, item = (lambda: draw(size=2)), (lambda: draw(size=3))
    >>> env = StationaryStochasticPerArmPyEnvironment(user, item, 6, sum, batch_size=2)
    >>> env.reset().observation["per_arm"].shape
    (2, 6, 3)
    """

    __module__ = None  # type: ignore[assignment]  # so that gin registers the bare name

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        global_context_sampling_fn: SamplingFunction,
        arm_context_sampling_fn: SamplingFunction,
        max_num_actions: int,
        reward_fn: RewardFunction,
        num_actions_fn: SamplingFunction | None = None,
        batch_size: int = 1,
        name: str | None = "stationary_stochastic_per_arm",
        *,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            _AnyArm(
                global_context_sampling_fn,
                arm_context_sampling_fn,
                max_num_actions,
                reward_fn,
                num_actions_fn,
                batch_size,
                name,
                seed=seed,
            )
        )
        self._name = name


gin.configurable(StationaryStochasticPerArmPyEnvironment)
StationaryStochasticPerArmPyEnvironment.__module__ = __name__
