"""The registry of off-policy estimators and learners, which the command and its help read.

Experimental: these names may change in any minor version.
"""

import dataclasses
import functools
from typing import Any

from bandit_envs import logged
from bandit_envs.logged.estimators.kernel_estimators import (
    KernelOfLog,
    make_kernel_ips,
    make_kernel_snips,
)
from bandit_envs.logged.estimators.slate_estimators import SlateEstimator
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

__all__ = [
    "ESTIMATORS",
]


@dataclasses.dataclass(frozen=True)
class EstimatorEntry(Entry):
    """An estimator under an id.

    Args:
        actions: for which kind of action it is: a single action, a number or a slate.
    """

    what = "estimator"
    kinds = (logged.Estimator, logged.KernelIPS, KernelOfLog, SlateEstimator)
    actions: str = "single action"


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


def make_ips(classifier: str | None = None, baseline: float = 0.0) -> IPSLearner:
    """Maximises the value that IPS estimates, by regressions or as a weighted classification."""
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
    return ModelLearner(
        make_model(model), make_rule(rule), named=functools.partial(make_model, model)
    )


def make_named_estimator(text: str) -> logged.Estimator:
    """Returns the estimator that a text names, such as "dr_os:shrinkage=10"."""
    name, parameters = parse_choice("estimator", text, ESTIMATORS)
    entry = EstimatorEntry.find(name, ESTIMATORS)
    estimator = entry.make(**entry.fixed, **entry.check(parameters))
    if not isinstance(estimator, logged.Estimator):
        raise ValueError(
            f"estimator {name} is for {entry.actions}s; expected one for single actions"
        )
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
    LearnerEntry(id="ips", title="weighted by propensities", make=make_ips),
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


def _of_numbers(name: str, title: str, make: Any) -> EstimatorEntry:
    return EstimatorEntry(id=name, title=title, make=make, actions="number")


def _of_slates(name: str, title: str, make: type[SlateEstimator]) -> EstimatorEntry:
    fixed = {"self_normalized": name.endswith("snips")}
    return EstimatorEntry(id=name, title=title, make=make, fixed=fixed, actions="slate")


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
    _of_numbers("kernel_ips", "kernel IPS", make_kernel_ips),
    _of_numbers("kernel_snips", "kernel SNIPS", make_kernel_snips),
    _of_slates("slate_ips", "slate IPS", logged.SlateStandardIPS),
    _of_slates("slate_snips", "slate SNIPS", logged.SlateStandardIPS),
    _of_slates("slot_ips", "slot IPS", logged.SlateIndependentIPS),
    _of_slates("slot_snips", "slot SNIPS", logged.SlateIndependentIPS),
    _of_slates("prefix_ips", "prefix IPS", logged.RewardInteractionIPS),
    _of_slates("prefix_snips", "prefix SNIPS", logged.RewardInteractionIPS),
)

ESTIMATORS = {entry.id: entry for entry in _ENTRIES}
"""The estimators by their ids."""
