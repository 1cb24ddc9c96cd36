"""Which environments of a study with many of them a figure shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.rounding import is_rounding
from bandit_envs.studies.definition.study import Study

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult

MOST = 20
"""A figure shows all environments if they are at most so many."""

CHOSEN = 12
"""Of more environments, a figure shows so many."""


def has_rows(study: Study) -> bool:
    """Whether the figure of a study has axes of its own for each environment."""
    return bool(study.panels) and not study.over and "arms" not in study.panels


def shows_all(study: Study) -> bool:
    """Whether a figure of one page shows all environments of a study."""
    return len(study.environment) <= MOST or not has_rows(study)


def choose_environments(study: Study, pairs: Sequence[PairResult]) -> tuple[EnvironmentChoice, ...]:
    """Returns the environments that a figure of one page shows, in the study's order.

    If there are too many, they are those in which the policies differ most: by the range of their
    last means in the first panel, in standard errors.
    """
    if shows_all(study):
        return study.environment
    return choose_most_different(study, pairs, study.panels[0])


def choose_most_different(
    study: Study, pairs: Iterable[PairResult], panel: str
) -> tuple[EnvironmentChoice, ...]:
    """Returns the environments in which policies differ most in a panel; all if they are few."""
    if len(study.environment) <= MOST:
        return study.environment
    spreads = _spreads(study, pairs, panel)
    order = sorted(study.environment, key=lambda each: -spreads.get(str(each), 0.0))
    chosen = {str(environment) for environment in order[:CHOSEN]}
    return tuple(each for each in study.environment if str(each) in chosen)


def page_environments(study: Study) -> list[tuple[EnvironmentChoice, ...]]:
    """Returns the environments of each page of a figure that may have several pages."""
    if shows_all(study):
        return [study.environment]
    size = CHOSEN if len(study.panels) == 1 else CHOSEN // 2
    starts = range(0, len(study.environment), size)
    return [study.environment[start : start + size] for start in starts]


def describe_choice(study: Study) -> str:
    """Returns which environments a figure of one page shows, if it does not show all; else ""."""
    return "" if shows_all(study) else describe_most_different(study)


def describe_most_different(study: Study) -> str:
    """Returns which environments `choose_most_different` chooses, if not all; else ""."""
    if len(study.environment) <= MOST:
        return ""
    return f"the {CHOSEN} of {len(study.environment)} environments where policies differ most"


def _spreads(study: Study, pairs: Iterable[PairResult], panel: str) -> dict[str, float]:
    """Returns by environment how far the policies lie apart in a panel, in standard errors."""
    ends: dict[str, list[tuple[float, float]]] = {}
    for pair in pairs:
        _, value, low, high = pair.band(panel, study)[:, -1]
        ends.setdefault(str(pair.environment), []).append((value, (high - low) / 2.0))
    spreads = {}
    for environment, found in ends.items():
        values, errors = np.array(found).T
        scale = float(np.sqrt(np.mean(errors**2)))
        if is_rounding(scale, np.abs(values).max()):
            scale = 1.0
        spreads[environment] = float(np.ptp(values)) / scale
    return spreads
