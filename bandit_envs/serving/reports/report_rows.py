"""What a report tells of actions, policies, further rewards and periods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from bandit_envs.names.visible import visible


class ActionReport(NamedTuple):
    """What is known of an action: in the end, or at the end of a period.

    Fields:
        action: its name.
        is_open: whether it may be chosen now.
        decisions: for it.
        share: of the decisions in which it was available.
        rewards: of it; NaN for a period.
        value: estimated from all rewards so far; NaN if there are none.
        low: of the interval of the value; NaN if the range of rewards is not known.
        high: of the interval.
        weight: the mean of 1 / p for its decisions, and 0 for others in which it was available. It
            is 1 on average, if the logged probabilities are true and above 0.
        weight_error: the standard error of `weight`; NaN if there are no decisions for it.
    """

    action: str
    is_open: bool
    decisions: int
    share: float
    rewards: float
    value: float
    low: float
    high: float
    weight: float
    weight_error: float

    @property
    def label(self) -> str:
        """Its name, and whether it is retired."""
        name = visible(self.action)
        return name if self.is_open else f"{name} (retired)"


class PolicyReport(NamedTuple):
    """What a policy has earned while it was at work.

    Fields:
        policy: its description.
        start: when it was put to work, in seconds since 1970; NaN for the first policy.
        decisions: made by it.
        rewards: of these decisions, also if they came after the next upgrade.
        mean_reward: of these; NaN if there are none.
        decisions_by_period: in each period of the report.
        rewards_by_period: that came in each.
        means_by_period: the mean of these; NaN if there are none.
    """

    policy: str
    start: float
    decisions: int
    rewards: int
    mean_reward: float
    decisions_by_period: list[int]
    rewards_by_period: list[int]
    means_by_period: list[float]


class MeasureReport(NamedTuple):
    """A further reward by name. It decides nothing.

    Fields:
        name: of the reward.
        decisions: for each action, how many have one.
        means: for each action, the mean over these; NaN if there are none.
        number: how many decisions have one, of all actions.
        mean: over these.
    """

    name: str
    decisions: list[int]
    means: list[float]
    number: int
    mean: float


class PeriodReport(NamedTuple):
    """What happened in a period.

    Fields:
        start: in UTC.
        decisions: made in it.
        pending: those of them that wait for a reward.
        rewards: that came in it.
        mean_reward: of these; NaN if there are none.
        actions: their shares and weights in this period, and their values at its end.
        new_items: the share of the decisions for items that were first offered in it; NaN for fixed
            actions.
    """

    start: str
    decisions: int
    pending: int
    rewards: int
    mean_reward: float
    actions: list[ActionReport]
    new_items: float = math.nan


class OverTime(NamedTuple):
    """What a figure of a report shows.

    Fields:
        periods: what happened in each period.
        actions: what is known of each action in the end.
        shown: the numbers of the actions that are drawn.
        length: of a period, as "day".
    """

    periods: Sequence[PeriodReport]
    actions: Sequence[ActionReport]
    shown: Sequence[int]
    length: str
