"""A file of decisions that a service has open. A call writes all of its rows or none."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bandit_envs.logged.files.served.decision_tables import errors_of
from bandit_envs.policies import Policy
from bandit_envs.serving.keepers import Follower, LearningKeeper, PolicyKeeper
from bandit_envs.serving.laws import ChoiceLaw
from bandit_envs.serving.learner_lock import LearnerLock
from bandit_envs.serving.offers import Offers
from bandit_envs.serving.opening import (
    ServiceArguments,
    check_creation,
    check_filled,
    create_or_check,
)
from bandit_envs.serving.schedule import Schedule
from bandit_envs.serving.store import Store
from bandit_envs.serving.stored_rows import DecisionRow


class Session:
    """Keeps a file open, with the policy and the actions as the file has them.

    Args:
        file: which is created if it is missing.
        policy: with the first actions.
        given: what the file should have.
        law: how actions are drawn.
        schedule: when the policy learns.
        synchronous: how SQLite waits for the disk.
        learns: whether the policy learns in this process.

    Raises:
        OSError, ValueError: the file cannot be used, or has something else.
    """

    def __init__(
        self,
        file: Path,
        policy: Policy,
        given: ServiceArguments,
        *,
        law: ChoiceLaw,
        schedule: Schedule,
        synchronous: str,
        learns: bool,
    ) -> None:
        self.law = law
        self.schedule = schedule
        self.lock = threading.RLock()
        self._process = os.getpid()
        self._is_open = True
        self._is_stale = False  # the policy has seen rows that were not written
        if not file.exists():
            check_creation(file, policy, given, law)
        with contextlib.ExitStack() as undo:
            self.store = Store(file, synchronous)
            undo.callback(self.store.close)
            if learns:
                advice = "close it, or open this one with learns=False to decide alone"
                undo.callback(LearnerLock(file, advice).release)
            self._open(policy, given, learns)
            self._release = weakref.finalize(self, undo.pop_all().close)
            self._release.atexit = False  # a forked process must not close it at its end

    def _open(self, policy: Policy, given: ServiceArguments, learns: bool) -> None:
        """Creates the tables or checks them, and brings the policy up to the last row."""
        store = self.store
        with store:
            if not learns:
                check_filled(store)
            self.seed, self.offers, policy = create_or_check(store, policy, given)
            store.find_last()
            self.keeper: PolicyKeeper = (
                LearningKeeper(store, policy, self.law, self.offers, self.schedule)
                if learns
                else Follower(store, policy, self.law, self.offers)
            )
            self.keeper.finish()
            self.offers.check_policy(self.keeper.policy, self.law)

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.store.path

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Brings the policy up to the last row, and commits in the end.

        If anything fails, the file is as before, and the policy as the file says.
        """
        self._check_process()
        with self.lock:
            if not self._is_open:
                raise ValueError(f"the service of {self.path} is closed")
            is_stale = self._is_stale
            number = None if is_stale else self.keeper.number
            self._is_stale = True
            try:
                with self.store:
                    self.store.find_last()
                    if is_stale:
                        self.keeper.reload()
                    self.keeper.prepare()
                    yield
            except (TypeError, ValueError):
                self._is_stale = self.keeper.number != number or self.store.has_new_rows
                raise
            self._is_stale = False

    def _check_process(self) -> None:
        """Raises OSError in a forked process, where the lock may be held for ever."""
        if os.getpid() != self._process:
            problem = f"process {self._process} has opened the service of {self.path}"
            raise OSError(f"{problem}; open it anew in each process")

    def find_offers(self) -> Offers[Any]:
        """Returns what may be chosen, without what a failed call has added."""
        if self._is_open:
            self._check_process()
        with self.lock:
            if self._is_stale and self._is_open:
                with errors_of(self.path):
                    self.store.find_last()
                    self.keeper.reload()
                self._is_stale = False
            return self.offers

    def find(self, name: str) -> DecisionRow | None:
        """Returns the decision of an id; None for an unknown id."""
        row = self.store.find_decision(name)
        if row is not None:
            self.offers.check_row(row)
        return row

    def require(self, name: str) -> DecisionRow:
        """Returns the decision of an id; ValueError for an unknown id."""
        row = self.find(name)
        if row is None:
            raise ValueError(f"id is {name!r}; there is no such decision")
        return row

    def require_learner(self, method: str) -> LearningKeeper:
        """Returns the keeper that learns; OSError if this process does not learn."""
        if isinstance(self.keeper, LearningKeeper):
            return self.keeper
        raise OSError(f"{method} is for the process that learns; {self.path} has learns=False here")

    def close(self) -> None:
        """Saves the policy and closes the file."""
        if os.getpid() != self._process:
            return  # its connection is not of this process, which must not write by it
        with self.lock:
            if not self._is_open:
                return
            self._is_open = False
            try:
                if isinstance(self.keeper, LearningKeeper) and not self._is_stale:
                    with self.store:
                        self.keeper.save()
            finally:
                self._release()
