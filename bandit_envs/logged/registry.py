"""The registry of off-policy estimators and learners, which the command and its help read.

Experimental: these names may change in any minor version.
"""

import dataclasses
from typing import Any

from bandit_envs import logged
from bandit_envs.logged.learners.direct_method import DirectMethodLearner
from bandit_envs.logged.learners.doubly_robust import DoublyRobustLearner
from bandit_envs.logged.learners.ips_learner import IPSLearner
from bandit_envs.logged.learners.learner import Learner
from bandit_envs.logged.learners.model_learner import ModelLearner
from bandit_envs.logged.learners.policy_gradient import PolicyGradientLearner
from bandit_envs.names.notation import parse_choice
from bandit_envs.names.registry import Entry
from bandit_envs.policies.parts.registry import make_model, make_rule
from bandit_envs.policies.scikit_learn.model import ScikitLearnModel
from bandit_envs.policies.scikit_learn.named_estimators import make_estimator

__all__ = ["ESTIMATORS", "LEARNERS"]


@dataclasses.dataclass(frozen=True)
class EstimatorEntry(Entry):
    """An estimator under an id."""

    what = "estimator"
    kinds = (logged.Estimator,)


@dataclasses.dataclass(frozen=True)
class LearnerEntry(Entry):
    """A learner of policies under an id."""

    what = "learner"
    kinds = (Learner,)


def make_direct_method(regressor: str | None = None) -> DirectMethodLearner:
    """Chooses the action whose predicted reward is the largest."""
    return DirectMethodLearner(_make_writable(regressor))


def make_doubly_robust(
    model: str | None = None, regressor: str | None = None
) -> DoublyRobustLearner:
    """Chooses the action whose doubly robust reward is predicted to be the largest."""
    return DoublyRobustLearner(_make_model(model), _make_writable(regressor))


def make_ips(classifier: str, baseline: float = 0.0) -> IPSLearner:
    """Maximises the value that IPS estimates, as a weighted classification."""
    return IPSLearner(_make_writable(classifier), baseline)


def make_policy_gradient(
    objective: str = "ips",
    num_steps: int = 300,
    step_size: float = 0.5,
    penalty: float = 1e-4,
    model: str | None = None,
    *,
    baseline: float = 0.0,
    variance_penalty: float = 0.0,
) -> PolicyGradientLearner:
    """Climbs the estimated value of a softmax policy with linear scores."""
    return PolicyGradientLearner(
        make_named_estimator(objective),
        num_steps=num_steps,
        step_size=step_size,
        penalty=penalty,
        model=_make_model(model),
        baseline=baseline,
        variance_penalty=variance_penalty,
    )


def make_contextual(model: str, rule: str = "greedy") -> ModelLearner:
    """Chooses by any rule from what any model predicts that learned from the log."""
    return ModelLearner(make_model(model), make_rule(rule))


def make_named_estimator(text: str) -> logged.Estimator:
    """Returns the estimator that a text names, such as "dr_os:shrinkage=10"."""
    name, parameters = parse_choice("estimator", text, ESTIMATORS)
    entry = EstimatorEntry.find(name, ESTIMATORS)
    estimator: logged.Estimator = entry.make(**entry.check(parameters))
    return estimator


def _make_model(text: str | None) -> Any:
    """Returns the estimator of scikit-learn that a text names; None for None."""
    return None if text is None else make_estimator(text)


def _make_writable(text: str | None) -> Any:
    """Returns what `_make_model` does; an error if it cannot be written to a file of a policy."""
    estimator = _make_model(text)
    if estimator is not None:
        ScikitLearnModel(estimator).encode()
    return estimator


_LEARNERS = (
    LearnerEntry(id="ips", title="weighted classification", make=make_ips),
    LearnerEntry(id="direct_method", title="direct method", make=make_direct_method),
    LearnerEntry(id="doubly_robust", title="doubly robust", make=make_doubly_robust),
    LearnerEntry(id="contextual", title="contextual", make=make_contextual),
    LearnerEntry(id="policy_gradient", title="gradient", make=make_policy_gradient),
    LearnerEntry(
        id="network_gradient",
        title="gradient of a network",
        make="bandit_envs.adapters.torch.network_scores:make_network_gradient",
    ),
)

LEARNERS = {entry.id: entry for entry in _LEARNERS}
"""The learners by their ids."""

_ENTRIES = (
    EstimatorEntry(id="ips", title="IPS", make=logged.InversePropensityScoring),
    EstimatorEntry(id="snips", title="SNIPS", make=logged.SelfNormalizedIPS),
    EstimatorEntry(id="dm", title="DM", make=logged.DirectMethod),
    EstimatorEntry(id="dr", title="DR", make=logged.DoublyRobust),
    EstimatorEntry(id="sndr", title="SNDR", make=logged.SelfNormalizedDR),
    EstimatorEntry(id="switch_dr", title="SwitchDR", make=logged.SwitchDR),
    EstimatorEntry(id="dr_os", title="DRos", make=logged.DRWithOptimisticShrinkage),
    EstimatorEntry(id="sg_ips", title="SGIPS", make=logged.SubGaussianIPS),
    EstimatorEntry(id="sg_dr", title="SGDR", make=logged.SubGaussianDR),
    EstimatorEntry(id="replay", title="replay", make=logged.ReplayMethod),
)

ESTIMATORS = {entry.id: entry for entry in _ENTRIES}
"""The estimators by their ids."""
