"""Differences between policies of a study, run by run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bandit_envs.metrics import Statistics, compare
from bandit_envs.studies.choice import PolicyChoice
from bandit_envs.studies.study import Study

if TYPE_CHECKING:
    from bandit_envs.studies.results import PairResult


class PairDifference(NamedTuple):
    """How the runs of a pair differ from those of another policy on the same problems."""

    pair: PairResult
    statistics: dict[str, Statistics]
    """Of the differences, by quantity."""


def compare_to(
    baseline: PolicyChoice, study: Study, pairs: Sequence[PairResult]
) -> list[PairDifference]:
    """Returns the differences of all other policies to one policy, in each environment.

    Args:
        baseline: the policy that all others are compared with.
        study: the study.
        pairs: its results. Those that have not finished all runs, or have one run, are left out.
    """
    quantities = [name for name, each in study.summary.items() if each.kind != "per_step"]
    finished = [pair for pair in pairs if pair.runs == study.runs >= 2]
    baselines = {str(pair.environment): pair for pair in finished if pair.policy == baseline}
    found = []
    for pair in finished:
        other = baselines.get(str(pair.environment))
        if other is not None and pair is not other:
            differences = compare(pair.result, other.result)
            statistics = {name: differences[name] for name in quantities}
            found.append(PairDifference(pair, statistics))
    return found
