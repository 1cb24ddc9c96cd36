"""The registry of environments: from here the command, studies, adapters and docs know them.

An environment is one file, one entry here and one test of its law. A user's own class needs no
entry: `module:Class` can stand wherever an id does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.registry import Entry, find_entry
from bandit_envs.environments.bernoulli import BernoulliPyEnvironment
from bandit_envs.environments.classification import (
    ClassificationBandit,
    breast_cancer,
    digits,
    wine,
)
from bandit_envs.environments.drifting_linear import DriftingLinearBandit, drifting_linear
from bandit_envs.environments.k_armed_bandit import KArmedBandit, corrupted_k_armed, k_armed
from bandit_envs.environments.k_armed_testbed import KArmedTestbed
from bandit_envs.environments.logistic_context import LogisticContextBandit
from bandit_envs.environments.piecewise_bernoulli import PiecewiseBernoulliPyEnvironment
from bandit_envs.environments.piecewise_linear import PiecewiseLinearBandit, piecewise_linear
from bandit_envs.environments.piecewise_problems import piecewise_bernoulli
from bandit_envs.environments.stationary_stochastic import (
    StationaryStochasticPyEnvironment,
    stationary_stochastic,
)
from bandit_envs.environments.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment,
    per_arm,
)
from bandit_envs.environments.stationary_stochastic_structured import (
    StationaryStochasticStructuredPyEnvironment,
    structured,
)
from bandit_envs.environments.wheel import WheelPyEnvironment, wheel


@dataclasses.dataclass(frozen=True)
class EnvironmentEntry(Entry):
    """An environment: `make` is its class, or a preset: a function of plain values."""

    environment: type[BanditPyEnvironment] = dataclasses.field(kw_only=True)

    @property
    def upstream(self) -> str | None:
        """TF-Agents' class of the same name and signature: only such names end in PyEnvironment."""
        name = self.environment.__name__
        return name if name.endswith("PyEnvironment") else None

    @property
    def independent_rows(self) -> bool:
        """Whether each row is an independent run; else a batch is one run of a shared problem."""
        return self.environment.independent_rows

    @property
    def has_context(self) -> bool:
        """Whether rows are users of a shared problem, whom observations tell apart."""
        observes = self.environment._observe is not BanditPyEnvironment._observe
        return observes and not self.independent_rows

    @property
    def supplied(self) -> frozenset[str]:
        names = frozenset({"seed", "horizon", "name"})
        return names | {"batch_size"} if self.independent_rows else names


def _entry(
    id: str,  # noqa: A002
    title: str,
    environment: type[BanditPyEnvironment],
    preset: Callable[..., BanditPyEnvironment] | None = None,
) -> EnvironmentEntry:
    make = environment if preset is None else preset
    return EnvironmentEntry(id, title, make, environment=environment)


ENVIRONMENTS = {
    entry.id: entry
    for entry in (
        _entry("testbed", "k-armed testbed", KArmedTestbed),
        _entry("bernoulli", "Bernoulli bandit", BernoulliPyEnvironment),
        _entry("k_armed", "k-armed bandit", KArmedBandit, k_armed),
        _entry("corrupted_k_armed", "corrupted k-armed bandit", KArmedBandit, corrupted_k_armed),
        _entry(
            "piecewise_bernoulli",
            "piecewise Bernoulli bandit",
            PiecewiseBernoulliPyEnvironment,
            piecewise_bernoulli,
        ),
        _entry("logistic_context", "contextual bandit with clicks", LogisticContextBandit),
        _entry("per_arm", "per-arm bandit", StationaryStochasticPerArmPyEnvironment, per_arm),
        _entry(
            "stationary_stochastic",
            "stationary stochastic bandit",
            StationaryStochasticPyEnvironment,
            stationary_stochastic,
        ),
        _entry(
            "structured",
            "structured bandit",
            StationaryStochasticStructuredPyEnvironment,
            structured,
        ),
        _entry("wheel", "wheel bandit", WheelPyEnvironment, wheel),
        _entry("drifting_linear", "drifting linear bandit", DriftingLinearBandit, drifting_linear),
        _entry(
            "piecewise_linear", "piecewise linear bandit", PiecewiseLinearBandit, piecewise_linear
        ),
        _entry("digits", "digits", ClassificationBandit, digits),
        _entry("wine", "wine", ClassificationBandit, wine),
        _entry("breast_cancer", "breast cancer", ClassificationBandit, breast_cancer),
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
