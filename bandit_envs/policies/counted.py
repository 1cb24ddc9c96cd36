"""Models together with the number of rewards that they have learned from."""

from __future__ import annotations

from typing import Any, NamedTuple

from bandit_envs.policies.predicting import PredictingPolicy
from bandit_envs.trajectories import Trajectory


class CountedModels(NamedTuple):
    """What the models of a policy have learned, and from how many rewards."""

    models: Any
    num_rewards: int


class CountingPolicy(PredictingPolicy):
    """A policy whose rule of choice depends on how many rewards its models have learned from.

    A subclass also derives from a policy with models that all rows share, such as
    `DisjointLinearPolicy`, after this class. What it knows is then a `CountedModels`.
    """

    def _initial(self) -> Any:
        return CountedModels(super()._initial(), 0)

    def _learn(self, learned: Any, trajectory: Trajectory) -> Any:
        models = super()._learn(learned.models, trajectory)
        return CountedModels(models, learned.num_rewards + len(trajectory.action))
