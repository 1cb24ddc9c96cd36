"""The registry of environments: from here the command, studies, adapters and docs know them."""

import dataclasses
from typing import Any

from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.registry import Entry
from bandit_envs.environments.arms.adversarial import AdversarialBandit, adversarial
from bandit_envs.environments.arms.bernoulli import BernoulliPyEnvironment, beta_bernoulli
from bandit_envs.environments.arms.k_armed_bandit import KArmedBandit, corrupted_k_armed, k_armed
from bandit_envs.environments.arms.k_armed_testbed import KArmedTestbed
from bandit_envs.environments.arms.piecewise_bernoulli import (
    PiecewiseBernoulliPyEnvironment,
    constrained_adversary,
    piecewise_bernoulli,
)
from bandit_envs.environments.arms.rested import RisingBandit, RottingBandit
from bandit_envs.environments.arms.restless_markov import RestlessMarkovBandit
from bandit_envs.environments.contexts.continuous import ContinuousBandit
from bandit_envs.environments.contexts.drifting_linear import DriftingLinearBandit, drifting_linear
from bandit_envs.environments.contexts.logistic import logistic_context
from bandit_envs.environments.contexts.nonlinear import neural_context
from bandit_envs.environments.contexts.piecewise_linear import (
    PiecewiseLinearBandit,
    piecewise_linear,
)
from bandit_envs.environments.contexts.ratings import (
    RatingsBandit,
    per_arm_ratings,
    ratings,
)
from bandit_envs.environments.contexts.stationary_stochastic import (
    StationaryStochasticPyEnvironment,
    stationary_stochastic,
)
from bandit_envs.environments.contexts.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment,
    per_arm,
)
from bandit_envs.environments.contexts.stationary_stochastic_structured import (
    StationaryStochasticStructuredPyEnvironment,
    structured,
)
from bandit_envs.environments.contexts.wheel import WheelPyEnvironment, wheel
from bandit_envs.environments.data.classification import ClassificationBandit, classification
from bandit_envs.environments.data.outcome_table import OutcomeTableBandit, outcomes
from bandit_envs.environments.slates.click_models import CascadeBandit, PositionBasedBandit
from bandit_envs.environments.slates.positional_bias import (
    ExplicitPositionalBiasRankingEnvironment,
    positional_bias,
)
from bandit_envs.environments.slates.ranking import RankingPyEnvironment, ranking
from bandit_envs.wrappers import Wrapper

FORMER_IDS = {
    "digits": "classification:data=digits",
    "wine": "classification:data=wine",
    "breast_cancer": "classification:data=breast_cancer",
}
"""Ids that an error explains, with what stands in their place."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EnvironmentEntry(Entry):
    """An environment under an id.

    `make` is its class, or a preset: a function of plain values that returns an instance, takes
    `batch_size`, and passes the keywords on that every environment takes, such as `seed`.
    """

    what = "environment"
    kinds = (BanditPyEnvironment, Wrapper)
    former = FORMER_IDS

    environment: type[BanditPyEnvironment[Any] | Wrapper]
    """The class of what `make` returns."""

    independent_rows: bool
    """Whether each row is an independent run; else a batch is one run of a shared problem."""

    has_context: bool
    """Whether rows are users of a shared problem, whom observations tell apart."""

    stationary: bool | None
    """Whether equal observations mean equal expected rewards, at any time; None if unknown."""

    upstream: str | None
    """TF-Agents' class of the same name and signature."""

    gymnasium_id: str | None
    """The id for `gymnasium.make`."""

    @classmethod
    def of_class(cls, name: str, found: type) -> "EnvironmentEntry":
        return cls(
            id=name,
            title=found.__name__,
            make=found,
            environment=found,
            independent_rows=found.independent_rows,  # type: ignore[attr-defined]
            has_context=_has_context(found),
            stationary=None,
            upstream=None,
            gymnasium_id=None,
        )

    @classmethod
    def of_name(cls, name: str) -> "EnvironmentEntry":
        return cls(
            id=name,
            title=name.rpartition(":")[2].rpartition(".")[2],
            make=name,
            environment=BanditPyEnvironment,
            independent_rows=False,
            has_context=False,
            stationary=None,
            upstream=None,
            gymnasium_id=None,
        )

    @property
    def supplied(self) -> frozenset[str]:
        names = frozenset({"seed", "horizon", "name"})
        return names | {"batch_size"} if self.independent_rows else names


def _has_context(environment: type) -> bool:
    """Whether rows of a user's class are users of a shared problem, whom it observes."""
    if not issubclass(environment, BanditPyEnvironment):  # a wrapper
        return False
    observes = environment._observe is not BanditPyEnvironment._observe
    return observes and not environment.independent_rows


_ENTRIES = (
    EnvironmentEntry(
        id="testbed",
        title="k-armed testbed",
        make=KArmedTestbed,
        environment=KArmedTestbed,
        independent_rows=True,
        has_context=False,
        stationary=True,
        upstream=None,
        gymnasium_id="bandit_envs/KArmedTestbed-v0",
    ),
    EnvironmentEntry(
        id="bernoulli",
        title="Bernoulli bandit",
        make=BernoulliPyEnvironment,
        environment=BernoulliPyEnvironment,
        independent_rows=True,
        has_context=False,
        stationary=True,
        upstream="BernoulliPyEnvironment",
        gymnasium_id="bandit_envs/Bernoulli-v0",
    ),
    EnvironmentEntry(
        id="beta_bernoulli",
        title="Bernoulli bandit with random means",
        make=beta_bernoulli,
        environment=BernoulliPyEnvironment,
        independent_rows=True,
        has_context=False,
        stationary=True,
        upstream="BernoulliPyEnvironment",
        gymnasium_id="bandit_envs/BetaBernoulli-v0",
    ),
    EnvironmentEntry(
        id="k_armed",
        title="k-armed bandit",
        make=k_armed,
        environment=KArmedBandit,
        independent_rows=True,
        has_context=False,
        stationary=True,
        upstream=None,
        gymnasium_id="bandit_envs/KArmedBandit-v0",
    ),
    EnvironmentEntry(
        id="corrupted_k_armed",
        title="corrupted k-armed bandit",
        make=corrupted_k_armed,
        environment=KArmedBandit,
        independent_rows=True,
        has_context=False,
        stationary=True,
        upstream=None,
        gymnasium_id="bandit_envs/CorruptedKArmed-v0",
    ),
    EnvironmentEntry(
        id="piecewise_bernoulli",
        title="piecewise Bernoulli bandit",
        make=piecewise_bernoulli,
        environment=PiecewiseBernoulliPyEnvironment,
        independent_rows=True,
        has_context=False,
        stationary=False,
        upstream="PiecewiseBernoulliPyEnvironment",
        gymnasium_id="bandit_envs/PiecewiseBernoulli-v0",
    ),
    EnvironmentEntry(
        id="constrained_adversary",
        title="stochastically constrained adversary",
        make=constrained_adversary,
        environment=PiecewiseBernoulliPyEnvironment,
        independent_rows=True,
        has_context=False,
        stationary=False,
        upstream="PiecewiseBernoulliPyEnvironment",
        gymnasium_id="bandit_envs/ConstrainedAdversary-v0",
    ),
    EnvironmentEntry(
        id="logistic_context",
        title="contextual bandit with clicks",
        make=logistic_context,
        environment=StationaryStochasticPyEnvironment,
        independent_rows=False,
        has_context=True,
        stationary=True,
        upstream=None,
        gymnasium_id="bandit_envs/LogisticContextBandit-v0",
    ),
    EnvironmentEntry(
        id="per_arm",
        title="per-arm bandit",
        make=per_arm,
        environment=StationaryStochasticPerArmPyEnvironment,
        independent_rows=False,
        has_context=True,
        stationary=True,
        upstream="StationaryStochasticPerArmPyEnvironment",
        gymnasium_id="bandit_envs/StationaryStochasticPerArm-v0",
    ),
    EnvironmentEntry(
        id="neural_context",
        title="bandit with nonlinear rewards",
        make=neural_context,
        environment=StationaryStochasticPerArmPyEnvironment,
        independent_rows=False,
        has_context=True,
        stationary=True,
        upstream=None,
        gymnasium_id="bandit_envs/NeuralContextBandit-v0",
    ),
    EnvironmentEntry(
        id="stationary_stochastic",
        title="stationary stochastic bandit",
        make=stationary_stochastic,
        environment=StationaryStochasticPyEnvironment,
        independent_rows=False,
        has_context=True,
        stationary=True,
        upstream="StationaryStochasticPyEnvironment",
        gymnasium_id="bandit_envs/StationaryStochastic-v0",
    ),
    EnvironmentEntry(
        id="structured",
        title="structured bandit",
        make=structured,
        environment=StationaryStochasticStructuredPyEnvironment,
        independent_rows=False,
        has_context=True,
        stationary=True,
        upstream="StationaryStochasticStructuredPyEnvironment",
        gymnasium_id="bandit_envs/StationaryStochasticStructured-v0",
    ),
    EnvironmentEntry(
        id="wheel",
        title="wheel bandit",
        make=wheel,
        environment=WheelPyEnvironment,
        independent_rows=False,
        has_context=True,
        stationary=True,
        upstream="WheelPyEnvironment",
        gymnasium_id="bandit_envs/Wheel-v0",
    ),
    EnvironmentEntry(
        id="drifting_linear",
        title="drifting linear bandit",
        make=drifting_linear,
        environment=DriftingLinearBandit,
        independent_rows=False,
        has_context=True,
        stationary=False,
        upstream=None,
        gymnasium_id="bandit_envs/DriftingLinearBandit-v0",
    ),
    EnvironmentEntry(
        id="piecewise_linear",
        title="piecewise linear bandit",
        make=piecewise_linear,
        environment=PiecewiseLinearBandit,
        independent_rows=False,
        has_context=True,
        stationary=False,
        upstream=None,
        gymnasium_id="bandit_envs/PiecewiseLinearBandit-v0",
    ),
    EnvironmentEntry(
        id="rotting",
        title="rotting bandit",
        make=RottingBandit,
        environment=RottingBandit,
        independent_rows=True,
        has_context=False,
        stationary=False,
        upstream=None,
        gymnasium_id="bandit_envs/RottingBandit-v0",
    ),
    EnvironmentEntry(
        id="rising",
        title="rising bandit",
        make=RisingBandit,
        environment=RisingBandit,
        independent_rows=True,
        has_context=False,
        stationary=False,
        upstream=None,
        gymnasium_id="bandit_envs/RisingBandit-v0",
    ),
    EnvironmentEntry(
        id="restless_markov",
        title="restless Markov bandit",
        make=RestlessMarkovBandit,
        environment=RestlessMarkovBandit,
        independent_rows=True,
        has_context=False,
        stationary=False,
        upstream=None,
        gymnasium_id="bandit_envs/RestlessMarkovBandit-v0",
    ),
    EnvironmentEntry(
        id="adversarial",
        title="adversarial bandit",
        make=adversarial,
        environment=AdversarialBandit,
        independent_rows=True,
        has_context=False,
        stationary=False,
        upstream=None,
        gymnasium_id="bandit_envs/AdversarialBandit-v0",
    ),
    EnvironmentEntry(
        id="cascade",
        title="cascade bandit",
        make=CascadeBandit,
        environment=CascadeBandit,
        independent_rows=True,
        has_context=False,
        stationary=True,
        upstream=None,
        gymnasium_id="bandit_envs/CascadeBandit-v0",
    ),
    EnvironmentEntry(
        id="position_based",
        title="position-based bandit",
        make=PositionBasedBandit,
        environment=PositionBasedBandit,
        independent_rows=True,
        has_context=False,
        stationary=True,
        upstream=None,
        gymnasium_id="bandit_envs/PositionBasedBandit-v0",
    ),
    EnvironmentEntry(
        id="ranking",
        title="ranking bandit",
        make=ranking,
        environment=RankingPyEnvironment,
        independent_rows=False,
        has_context=True,
        stationary=True,
        upstream="RankingPyEnvironment",
        gymnasium_id="bandit_envs/Ranking-v0",
    ),
    EnvironmentEntry(
        id="positional_bias",
        title="ranking with positional bias",
        make=positional_bias,
        environment=ExplicitPositionalBiasRankingEnvironment,
        independent_rows=False,
        has_context=True,
        stationary=True,
        upstream="ExplicitPositionalBiasRankingEnvironment",
        gymnasium_id="bandit_envs/ExplicitPositionalBiasRankingEnvironment-v0",
    ),
    EnvironmentEntry(
        id="ratings",
        title="ratings of items",
        make=ratings,
        environment=RatingsBandit,
        independent_rows=False,
        has_context=True,
        stationary=True,
        upstream=None,
        gymnasium_id="bandit_envs/RatingsBandit-v0",
    ),
    EnvironmentEntry(
        id="per_arm_ratings",
        title="ratings of items with features",
        make=per_arm_ratings,
        environment=StationaryStochasticPerArmPyEnvironment,
        independent_rows=False,
        has_context=True,
        stationary=True,
        upstream=None,
        gymnasium_id="bandit_envs/PerArmRatingsBandit-v0",
    ),
    EnvironmentEntry(
        id="continuous",
        title="continuous bandit",
        make=ContinuousBandit,
        environment=ContinuousBandit,
        independent_rows=False,
        has_context=True,
        stationary=True,
        upstream=None,
        gymnasium_id="bandit_envs/ContinuousBandit-v0",
    ),
    EnvironmentEntry(
        id="classification",
        title="classification",
        make=classification,
        environment=ClassificationBandit,
        independent_rows=False,
        has_context=True,
        stationary=True,
        upstream=None,
        gymnasium_id="bandit_envs/ClassificationBandit-v0",
    ),
    EnvironmentEntry(
        id="outcomes",
        title="table of outcomes",
        make=outcomes,
        environment=OutcomeTableBandit,
        independent_rows=False,
        has_context=True,
        stationary=True,
        upstream=None,
        gymnasium_id="bandit_envs/Outcomes-v0",
    ),
)

ENVIRONMENTS = {entry.id: entry for entry in _ENTRIES}
"""All environments of the package, by id."""


def find_environment(name: str) -> EnvironmentEntry:
    """Returns the entry of an id or of a user's `module:Class`, or raises ValueError."""
    return EnvironmentEntry.find(name, ENVIRONMENTS)
