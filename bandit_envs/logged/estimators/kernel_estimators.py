"""Off-policy estimators for actions that are numbers, such as prices or doses.

Experimental: these names may change in any minor version.

A deterministic policy takes the action t_i where the log has a_i, drawn with the density p_i. A
kernel k lets rows count whose actions are near the policy's:

    w_i = k((t_i - a_i) / bandwidth) / (bandwidth p_i)

A small bandwidth leaves few rows; a large one is biased by rewards of actions farther away. The
bias grows with the square of the bandwidth h, so the values at h and h/2 tell how large it is:

    bias of V_h, about  4/3 (V_h - V_(h/2))

An `Estimate` has it as `bias`, and a warning says so if it is more than noise. `slope` and `tuned`
choose among bandwidths.

Source: Richardson's extrapolation; Calonico, Cattaneo & Farrell, On the effect of bias estimation
on coverage accuracy in nonparametric inference (2018).
"""

from __future__ import annotations

import dataclasses
import math
import operator
import warnings
from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats, check_array
from bandit_envs.base.checks import check_positive, short_repr
from bandit_envs.logged.columns import (
    MIN_PROPENSITY,
    as_column,
    check_each,
    check_reward_range,
)
from bandit_envs.logged.estimators.estimate import Estimate, EstimateSums
from bandit_envs.logged.estimators.kernels import epanechnikov
from bandit_envs.logged.estimators.sums.ratio_sums import RatioSums
from bandit_envs.logged.estimators.terms import Terms
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.rows.units import as_units
from bandit_envs.logged.translation import see_as
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.nests import map_structure
from bandit_envs.policies import Policy
from bandit_envs.rounding import is_rounding
from bandit_envs.trajectories import restart

ROWS = 1024  # shown to a policy at a time
OF_BANDWIDTHS = 2  # ratios, of a self-normalised estimate at a bandwidth and at half of it
MOVED = 2.0  # standard errors of an estimated bias, above which there is a warning
EXTRAPOLATION = 4.0 / 3.0  # of the difference at half the bandwidth to that at a bandwidth of 0

Found: TypeAlias = Literal["rule", "slope"]
"""How a bandwidth is found."""

Bandwidth: TypeAlias = float | Found
"""A bandwidth, or how it is found."""

FACTOR = 2.34
"""The bandwidth of the rule is so many standard deviations of the actions, times n^(-1/5)."""

SHARES = (2.0, 1.0, 0.5, 0.25, 0.125)
"""SLOPE chooses among so many times the bandwidth of the rule, if no others are given."""


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
            `bandit_envs.logged.estimators.kernels`.
        self_normalized: whether it divides by the mean weight. Then it is biased less at the ends
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
    self_normalized: bool = dataclasses.field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_positive("bandwidth", self.bandwidth)

    def estimate(
        self,
        reward: ArrayLike,
        density: ArrayLike,
        action: ArrayLike,
        policy_action: ArrayLike,
        *,
        unit: ArrayLike | None = None,
    ) -> Estimate:
        """Estimates the mean reward that a policy would have earned.

        Args:
            reward: [n], of at least two rows.
            density: [n], with which the action was drawn, at least 1e-40.
            action: [n], the actions in the log.
            policy_action: [n], the actions of the policy in the same contexts.
            unit: [n], the unit of each row, as `BanditLog.unit`; None if each is one of its own.

        Warns:
            UserWarning: the effective sample size is below 200, weights have a heavy tail, their
                mean is not near 1, or the estimate moves with the bandwidth.
        """
        terms = self.terms(reward, density, action, policy_action, unit=unit)
        return _estimate(terms, self.bandwidth)

    def terms(
        self,
        reward: ArrayLike,
        density: ArrayLike,
        action: ArrayLike,
        policy_action: ArrayLike,
        *,
        unit: ArrayLike | None = None,
    ) -> Terms:
        """Returns what each row adds to the estimate; `terms.sums()` of parts of a log merge."""
        weights = self.weigh(density, action, policy_action)
        near = dataclasses.replace(self, bandwidth=0.5 * self.bandwidth)
        nearer = near.weigh(density, action, policy_action)
        rewards = _as_rewards("reward", reward, weights.shape)
        direct = np.zeros_like(rewards)
        weighted = check_reward_range("the weighted reward", weights * rewards)
        left_out = None
        extrapolated = None
        if self.self_normalized:
            slots = [EXTRAPOLATION * nearer * rewards, (1.0 - EXTRAPOLATION) * weighted]
            extrapolated = np.vstack([direct, *slots, nearer, weights])
        else:
            left_out = EXTRAPOLATION * (nearer - weights) * rewards
        return Terms(
            direct=direct,
            weighted=weighted,
            weights=weights[np.newaxis],
            normaliser=weights if self.self_normalized else None,
            left_out=left_out,
            estimator=_name(self),
            unchanged=extrapolated,
            has_bandwidth=True,
            unit=None if unit is None else as_units(unit),
        )

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
        *,
        unit: ArrayLike | None = None,
    ) -> Estimate:
        """Estimates the mean reward that a policy would have earned.

        Args:
            reward: [n], as for `KernelIPS.estimate`.
            density: [n], as there.
            action: [n], as there.
            policy_action: [n], as there.
            predicted_rewards: [n], of the policy's actions.
            unit: [n], as there.

        Warns:
            UserWarning: as `KernelIPS.estimate`.
        """
        columns = (density, action, policy_action)
        weights = KernelIPS(self.bandwidth, self.kernel).weigh(*columns)
        nearer = KernelIPS(0.5 * self.bandwidth, self.kernel).weigh(*columns)
        rewards = _as_rewards("reward", reward, weights.shape)
        predicted = _as_rewards("predicted_rewards", predicted_rewards, weights.shape)
        errors = rewards - predicted
        terms = Terms(
            direct=predicted,
            weighted=check_reward_range("the weighted error", weights * errors),
            weights=weights[np.newaxis],
            left_out=EXTRAPOLATION * (nearer - weights) * errors,
            estimator=_name(self),
            has_bandwidth=True,
            unit=None if unit is None else as_units(unit),
        )
        return _estimate(terms, self.bandwidth)


def actions_of(policy: Policy, log: BanditLog) -> Floats:
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
    observations = see_as(policy.encoding, log)
    actions = np.empty(len(log))
    for start in range(0, len(log), size):
        rows = np.arange(start, start + size) % len(log)  # the last batch is filled up
        observation = map_structure(operator.itemgetter(rows), observations)
        found = shown.action(restart(observation, size))
        actions[start : start + size] = found[: len(log) - start]
    return actions


def _as_rewards(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Returns a column of rewards [n]."""
    rewards = check_reward_range(name, as_column(name, value, ndim=1))
    check_array(f"{name} has", rewards, shape)
    return rewards


def _name(estimator: KernelIPS | KernelDR) -> str:
    """Returns an estimator with its parameters as text, which is the same in every process."""
    kernel = getattr(estimator.kernel, "__qualname__", type(estimator.kernel).__qualname__)
    named = f"{type(estimator).__name__}({estimator.bandwidth!r}, {kernel}"
    if isinstance(estimator, KernelIPS):
        named += f", self_normalized={estimator.self_normalized}"
    return f"{named})"


def find_moved(sums: EstimateSums, bandwidth: float) -> list[str]:
    """Returns a reason to distrust an estimate, if half the bandwidth changes it beyond noise.

    Args:
        sums: of the terms of `KernelIPS` or `KernelDR`.
        bandwidth: of these.
    """
    bias = sums.bias()
    noise = sums.noise_of_bias()
    if isinstance(sums.unbiased, RatioSums) and len(sums.unbiased.ratios) == OF_BANDWIDTHS:
        # The bias V_h - (4/3 V_(h/2) - 1/3 V_h) as a sum of the two ratios that are extrapolated.
        factors = np.array([-1.0, 1.0 / (1.0 - EXTRAPOLATION) - 1.0])
        noise = sums.unbiased.standard_error_of(factors)
    if abs(bias) <= max(MOVED * noise, sums.main.standard_error()):
        return []
    value = sums.main.value()
    near = value - bias / EXTRAPOLATION
    found = f"the estimate moves with the bandwidth: {value:.4g} at {bandwidth:.4g}"
    advice = "its interval allows for that, and a smaller bandwidth moves less"
    return [f"{found}, and {near:.4g} at {0.5 * bandwidth:.4g}; {advice}"]


def _estimate(terms: Terms, bandwidth: float) -> Estimate:
    """Returns the estimate of all rows, and warns where the caller of `estimate` has called it."""
    sums = terms.sums()
    estimate = sums.estimate([terms], stacklevel=4)
    for problem in find_moved(sums, bandwidth):
        warnings.warn(problem, stacklevel=3)
    return estimate


@dataclasses.dataclass(frozen=True)
class NumberSums:
    """What a part of a log says of its actions. Those of parts merge.

    Args:
        actions: their statistics.
        low: the lowest.
        high: the highest.
    """

    actions: Statistics
    low: float
    high: float

    @classmethod
    def from_actions(cls, actions: ArrayLike) -> NumberSums:
        """Returns the sums of actions [n]."""
        values = np.asarray(actions, np.float64)
        low = float(values.min(initial=math.inf))
        high = float(values.max(initial=-math.inf))
        return cls(Statistics.from_values(values), low, high)

    def merge(self, other: NumberSums) -> NumberSums:
        """Returns the sums of the rows of both."""
        actions = self.actions.merge(other.actions)
        return NumberSums(actions, min(self.low, other.low), max(self.high, other.high))

    def bandwidth(self) -> float:
        """Returns the bandwidth of the rule; ValueError if all actions are the same."""
        std = math.sqrt(float(self.actions.squared_deviation) / self.actions.count)
        if is_rounding(std, self.actions.mean):
            raise ValueError("all actions of the log are the same; expected some that differ")
        return FACTOR * std / math.pow(self.actions.count, 0.2)


@dataclasses.dataclass(frozen=True)
class KernelOfLog:
    """`KernelIPS` with a bandwidth that follows from the log.

    Args:
        bandwidth: "rule" is 2.34 standard deviations of the actions, times n^(-1/5), which is right
            for a normal distribution of them. "slope" chooses for each policy, as `slope` does.
        self_normalized: as for `KernelIPS`.
    """

    bandwidth: Found
    self_normalized: bool


def make_kernel_ips(bandwidth: Bandwidth = "rule") -> KernelIPS | KernelOfLog:
    """Averages rewards of near actions: mean(w r). The bandwidth is a number, rule or slope."""
    return _make_kernel(bandwidth, self_normalized=False)


def make_kernel_snips(bandwidth: Bandwidth = "rule") -> KernelIPS | KernelOfLog:
    """Averages rewards of near actions: sum(w r) / sum(w), with a bandwidth as of kernel_ips."""
    return _make_kernel(bandwidth, self_normalized=True)


def _make_kernel(bandwidth: Bandwidth, *, self_normalized: bool) -> KernelIPS | KernelOfLog:
    if not isinstance(bandwidth, str):
        return KernelIPS(check_positive("bandwidth", bandwidth), self_normalized=self_normalized)
    if bandwidth not in get_args(Found):
        expected = "a number above 0, 'rule' or 'slope'"
        raise ValueError(f"bandwidth is {short_repr(bandwidth)}; expected {expected}")
    return KernelOfLog(bandwidth, self_normalized)
