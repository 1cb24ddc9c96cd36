"""The registry of environments: from here the command, studies, adapters and docs know them.

An environment is one file, one entry here and one test of its law. A user's own class needs no
entry: `module:Class` can stand wherever an id does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.checks import check_integer
from bandit_envs.base.registry import Entry, find_entry
from bandit_envs.base.state import Seed
from bandit_envs.environments.bernoulli import BernoulliPyEnvironment
from bandit_envs.environments.drifting_linear import DriftingLinearBandit, drifting_linear
from bandit_envs.environments.k_armed_bandit import KArmedBandit, corrupted_k_armed, k_armed
from bandit_envs.environments.k_armed_testbed import KArmedTestbed
from bandit_envs.environments.logistic_context import LogisticContextBandit
from bandit_envs.environments.piecewise_bernoulli import PiecewiseBernoulliPyEnvironment
from bandit_envs.environments.piecewise_linear import PiecewiseLinearBandit, piecewise_linear
from bandit_envs.environments.piecewise_problems import piecewise_bernoulli
from bandit_envs.environments.stationary_stochastic import (
    StationaryStochasticPyEnvironment,
    split_seed,
    stationary_stochastic,
)
from bandit_envs.environments.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment,
)
from bandit_envs.environments.stationary_stochastic_structured import (
    StationaryStochasticStructuredPyEnvironment,
    structured,
)
from bandit_envs.environments.wheel import WheelPyEnvironment, wheel
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Normal


@dataclasses.dataclass(frozen=True)
class EnvironmentEntry(Entry):
    """An environment: its class, and the name of TF-Agents' class with the same signature, if any.

    `make` is the class, or a preset: a function of plain values.
    """

    environment: type[BanditPyEnvironment] = dataclasses.field(kw_only=True)
    upstream: str | None = None

    @property
    def independent_rows(self) -> bool:
        """Whether each row is an independent run; else a batch is one run of a shared problem."""
        return self.environment.independent_rows

    @property
    def supplied(self) -> frozenset[str]:
        names = frozenset({"seed", "horizon", "name"})
        return names | {"batch_size"} if self.independent_rows else names


def _entry(
    id: str,  # noqa: A002
    title: str,
    environment: type[BanditPyEnvironment],
    preset: Callable[..., BanditPyEnvironment] | None = None,
    upstream: str | None = None,
) -> EnvironmentEntry:
    make = environment if preset is None else preset
    return EnvironmentEntry(id, title, make, environment=environment, upstream=upstream)


def per_arm(
    global_dim: int = 40,
    arm_dim: int = 50,
    max_num_actions: int = 70,
    noise_std: float = 1.0,
    batch_size: int = 20,
    *,
    seed: Seed = None,
    horizon: int | None = None,
) -> StationaryStochasticPerArmPyEnvironment:
    """Contextual bandit with features of users and of items: linear rewards, normal features.

    The weights of the features are drawn from `seed` so that the mean reward has variance 1.

    Args:
        global_dim: features of a user.
        arm_dim: features of an item.
        max_num_actions: K, the items offered to each user.
        noise_std: standard deviation of a reward about its mean.
        batch_size: B, the users at a time.
        seed: whatever `numpy.random.SeedSequence` takes, or a SeedSequence.
        horizon: as for `BanditPyEnvironment`.
    """
    theta_rng, env_seed = split_seed(seed)
    users = Normal(check_integer("global_dim", global_dim, minimum=0))
    items = Normal(check_integer("arm_dim", arm_dim, minimum=0))
    dim = global_dim + arm_dim
    theta = theta_rng.standard_normal(dim) / np.sqrt(max(dim, 1))
    return StationaryStochasticPerArmPyEnvironment(
        users,
        items,
        max_num_actions,
        LinearReward(theta, noise_std),
        batch_size=batch_size,
        seed=env_seed,
        horizon=horizon,
    )


ENVIRONMENTS = {
    entry.id: entry
    for entry in (
        _entry("testbed", "k-armed testbed", KArmedTestbed),
        _entry(
            "bernoulli",
            "Bernoulli bandit",
            BernoulliPyEnvironment,
            upstream="BernoulliPyEnvironment",
        ),
        _entry("k_armed", "k-armed bandit", KArmedBandit, k_armed),
        _entry("corrupted_k_armed", "corrupted k-armed bandit", KArmedBandit, corrupted_k_armed),
        _entry(
            "piecewise_bernoulli",
            "piecewise Bernoulli bandit",
            PiecewiseBernoulliPyEnvironment,
            piecewise_bernoulli,
            upstream="PiecewiseBernoulliPyEnvironment",
        ),
        _entry("logistic_context", "contextual bandit with clicks", LogisticContextBandit),
        _entry(
            "per_arm",
            "per-arm bandit",
            StationaryStochasticPerArmPyEnvironment,
            per_arm,
            upstream="StationaryStochasticPerArmPyEnvironment",
        ),
        _entry(
            "stationary_stochastic",
            "stationary stochastic bandit",
            StationaryStochasticPyEnvironment,
            stationary_stochastic,
            upstream="StationaryStochasticPyEnvironment",
        ),
        _entry(
            "structured",
            "structured bandit",
            StationaryStochasticStructuredPyEnvironment,
            structured,
            upstream="StationaryStochasticStructuredPyEnvironment",
        ),
        _entry("wheel", "wheel bandit", WheelPyEnvironment, wheel, upstream="WheelPyEnvironment"),
        _entry("drifting_linear", "drifting linear bandit", DriftingLinearBandit, drifting_linear),
        _entry(
            "piecewise_linear", "piecewise linear bandit", PiecewiseLinearBandit, piecewise_linear
        ),
    )
}
"""All environments of the package, by id."""


def find_environment(name: str) -> EnvironmentEntry:
    """Returns the entry of an id or of a user's `module:Class`; ValueError if there is none."""
    return find_entry("environment", name, ENVIRONMENTS, _of_class)


def _of_class(name: str, found: Any) -> EnvironmentEntry:
    if not (isinstance(found, type) and issubclass(found, BanditPyEnvironment)):
        raise TypeError("it is not a subclass of BanditPyEnvironment")
    return _entry(name, found.__name__, found)
