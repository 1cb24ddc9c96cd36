"""The registry of off-policy estimators and learners, which the command and its help read."""

import dataclasses

from bandit_envs import logged
from bandit_envs.base.registry import Entry
from bandit_envs.logged.learners import Learner


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


_LEARNERS = (
    LearnerEntry(id="direct_method", title="direct method", make=logged.DirectMethodLearner),
    LearnerEntry(id="doubly_robust", title="doubly robust", make=logged.DoublyRobustLearner),
    LearnerEntry(id="policy_gradient", title="gradient", make=logged.PolicyGradientLearner),
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
