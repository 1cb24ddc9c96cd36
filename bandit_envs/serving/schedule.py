"""When a service learns from rewards, and how long it waits for them."""

from __future__ import annotations

import dataclasses
import math

from bandit_envs.base.checks import check_integer, check_number


@dataclasses.dataclass(frozen=True)
class Schedule:
    """When the policy learns.

    Args:
        learn_every: it learns when so many rewards wait.
        learn_seconds: or when the first of them has waited so long; None for never.
        timeout: after so many seconds, a decision waits for its reward no more; None for never.
        timeout_reward: what counts as its reward then; None for nothing.
    """

    learn_every: int = 1
    learn_seconds: float | None = None
    timeout: float | None = None
    timeout_reward: float | None = None

    def __post_init__(self) -> None:
        check_integer("learn_every", self.learn_every, minimum=1)
        if self.learn_seconds is not None:
            check_number("learn_seconds", self.learn_seconds, 0.0)
        if self.timeout is not None:
            check_number("timeout", self.timeout, 0.0)
        if self.timeout_reward is not None:
            check_number("timeout_reward", self.timeout_reward)
            if self.timeout is None:
                raise ValueError("timeout_reward is given, and timeout is None; expected seconds")

    def is_over(self, since: float, now: float) -> bool:
        """Returns whether a decision of some time waits for its reward no more."""
        return since <= self.overdue_until(now)

    def overdue_until(self, now: float) -> float:
        """Returns the time of the newest decisions whose timeout has passed; -inf without one."""
        return -math.inf if self.timeout is None else now - self.timeout

    def is_due(self, waiting: int, since: float, now: float) -> bool:
        """Returns whether it is time to learn.

        Args:
            waiting: how many rewards wait.
            since: when the first of them came.
            now: the time.
        """
        if waiting == 0:
            return False
        has_waited = self.learn_seconds is not None and now - since >= self.learn_seconds
        return waiting >= self.learn_every or has_waited
