"""Policies that spend a budget: bandits with knapsacks.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import abc
import math
import typing
import warnings
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Mask, Rng, as_numbers
from bandit_envs.base.checks import (
    MAX_PARAMETER,
    check_integer,
    check_number,
    check_positive,
    check_rewards,
)
from bandit_envs.environments import KnapsackBandit
from bandit_envs.nests import Nest
from bandit_envs.policies.beta_counts import BetaCounts, check_prior
from bandit_envs.policies.draws import argmax_random_ties
from bandit_envs.policies.learned import Warm
from bandit_envs.policies.policy import Actions, Policy, PolicyOptions
from bandit_envs.trajectories import StepType, TimeStep, Trajectory
from bandit_envs.wrappers import Budget, Wrapper

SMALLEST = 1e-12
"""The smallest price of an action, so that rewards can be divided by it."""

LEAST_SHARE = 3.0
"""A budget that pays each action fewer times, at the largest cost, is too tight to learn in."""

LEAST_SHARE_OF_C = 10.0
"""The same, as a multiple of the `c` of `PrimalDualPolicy`."""


class KnapsackPolicy(Policy):
    """Chooses the action that earns most for its price, and learns from rewards [B, 2].

    Experimental: it may change in any minor version.

    The first number of a row is the reward, from 0 to 1, and the second one the cost, from 0 to
    `max_cost`. `KnapsackBandit` and `OutcomeTableBandit` with costs pay such rewards. If the
    observation has an entry `budget`, a row without any budget left learns nothing.

    A subclass implements `_earnings`, and what it learns.

    Args:
        max_cost: the largest cost of a step, above 0.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.
    """

    reward_range = 0.0, 1.0

    def __init__(self, max_cost: float, **options: typing.Unpack[PolicyOptions]) -> None:
        self._max_cost = check_positive("max_cost", max_cost, maximum=MAX_PARAMETER)
        super().__init__(**options)

    @abc.abstractmethod
    def _earnings(self, rng: Rng, learned: Any, time_step: TimeStep) -> Floats:
        """Returns what every action earns for each unit of its price: [B, K]."""

    def _select(self, rng: Rng, learned: Any, time_step: TimeStep) -> Actions:
        earnings = self._earnings(rng, learned, time_step)
        return argmax_random_ties(rng, earnings, self._available(time_step.observation))

    def _check_rewards(self, reward: Any) -> Floats:
        """Returns rewards [B, 2] whose costs are shares of `max_cost`."""
        paid = as_numbers("reward is", reward)
        expected = self.batch_size, 2
        if paid.shape != expected:
            what = "a reward and a cost for each row"
            raise ValueError(f"reward has shape {paid.shape}; expected {expected}, {what}")
        earned = check_rewards(paid[:, 0], self.batch_size, *self.reward_range)
        spent = check_rewards(paid[:, 1], self.batch_size, 0.0, self._max_cost)
        return np.stack((earned, spent / self._max_cost), axis=1)


def _has_budget(observation: Nest, size: int) -> Mask:
    """Returns which rows have some of their budget left, as the observation tells: [B]."""
    if isinstance(observation, dict) and "budget" in observation:
        return np.asarray(observation["budget"] > 0.0)
    return np.ones(size, np.bool_)


class Posteriors(NamedTuple):
    """Beta posteriors of rewards, and of costs as shares of the largest."""

    rewards: BetaCounts
    costs: BetaCounts

    def start_warm(self, known: int, warm: Warm) -> None:
        """Starts the actions from `known` on, which have the prior, warm; in place."""
        for counts in self:
            counts.start_warm(known, warm)


class BudgetedThompsonSamplingPolicy(KnapsackPolicy):
    """Draws the reward and the cost of every action, and chooses the largest ratio.

    Experimental: it may change in any minor version.

        prior      r(a), c(a) ~ Beta(prior_successes, prior_failures)
        posterior  by the rewards R, and by the costs C / max_cost, of the actions chosen
        A_t = argmax_a r(a) / c(a),    both drawn from their posteriors

    With a budget B and no limit of steps, its regret grows like ln B. With a limit of steps that
    ends an episode before the budget is spent, `PrimalDualPolicy` spends more where that pays.

    Args:
        max_cost: the largest cost of a step, above 0.
        prior_successes: the first parameter of the prior of every action, from 0.1 to 1e6.
        prior_failures: the second parameter, from 0.1 to 1e6.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Xia, Li, Qin, Yu & Liu, Thompson Sampling for Budgeted Multi-armed Bandits (2015). Here,
    rewards and costs between 0 and 1 count as parts of a success; there, as one by chance.

    >>> from bandit_envs import StepDriver
    >>> from bandit_envs.environments import KnapsackBandit
    >>> env = KnapsackBandit([0.9, 0.5], [0.9, 0.1], budget=50, seed=0)
    >>> policy = BudgetedThompsonSamplingPolicy(num_actions=2, seed=1)
    >>> time_step = StepDriver(env, policy, [policy], num_steps=200).run()
    >>> policy.action(time_step)
    array([1], dtype=int32)
    """

    def __init__(
        self,
        max_cost: float = 1.0,
        prior_successes: float = 1.0,
        prior_failures: float = 1.0,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._prior_successes, self._prior_failures = check_prior(prior_successes, prior_failures)
        super().__init__(max_cost, **options)

    def _initial(self) -> Posteriors:
        prior = self._prior_successes, self._prior_failures
        rewards = BetaCounts.from_prior(self._table_shape, *prior)
        costs = BetaCounts.from_prior(self._table_shape, *prior)
        return Posteriors(rewards, costs)

    def _earnings(self, rng: Rng, learned: Posteriors, time_step: TimeStep) -> Floats:
        rewards = rng.beta(*learned.rewards)
        costs = rng.beta(*learned.costs)
        return np.asarray(rewards / np.maximum(costs, SMALLEST))

    def _learn(self, learned: Posteriors, trajectory: Trajectory) -> Posteriors:
        rows = _has_budget(trajectory.observation, self.batch_size)
        places = (self._row_offsets + trajectory.action)[rows]
        learned.rewards.add(places, trajectory.reward[rows, 0])
        learned.costs.add(places, trajectory.reward[rows, 1])
        return learned


class Spendings(NamedTuple):
    """What is known of every action, and the price of costs; updated in place."""

    counts: Floats  # how often it was chosen, [B, K]
    rewards: Floats  # the sum of its rewards, [B, K]
    costs: Floats  # the sum of its costs, [B, K]
    log_odds: Floats  # of the weight of costs against that of steps, [B]


class PrimalDualPolicy(KnapsackPolicy):
    """Chooses the largest ratio of reward to price. Costs become dearer if too much is spent.

    Experimental: it may change in any minor version.

        A_t = argmax_a u(a) / (w l(a) + (1 - w) rho),    rho = budget / (rounds max_cost)
        w / (1 - w) *= (1 + e)^(l(A_t) - rho),           e = sqrt(ln 2 / (budget / max_cost))

    Costs and steps are two resources, of which w and 1 - w are the prices. u(a) is an upper bound
    of the mean reward and l(a) a lower bound of the mean cost, as a share of `max_cost`: the mean m
    of n numbers, plus or less sqrt(c m / n) + c / n, within 0 and 1. Every action is chosen once
    first. The prices start anew with each episode; what is known of actions does not.

    A budget below num_actions max_cost max(10 c, 3) is too tight to learn in, and a warning says
    so: if all actions get an equal part of it, the bounds of their mean costs are still two fifths
    of the means away from these. In five problems of 3 to 10 actions and 3,000 rounds, with c from
    0.1 to 3, a third of this budget earned 0.3 to 0.7 of what the best single action earns with it;
    this budget, 0.5 to 0.9; and three times as much, 0.7 to 1.

    Args:
        budget: of each row in an episode, above 0. `arguments_for` finds it in a `KnapsackBandit`,
            and in a `Budget`, whose rows get equal shares.
        rounds: how many steps the budget is for, which `arguments_for` finds there, too.
        max_cost: the largest cost of a step, above 0.
        c: how much it explores, at least 0. The theory has c in the order of ln(K rounds).
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Badanidiyuru, Kleinberg & Slivkins, Bandits with Knapsacks (2018), algorithm
    PrimalDualBwK with one resource and time.

    >>> from bandit_envs import StepDriver
    >>> from bandit_envs.environments import KnapsackBandit
    >>> env = KnapsackBandit([0.9, 0.5], [0.9, 0.1], budget=150, rounds=300, seed=0)
    >>> policy = PrimalDualPolicy(seed=1, **PrimalDualPolicy.arguments_for(env))
    >>> time_step = StepDriver(env, policy, [policy], num_steps=300).run()
    """

    def __init__(
        self,
        budget: float | None = None,
        rounds: int | None = None,
        max_cost: float = 1.0,
        c: float = 1.0,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        if budget is None or rounds is None:
            found = f"budget is {budget} and rounds is {rounds}"
            raise ValueError(f"{found}; expected two numbers, as the environment tells none")
        self._c = check_number("c", c, 0.0, MAX_PARAMETER)
        super().__init__(max_cost, **options)
        self._budget = check_positive("budget", budget, maximum=MAX_PARAMETER)
        self._rounds = check_integer("rounds", rounds, minimum=1)
        size = self._budget / self._max_cost
        self._cost_of_step = size / self._rounds
        self._rate = math.log1p(math.sqrt(math.log(2.0) / size))
        each = self._max_cost * max(LEAST_SHARE_OF_C * self._c, LEAST_SHARE)
        if budget < self.num_actions * each:
            found = f"budget is {budget:g}, too tight to learn what {self.num_actions} actions cost"
            least = f"expected at least {self.num_actions * each:g}"
            warnings.warn(f"{found}; {least}", stacklevel=2)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        found = super().arguments_for(env)
        while isinstance(env, Wrapper):
            if isinstance(env, KnapsackBandit):
                return {**found, "budget": env.budget, "rounds": env.rounds}
            if isinstance(env, Budget):
                return {**found, "budget": env.budget / env.batch_size, "rounds": env.horizon}
            env = env.wrapped_env()
        return found

    def _initial(self) -> Spendings:
        shape = self._table_shape
        return Spendings(
            np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(self.batch_size)
        )

    def _earnings(self, rng: Rng, learned: Spendings, time_step: TimeStep) -> Floats:
        log_odds = np.where(time_step.step_type == StepType.FIRST, 0.0, learned.log_odds)
        weight = 1.0 / (1.0 + np.exp(-log_odds))[:, np.newaxis]
        mean = learned.rewards / np.maximum(learned.counts, 1.0)
        upper = np.minimum(mean + self._radius(mean, learned.counts), 1.0)
        price = weight * self._lower_costs(learned) + (1.0 - weight) * self._cost_of_step
        earnings = upper / np.maximum(price, SMALLEST)
        earnings[learned.counts == 0.0] = np.inf
        return earnings

    def _learn(self, learned: Spendings, trajectory: Trajectory) -> Spendings:
        learned.log_odds[trajectory.step_type == StepType.FIRST] = 0.0
        rows = np.flatnonzero(_has_budget(trajectory.observation, self.batch_size))
        action = trajectory.action[rows]
        lower = self._lower_costs(learned)[rows, action]
        change = self._rate * (lower - self._cost_of_step)
        learned.log_odds[rows] += np.where(learned.counts[rows, action] > 0.0, change, 0.0)
        learned.counts[rows, action] += 1.0
        learned.rewards[rows, action] += trajectory.reward[rows, 0]
        learned.costs[rows, action] += trajectory.reward[rows, 1]
        return learned

    def _lower_costs(self, learned: Spendings) -> Floats:
        """Returns lower confidence bounds of the mean costs, 0 of what is unknown: [B, K]."""
        mean = learned.costs / np.maximum(learned.counts, 1.0)
        return np.maximum(mean - self._radius(mean, learned.counts), 0.0)

    def _radius(self, mean: Floats, counts: Floats) -> Floats:
        """Returns how far the means of so many numbers may be off: [B, K]."""
        share = self._c / np.maximum(counts, 1.0)
        return np.asarray(np.sqrt(share * mean) + share)
