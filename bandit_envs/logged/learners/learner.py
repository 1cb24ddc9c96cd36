"""The interface of learners: policies from logged data alone."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from bandit_envs.logged.joining import concatenate
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import check_log, check_repeatable
from bandit_envs.logged.reward_models.reward_sums import (
    NumberedBatches,
    number_batches,
)
from bandit_envs.logged.rows.seen_rows import SeenRows, remember, remember_batches
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.seeding import Seed

Result = TypeVar("Result")


class PassOverParts(Protocol):
    """Passes over the parts of a log."""

    def __call__(self, visit: Callable[[NumberedBatches], Result]) -> list[Result]:
        """Returns what `visit` returns for each part, in order."""


class Learner(abc.ABC):
    """Learns a policy from a log.

    What it learns is the `model` of the policy, which any other rule takes too: a greedy policy
    that should explore becomes `ContextualPolicy(policy.model, EpsilonGreedy(0.1), ...)`. If the
    log was a table, give the new policy its names, too: `explorer.encoding = policy.encoding`.

    Evaluate what it learns on other rows than those that it has learned from: `probabilities_of`
    warns if a policy has seen the rows. A subclass implements `_fit`. If it does not need the whole
    log in memory, as the sums of its parts merge, it says so by `streams`, and implements
    `_fit_parts`.
    """

    def fit(self, log: BanditLog, batch_size: int = 1, seed: Seed = None) -> ContextualPolicy:
        """Returns a policy that learned from a log, and learns no more.

        Args:
            log: n decisions.
            batch_size: the number of rows of the policy.
            seed: of the policy's draws, and of estimators whose `random_state` is None.
        """
        seen = SeenRows()
        seen.add(check_log(log))
        if not self.streams:
            return remember(self._fit(log, batch_size, seed), seen)
        here = functools.partial(pass_here, [log])
        return remember(self._fit_parts(here, batch_size, seed), seen)

    @property
    def streams(self) -> bool:
        """Whether `fit_batches` keeps one batch in memory rather than all rows.

        Then the sums of parts merge, and `fit_parts` takes these from workers.
        """
        return False

    @property
    def keeps_rows(self) -> bool:
        """Whether `fit_batches` has all rows in memory at once."""
        return not self.streams

    def fit_batches(
        self, batches: Iterable[BanditLog], batch_size: int = 1, seed: Seed = None
    ) -> ContextualPolicy:
        """Returns what `fit` does of the whole log.

        Args:
            batches: of the log in order, such as `scan_log` returns. They are passed over more than
                once, so they must not be a generator.
            batch_size: the number of rows of the policy.
            seed: of the policy's draws, and of estimators whose `random_state` is None.
        """
        if self.streams:
            here = functools.partial(pass_here, check_repeatable(batches))
            return self.fit_parts(here, batch_size, seed)
        seen = SeenRows()
        log = concatenate(list(remember_batches(batches, seen)))
        return remember(self._fit(log, batch_size, seed), seen)

    def fit_parts(
        self, over: PassOverParts, batch_size: int = 1, seed: Seed = None
    ) -> ContextualPolicy:
        """Returns what `fit` does of a log whose parts others read, such as workers.

        Args:
            over: passes over the log. It is given a function that can be pickled, and returns what
                this returns for each part of the log, in order. It is called more than once.
            batch_size: the number of rows of the policy.
            seed: of the policy's draws.

        Raises:
            ValueError: the learner keeps all rows in memory.

        >>> import numpy as np
        >>> from bandit_envs.logged import DirectMethodLearner
        >>> log = BanditLog(np.ones((4, 1)), [0, 1, 0, 1], [1.0, 2.0, 1.0, 2.0], [0.5] * 4)
        >>> parts = [[(0, log[:2])], [(2, log[2:])]]  # with the numbers of their first rows
        >>> learner = DirectMethodLearner()
        >>> learner.fit_parts(lambda visit: [visit(part) for part in parts]).num_actions
        2
        """
        self.require_merging("parts")
        seen = SeenRows()

        def over_and_see(visit: Callable[[NumberedBatches], Result]) -> list[Result]:
            found = over(functools.partial(_visit_and_see, visit))
            for _, seen_in_part in found:
                seen.merge(seen_in_part)
            return [result for result, _ in found]

        return remember(self._fit_parts(over_and_see, batch_size, seed), seen)

    def require_merging(self, what: str) -> None:
        """Raises ValueError if the sums of parts do not merge.

        Args:
            what: needs that they do, in the message.
        """
        if not self.streams:
            names = "DirectMethodLearner(), DoublyRobustLearner() or IPSLearner()"
            reason = "keeps all rows in memory" if self.keeps_rows else "learns the rows in order"
            problem = f"{type(self).__name__} {reason}, so it takes no {what}"
            raise ValueError(f"{problem}; expected a {names} with regressions of the package")

    @abc.abstractmethod
    def _fit(self, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
        """Returns the policy that `fit` returns, if the learner does not stream."""

    def _fit_parts(self, over: PassOverParts, batch_size: int, seed: Seed) -> ContextualPolicy:
        """Returns what `fit_parts` does."""
        raise NotImplementedError(f"{type(self).__name__} streams, but has no _fit_parts")


def pass_here(
    batches: Iterable[BanditLog], visit: Callable[[NumberedBatches], Result]
) -> list[Result]:
    """Returns what `visit` does of a log, which is one part."""
    return [visit(number_batches(batches))]


def _visit_and_see(
    visit: Callable[[NumberedBatches], Result], part: NumberedBatches
) -> tuple[Result, SeenRows]:
    """Returns what `visit` does of a part of a log, and which rows these are."""
    seen = SeenRows()

    def watch() -> Iterator[tuple[int, BanditLog]]:
        for first_row, batch in part:
            seen.add(batch)
            yield first_row, batch

    return visit(watch()), seen
