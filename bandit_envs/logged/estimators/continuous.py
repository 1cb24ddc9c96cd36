"""Off-policy estimators for actions that are numbers, such as prices or doses.

Experimental: these names may change in any minor version.

A deterministic policy takes the action t_i where the log has a_i, drawn with the density p_i. A
kernel k lets rows count whose actions are near the policy's:

    w_i = k((t_i - a_i) / bandwidth) / (bandwidth p_i)

A small bandwidth leaves few rows; a large one is biased by rewards of actions farther away.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats, check_array
from bandit_envs.base.checks import check_positive
from bandit_envs.logged.columns import as_column, check_each, check_reward_range
from bandit_envs.logged.estimators.estimate import Estimate, Terms
from bandit_envs.logged.kernels import epanechnikov
from bandit_envs.logged.log import MIN_PROPENSITY, BanditLog
from bandit_envs.nests import map_structure
from bandit_envs.policies import ContinuousPolicy
from bandit_envs.trajectories import restart

ROWS = 1024  # shown to a policy at a time


@dataclasses.dataclass(frozen=True)
class KernelIPS:
    """Averages rewards of near actions: mean(w r), or self-normalised, sum(w r) / sum(w).

    Experimental: it may change in any minor version.

    It is biased where rewards are not linear within a bandwidth of the policy's actions; by how
    much grows with the square of the bandwidth. It is too small, for rewards above 0, where actions
    are limited to an interval and the policy's are within a bandwidth of its ends.

    Args:
        bandwidth: above 0, in units of the actions.
        kernel: a function of distances in bandwidths, which integrates to 1, such as those of
            `bandit_envs.logged.kernels`.
        self_normalised: whether it divides by the mean weight. Then it is biased less at the ends
            of an interval, and a little where logs are short.

    Source: Kallus & Zhou, Policy evaluation and optimization with continuous treatments (2018).

    >>> rng = np.random.default_rng(0)
    >>> action = rng.uniform(0.0, 2.0, 20_000)
    >>> reward = 1.0 - (action - 1.5) ** 2
    >>> policy = np.full(20_000, 1.5)
    >>> estimate = KernelIPS(0.1).estimate(reward, np.full(20_000, 0.5), action, policy)
    >>> abs(estimate.value - 1.0) < 0.05
    True
    """

    bandwidth: float
    kernel: Callable[[Floats], Floats] = epanechnikov
    self_normalised: bool = dataclasses.field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_positive("bandwidth", self.bandwidth)

    def estimate(
        self, reward: ArrayLike, density: ArrayLike, action: ArrayLike, policy_action: ArrayLike
    ) -> Estimate:
        """Estimates the mean reward that a policy would have earned.

        Args:
            reward: [n], of at least two rows.
            density: [n], with which the action was drawn, at least 1e-40.
            action: [n], the actions in the log.
            policy_action: [n], the actions of the policy in the same contexts.

        Warns:
            UserWarning: the effective sample size is below 200, weights have a heavy tail, or their
                mean is not near 1.
        """
        weights = self.weigh(density, action, policy_action)
        rewards = _as_rewards("reward", reward, weights.shape)
        terms = Terms(
            direct=np.zeros_like(rewards),
            weighted=check_reward_range("the weighted reward", weights * rewards),
            weights=weights[np.newaxis],
            normaliser=weights if self.self_normalised else None,
        )
        return terms.sums().estimate([terms], stacklevel=2)

    def weigh(self, density: ArrayLike, action: ArrayLike, policy_action: ArrayLike) -> Floats:
        """Returns the weights of the rows: [n]. The arguments are those of `estimate`."""
        densities = as_column("density", density, ndim=1)
        check_each("density", densities, densities >= MIN_PROPENSITY, f"at least {MIN_PROPENSITY}")
        actions = as_column("action", action, ndim=1)
        check_array("action has", actions, densities.shape)
        targets = as_column("policy_action", policy_action, ndim=1)
        check_array("policy_action has", targets, densities.shape)
        near = self.kernel((targets - actions) / self.bandwidth)
        return np.asarray(near / (self.bandwidth * densities))


@dataclasses.dataclass(frozen=True)
class KernelDR:
    """Corrects predicted rewards q of the policy's actions: mean(q + w (r - q)).

    Experimental: it may change in any minor version.

    It is biased as `KernelIPS` is, by what the predictions are wrong about: even good ones are of
    the policy's action, and not of the near one that earned the reward.

    Args:
        bandwidth, kernel: as for `KernelIPS`.

    Source: as for `KernelIPS`.
    """

    bandwidth: float
    kernel: Callable[[Floats], Floats] = epanechnikov

    def __post_init__(self) -> None:
        check_positive("bandwidth", self.bandwidth)

    def estimate(
        self,
        reward: ArrayLike,
        density: ArrayLike,
        action: ArrayLike,
        policy_action: ArrayLike,
        predicted_rewards: ArrayLike,
    ) -> Estimate:
        """Estimates the mean reward that a policy would have earned.

        Args:
            reward: [n], as for `KernelIPS.estimate`.
            density: [n], as there.
            action: [n], as there.
            policy_action: [n], as there.
            predicted_rewards: [n], of the policy's actions.

        Warns:
            UserWarning: as `KernelIPS.estimate`.
        """
        weights = KernelIPS(self.bandwidth, self.kernel).weigh(density, action, policy_action)
        rewards = _as_rewards("reward", reward, weights.shape)
        predicted = _as_rewards("predicted_rewards", predicted_rewards, weights.shape)
        weighted = check_reward_range("the weighted error", weights * (rewards - predicted))
        terms = Terms(direct=predicted, weighted=weighted, weights=weights[np.newaxis])
        return terms.sums().estimate([terms], stacklevel=2)


def actions_of(policy: ContinuousPolicy, log: BanditLog) -> Floats:
    """Returns the actions that a policy, which does not learn, would draw: [n].

    Experimental: it may change in any minor version.

    The policy stays as it is, so another call returns the same actions.

    Args:
        policy: chooses numbers. The estimators of this module are made for one that hardly varies;
            of another, they estimate what it would earn if it drew these very actions.
        log: n decisions.
    """
    size = max(1, min(ROWS, len(log)))
    shown = policy.replicate(size)
    actions = np.empty(len(log))
    for start in range(0, len(log), size):
        rows = np.arange(start, start + size) % len(log)  # the last batch is filled up
        observation = map_structure(operator.itemgetter(rows), log.observation)
        found = shown.action(restart(observation, size))
        actions[start : start + size] = found[: len(log) - start]
    return actions


def _as_rewards(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Returns a column of rewards [n]."""
    rewards = check_reward_range(name, as_column(name, value, ndim=1))
    check_array(f"{name} has", rewards, shape)
    return rewards
