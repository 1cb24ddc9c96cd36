"""A service of decisions: a policy at work, whose decisions and rewards are in a file."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import warnings
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.base.checks import MAX_REWARD, check_bool, check_number, short_repr
from bandit_envs.logged.files import read_log
from bandit_envs.logged.files.served.decision_tables import errors_of
from bandit_envs.logged.log import BanditLog
from bandit_envs.policies import Policy
from bandit_envs.policies.learned import Warm, check_warm
from bandit_envs.serving.action_table import check_text
from bandit_envs.serving.contexts import Features, FirstContexts
from bandit_envs.serving.keepers import Follower, LearningKeeper, PolicyKeeper
from bandit_envs.serving.laws import make_law
from bandit_envs.serving.learner_lock import LearnerLock
from bandit_envs.serving.offers import Offers
from bandit_envs.serving.opening import (
    ServiceArguments,
    check_creation,
    check_filled,
    check_policy,
    create_or_check,
    find_file,
    warn_if_alike,
    warn_if_frozen,
)
from bandit_envs.serving.reports.reading import read_report
from bandit_envs.serving.reports.report import ServiceReport
from bandit_envs.serving.schedule import Schedule
from bandit_envs.serving.store import Store
from bandit_envs.serving.stored_rows import DecisionRow, Event
from bandit_envs.serving.upgrading import upgrade_file
from bandit_envs.tables.encoding import TableEncoding


class Decision(NamedTuple):
    """What a service has decided.

    Fields:
        id: names the decision, for its reward.
        action: the name of the action.
        probability: with which it was drawn.
    """

    id: str
    action: str
    probability: float


class DecisionService:
    """Decides by a policy, which learns from rewards that come later, in any order.

    All is in one SQLite file. A call returns after what it did is written: a process that is
    killed at any moment, and started again with the same arguments, goes on as if nothing had
    happened. Decision n is drawn by `default_rng([seed, n])` from what the policy knew then.
    If you make the ids, a call that was not answered can be repeated.

    A policy that divides rewards by probabilities, such as Exp3, divides by those that it has when
    the reward comes, without `epsilon`. One that can count choices whose rewards come later does
    so.

    Threads may share a service. Processes of one machine may share a file: one of them learns, and
    others open it with `learns=False`. They decide and take rewards, too, by what the first has
    saved: at least once a second, if it is called.

    `DecisionService.upgrade` puts another policy to work in the same file.

    Args:
        path: of the file, which ends in .sqlite, .sqlite3 or .db, and is created if it is missing.
        policy: with one row. In a file that exists, what it has learned is replaced by what the
            file says, and its arguments must be those of the policy that made the file, or of the
            last `upgrade`.
        actions: the names of its actions, when the file is created; None for those of the file, or
            of the table that the policy has learned from; and if each call offers items.
        features: the columns of contexts: an encoding, such as that of a log; or a dict of names,
            with "number", "time" or the list of the texts of each. By default, as for `actions`; if
            there are none, contexts are arrays.
        item_features: the columns of items, as `features`: then each call offers items of its own.
            By default, as for `features`.
        max_actions: the most items that a call may offer, at most 1,000, when the file is created;
            None for that of the file, or 100. The policy becomes one for so many.
        seed: of all draws, an integer; None for fresh entropy.
        samples: for a policy that does not know its probabilities: so many of its choices are
            drawn, and one of them at random is the decision. Its probability is its frequency. Give
            `epsilon`, too: without it, an action in none of the choices has the probability 0, and
            estimates from the log are too small.
        epsilon: the probability of drawing any of the available actions instead. No probability of
            an available action is below epsilon / K then.
        learn_every: the policy learns when so many rewards have come.
        learn_seconds: or, at the next call, when the first of them has waited so long.
        timeout: after so many seconds, a decision waits for a reward no more, which later changes
            nothing; None for never. All processes of a file should have the same.
        timeout_reward: what counts as the reward then; None for nothing: the decision is not
            learned, and is in no log.
        synchronous: what a power cut may lose, not a killed process: "full" nothing, at the cost of
            waiting for the disk in each call; "normal" the last calls; "off" may damage the file.
        learns: whether it learns, which one process at a time may do.

    Raises:
        TypeError: the policy does not know its probabilities, and is not given `samples`.
        OSError: the file cannot be used, or another process learns.
        ValueError: the file is of something else, or of another policy; or the policy has learned
            from a table of other actions or features, or in another order; or it knows its
            probabilities, and is given `samples`.

    Warns:
        UserWarning: `learns` is True, and the policy does not learn from rewards, such as one that
            a `DoublyRobustLearner` has made; or names of actions differ in case or white space
            alone.

    >>> import tempfile
    >>> from bandit_envs import EpsilonGreedyPolicy
    >>> policy = EpsilonGreedyPolicy(0.1, num_actions=2, seed=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> with DecisionService(f"{folder.name}/shop.sqlite", policy, ["red", "blue"]) as service:
    ...     decision = service.decide()
    ...     service.reward(decision.id, 1.0), len(service.log())
    (True, 1)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        policy: Policy,
        actions: Sequence[str] | None = None,
        *,
        features: Features = None,
        item_features: Features = None,
        max_actions: int | None = None,
        seed: int | None = None,
        samples: int | None = None,
        epsilon: float = 0.0,
        learn_every: int = 1,
        learn_seconds: float | None = None,
        timeout: float | None = None,
        timeout_reward: float | None = None,
        synchronous: str = "normal",
        learns: bool = True,
    ) -> None:
        given = ServiceArguments(actions, features, item_features, max_actions, seed)
        file = find_file(path, synchronous, may_create=learns)
        check_policy(policy)
        self._schedule = Schedule(learn_every, learn_seconds, timeout, timeout_reward)
        if timeout_reward is not None:
            policy.check_feedback([0], [timeout_reward])
        self._law = make_law(policy, samples, epsilon)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._is_open = True
        self._is_stale = False  # the policy has seen rows that were not written
        self._was_certain = False  # an action was drawn with probability 1, beside others
        self._is_warned = False
        self._first_contexts = FirstContexts(policy)
        if not file.exists():
            check_creation(file, policy, given, self._law)
        with contextlib.ExitStack() as undo:
            self._store = Store(file, synchronous)
            undo.callback(self._store.close)
            self.path = self._store.path  #: of the file
            self._learner_lock = LearnerLock(self.path) if learns else None
            if self._learner_lock is not None:
                undo.callback(self._learner_lock.release)
            self._open(policy, given)
            self._release = weakref.finalize(self, undo.pop_all().close)
            self._release.atexit = False  # a forked process must not close it at its end
        warn_if_alike(() if actions is None else actions, stacklevel=2)
        if learns:
            warn_if_frozen(policy, stacklevel=2)

    def _open(self, policy: Policy, given: ServiceArguments) -> None:
        """Creates the tables or checks them, and brings the policy up to the last row."""
        store = self._store
        with store.transaction():
            if self._learner_lock is None:
                check_filled(store)
            self._seed, self._offers, policy = create_or_check(store, policy, given)
            store.find_last()
            self._keeper: PolicyKeeper = (
                Follower(store, policy, self._law, self._offers)
                if self._learner_lock is None
                else LearningKeeper(store, policy, self._law, self._offers, self._schedule)
            )
            self._keeper.finish()
            self._offers.check_policy(self._keeper.policy, self._law)

    @staticmethod
    def upgrade(path: str | os.PathLike[str], policy: Policy, learn: bool | None = None) -> bool:
        """Puts another policy to work in a file, and returns whether that has changed anything.

        Decisions, rewards and actions stay: what is retired stays so, and rewards that come later
        for old decisions count for the new policy. Logs have the whole history, and each decision
        its own probability; reports show the policies side by side. A process that is killed
        meanwhile leaves the file as it was, or upgraded.

        Close the service that learns before. Those that only decide raise an OSError from then on:
        open them anew, with this policy. They wait while it learns.

        Args:
            path: of the file.
            policy: of as many actions as the file has now, retired ones included, or had at first:
                then it gets the others as `add_action` has added them. If it is at work already,
                and this one has learned nothing, nothing happens.
            learn: whether it learns from all rewards that have come so far, as if it had been at
                work; None if it has learned nothing yet. What it has learned from this file before
                would count twice.

        Raises:
            OSError: the file cannot be used, or another process learns.
            ValueError: the policy has other actions or features, does not support how `add_action`
                has started one that it lacks, or does not take a reward that it would learn from.
        """
        check_bool("learn", True if learn is None else learn)
        is_upgraded = upgrade_file(path, policy, learn)
        if is_upgraded:
            warn_if_frozen(policy, stacklevel=2)
        return is_upgraded

    def decide(
        self,
        context: Any = None,
        available: Iterable[str] | None = None,
        id: str | None = None,  # noqa: A002
        *,
        actions: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Decision:
        """Draws an action, and returns it after the decision is written.

        Args:
            context: a dict with a value for each column of the features; or if these have no names,
                an array [D], or None if there are none.
            available: the names of the actions that may be drawn; None for all but retired ones.
            id: names the decision. If there is one of this id already, it is returned, whatever
                the context is. By default, the service makes a new one.
            actions: of a service with `item_features`, the items that may be drawn: by the name of
                each, a dict with a value for each column.

        Raises:
            TypeError, ValueError: the context or the actions do not fit; or there is a decision of
                this id, and what it has chosen may not be drawn now.
            OSError: the file cannot be written, and there is no decision.
        """
        return self.decide_many(
            [context],
            None if available is None else [available],
            ids=None if id is None else [id],
            actions=None if actions is None else [actions],
        )[0]

    def decide_many(
        self,
        contexts: Iterable[Any],
        available: Sequence[Iterable[str] | None] | None = None,
        ids: Sequence[str] | None = None,
        *,
        actions: Sequence[Mapping[str, Mapping[str, Any]]] | None = None,
    ) -> list[Decision]:
        """Returns what `decide` does for several contexts, which are written at once.

        Args:
            contexts: as `decide` takes them.
            available: names of actions for each; None for all but retired ones.
            ids: of the decisions; by default, new ones.
            actions: of a service with `item_features`, the items for each.
        """
        requests = self._offers.read([*contexts], available, actions)
        if not requests:
            return []
        names = (
            [secrets.token_hex(16) for _ in requests] if ids is None else list(map(_check_id, ids))
        )
        if len(names) != len(requests):
            found = f"ids has {len(names)} entries, and contexts {len(requests)}"
            raise ValueError(f"{found}; expected as many")
        decisions = []
        with self._transaction():
            self._offers.prepare(requests)
            if not self._first_contexts.is_done:
                self._first_contexts.add(np.concatenate([*map(self._offers.features_of, requests)]))
            for name, request in zip(names, requests):
                row = None if ids is None else self._find(name)
                if row is None:
                    decisions.append(self._decide(name, request))
                    self._keeper.prepare()
                else:
                    decisions.append(self._repeat(row, request))
            self._keeper.finish()
        self._warn_of_certainty()
        return decisions

    def reward(self, id: str, value: float) -> bool:  # noqa: A002
        """Writes the reward of a decision, and returns whether it is new.

        A decision has one reward: a second reward, or one after the timeout, changes nothing.

        Args:
            id: of the decision.
            value: a number, or a bool.

        Raises:
            TypeError, ValueError: there is no such decision, or the policy takes no such reward.
            OSError: the file cannot be written, and nothing has changed.
        """
        return self.reward_many([(id, value)])[0]

    def reward_many(self, rewards: Iterable[tuple[str, float]]) -> list[bool]:
        """Returns what `reward` does for pairs of an id and a value, which are written at once."""
        pairs = [(_check_id(name), value) for name, value in _check_pairs("rewards", rewards)]
        with self._transaction():
            are_new = [self._reward(name, value) for name, value in pairs]
            self._keeper.finish()
        return are_new

    def measure(self, id: str, values: Mapping[str, float]) -> bool:  # noqa: A002
        """Writes further rewards of a decision, such as its cost, and returns whether all are new.

        No policy learns from them. Reports show their means, and those of a `SplitTestPolicy` their
        differences, too. A decision has one of each name: a second one changes nothing.

        Args:
            id: of the decision.
            values: a number, or a bool, by the name of each.

        Raises:
            TypeError, ValueError: there is no such decision, or a name or a value does not fit.
            OSError: the file cannot be written, and nothing has changed.
        """
        return self.measure_many([(id, values)])[0]

    def measure_many(self, measures: Iterable[tuple[str, Mapping[str, float]]]) -> list[bool]:
        """Returns what `measure` does for pairs of an id and values, which are written at once."""
        given = _check_pairs("measures", measures)
        pairs = [(_check_id(name), _check_measures(values)) for name, values in given]
        with self._transaction():
            return [self._measure(name, values) for name, values in pairs]

    def add_action(self, name: str, warm: Warm | None = None) -> None:
        """Lets an action be chosen from now on: a new one, or one that was retired.

        Args:
            name: of the action.
            warm: what a new one starts from, as in `with_actions` of a policy; None for the prior.

        Raises:
            ValueError: the action may be chosen already, or the policy can have no more.
            OSError: this process does not learn.
        """
        with self._transaction():
            learner = self._require_learner("add_action")
            check_warm(warm)
            learner.learn_now()
            learner.change_actions(self._offers.add(name, warm))
            warn_if_alike(self._offers.names, stacklevel=2)

    def retire_action(self, name: str) -> None:
        """Lets an action not be chosen any more. Its rewards still count.

        Raises:
            ValueError: there is no such action, or it is the last.
            OSError: this process does not learn.
        """
        with self._transaction():
            learner = self._require_learner("retire_action")
            learner.learn_now()
            learner.change_actions(self._offers.retire(name))

    def learn(self) -> None:
        """Learns now from all rewards that have come, and ends the waits that are over.

        Raises:
            OSError: this process does not learn.
        """
        with self._transaction():
            learner = self._require_learner("learn")
            learner.learn_now()
            learner.save()

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of all actions, in the order of their numbers, retired ones included.

        () if each call offers items; `encoding` has the names of these.
        """
        return self._find_offers().names

    @property
    def open_actions(self) -> tuple[str, ...]:
        """The names of the actions that may be chosen."""
        return self._find_offers().open_names

    @property
    def encoding(self) -> TableEncoding:
        """The names of the actions or items, and what the features are made of."""
        return self._find_offers().encoding

    @property
    def policy(self) -> Policy:
        """A copy of the policy, with what it has learned and the names of the actions."""
        with self._lock:
            encoding = self.encoding  # after which a call that has failed is undone
            copied = self._keeper.policy.replicate(1)
            copied.encoding = encoding
        return copied

    def log(self) -> BanditLog:
        """Returns the decisions that have a reward, as `scan_log` reads them from the file.

        Raises:
            ValueError: there are none.
        """
        return read_log(self.path)

    def report(self, policies: Any = None, estimators: Any = None, **options: Any) -> ServiceReport:
        """Returns what the file tells so far, as `read_report` does: `print` shows it.

        Args:
            policies: whose value on this log is estimated, as `evaluate` takes them; None for none.
            estimators: as `evaluate` takes them.
            options: others of `read_report`.
        """
        return read_report(self.path, policies, estimators, **options)

    def close(self) -> None:
        """Saves the policy and closes the file. Whoever does not call it loses nothing."""
        if os.getpid() != self._process:
            return  # its connection is not of this process, which must not write by it
        with self._lock:
            if not self._is_open:
                return
            self._is_open = False
            try:
                if isinstance(self._keeper, LearningKeeper) and not self._is_stale:
                    with self._store.transaction():
                        self._keeper.save()
            finally:
                self._release()

    def __enter__(self) -> DecisionService:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"DecisionService({str(self.path)!r}, {self._keeper.policy!r})"

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Brings the policy up to the last row, and commits in the end.

        If anything fails, the file is as before, and the policy as the file says.
        """
        self._check_process()
        with self._lock:
            if not self._is_open:
                raise ValueError(f"the service of {self.path} is closed")
            is_stale = self._is_stale
            number = None if is_stale else self._keeper.number
            self._is_stale = True
            try:
                with self._store.transaction():
                    self._store.find_last()
                    if is_stale:
                        self._keeper.reload()
                    self._keeper.prepare()
                    yield
            except (TypeError, ValueError):
                self._is_stale = self._keeper.number != number or self._store.has_new_rows
                raise
            self._is_stale = False

    def _check_process(self) -> None:
        """Raises OSError in a forked process, where the lock may be held for ever."""
        if os.getpid() != self._process:
            problem = f"process {self._process} has opened the service of {self.path}"
            raise OSError(f"{problem}; open it anew in each process")

    def _find_offers(self) -> Offers[Any]:
        """Returns what may be chosen, without what a call has added that has failed."""
        if self._is_open:
            self._check_process()
        with self._lock:
            if self._is_stale and self._is_open:
                with errors_of(self.path):
                    self._store.find_last()
                    self._keeper.reload()
                self._is_stale = False
            return self._offers

    def _repeat(self, row: DecisionRow, request: Any) -> Decision:
        """Returns an earlier decision; ValueError if what it has chosen is not offered now."""
        action = self._offers.name(row)
        if not self._offers.is_offered(request, row):
            problem = f"id {row.id!r} has chosen {action!r} before, which is not available now"
            raise ValueError(f"{problem}; expected it among the actions, or a new id")
        return Decision(row.id, action, row.probability)

    def _decide(self, name: str, request: Any) -> Decision:
        """Draws and writes the next decision."""
        offer = self._offers.offer(request)
        number = self._store.number + 1
        rng = np.random.default_rng([self._seed, number])
        choice = self._law.choose(self._keeper.policy, offer.observation, offer.mask, rng)
        row = DecisionRow(
            number=number,
            id=name,
            time=self._store.time,
            learned=self._keeper.number,
            action=choice.action,
            probability=choice.probability,
            available=offer.available,
            features=offer.features,
        )
        self._store.add_decision(row)
        if choice.probability == 1.0 and np.count_nonzero(offer.mask) > 1:
            self._was_certain = True
        return Decision(name, offer.names[choice.action], choice.probability)

    def _find(self, name: str) -> DecisionRow | None:
        """Returns the decision of an id; None for an unknown id."""
        row = self._store.find_decision(name)
        if row is not None:
            self._offers.check_row(row)
        return row

    def _reward(self, name: str, value: float) -> bool:
        """Writes a reward, and returns whether it is the first of its decision."""
        row = self._require(name)
        number = _check_value("reward", value)
        policy = self._keeper.policy
        low, high = policy.reward_range
        if not low <= number <= high:
            expected = f"expected a number from {low:g} to {high:g}, which the policy takes"
            raise ValueError(f"reward is {number:g}; {expected}: rescale all in the same way")
        policy.check_feedback([row.action], [number])
        is_over = self._schedule.is_over(row.time, self._store.time)
        if is_over or self._store.has_ended(row.number):
            return False
        self._store.add_event(Event("reward", row.number, value=number))
        return True

    def _measure(self, name: str, values: Mapping[str, float]) -> bool:
        """Writes further rewards, and returns whether each is the first of its name."""
        number = self._require(name).number
        are_new = [self._store.add_measure(number, *each) for each in values.items()]
        return all(are_new)

    def _require(self, name: str) -> DecisionRow:
        """Returns the decision of an id; ValueError for an unknown id."""
        row = self._find(name)
        if row is None:
            raise ValueError(f"id is {name!r}; there is no such decision")
        return row

    def _require_learner(self, method: str) -> LearningKeeper:
        """Returns what learns; OSError if this process does not."""
        if isinstance(self._keeper, LearningKeeper):
            return self._keeper
        raise OSError(f"{method} is for the process that learns; {self.path} has learns=False here")

    def _warn_of_certainty(self) -> None:
        """Warns once if an action was certain, though there were others."""
        if self._was_certain and not self._is_warned:
            self._is_warned = True
            problem = "an action was drawn with the probability 1: the log tells nothing of others"
            warnings.warn(f"{problem}; epsilon=0.05 gives each a chance", stacklevel=3)


def _check_pairs(argument: str, rows: Any) -> list[tuple[Any, Any]]:
    """Returns pairs of an id and what the decision gets; TypeError for what is no pair."""
    pairs = [*rows]
    for place, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            expected = "expected a tuple of an id and a value"
            raise TypeError(f"{argument}[{place}] is {short_repr(pair)}; {expected}")
    return [(name, value) for name, value in pairs]


def _check_id(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise TypeError(f"id is {short_repr(name)}; expected a str that is not empty")
    return check_text("id", name)


def _check_measures(values: Any) -> dict[str, float]:
    """Returns further rewards by their names."""
    if not isinstance(values, Mapping):
        raise TypeError(f"values is {short_repr(values)}; expected a dict of numbers by names")
    for name in values:
        if not isinstance(name, str) or name in ("", "reward"):
            expected = "a str that is neither empty nor 'reward'"
            raise ValueError(f"a name in values is {short_repr(name)}; expected {expected}")
        check_text("a name in values", name)
    return {name: _check_value(f"values[{name!r}]", each) for name, each in values.items()}


def _check_value(what: str, value: Any) -> float:
    """Returns a reward as a number; a bool is 0 or 1."""
    number = float(value) if isinstance(value, (bool, np.bool_)) else value
    return check_number(what, number, -MAX_REWARD, MAX_REWARD)
