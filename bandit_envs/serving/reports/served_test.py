"""The test of variants that a service runs, as its policy knows it."""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np

from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.base.made_with import arguments_of
from bandit_envs.logged.files.served.decision_file import DecisionFile, parse_json
from bandit_envs.logged.files.served.typed_queries import damage
from bandit_envs.policies import Policy, SplitTestPolicy
from bandit_envs.policies.split_tests import SplitReport
from bandit_envs.serving.reports.summing import RewardRows
from bandit_envs.trajectories import Trajectory, restart


def describe_test(policy: Policy) -> str | None:
    """Returns the arguments of a test of variants as JSON; None for any other policy."""
    if type(policy) is not SplitTestPolicy:
        return None
    return json.dumps({"num_actions": policy.num_actions, **arguments_of(policy)})


def make_test(text: str | None, file: DecisionFile) -> SplitTestPolicy | None:
    """Returns the test that `describe_test` has described, which has learned nothing.

    Args:
        text: the description; None if the policy is no test.
        file: that has it.

    Raises:
        ValueError: no test has such arguments.
    """
    if text is None:
        return None
    try:
        arguments = parse_json(text)
        check_integer("num_actions", arguments["num_actions"], 1, len(file.encoding.actions))
        return SplitTestPolicy(batch_size=1, **arguments)
    except (KeyError, TypeError, ValueError) as error:
        raise damage(file.path, f"its test is {short_repr(text)}: {error}") from error


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
