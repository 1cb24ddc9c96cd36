"""The policy of a service: what it has learned follows from the rows of the file."""

from __future__ import annotations

import abc
import heapq
import operator
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bandit_envs.base.archives import CONTENT_ERRORS
from bandit_envs.names.users_code import printable
from bandit_envs.policies import Policy
from bandit_envs.policies.learned.decided import make_trajectory
from bandit_envs.serving.laws import ChoiceLaw
from bandit_envs.serving.offers import Offers
from bandit_envs.serving.schedule import Schedule
from bandit_envs.serving.store import Store
from bandit_envs.serving.stored_rows import DecisionRow, Event, SeenEvent

SAVE_SECONDS = 1.0
"""A policy that learns is saved so often, while others that decide read it."""

SAVE_SHARE = 0.05
"""Saving takes at most about this share of the time."""


class PolicyKeeper(abc.ABC):
    """Keeps the policy of a service as it is after some row of the file.

    Args:
        store: the file.
        policy: with the first actions, in which the states of the file fit.
        law: how actions are drawn; it forgets what a policy knew before.
        offers: what may be chosen, as the rows up to this one say.
    """

    def __init__(self, store: Store, policy: Policy, law: ChoiceLaw, offers: Offers[Any]) -> None:
        self._store = store
        self._first = policy
        self._law = law
        self._offers = offers
        self._work = store.read_policies()[-1]
        self.reload()

    def reload(self) -> None:
        """Returns to what the file says, which `find_last` has found, without writing.

        Raises:
            OSError: another policy was put to work in the file.
            ValueError: the file is damaged.
        """
        path = self._store.path
        try:
            self._reload()
        except CONTENT_ERRORS as error:
            if str(path) in str(error):
                raise
            raise ValueError(f"{path}: {printable(error)}") from error

    def _reload(self) -> None:
        """Does what `reload` does; a damaged file may raise any of `CONTENT_ERRORS`."""
        work = self._store.read_policies()[-1]
        if work != self._work:
            advice = "open it anew, with this policy"
            raise OSError(f"{self._store.path} was upgraded to {printable(work.policy)}: {advice}")
        self.number, state = self._store.load_state()
        self._offers.reload()
        num_actions = state.sizes["num_actions"]
        if not self._first.num_actions <= num_actions <= self._offers.num_actions:
            problem = f"its state is of {num_actions} actions"
            raise ValueError(f"{problem}, and it has {self._offers.num_actions}")
        policy = self._first.replicate(1)
        if num_actions != policy.num_actions:
            policy = policy.with_actions(num_actions)
        policy.set_state(state)
        self.policy = policy
        self._law.forget()

    @abc.abstractmethod
    def prepare(self) -> None:
        """Brings the policy up to the last row, in a transaction, which may write events."""

    @abc.abstractmethod
    def finish(self) -> None:
        """Does what `prepare` does, and may save the policy in the file."""


class Follower(PolicyKeeper):
    """Keeps the policy as another process has saved it."""

    def prepare(self) -> None:
        if self._store.find_saved_number() != self.number:
            self.reload()

    def finish(self) -> None:
        self.prepare()


class LearningKeeper(PolicyKeeper):
    """Keeps the policy as the rewards in the file have made it, and learns from new ones.

    Args:
        store, policy, law, offers: as for `PolicyKeeper`.
        schedule: when it learns.
    """

    def __init__(
        self,
        store: Store,
        policy: Policy,
        law: ChoiceLaw,
        offers: Offers[Any],
        schedule: Schedule,
    ) -> None:
        self._schedule = schedule
        self._saved_at = time.monotonic()
        self._save_cost = 0.0
        super().__init__(store, policy, law, offers)

    def _reload(self) -> None:
        super()._reload()
        self._is_changed = False  # since the policy was saved
        self._ended = 0  # no decision up to this number waits for a reward
        self._waiting: list[SeenEvent] = []
        self._catch_up()
        found = self.policy.num_actions
        expected = self._offers.num_actions
        if found != expected:
            raise ValueError(f"its events make {found} actions, and it has {expected}")

    def prepare(self) -> None:
        self._end_waits()
        self._catch_up()
        if self._waiting:
            since = self._waiting[0].time
            if self._schedule.is_due(len(self._waiting), since, self._store.time):
                self.learn_now()

    def learn_now(self) -> None:
        """Learns from all rewards that wait."""
        if self._waiting:
            self._store.add_event(Event("learn"))
            self._catch_up()

    def change_actions(self, event: Event) -> None:
        """Writes a change of actions, and saves it, so that other processes see it."""
        self._store.add_event(event)
        self.prepare()
        self.save()

    def finish(self) -> None:
        self.prepare()
        pause = max(SAVE_SECONDS, self._save_cost / SAVE_SHARE)
        if time.monotonic() - self._saved_at >= pause:
            self.save()

    def save(self) -> None:
        """Saves the policy in the file, unless rewards wait."""
        if self._waiting or not self._is_changed:
            return
        start = time.monotonic()
        self._store.save_state(self.number, self.policy)
        self._is_changed = False
        self._saved_at = time.monotonic()
        self._save_cost = self._saved_at - start

    def _end_waits(self) -> None:
        """Writes for which decisions the time is over."""
        if self._schedule.timeout is None:
            return
        for number, seconds, has_ended in self._store.scan_waits(self._ended):
            if not self._schedule.is_over(seconds, self._store.time):
                break
            if not has_ended:
                reward = self._schedule.timeout_reward
                self._store.add_event(Event("timeout", number, value=reward))
            self._ended = number

    def _catch_up(self) -> None:
        """Applies all rows up to the last, in order."""
        if self._store.event_number <= self.number and not self.policy.can_count_pending:
            self.number = self._store.number  # there are new decisions at most
        if self.number == self._store.number:
            return
        rows: Iterator[Any] = self._store.scan_events(self.number, self._store.number)
        if self.policy.can_count_pending:
            decisions = self._store.scan_decisions(self.number)
            rows = heapq.merge(rows, decisions, key=operator.attrgetter("number"))
        for row in rows:
            self.number = row.number  # also if it cannot be applied
            if isinstance(row, DecisionRow):
                self._change(self.policy.expect_rewards, [row.action])
            else:
                self._apply(row)
        self.number = self._store.number

    def _apply(self, seen: SeenEvent) -> None:
        """Applies an event."""
        kind = seen.event.kind
        if kind == "learn":
            self._learn()
        elif kind == "add":
            self._add_action(seen.event)
        elif seen.event.value is not None and seen.number > self._work.learns_after:
            self._waiting.append(seen)
        elif kind in ("reward", "timeout") and self.policy.can_count_pending:
            self._change(self.policy.stop_expecting, [seen.action])
        if kind in ("add", "retire", "reopen"):
            self._offers.reload()
            self._is_changed = True  # others read the actions with the policy

    def _change(self, function: Callable[[Any], None], argument: Any) -> None:
        """Calls a function that changes the policy."""
        function(argument)
        self._law.forget()
        self._is_changed = True

    def _add_action(self, event: Event) -> None:
        """Adds an action, unless a policy had it when it was put to work."""
        if event.action == self.policy.num_actions:
            warm: Any = event.warm
            self.policy = self.policy.with_actions(self.policy.num_actions + 1, warm)
            self._law.forget()

    def _learn(self) -> None:
        """Learns from the rewards that wait: at once, if the rows of the policy share a model."""
        rows = self._waiting
        self._waiting = []
        policy = self.policy
        is_single = policy.learns_by_row or policy.can_count_pending
        size = 1 if is_single else policy.log_rows
        for start in range(0, len(rows), size):
            self._change(self._learn_rows, rows[start : start + size])

    def _learn_rows(self, rows: Sequence[SeenEvent]) -> None:
        size = len(rows)
        seen = self._offers.seen.unpack(
            available=[row.available for row in rows],
            features=[row.features for row in rows],
            num_actions=self.policy.num_actions,
        )
        trajectory = make_trajectory(
            observation=seen.shown(),
            actions=np.array([row.action for row in rows]),
            probabilities=np.array([row.probability for row in rows]),
            rewards=np.array([row.event.value for row in rows], np.float64),
        )
        if size == 1:
            self.policy.learn(trajectory)
            return
        wide = self.policy.replicate(size)
        wide.learn(trajectory)
        self.policy = wide.replicate(1)
