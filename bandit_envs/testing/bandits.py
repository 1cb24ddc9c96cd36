"""The part of the contract on expected rewards, for environments that know theirs."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.testing.comparison import assert_identical, require
from bandit_envs.testing.plays import ContractPart, expected_rewards

STANDARD_ERRORS = 6.0
FEWEST = 100
"""Groups of fewer rewards than these are left out: their own spread tells too little."""


class BanditContract(ContractPart):
    """What a bandit says of its rewards agrees with itself and with the rewards."""

    def test_optimal_actions_have_the_largest_expected_reward(self) -> None:
        environment: Any = self.make_environment(1)
        environment.reset()
        rng = np.random.default_rng(0)
        rows = np.arange(environment.batch_size)
        for index in range(self.num_steps):
            expected = expected_rewards(environment)
            shape = environment.batch_size, environment.num_actions
            require(
                expected.shape == shape,
                f"expected_rewards() has shape {expected.shape}; expected {shape}",
            )
            name = f"after {index} steps"
            largest = expected.max(axis=1)
            chosen = environment.optimal_action()
            require(chosen.dtype == np.int32, f"optimal_action() is {chosen.dtype}; not int32")
            assert_identical(expected[rows, chosen], largest, f"that of optimal_action() {name}")
            assert_identical(environment.optimal_reward(), largest, f"optimal_reward() {name}")
            environment.step(self.draw_action(rng, environment))

    def test_info_describes_the_last_step(self) -> None:
        environment: Any = self.make_environment(1)
        environment.reset()
        expected_rewards(environment)
        rng = np.random.default_rng(0)
        rows = np.arange(environment.batch_size)
        for index in range(self.num_steps):
            expected, optimal = expected_rewards(environment), environment.optimal_action()
            action = self.draw_action(rng, environment)
            time_step = environment.step(action)
            info = environment.get_info()
            name = f"get_info() after {index + 1} steps"
            if time_step.is_first().all():
                require(info is None, f"{name} is {info}; expected None after a reset")
                continue
            require(isinstance(info, dict), f"{name} is {info}; expected a dict")
            for key, value in (
                ("expected_reward", expected[rows, action]),
                ("optimal_reward", expected[rows, optimal]),
                ("optimal_action", optimal),
            ):
                require(key in info, f"{name} has the keys {list(info)}; expected {key!r} too")
                assert_identical(info[key], value, f"{name}[{key!r}]")

    def test_the_mean_of_many_rewards_is_the_expected_reward(self) -> None:
        """Holds means of reward - expected reward to 6 standard errors.

        The means are over all rewards, over those of each action, and over those of each row and
        action; one more, weighted by the expected rewards, sees rewards that went to other rows.
        """
        errors, means, rows, actions = self._many_rewards()
        size = 1.0 + max(float(np.abs(means).max()), float(np.abs(errors).max()))
        rounding = 8.0 * float(np.finfo(np.float32).eps) * size
        num_actions = actions.max() + 1
        weights = means - means.mean()
        rounding *= max(1.0, float(np.abs(weights).max()))
        everything = np.zeros_like(actions)
        for group, values, name in (
            (everything, errors, "all rewards"),
            (everything, errors * weights, "all rewards, weighted by the expected ones"),
            (actions, errors, "action {action}"),
            (rows * num_actions + actions, errors, "row {row} and action {action}"),
        ):
            for label in np.flatnonzero(np.bincount(group) >= FEWEST):
                chosen = values[group == label]
                # Rewards that are rarely other than 0 may all be 0 in a group.
                error = max(chosen.std(), values.std()) / np.sqrt(len(chosen))
                bound = STANDARD_ERRORS * error + rounding
                row, action = divmod(label, num_actions)
                require(
                    abs(chosen.mean()) <= bound,
                    f"of {name.format(row=row, action=action)}, the mean is {chosen.mean():.3g} "
                    f"off the expected, over {len(chosen)}; expected at most {bound:.3g}",
                )

    def _many_rewards(self) -> tuple[NDArray[Any], ...]:
        """Draws `num_rewards` or more; returns errors, expected rewards, rows and actions."""
        environment: Any = self.make_environment(1)
        environment.reset()
        expected_rewards(environment)
        rng = np.random.default_rng(0)
        rows = np.arange(environment.batch_size)
        found: list[tuple[NDArray[Any], ...]] = []
        while len(found) * environment.batch_size < self.num_rewards:
            if environment.should_reset(environment.current_time_step()):
                environment.reset()
            expected = expected_rewards(environment)
            action = self.draw_action(rng, environment)
            if np.shape(action) != rows.shape:
                raise unittest.SkipTest(f"{environment.name} takes more than one number a row")
            mean = expected[rows, action].astype(np.float64)
            reward = environment.step(action).reward
            found.append((reward - mean, mean, rows, action.astype(np.int64)))
        errors, means, at, actions = (np.concatenate(column) for column in zip(*found))
        return errors, means, at, actions
