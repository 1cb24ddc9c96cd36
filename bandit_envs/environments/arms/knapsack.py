"""A bandit whose actions cost something, with a budget: bandits with knapsacks.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import math
import typing
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Floats, Indices, Mask, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import (
    MAX_PARAMETER,
    check_integer,
    check_positive,
    check_table,
    short_repr,
)
from bandit_envs.base.hook_results import RunOptimum
from bandit_envs.base.known_means import Means
from bandit_envs.nests import Nest
from bandit_envs.specs import BoundedArraySpec
from bandit_envs.trajectories import TimeStep
from bandit_envs.wrappers.shared import with_entries
from bandit_envs.wrappers.wrapper import Wrapper


class CostlyArms(BanditPyEnvironment[None]):
    """Arms that pay 1 or 0 and cost 1 or 0. Each row is an independent run.

        P(R_t = 1) = rewards[A_t],    P(C_t = 1) = costs[A_t]

    A reward is the vector [2] of R and C, which are independent.

    Args:
        rewards: [K], the probabilities of a reward of 1.
        costs: [K], the probabilities of a cost of 1.
        batch_size: B.

    >>> env = CostlyArms([1.0, 0.0], [0.0, 1.0], batch_size=2, seed=0)
    >>> time_step = env.reset()
    >>> env.step([0, 1]).reward.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    independent_rows = True

    def __init__(
        self,
        rewards: ArrayLike,
        costs: ArrayLike,
        batch_size: int = 1,
        **options: typing.Unpack[Options],
    ) -> None:
        earned = check_table("rewards", rewards, 1, 0.0, 1.0)
        paid = check_table("costs", costs, 1, 0.0, 1.0)
        if paid.shape != earned.shape:
            raise ValueError(f"costs has {len(paid)} numbers; expected {len(earned)}, as rewards")
        spec = BoundedArraySpec((2,), np.float32, 0.0, 1.0, "reward")
        super().__init__(None, len(earned), spec, batch_size=batch_size, **options)
        self._means = np.stack((earned, paid), axis=-1)

    def _initial_state(self, rng: Rng) -> None:
        return None

    def _expected_rewards(self, state: None) -> Array:
        return np.broadcast_to(self._means, (self._batch_size, *self._means.shape))

    def _draw_rewards(self, rng: Rng, state: None, action: Indices) -> Array:
        return np.asarray(rng.random((self._batch_size, 2)) < self._means[action])


class ShadowPrices(NamedTuple):
    """What the best mix of actions would earn more with a larger budget, and with more rounds.

    They solve the linear program in which costs keep to the budget on average. Its value, `of_cost`
    times the budget, rounded up, plus `of_round` times the number of rounds, is a bound of what any
    policy earns. Without a limit of rounds, the best action reaches it.
    """

    of_cost: float  # for one unit more of the budget
    of_round: float  # for one round more


class Spending(NamedTuple):
    """What each row has used so far, and whether its last action was paid: [B] each."""

    spent: Floats
    rounds: Indices
    was_paid: Mask


class KnapsackBandit(Wrapper):
    """Arms that pay 1 or 0 and cost 1 or 0, with a budget for each row: bandits with knapsacks.

    Experimental: it may change in any minor version.

        P(R_t = 1) = rewards[A_t],    P(C_t = 1) = costs[A_t]

    A reward is the vector [2] of R and C. Each row is an independent run. Once it has spent its
    budget or played all rounds, everything pays 0 and costs 0, until a reset. The observation is a
    dict with an entry `budget` [B]: the share of the budget that is left, and 0 once a row is over.

    Args:
        rewards: [K], the probabilities of a reward of 1.
        costs: [K], the probabilities of a cost of 1.
        budget: of each row, at least 1.
        rounds: how many rounds a row has at most; None for no limit. Then all costs are above 0.
        batch_size: B.

    Source: Badanidiyuru, Kleinberg & Slivkins, Bandits with Knapsacks (2018), with one resource.

    >>> env = KnapsackBandit([1.0, 0.0], [1.0, 0.5], budget=2, batch_size=2, seed=0)
    >>> env.reset().observation["budget"], env.step([0, 0]).observation["budget"]
    (array([1., 1.], dtype=float32), array([0.5, 0.5], dtype=float32))
    >>> env.step([0, 0]).observation["budget"], env.step([0, 0]).reward[0]
    (array([0., 0.], dtype=float32), array([0., 0.], dtype=float32))
    """

    independent_rows = True
    actions_change_state = True

    def __init__(
        self,
        rewards: ArrayLike = (0.4, 0.6, 0.9),
        costs: ArrayLike = (0.2, 0.5, 0.9),
        budget: float = 100.0,
        rounds: int | None = None,
        batch_size: int = 1,
        **options: typing.Unpack[Options],
    ) -> None:
        arms = CostlyArms(rewards, costs, batch_size, **options)
        super().__init__(arms)
        self._earned, self._paid = arms._means.T
        self.budget = check_positive("budget", budget, 1.0, MAX_PARAMETER)  #: of each row
        self._num_costs = math.ceil(self.budget)  # costs are 0 or 1
        self.rounds = None if rounds is None else check_integer("rounds", rounds, 1)  #: or no limit
        if rounds is None and not self._paid.all():
            expected = "expected numbers above 0, as rounds is None"
            raise ValueError(f"costs is {short_repr(costs)}; {expected}")
        self._shadow_prices = self._find_shadow_prices()
        share = BoundedArraySpec((), np.float32, 0.0, 1.0, "budget")
        self._observation_spec = with_entries(arms.observation_spec(), budget=share)

    @property
    def shadow_prices(self) -> ShadowPrices:
        """What one unit more of the budget, and one round more, would add to the optimum."""
        return self._shadow_prices

    @property
    def optimum(self) -> float:
        """What the best policy is expected to earn until the budget or the rounds end.

        With a limit of rounds, it takes time proportional to the rounds times the budget.
        """
        if self.rounds is None:
            return self._shadow_prices.of_cost * self._num_costs
        return float(self.optimum_of_run(self.rounds).earned[-1])

    def optimum_of_run(self, num_steps: int) -> RunOptimum:
        steps = check_integer("num_steps", num_steps, minimum=1)
        rounds = steps if self.rounds is None else min(steps, self.rounds)
        value = np.zeros(min(self._num_costs, rounds) + 1)  # with 0, 1, ... costs left to pay
        earned = np.zeros(steps)
        stays = 1.0 - self._paid[:, np.newaxis]
        for step in range(rounds):
            after = np.multiply.outer(self._paid, value[:-1]) + stays * value[1:]
            value[1:] = (self._earned[:, np.newaxis] + after).max(axis=0)
            earned[step] = value[-1]
        earned[rounds:] = value[-1]
        return RunOptimum(earned, "all policies")

    def _find_shadow_prices(self) -> ShadowPrices:
        """Returns the solution of the dual of the linear program."""
        if self.rounds is None:
            return ShadowPrices(float((self._earned / self._paid).max()), 0.0)
        prices = _find_prices(self._earned, self._paid)
        values = (self._earned - np.multiply.outer(prices, self._paid)).max(axis=1).clip(0.0)
        best = (prices * self._num_costs + values * self.rounds).argmin()
        return ShadowPrices(float(prices[best]), float(values[best]))

    def _reset(self) -> tuple[Spending, TimeStep]:
        size = self._batch_size
        used = Spending(np.zeros(size), np.zeros(size, np.intp), np.zeros(size, np.bool_))
        return used, self._with_budget(self._env.reset(), used)

    def _step(self, action: Nest) -> tuple[Spending, TimeStep]:
        before: Spending = self._state.latent
        is_paid = self._goes_on(before)
        time_step = self._env.step(action)
        reward = time_step.reward * is_paid[:, np.newaxis]
        spent = before.spent + reward[:, 1]
        used = Spending(spent, before.rounds + is_paid, is_paid)
        return used, self._with_budget(time_step._replace(reward=reward), used)

    def _goes_on(self, used: Spending) -> Mask:
        """Returns which rows have budget and rounds left: [B]."""
        goes_on: Mask = used.spent < self.budget
        return goes_on if self.rounds is None else goes_on & (used.rounds < self.rounds)

    def _with_budget(self, time_step: TimeStep, used: Spending) -> TimeStep:
        """Returns a time step whose observation tells which share of its budget a row has left."""
        left = np.where(self._goes_on(used), 1.0 - used.spent / self.budget, 0.0)
        observation = with_entries(time_step.observation, budget=left.astype(np.float32))
        return time_step._replace(observation=observation)

    def _change_means(self, means: Means, are_met: bool) -> Means:
        used: Spending = self._state.latent
        is_paid = used.was_paid if are_met else self._goes_on(used)
        return Means.of_table(self._name, means.table * is_paid[:, np.newaxis, np.newaxis])


def _find_prices(rewards: Floats, costs: Floats) -> Floats:
    """Returns the prices of a cost of 1 at which the best action, or none, may change: [n]."""
    gained = np.append(rewards, 0.0)  # with the choice of doing nothing
    spent = np.append(costs, 0.0)
    more_gained = np.subtract.outer(gained, gained)
    more_spent = np.subtract.outer(spent, spent)
    differs = more_spent > 0.0
    prices = more_gained[differs] / more_spent[differs]
    return np.append(prices[prices > 0.0], 0.0)
