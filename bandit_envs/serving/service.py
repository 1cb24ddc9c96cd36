"""A service of decisions: a policy at work, whose decisions and rewards are in a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bandit_envs.base.checks import check_bool
from bandit_envs.logged.files import read_log
from bandit_envs.logged.log import BanditLog
from bandit_envs.policies import Policy
from bandit_envs.policies.learned import Warm, check_warm
from bandit_envs.serving.contexts import Features
from bandit_envs.serving.deciding import Decider, Decision
from bandit_envs.serving.laws import make_law
from bandit_envs.serving.opening import (
    ServiceArguments,
    check_policy,
    find_file,
    warn_if_alike,
    warn_if_frozen,
)
from bandit_envs.serving.reports.reading import make_report
from bandit_envs.serving.reports.report import ServiceReport
from bandit_envs.serving.rewards import add_measures, add_rewards
from bandit_envs.serving.schedule import Schedule
from bandit_envs.serving.session import Session
from bandit_envs.serving.upgrading import upgrade_file
from bandit_envs.tables.encoding import TableEncoding


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
        file = find_file(path, synchronous, may_create=learns)
        check_policy(policy)
        schedule = Schedule(learn_every, learn_seconds, timeout, timeout_reward)
        if timeout_reward is not None:
            policy.check_feedback([0], [timeout_reward])
        self._session = Session(
            file,
            policy,
            ServiceArguments(actions, features, item_features, max_actions, seed),
            law=make_law(policy, samples, epsilon),
            schedule=schedule,
            synchronous=synchronous,
            learns=learns,
        )
        self._decider = Decider(self._session, policy)
        self.path = file  #: of the file
        warn_if_alike(() if actions is None else actions, stacklevel=2)
        if learns:
            warn_if_frozen(policy, stacklevel=2)

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
        return self._decider.decide([*contexts], available, ids, actions)

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
        return add_rewards(self._session, rewards)

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
        return add_measures(self._session, measures)

    def add_action(self, name: str, warm: Warm | None = None) -> None:
        """Lets an action be chosen from now on: a new one, or one that was retired.

        Args:
            name: of the action.
            warm: what a new one starts from, as in `with_actions` of a policy; None for the prior.

        Raises:
            ValueError: the action may be chosen already, or the policy can have no more.
            OSError: this process does not learn.
        """
        with self._session.transaction():
            learner = self._session.require_learner("add_action")
            check_warm(warm)
            learner.learn_now()
            learner.change_actions(self._session.offers.add(name, warm))
            warn_if_alike(self._session.offers.names, stacklevel=2)

    def retire_action(self, name: str) -> None:
        """Lets an action not be chosen any more. Its rewards still count.

        Raises:
            ValueError: there is no such action, or it is the last.
            OSError: this process does not learn.
        """
        with self._session.transaction():
            learner = self._session.require_learner("retire_action")
            learner.learn_now()
            learner.change_actions(self._session.offers.retire(name))

    def learn(self) -> None:
        """Learns now from all rewards that have come, and ends the waits that are over.

        Raises:
            OSError: this process does not learn.
        """
        with self._session.transaction():
            learner = self._session.require_learner("learn")
            learner.learn_now()
            learner.save()

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of all actions, in the order of their numbers, retired ones included.

        () if each call offers items; `encoding` has the names of these.
        """
        return self._session.find_offers().names

    @property
    def open_actions(self) -> tuple[str, ...]:
        """The names of the actions that may be chosen."""
        return self._session.find_offers().open_names

    @property
    def encoding(self) -> TableEncoding:
        """The names of the actions or items, and what the features are made of."""
        return self._session.find_offers().encoding

    @property
    def policy(self) -> Policy:
        """A copy of the policy, with what it has learned and the names of the actions."""
        with self._session.lock:
            encoding = self.encoding  # after which a call that has failed is undone
            copied = self._session.keeper.policy.replicate(1)
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

        A decision whose timeout has passed does not wait any more, whatever was called since.

        Args:
            policies: whose value on this log is estimated, as `evaluate` takes them; None for none.
            estimators: as `evaluate` takes them.
            options: others of `read_report`.
        """
        schedule = self._session.schedule
        return make_report(self.path, policies, estimators, schedule=schedule, **options)

    def close(self) -> None:
        """Saves the policy and closes the file. Whoever does not call it loses nothing."""
        self._session.close()

    def __enter__(self) -> DecisionService:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"DecisionService({str(self.path)!r}, {self._session.keeper.policy!r})"
