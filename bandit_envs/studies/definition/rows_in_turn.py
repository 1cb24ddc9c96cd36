"""Policies whose rows share a model, in environments whose rows are problems of their own.

Such a pair has a policy for each run. All policies still meet the same problems, as the environment
is one batch for all of them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

import numpy as np

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.definition.trials import TRIED_ROWS, is_kept_apart

Pair: TypeAlias = tuple[str, str]
"""The texts of an environment and of a policy."""

MANY_NAMES = 6
"""A note names at most so many policies."""


def find_row_by_row(study: Study) -> list[Pair]:
    """Returns the pairs of a study that have a policy for each run. It makes all policies.

    Raises:
        ValueError: what a policy knows has no rows, so that runs would share it.
    """
    if study.runs == 1:
        return []
    made: dict[str, PyEnvironment] = {}
    found = []
    for environment, policy in study.pairs():
        name = str(environment)
        if environment.entry.independent_rows and name not in made:
            made[name] = environment.make(TRIED_ROWS, np.random.SeedSequence(0))
        if is_kept_apart(environment, policy, made.get(name)):
            found.append((name, str(policy)))
    return found


def read_row_by_row(value: object) -> list[Pair]:
    """Returns the pairs that a file of results names; what is not a pair of texts is left out."""
    items = value if isinstance(value, list) else []
    pairs = [tuple(each) for each in items if isinstance(each, list)]
    return [pair for pair in pairs if len(pair) == 2 and all(isinstance(t, str) for t in pair)]


def describe_row_by_row(study: Study, row_by_row: Collection[Pair]) -> str:
    """Returns a line that says which policies have one model for each run; "" if none has.

    Args:
        study: the study.
        row_by_row: what `find_row_by_row` returned.
    """
    pairs = study.pairs()
    others = {str(each) for place, each in pairs if (str(place), str(each)) not in row_by_row}
    names: list[str] = []
    for place, each in pairs:
        if (str(place), str(each)) not in row_by_row:
            continue
        is_in_all = str(each) not in others
        label = study.policy_label(each) if is_in_all else study.label(place, each)
        if label not in names:
            names.append(label)
    if len(names) > MANY_NAMES:
        names[MANY_NAMES:] = [f"{len(names) - MANY_NAMES} more"]
    return f"A model for each run, of its own problem: {'; '.join(names)}" if names else ""
