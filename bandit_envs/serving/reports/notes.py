"""What a report notes: sentences about what is wrong, or may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bandit_envs.logged.files.served.decision_tables import PolicyRow
from bandit_envs.names.visible import visible
from bandit_envs.serving.reports.report_rows import ActionReport
from bandit_envs.serving.reports.shown_actions import ShownActions
from bandit_envs.serving.reports.summing import DecisionSums

FEWEST = 30
"""An action has so many decisions before a low weight is noted."""

ERRORS = 4.0
"""A low weight is noted if it is so many standard errors below 1."""

MISSING = 7.0
"""A low weight is noted if so many draws are missing: 7 are by chance with probability 0.001."""


class FileFacts(NamedTuple):
    """What a file says in a few rows."""

    policies: Sequence[PolicyRow]
    starts: Sequence[float]
    reward_range: tuple[float, float]
    first_time: float
    last_time: float
    timeouts: int
    has_contexts: bool
    can_learn: bool


def find_notes(
    shown: ShownActions,
    actions: Sequence[ActionReport],
    decisions: DecisionSums,
    facts: FileFacts,
) -> Iterator[str]:
    """Yields sentences about what is wrong, or may be."""
    rare: list[str] = []
    total = int(decisions.chosen.sum())
    if not facts.can_learn:
        yield "The policy does not learn from rewards: its choices stay as they are."
    if decisions.after_stop:
        yield (
            "After the stop of the test, its winner alone is served, as it should be. These "
            "decisions tell nothing of other variants. Weights leave them out; the value of the "
            "winner counts their rewards, and the test does not."
        )
    if decisions.certain == total > 0:
        yield "All decisions were certain: the log tells nothing of what others would have earned."
    # Of an item that was offered a few times, a low weight may well be chance.
    are_fixed = shown.num_items is None
    for action, row in enumerate(actions):
        name = visible(row.action)
        if row.low > row.high:
            yield f"The ends of the interval of {name} have crossed: its value has changed."
        if decisions.is_too_often(action):
            problem = f"{name} was drawn more often than its probabilities can explain"
            yield f"{problem}: they are wrong."
        elif are_fixed and _is_too_rare(action, row, decisions):
            rare.append(name)
    if rare:
        problem = "probability 0 in some decisions, or logged probabilities that are too large"
        what = "Values" if facts.has_contexts else "Estimates of other policies"
        yield f"{', '.join(rare)}: {problem}. {what} leave out these decisions."


def _is_too_rare(action: int, row: ActionReport, decisions: DecisionSums) -> bool:
    """Whether an action was drawn less often than its probabilities can explain.

    Where it was not drawn, its probability may be as small as the smallest of the file. Until draws
    of such a probability must have come, a weight below 1 tells nothing.
    """
    if row.decisions < FEWEST or row.weight + ERRORS * row.weight_error >= 1.0:
        return False
    elsewhere = (1.0 - row.weight) * decisions.weighed[:, action].sum()
    return bool(elsewhere * decisions.smallest >= MISSING)
