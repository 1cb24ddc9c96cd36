"""The registry of environments: from here the command, studies, adapters and docs know them."""

import dataclasses
import functools
import typing
from typing import Any

from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.registry import Entry
from bandit_envs.environments.adversarial import adversarial
from bandit_envs.environments.bernoulli import BernoulliPyEnvironment, beta_bernoulli
from bandit_envs.environments.classification import breast_cancer, digits, wine
from bandit_envs.environments.click_models import CascadeBandit, PositionBasedBandit
from bandit_envs.environments.drifting_linear import drifting_linear
from bandit_envs.environments.k_armed_bandit import corrupted_k_armed, k_armed
from bandit_envs.environments.k_armed_testbed import KArmedTestbed
from bandit_envs.environments.logistic_context import LogisticContextBandit
from bandit_envs.environments.neural_context import NeuralContextBandit
from bandit_envs.environments.piecewise_bernoulli import constrained_adversary, piecewise_bernoulli
from bandit_envs.environments.piecewise_linear import piecewise_linear
from bandit_envs.environments.positional_bias import positional_bias
from bandit_envs.environments.ranking import ranking
from bandit_envs.environments.ratings import per_arm_ratings, ratings
from bandit_envs.environments.rested import RisingBandit, RottingBandit
from bandit_envs.environments.restless_markov import RestlessMarkovBandit
from bandit_envs.environments.stationary_stochastic import stationary_stochastic
from bandit_envs.environments.stationary_stochastic_per_arm import per_arm
from bandit_envs.environments.stationary_stochastic_structured import structured
from bandit_envs.environments.wheel import wheel
from bandit_envs.wrappers import Wrapper


@dataclasses.dataclass(frozen=True)
class EnvironmentEntry(Entry):
    """An environment: `make` is its class, or a preset.

    A preset is a function of plain values, whose annotation says what it returns. It takes
    `batch_size`, and passes the keywords on that every environment takes, such as `seed`.
    """

    what, kinds = "environment", (BanditPyEnvironment, Wrapper)

    @functools.cached_property
    def environment(self) -> type[BanditPyEnvironment]:
        """The class, which a preset names as what it returns."""
        is_class = isinstance(self.make, type)
        found: Any = self.make if is_class else typing.get_type_hints(self.make)["return"]
        return found  # type: ignore[no-any-return]

    @property
    def upstream(self) -> str | None:
        """TF-Agents' class of the same name and signature: only such names end in Environment."""
        name = self.environment.__name__
        return name if name.endswith("Environment") else None

    @property
    def independent_rows(self) -> bool:
        """Whether each row is an independent run; else a batch is one run of a shared problem."""
        return self.environment.independent_rows

    @property
    def has_context(self) -> bool:
        """Whether rows are users of a shared problem, whom observations tell apart."""
        if not issubclass(self.environment, BanditPyEnvironment):  # a user's wrapper
            return False
        observes = self.environment._observe is not BanditPyEnvironment._observe
        return observes and not self.independent_rows

    @property
    def supplied(self) -> frozenset[str]:
        names = frozenset({"seed", "horizon", "name"})
        return names | {"batch_size"} if self.independent_rows else names


ENVIRONMENTS = EnvironmentEntry.table(
    ("testbed", "k-armed testbed", KArmedTestbed),
    ("bernoulli", "Bernoulli bandit", BernoulliPyEnvironment),
    ("beta_bernoulli", "Bernoulli bandit with random means", beta_bernoulli),
    ("k_armed", "k-armed bandit", k_armed),
    ("corrupted_k_armed", "corrupted k-armed bandit", corrupted_k_armed),
    ("piecewise_bernoulli", "piecewise Bernoulli bandit", piecewise_bernoulli),
    ("constrained_adversary", "stochastically constrained adversary", constrained_adversary),
    ("logistic_context", "contextual bandit with clicks", LogisticContextBandit),
    ("per_arm", "per-arm bandit", per_arm),
    ("neural_context", "bandit with nonlinear rewards", NeuralContextBandit),
    ("stationary_stochastic", "stationary stochastic bandit", stationary_stochastic),
    ("structured", "structured bandit", structured),
    ("wheel", "wheel bandit", wheel),
    ("drifting_linear", "drifting linear bandit", drifting_linear),
    ("piecewise_linear", "piecewise linear bandit", piecewise_linear),
    ("rotting", "rotting bandit", RottingBandit),
    ("rising", "rising bandit", RisingBandit),
    ("restless_markov", "restless Markov bandit", RestlessMarkovBandit),
    ("adversarial", "adversarial bandit", adversarial),
    ("cascade", "cascade bandit", CascadeBandit),
    ("position_based", "position-based bandit", PositionBasedBandit),
    ("ranking", "ranking bandit", ranking),
    ("positional_bias", "ranking with positional bias", positional_bias),
    ("ratings", "ratings of items", ratings),
    ("per_arm_ratings", "ratings of items with features", per_arm_ratings),
    ("digits", "digits", digits),
    ("wine", "wine", wine),
    ("breast_cancer", "breast cancer", breast_cancer),
)
"""All environments of the package, by id."""


def find_environment(name: str) -> EnvironmentEntry:
    """Returns the entry of an id or of a user's `module:Class`, or raises ValueError."""
    return EnvironmentEntry.find(name, ENVIRONMENTS)
