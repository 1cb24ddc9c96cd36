"""Which policies of a study are best over all its environments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.rounding import merge_ties
from bandit_envs.showing.tables import Grid
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.showing.study_cells import summary_cell

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult

AnyLine = TypeVar("AnyLine")

RANKED_BY = "mean_reward"
"""The quantity that ranks policies: the highest comes first."""


class Ranked(NamedTuple):
    """A policy with its ranks, from 1."""

    policy: PolicyChoice

    ranks: Sequence[float]
    """In the environments where it has results."""

    @property
    def mean(self) -> float:
        """The mean rank; infinite without results."""
        return float(np.mean(self.ranks)) if self.ranks else np.inf


def rank_policies(study: Study, pairs: Sequence[PairResult]) -> list[Ranked]:
    """Returns the policies, the best first: by their mean rank over environments.

    The policy with the highest mean reward in an environment has rank 1 there. Policies of equal
    mean ranks are in the study's order. If the study measures no rewards, there are none.
    """
    if RANKED_BY not in study.quantities:
        return []
    means: dict[str, dict[str, float]] = {}
    for pair in pairs:
        mean = float(pair.statistics(RANKED_BY).mean)
        means.setdefault(str(pair.environment), {})[str(pair.policy)] = mean
    ranks: dict[str, list[float]] = {}
    for found in means.values():
        values = merge_ties(np.array([*found.values()]))
        ordered = np.sort(values)
        for policy, mean in zip(found, values):
            better = len(ordered) - np.searchsorted(ordered, mean, side="right")
            ranks.setdefault(policy, []).append(float(better) + 1.0)
    ranked = [Ranked(policy, ranks.get(str(policy), [])) for policy in study.policy]
    return sorted(ranked, key=lambda each: each.mean)


def choose_lines(
    study: Study,
    pairs: Sequence[PairResult],
    lines: Mapping[AnyLine, Iterable[PolicyChoice]],
    most: int,
) -> tuple[list[AnyLine], str]:
    """Returns the lines that a figure shows, and a text that says which, "" if it shows all.

    If there are too many to be told apart, it shows the lines of the best policies, the best first;
    a line of several policies counts as the best of them. If policies have no ranks, it shows the
    first lines.

    Args:
        study: the study.
        pairs: what has finished of it.
        lines: the policies of each line.
        most: how many lines can be told apart.
    """
    if len(lines) <= most:
        return list(lines), ""
    ranked = rank_policies(study, pairs)
    order = [each.policy for each in ranked] or study.policy
    measured = {str(pair.policy) for pair in pairs}
    places = {str(policy): place for place, policy in enumerate(order) if str(policy) in measured}
    found = {}
    for line, policies in lines.items():
        of_line = [places[str(policy)] for policy in policies if str(policy) in places]
        if of_line:
            found[line] = min(of_line)
    chosen = sorted(found, key=found.__getitem__)[:most]
    if len(found) <= most:
        return chosen, ""
    which = f"best by {study.quantities[RANKED_BY].heading}" if ranked else "first"
    return chosen, f"the {most} {which} of {len(lines)}"


def ranking_table(study: Study, pairs: Sequence[PairResult], ranked: Sequence[Ranked]) -> Grid:
    """Returns a row for each policy that has results, the best first, with its mean rewards."""
    environments = {str(each): study.environment_label(each) for each in study.environment}
    cells = {
        (str(pair.policy), str(pair.environment)): str(summary_cell(study, pair, RANKED_BY))
        for pair in pairs
    }
    grid = [["policy", "mean rank", *environments.values()]]
    for each in ranked:
        if each.ranks:
            means = [cells.get((str(each.policy), place), "") for place in environments]
            grid.append([study.policy_label(each.policy), f"{each.mean:.4g}", *means])
    return grid
