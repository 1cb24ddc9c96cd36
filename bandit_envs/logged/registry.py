"""The registry of off-policy estimators: from here the command and its help know them."""

import dataclasses

from bandit_envs import logged
from bandit_envs.base.registry import Entry


@dataclasses.dataclass(frozen=True)
class EstimatorEntry(Entry):
    """An estimator under an id."""

    what = "estimator"
    kinds = (logged.Estimator,)


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
