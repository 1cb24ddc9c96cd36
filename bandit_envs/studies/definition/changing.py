"""Environments of a study whose actions change what later steps pay, and what regret is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from bandit_envs.metrics import QUANTITIES
from bandit_envs.metrics.lost_reward import OPTIMA
from bandit_envs.studies.definition.study import Study

UNKNOWN = ""
"""What stands for the optimum of a whole run where it is unknown."""

EXPLAINED = {each.metric for each in QUANTITIES.values() if not each.ranks} | {"lost_reward"}
"""The metrics of which `describe_regret` says what they are."""

OF_LINEAR_PROGRAM = (
    "Regret with the budget: the value of a linear program, a bound which no policy reaches with a"
    " limit of rounds, less what was earned."
)


def find_changing(study: Study) -> dict[str, str]:
    """Returns the environments of a study whose actions change the state.

    It makes all environments, unless the study has no metric that `describe_regret` explains.

    Returns:
        what the optimum of a whole run is among, as `RunOptimum` has it, by the texts of the
        environments; `UNKNOWN` without one.
    """
    found: dict[str, str] = {}
    if EXPLAINED.isdisjoint(study.metrics):
        return found
    for environment in study.environment:
        env = environment.make(1, np.random.SeedSequence(0))
        if env.actions_change_state:
            try:
                found[str(environment)] = str(env.optimum_of_run(1).among)
            except NotImplementedError:
                found[str(environment)] = UNKNOWN
    return found


def read_changing(value: object) -> dict[str, str]:
    """Returns what `find_changing` returned, from a file of results; {} of anything else."""
    items = value.items() if isinstance(value, dict) else ()
    return {str(name): among for name, among in items if among in (UNKNOWN, *OPTIMA)}


def describe_regret(study: Study, changing: Mapping[str, str], names: Collection[str]) -> list[str]:
    """Returns sentences that say what regrets in a table are, where that may mislead.

    Args:
        study: the study.
        changing: what `find_changing` returned.
        names: the quantities in the table.
    """
    sentences = []
    places = {str(each): study.environment_label(each) for each in study.environment}
    if changing and not all(QUANTITIES[name].ranks for name in names):
        labels = [label for text, label in places.items() if text in changing]
        where = "Actions" if len(labels) == len(places) else f"In {' and '.join(labels)}, actions"
        problem = "change what later steps pay: one-step regret does not rank policies"
        sentences.append(f"{where} {problem}.")
    if "lost_reward" in names:
        for among in dict.fromkeys(filter(None, changing.values())):
            labels = [label for text, label in places.items() if changing.get(text) == among]
            where = "" if len(labels) == len(places) else f" in {' and '.join(labels)}"
            sentences.append(f"Lost reward{where}: {OPTIMA[among]}, less what was earned.")
    if "knapsack_regret" in names:
        sentences.append(OF_LINEAR_PROGRAM)
    return sentences
