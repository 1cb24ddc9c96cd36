"""The test of variants that a service runs, as its policy knows it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

import numpy as np

from bandit_envs.policies import SplitTestPolicy
from bandit_envs.policies.split_tests import SplitReport
from bandit_envs.serving.reports.summing import RewardRows
from bandit_envs.trajectories import Trajectory, restart


def make_test(text: str) -> SplitTestPolicy | None:
    """Returns a policy that has learned nothing, from its description; None if it is no test."""
    try:
        tree = ast.parse(text, mode="eval").body
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
            return None
        if tree.func.id != SplitTestPolicy.__name__ or tree.args:
            return None
        arguments = {str(each.arg): ast.literal_eval(each.value) for each in tree.keywords}
        return SplitTestPolicy(**arguments)
    except (SyntaxError, TypeError, ValueError):
        return None


def replay_test(
    policy: SplitTestPolicy, names: tuple[str, ...], batches: Iterable[RewardRows]
) -> SplitReport:
    """Returns what a test reports after the rewards of a service, in the order that they came.

    Args:
        policy: of the first actions, which has learned nothing.
        names: of all actions.
        batches: of the rewards.
    """
    wide = policy.with_actions(len(names))
    context = np.ones((1, 1))
    for batch in batches:
        for place in range(len(batch.actions)):
            seen = {"observation": context, "mask": batch.available[place : place + 1]}
            step = restart(seen, batch_size=1)
            wide.learn(
                Trajectory(
                    step_type=step.step_type,
                    observation=seen,
                    action=batch.actions[place : place + 1],
                    policy_info=(),
                    next_step_type=step.step_type,
                    reward=batch.rewards[place : place + 1],
                    discount=step.discount,
                )
            )
    return wide.report(names=names)
