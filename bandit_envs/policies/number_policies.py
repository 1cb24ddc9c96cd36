"""Policies whose actions are numbers within an interval; they know the densities of these.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import math
import typing
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import check_positive, check_table, short_repr
from bandit_envs.base.kind_of_actions import kind_of_actions
from bandit_envs.nests import Nest
from bandit_envs.policies.policy import BatchOptions, Policy
from bandit_envs.specs import ArraySpec, value_range
from bandit_envs.trajectories import TimeStep


class ContinuousPolicy(Policy):
    """Chooses a number within an interval for every row.

    Experimental: it may change in any minor version.

    Actions are [B], float32, and have densities in place of probabilities. A subclass implements
    `_select`, which draws within the interval, `_probability_of`, which returns the densities of
    actions [B], float64, and `_learn` if it learns. `num_actions` is 0: no action has a number.

    Args:
        action_spec: of the environment: one number with a lower and an upper bound.
        **options: `batch_size` and `seed`, as in `Policy`.

    >>> from bandit_envs.environments import ContinuousBandit
    >>> class Lowest(ContinuousPolicy):
    ...     def _select(self, rng, learned, time_step):
    ...         return np.full(self.batch_size, self._low)
    >>> env = ContinuousBandit(low=0.5)
    >>> Lowest(**Lowest.arguments_for(env)).action(env.reset())
    array([0.5], dtype=float32)
    """

    def __init__(self, *, action_spec: Nest, **options: typing.Unpack[BatchOptions]) -> None:
        self._low, self._high = _check_interval(action_spec)
        super().__init__(action_spec=action_spec, **options)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {"action_spec": env.action_spec(), "batch_size": env.batch_size}


class RandomNumberPolicy(ContinuousPolicy):
    """Chooses numbers uniformly at random.

    Experimental: it may change in any minor version.

        p(a) = 1 / (high - low)

    Args:
        action_spec: of the environment: one number with a lower and an upper bound.
        **options: `batch_size` and `seed`, as in `Policy`.

    >>> from bandit_envs.environments import ContinuousBandit
    >>> env = ContinuousBandit(low=1.0, high=3.0, seed=0)
    >>> policy = RandomNumberPolicy(action_spec=env.action_spec(), seed=0)
    >>> policy.probability_of(env.reset(), [1.5])
    array([0.5])
    """

    def _select(self, rng: Rng, learned: None, time_step: TimeStep) -> Floats:
        return rng.uniform(self._low, self._high, self.batch_size)

    def _probability_of(self, learned: None, time_step: TimeStep, action: Floats) -> Floats:
        return np.full(self.batch_size, 1.0 / (self._high - self._low))


class GaussianPolicy(ContinuousPolicy):
    """Chooses numbers from a normal distribution around a linear function of the context.

    Experimental: it may change in any minor version.

        a ~ N(m(x), std^2), given low <= a <= high,    m(x) = b + w . x, cut off at low and high

    Args:
        std: the standard deviation before the condition, at most the width of the interval.
        coefficients: [1 + D], b and then w; or b alone, to ignore contexts. By default, b is the
            middle of the interval.
        observation_spec: of the environment: vectors [D], or anything if contexts are ignored.
        action_spec: of the environment: one number with a lower and an upper bound.
        **options: `batch_size` and `seed`, as in `Policy`.

    >>> from bandit_envs.environments import ContinuousBandit
    >>> env = ContinuousBandit([0.5, 0.25], seed=0)
    >>> policy = GaussianPolicy(
    ...     0.1, [0.5, 0.25], seed=0, **GaussianPolicy.arguments_for(env))
    >>> time_step = env.reset()
    >>> bool(policy.probability_of(time_step, env.optimal_action())[0] > 3.9)
    True
    """

    def __init__(
        self,
        std: float = 0.1,
        coefficients: ArrayLike | None = None,
        *,
        observation_spec: Nest,
        action_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        super().__init__(action_spec=action_spec, **options)
        # So at least a third of the draws is within the interval.
        self._std = check_positive("std", std, maximum=self._high - self._low)
        middle = [0.5 * (self._low + self._high)]
        given = middle if coefficients is None else coefficients
        table = check_table("coefficients", given, ndim=1)
        self._coefficients = None if coefficients is None else table
        self._slope = table[1:]
        self._intercept = float(table[0]) if len(table) else 0.0
        shape = observation_spec.shape if isinstance(observation_spec, ArraySpec) else None
        if len(table) != 1 and self._slope.shape != shape:
            fits = f"1 + D for an observation [D], which is {short_repr(observation_spec)}"
            raise ValueError(f"coefficients has {len(table)} numbers; expected 1, or {fits}")

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {**super().arguments_for(env), "observation_spec": env.observation_spec()}

    def _select(self, rng: Rng, learned: None, time_step: TimeStep) -> Floats:
        means = self._means(time_step)
        drawn = rng.normal(means, self._std)
        while True:
            outside = np.flatnonzero((drawn < self._low) | (drawn > self._high))
            if not outside.size:
                return drawn
            drawn[outside] = rng.normal(means[outside], self._std)

    def _probability_of(self, learned: None, time_step: TimeStep, action: Floats) -> Floats:
        means = self._means(time_step)
        distance = (action - means) / self._std
        normal = np.exp(-0.5 * distance**2) / (math.sqrt(2.0 * math.pi) * self._std)
        below = _normal_cdf((self._low - means) / self._std)
        above = _normal_cdf((means - self._high) / self._std)
        return np.asarray(normal / (1.0 - below - above))

    def _means(self, time_step: TimeStep) -> Floats:
        """Returns m(x): [B]."""
        if not self._slope.size:
            return np.full(self.batch_size, np.clip(self._intercept, self._low, self._high))
        means = self._intercept + time_step.observation @ self._slope
        return np.asarray(np.clip(means, self._low, self._high))


def _normal_cdf(values: Floats) -> NDArray[np.float64]:
    """Returns the probabilities that a standard normal number is at most `values` [B]."""
    errors = [math.erfc(-value / math.sqrt(2.0)) for value in values.tolist()]
    return 0.5 * np.array(errors)


def _check_interval(spec: Nest) -> tuple[float, float]:
    """Returns the bounds of a spec of one number; ValueError for other specs, or without bounds."""
    kind = kind_of_actions(spec)
    if kind.is_number:
        low, high = value_range(kind.spec)
        if -math.inf < low < high < math.inf:
            return low, high
    expected = "one floating-point number with two bounds that differ"
    raise ValueError(f"action_spec is {short_repr(spec)}; expected {expected}")
