"""What a policy learns from decisions that were made before, with their rewards."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.nests import Nest
from bandit_envs.trajectories import PolicyInfo, StepType, Trajectory


def make_trajectory(
    observation: Nest, actions: Indices, probabilities: Floats, rewards: Floats
) -> Trajectory:
    """Returns the trajectory of n decisions, each of which is an episode of one step.

    Args:
        observation: of the decisions, [n, ...].
        actions: [n].
        probabilities: with which the actions were drawn, [n].
        rewards: [n].
    """
    size = len(actions)
    return Trajectory(
        step_type=np.full(size, StepType.FIRST, np.int32),
        observation=observation,
        action=actions,
        policy_info=PolicyInfo(np.log(probabilities)),
        next_step_type=np.full(size, StepType.LAST, np.int32),
        reward=rewards,
        discount=np.zeros(size, np.float32),
    )
