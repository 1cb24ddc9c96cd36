"""Actions that are numbers, such as prices or doses, with an optimum that contexts move.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs import rendering
from bandit_envs.arrays import Array, Floats, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import MAX_PARAMETER, check_integer, check_number, check_table
from bandit_envs.base.shown_bandit import shown_reward
from bandit_envs.environments.contexts.new_contexts import NewContexts
from bandit_envs.specs import ArraySpec, BoundedArraySpec

SHOWN_ACTIONS = 21
"""How many actions `render` shows."""


class ContinuousBandit(NewContexts, BanditPyEnvironment[Floats]):
    """Actions are numbers from `low` to `high`, and rewards fall with the distance to an optimum.

    Experimental: it may change in any minor version.

        x ~ N(0, I),    t(x) = b + w . x, cut off at low and high,
        R = 1 - ((a - t(x)) / (high - low))^2 + N(0, noise_std^2)

    The optimal action is t(x), whose expected reward is 1. Rows are users of one problem.

    Args:
        coefficients: [1 + D], b and then w. The observation is [B, D]; the action and the reward
            are [B].
        low: the smallest action.
        high: the largest action, above `low`. Actions are float32, and so are both bounds.
        noise_std: the standard deviation of the noise, at least 0.
        batch_size: B.

    Source: modelled on the continuous synthetic data of the Open Bandit Pipeline, whose rewards
    fall with the distance to a linear function of the context, too.

    >>> env = ContinuousBandit([0.5, 0.25], noise_std=0.0, seed=0)
    >>> time_step = env.reset()
    >>> best = env.optimal_action()
    >>> bool(np.isclose(best, 0.5 + 0.25 * time_step.observation[:, 0]).all())
    True
    >>> env.step(best).reward
    array([1.], dtype=float32)
    """

    skips_nan_check = True  # its contexts are finite numbers

    def __init__(
        self,
        coefficients: ArrayLike = (0.5, 0.2, -0.1),
        low: float = 0.0,
        high: float = 1.0,
        noise_std: float = 0.1,
        batch_size: int = 1,
        **options: typing.Unpack[Options],
    ) -> None:
        table = check_table("coefficients", coefficients, ndim=1)
        if len(table) < 2:
            expected = "at least 2: an intercept, and one for each number of a context"
            raise ValueError(f"coefficients has {len(table)} numbers; expected {expected}")
        bounds = (
            np.float32(check_number("low", low, -MAX_PARAMETER, MAX_PARAMETER)),
            np.float32(check_number("high", high, -MAX_PARAMETER, MAX_PARAMETER)),
        )
        if not bounds[0] < bounds[1]:
            raise ValueError(f"high is {high}; expected more than low, which is {low}")
        self._low, self._high = bounds
        self._intercept = float(table[0])
        self._slope = table[1:]
        self._width = float(self._high) - float(self._low)
        self._noise_std = check_number("noise_std", noise_std, 0.0, MAX_PARAMETER)
        super().__init__(
            ArraySpec(self._slope.shape, np.float64, "observation"),
            action_spec=BoundedArraySpec((), np.float32, self._low, self._high, "action"),
            batch_size=batch_size,
            **options,
        )
        self._context_shape = (self._batch_size, len(self._slope))

    def _initial_state(self, rng: Rng) -> Floats:
        return rng.standard_normal(self._context_shape)

    def _expected_reward(self, state: Floats, action: NDArray[np.float32]) -> Array:
        distance = (action - self._optimal_action(state).astype(np.float64)) / self._width
        return np.asarray(1.0 - distance**2)

    def _optimal_action(self, state: Floats) -> NDArray[np.float32]:
        # Rounded as actions are, so that its regret is exactly 0.
        best = self._intercept + state @ self._slope
        return np.clip(best, self._low, self._high).astype(np.float32)

    def _draw_rewards(self, rng: Rng, state: Floats, action: NDArray[np.float32]) -> Array:
        noise = self._noise_std * rng.standard_normal(self._batch_size)
        return np.asarray(self._expected_reward(state, action) + noise)

    def _rendered_arms(self, row: int) -> rendering.Arms:
        """Returns evenly spaced actions in place of arms."""
        index = check_integer("row", row, 0, self._batch_size - 1)
        bandit = self.bandit_state()
        is_new = bandit.action is None
        # The last action is shown beside the rewards that it could have brought.
        state = (bandit.state if is_new else bandit.previous)[[index]]
        shown = np.linspace(self._low, self._high, SHOWN_ACTIONS)
        action = [] if is_new else [self._place_of(bandit.action[index])]
        name = self._name if self._batch_size == 1 else f"{self._name}, row {index}"
        return rendering.Arms(
            title=f"{name}, {SHOWN_ACTIONS} actions from {self._low:g} to {self._high:g}",
            values=self._expected_reward(state, shown),
            optimal=[self._place_of(self._optimal_action(state)[0])],
            reward_std=self._noise_std or None,
            steps=bandit.steps,
            action=action,
            reward=shown_reward(self, index, len(action)),
        )

    def _place_of(self, action: float) -> int:
        """Returns the number of the action shown that is nearest to `action`."""
        return round((SHOWN_ACTIONS - 1) * (float(action) - float(self._low)) / self._width)
