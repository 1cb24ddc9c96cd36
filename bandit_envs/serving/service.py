"""A service of decisions: a policy at work, whose decisions and rewards are in a file."""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
import warnings
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_REWARD, check_number, short_repr
from bandit_envs.base.state import sizes_of
from bandit_envs.logged.files import read_log
from bandit_envs.logged.files.served.decision_tables import errors_of
from bandit_envs.logged.files.served.typed_queries import damage
from bandit_envs.logged.log import BanditLog
from bandit_envs.policies import Policy
from bandit_envs.policies.learned import Warm, check_warm
from bandit_envs.serving.action_table import ActionTable, check_name, check_text
from bandit_envs.serving.contexts import ContextEncoder, Features, FirstContexts, check_width
from bandit_envs.serving.keepers import Follower, LearningKeeper, PolicyKeeper, observe
from bandit_envs.serving.laws import make_law
from bandit_envs.serving.learner_lock import LearnerLock
from bandit_envs.serving.opening import check_policy, create_or_check, open_store, warn_if_frozen
from bandit_envs.serving.reports.reading import read_report
from bandit_envs.serving.reports.report import ServiceReport
from bandit_envs.serving.schedule import Schedule
from bandit_envs.serving.store import DecisionRow, Event
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

    Args:
        path: of the file, which ends in .sqlite, .sqlite3 or .db, and is created if it is missing.
        policy: with one row. In a file that exists, what it has learned is replaced by what the
            file says, and its arguments must be those of the policy that made the file.
        actions: the names of its actions, when the file is created; None for those of the file, or
            of the table that the policy has learned from.
        features: the columns of contexts: an encoding, such as that of a log; or a dict of names,
            with "number", "time" or the list of the texts of each. By default, as for `actions`; if
            there are none, contexts are arrays.
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
            a `DoublyRobustLearner` has made.

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
        with contextlib.ExitStack() as undo:
            self._store = open_store(path, synchronous, may_create=learns)
            undo.callback(self._store.close)
            self.path = self._store.path  #: of the file
            self._learner_lock = LearnerLock(self.path) if learns else None
            if self._learner_lock is not None:
                undo.callback(self._learner_lock.release)
            self._open(policy, actions, features, seed)
            self._release = weakref.finalize(self, undo.pop_all().close)
            self._release.atexit = False  # a forked process must not close it at its end
        if learns:
            warn_if_frozen(policy, stacklevel=2)

    def _open(
        self,
        policy: Policy,
        actions: Sequence[str] | None,
        features: Features,
        seed: int | None,
    ) -> None:
        """Creates the tables or checks them, and brings the policy up to the last row."""
        store = self._store
        with store.transaction():
            self._seed = create_or_check(store, policy, actions, features, seed)
            self._columns = store.read_encoding().features
            self._contexts = ContextEncoder(self._columns, self._find_width(policy))
            store.find_last()
            self._keeper: PolicyKeeper = (
                Follower(store, policy, self._law)
                if self._learner_lock is None
                else LearningKeeper(store, policy, self._law, self._schedule)
            )
            self._keeper.finish()
            self._check_features()

    def decide(
        self,
        context: Any = None,
        available: Iterable[str] | None = None,
        id: str | None = None,  # noqa: A002
    ) -> Decision:
        """Draws an action, and returns it after the decision is written.

        Args:
            context: a dict with a value for each column of the features; or if these have no names,
                an array [D], or None if there are none.
            available: the names of the actions that may be drawn; None for all but retired ones.
            id: names the decision. If there is one of this id already, it is returned, whatever
                the other arguments are. By default, the service makes a new one.

        Raises:
            TypeError, ValueError: the context or the actions do not fit.
            OSError: the file cannot be written, and there is no decision.
        """
        return self.decide_many([context], [available], None if id is None else [id])[0]

    def decide_many(
        self,
        contexts: Iterable[Any],
        available: Sequence[Iterable[str] | None] | None = None,
        ids: Sequence[str] | None = None,
    ) -> list[Decision]:
        """Returns what `decide` does for several contexts, which are written at once.

        Args:
            contexts: as `decide` takes them.
            available: names of actions for each; None for all but retired ones.
            ids: of the decisions; by default, new ones.
        """
        features = [self._contexts.read(context) for context in contexts]
        size = len(features)
        if not size:
            return []
        choices = [None] * size if available is None else list(available)
        names = [uuid.uuid4().hex for _ in features] if ids is None else list(map(_check_id, ids))
        if not len(choices) == len(names) == size:
            found = f"{size} contexts, {len(choices)} of available and {len(names)} ids"
            raise ValueError(f"there are {found}; expected as many of each")
        rows = []
        with self._transaction():
            self._check_widths(features)
            self._first_contexts.add(features)
            for name, row_features, chosen_from in zip(names, features, choices):
                row = None if ids is None else self._find(name)
                if row is None:
                    row = self._decide(name, row_features, chosen_from)
                    self._keeper.prepare()
                rows.append(row)
            self._keeper.finish()
            actions = self._keeper.actions.names
        self._warn_of_certainty()
        return [Decision(row.id, actions[row.action], row.probability) for row in rows]

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
        pairs = [(_check_id(name), value) for name, value in rewards]
        with self._transaction():
            are_new = [self._reward(name, value) for name, value in pairs]
            self._keeper.finish()
        return are_new

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
            names = learner.actions.names
            if check_name(name) in learner.actions.open_names:
                raise ValueError(f"action {name!r} is there already; expected a new name")
            if name in names:
                action = names.index(name)
                self._store.open_action(action, True)
                event = Event("reopen", action=action)
            else:
                action = len(names)
                self._store.add_action(action, name, self._store.number + 1)
                event = Event("add", action=action, warm=warm)
            self._change_actions(learner, event)

    def retire_action(self, name: str) -> None:
        """Lets an action not be chosen any more. Its rewards still count.

        Raises:
            ValueError: there is no such action, or it is the last.
            OSError: this process does not learn.
        """
        with self._transaction():
            learner = self._require_learner("retire_action")
            learner.learn_now()
            action = learner.actions.find(name)
            if len(learner.actions.open_names) == 1:
                raise ValueError(f"action {name!r} is the only one; expected another to stay")
            self._store.open_action(action, False)
            self._change_actions(learner, Event("retire", action=action))

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
        """The names of all actions, in the order of their numbers, retired ones included."""
        return self._find_actions().names

    @property
    def open_actions(self) -> tuple[str, ...]:
        """The names of the actions that may be chosen."""
        return self._find_actions().open_names

    @property
    def encoding(self) -> TableEncoding:
        """The names of the actions, and what the features are made of."""
        return TableEncoding(self.actions, self._columns)

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

    def _find_actions(self) -> ActionTable:
        """Returns the actions, without those of a call that has failed."""
        if self._is_open:
            self._check_process()
        with self._lock:
            if self._is_stale and self._is_open:
                with errors_of(self.path):
                    self._store.find_last()
                    self._keeper.reload()
                self._is_stale = False
            return self._keeper.actions

    def _decide(self, name: str, features: Floats, available: Iterable[str] | None) -> DecisionRow:
        """Draws and writes the next decision."""
        keeper = self._keeper
        mask = keeper.actions.mask(available)
        packed = keeper.pack(mask)
        observation = observe(features[np.newaxis], None if packed is None else mask[np.newaxis])
        number = self._store.number + 1
        rng = np.random.default_rng([self._seed, number])
        choice = self._law.choose(keeper.policy, observation, mask, rng)
        row = DecisionRow(
            number=number,
            id=name,
            time=self._store.time,
            learned=keeper.number,
            action=choice.action,
            probability=choice.probability,
            available=packed,
            features=features.astype("<f8").tobytes(),
        )
        self._store.add_decision(row)
        if choice.probability == 1.0 and np.count_nonzero(mask) > 1:
            self._was_certain = True
        return row

    def _find(self, name: str) -> DecisionRow | None:
        """Returns the decision of an id; None for an unknown id."""
        row = self._store.find_decision(name)
        number = len(self._keeper.actions.names)
        if row is not None and row.action >= number:
            raise damage(self.path, f"decision {row.number} has action {row.action} of {number}")
        return row

    def _reward(self, name: str, value: float) -> bool:
        """Writes a reward, and returns whether it is the first of its decision."""
        row = self._find(name)
        if row is None:
            raise ValueError(f"id is {name!r}; there is no such decision")
        if isinstance(value, (bool, np.bool_)):
            value = float(value)
        number = check_number("reward", value, -MAX_REWARD, MAX_REWARD)
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

    def _require_learner(self, method: str) -> LearningKeeper:
        """Returns what learns; OSError if this process does not."""
        if isinstance(self._keeper, LearningKeeper):
            return self._keeper
        raise OSError(f"{method} is for the process that learns; {self.path} has learns=False here")

    def _change_actions(self, learner: LearningKeeper, event: Event) -> None:
        """Writes a change of actions, and saves it, so that other processes see it."""
        self._store.add_event(event)
        learner.prepare()
        learner.save()

    def _find_width(self, policy: Policy) -> int | None:
        """Returns how many features contexts have; None if any number will do."""
        if self._columns:
            return len(TableEncoding(features=self._columns).labels())
        size = sizes_of(policy).get("context_dim")
        return self._store.read_width() if size is None else int(size)

    def _check_widths(self, features: Sequence[Floats]) -> None:
        """Raises ValueError if contexts have not as many features as those in the file."""
        if self._contexts.width is None:
            self._contexts.width = self._store.read_width()
            width = self._contexts.width or len(features[0])
            for row in features:
                check_width(row, width)

    def _check_features(self) -> None:
        """Raises ValueError if the policy is for other observations than a row of features."""
        policy = self._keeper.policy
        size = sizes_of(policy).get("context_dim")
        if self._columns:
            labels = self.encoding.labels()
            width = len(labels)
            if size not in (None, width):
                found = f"features makes {width} of a context, {short_repr(labels)}"
                expected = f"expected ArraySpec(({width},), 'float64')"
                raise ValueError(f"{found}, and observation_spec has {size}; {expected}")
        elif size is None:
            return  # it reads no contexts, or any
        else:
            width = size
        mask = self._keeper.actions.open
        observation = observe(np.zeros((1, width)), mask[np.newaxis])
        try:
            self._law.choose(policy, observation, mask, np.random.default_rng(0))
        except (TypeError, ValueError) as error:
            problem = "policy cannot choose by a row of features"
            expected = f"expected an observation_spec such as ArraySpec(({width},), 'float64')"
            raise ValueError(f"{problem}: {error}; {expected}") from error

    def _warn_of_certainty(self) -> None:
        """Warns once if an action was certain, though there were others."""
        if self._was_certain and not self._is_warned:
            self._is_warned = True
            problem = "an action was drawn with the probability 1: the log tells nothing of others"
            warnings.warn(f"{problem}; epsilon=0.05 gives each a chance", stacklevel=3)


def _check_id(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise TypeError(f"id is {short_repr(name)}; expected a str that is not empty")
    return check_text("id", name)
