"""The test of variants that a service runs, as its policy knows it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bandit_envs.arrays import Indices, Mask
from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.base.made_with import arguments_of
from bandit_envs.logged.files.served.decision_file import DecisionFile, parse_json
from bandit_envs.logged.files.served.typed_queries import damage
from bandit_envs.names.visible import visible
from bandit_envs.policies import Policy, SplitTestPolicy
from bandit_envs.policies.learned.decided import make_trajectory
from bandit_envs.policies.split_tests import SplitReport
from bandit_envs.serving.reports.summing import RewardRows


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


class Guardrail(SplitTestPolicy):
    """Takes in a further reward of all users of a test, and decides nothing."""

    best = 0
    """The variant that looks best by the reward that decides."""

    def _update(self, search: Any, rows: Indices) -> None:
        return

    def _recommended(self, search: Any, available: Mask | None) -> Indices:
        return np.array([self.best])


def replay_test(
    policy: SplitTestPolicy, names: Sequence[str], batches: Iterable[RewardRows]
) -> SplitReport:
    """Returns what a test reports after the rewards of a service, in the order that they came.

    Args:
        policy: the test as it was made, with its first actions, which has learned nothing.
        names: of all actions.
        batches: the rewards.
    """
    replayed = policy.with_actions(len(names))
    context = np.ones((1, 1))
    for batch in batches:
        for place in range(len(batch.actions)):
            row = slice(place, place + 1)
            trajectory = make_trajectory(
                observation={"observation": context, "mask": batch.available[row]},
                actions=batch.actions[row],
                probabilities=batch.probabilities[row],
                rewards=batch.rewards[row],
            )
            replayed.learn(trajectory)
    return replayed.report(names=names)


def with_measure(
    report: SplitReport, policy: SplitTestPolicy, name: str, batches: Iterable[RewardRows]
) -> SplitReport:
    """Returns a report of a test with the means and the differences of a further reward.

    Args:
        report: of the test, to which the further reward is added.
        policy: the test as it was made, with its first actions, which has learned nothing.
        name: of the further reward.
        batches: the further rewards, in the order that they came.
    """
    arguments = {**arguments_of(policy), "threshold": "practical", "tolerance": 0.0}
    guardrail = Guardrail(num_actions=policy.num_actions, **arguments)
    guardrail.best = report.recommended
    found = replay_test(guardrail, report.names, batches)
    means = np.where(found.counts > 0.0, found.means, np.nan)
    note = f"{visible(name)}: of {found.steps:,} users; it does not stop the test."
    return dataclasses.replace(
        report,
        metrics=(*report.metrics, name),
        other_means=(*report.other_means, tuple(means.tolist())),
        differences=(
            *report.differences,
            *(each._replace(metric=name) for each in found.differences),
        ),
        notes=(*report.notes, note),
    )
