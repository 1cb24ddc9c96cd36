"""Routers that learn at a price from some requests, and choose models for others."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Indices
from bandit_envs.drivers import StepDriver
from bandit_envs.environments import OutcomeStream, OutcomeTableBandit
from bandit_envs.evaluations.named import Kind, short_name
from bandit_envs.evaluations.routing.points import Routed
from bandit_envs.logged import BanditLog
from bandit_envs.logged.learners import learn_from_log
from bandit_envs.names.users_code import name_in_errors
from bandit_envs.policies import Policy
from bandit_envs.policies.contextual import lacks_constant
from bandit_envs.policies.policy_choice import PolicyChoice

AnyRouter: TypeAlias = Policy | str
"""A policy, or a text as the command takes it."""

ROUTERS = Kind(
    one="policy",
    several="policies",
    classes=(Policy, str),
    expected="a Policy or a text such as 'lin_ucb:alpha=0.3'",
)
"""What users give as routers."""

REQUESTS_A_STEP = 32
"""How many requests are routed before a router learns from them."""

ROWS_A_CHOICE = 1_000
"""How many requests are shown at once to a router that learns no more."""


class Requests(NamedTuple):
    """Requests with the outcomes of all models."""

    contexts: NDArray[np.float32]  # [n, d]
    scores: Floats  # [n, K]
    costs: Floats  # [n, K]
    units: Indices  # [n], whose each row is
    segments: Sequence[str] = ()  # [n], the segment of each row; () without
    names_features: bool = False  # whether contexts are columns with names

    @property
    def num_units(self) -> int:
        """How many different units there are."""
        return len(np.unique(self.units))

    @property
    def repeated_units(self) -> Indices | None:
        """The units [n] if one has several rows, so that rows are not independent; else None."""
        return None if self.num_units == len(self.units) else self.units

    def take(self, rows: Indices) -> Requests:
        """Returns some of the rows."""
        return Requests(
            contexts=self.contexts[rows],
            scores=self.scores[rows],
            costs=self.costs[rows],
            units=self.units[rows],
            segments=[self.segments[row] for row in rows] if self.segments else (),
            names_features=self.names_features,
        )

    def worth(self, price: float) -> Floats:
        """Returns the scores less the price of the costs: [n, K]."""
        return np.asarray(self.scores - price * self.costs)

    def all_outcomes(self, price: float, passes: int) -> Iterator[BanditLog]:
        """Yields all outcomes, each so many times: decisions for every model of every request."""
        count = self.scores.shape[1]
        for _ in range(passes):
            for start in range(0, len(self.scores), ROWS_A_CHOICE):
                part = self.take(np.arange(start, min(start + ROWS_A_CHOICE, len(self.scores))))
                size = len(part.scores)
                yield BanditLog(
                    np.repeat(part.contexts, count, axis=0),
                    np.tile(np.arange(count), size),
                    part.worth(price).reshape(-1),
                    np.full(size * count, 1.0 / count),
                    num_actions=count,
                )


class Lesson(NamedTuple):
    """How routers learn from requests."""

    passes: int  # how many times each request is learned from
    seed: int  # of the order and of the policies
    all_outcomes: bool  # whether they see what all models would have earned


@dataclasses.dataclass(frozen=True)
class Router:
    """A policy before it has learned.

    Args:
        name: of the policy.
        made_of: how to make it; or a policy, of which copies learn.
    """

    name: str
    made_of: PolicyChoice | Policy

    def can_learn(self, requests: Requests) -> bool:
        """Whether prices make a difference: a fixed policy is the same at all of them."""
        with self._named_in_errors():
            return self._prepare(requests, 0.0, 1, 0)[0].can_learn

    def lacks_constant(self, requests: Requests) -> bool:
        """Whether its model needs a constant among the features of requests, which have none."""
        with self._named_in_errors():
            return lacks_constant(self._prepare(requests, 0.0, 1, 0)[0], requests.contexts)

    def learn(self, requests: Requests, price: float, lesson: Lesson) -> Policy:
        """Returns the policy after it has learned from requests.

        It routes them, and sees what the model that it chose has earned. Or it sees what all models
        earn, whatever it would have chosen. At the same seed, the order of the requests and the
        draws of the policy are the same for every price. A policy whose rows learn alone routes one
        request at a time.

        Args:
            requests: to learn from.
            price: of a unit of cost.
            lesson: how to learn.
        """
        with self._named_in_errors():
            size = min(REQUESTS_A_STEP, len(requests.scores))
            policy, env = self._prepare(requests, price, size, lesson.seed)
            if policy.can_learn and (policy.learns_by_row or lesson.all_outcomes):
                policy, env = self._prepare(requests, price, 1, lesson.seed)
            if not policy.can_learn:
                return policy
            if lesson.all_outcomes:
                return learn_from_log(policy, requests.all_outcomes(price, lesson.passes))
            steps = -(-lesson.passes * len(requests.scores) // env.batch_size)
            StepDriver(env, policy, [policy], num_steps=steps).run()
            return policy

    def _named_in_errors(self) -> AbstractContextManager[None]:
        modules = () if isinstance(self.made_of, Policy) else self.made_of.modules
        return name_in_errors(f"policy {self.name}", *modules)

    def _prepare(
        self, requests: Requests, price: float, batch_size: int, seed: int
    ) -> tuple[Policy, OutcomeTableBandit]:
        """Returns a policy that has not learned, and the environment that it learns in."""
        of_order, of_policy = np.random.SeedSequence(seed).spawn(2)
        env = OutcomeTableBandit(
            requests.contexts,
            requests.worth(price),
            batch_size=batch_size,
            replace=False,
            seed=of_order,
        )
        env.names_features = requests.names_features
        if isinstance(self.made_of, Policy):
            return self.made_of.replicate(batch_size), env
        return self.made_of.make(env, of_policy), env


def expand_routers(label: str | None, given: AnyRouter) -> Iterator[tuple[str, Router]]:
    """Yields the routers that a user gives as one, with their names."""
    if isinstance(given, Policy):
        name = label or short_name(given)
        yield name, Router(name, given)
        return
    for choice in PolicyChoice.expand(given):
        name = label or str(choice)
        yield name, Router(name, choice)


def route(policy: Policy, requests: Requests) -> Routed:
    """Returns what a policy gets on requests, from which it does not learn."""
    count = len(requests.scores)
    size = min(ROWS_A_CHOICE, count)
    rows = np.resize(np.arange(count), -(-count // size) * size)  # the last step may repeat some
    env = OutcomeStream(requests.contexts[rows], requests.scores[rows], batch_size=size)
    chooser = policy.replicate(size)
    time_step = env.reset()
    chosen = []
    for _ in range(len(rows) // size):
        action = chooser.action(time_step)
        chosen.append(action)
        time_step = env.step(action)
    models = np.concatenate(chosen)[:count]
    return follow(requests, models)


def follow(requests: Requests, models: Indices) -> Routed:
    """Returns what is got on requests if each row [n] goes to the model of a number."""
    every = np.arange(len(requests.scores))
    return Routed(requests.scores[every, models], requests.costs[every, models], models)
