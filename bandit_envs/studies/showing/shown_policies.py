"""Which policies of a study with many of them a page has curves of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bandit_envs.studies.definition.choice import PolicyChoice
from bandit_envs.studies.definition.study import Study

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult

MOST = 100
"""A page has curves of at most so many policies."""

AT_FIRST = 20
"""Of more policies than `ALL_AT_FIRST`, a page draws so many until a reader ticks others."""

ALL_AT_FIRST = 32
"""So many policies have lines that can be told apart."""


def rank_policies(study: Study, pairs: Sequence[PairResult]) -> list[PolicyChoice]:
    """Returns the policies of a study, the best first: by their mean rank over environments.

    The policy with the highest mean reward in an environment has rank 0. Policies of equal ranks,
    or of a study that measures no rewards, are in the study's order.

    Args:
        study: the study.
        pairs: those that count.
    """
    if "reward" not in study.metrics:
        return list(study.policy)
    means: dict[str, dict[str, float]] = {}
    for pair in pairs:
        mean = float(pair.statistics("mean_reward").mean)
        means.setdefault(str(pair.environment), {})[str(pair.policy)] = mean
    ranks: dict[str, list[float]] = {}
    for found in means.values():
        ordered = np.sort([*found.values()])
        for policy, mean in found.items():
            rank = len(ordered) - np.searchsorted(ordered, mean, side="right")
            ranks.setdefault(policy, []).append(float(rank))
    mean_ranks = {policy: float(np.mean(each)) for policy, each in ranks.items()}
    return sorted(study.policy, key=lambda policy: mean_ranks.get(str(policy), np.inf))


def describe_policies(study: Study) -> str:
    """Returns which policies a page has curves of, and draws at first; "" if it draws all."""
    number = len(study.policy)
    if number <= ALL_AT_FIRST:
        return ""
    rule = "of the highest mean reward, by their mean rank over these environments"
    if "reward" not in study.metrics:
        rule = "that the study names first"
    drawn = f"Lines are drawn of the {AT_FIRST} of {number} policies {rule}"
    if number <= MOST:
        return f"{drawn}; tick others to draw them."
    return f"{drawn}; tick others of the first {MOST} to draw them."
