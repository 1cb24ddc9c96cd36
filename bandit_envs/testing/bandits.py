"""The part of the contract on expected rewards, for bandits that know theirs."""

from __future__ import annotations

import itertools
import unittest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.testing.comparison import assert_identical, require
from bandit_envs.testing.rollout import ContractPart, Rollout, availability, require_refusal

STANDARD_ERRORS = 6.0
MIN_REWARDS = 100
"""The smallest group of rewards whose mean is tested: of fewer, the spread is uncertain."""


class BanditContract(ContractPart):
    """What a bandit says about its rewards agrees with itself and with the rewards."""

    def test_optimal_actions_have_the_largest_expected_reward(self) -> None:
        environment, rollout, indexed = self._rollout_with("optimal_action")
        for index, view in enumerate(rollout.views):
            name, most = f"optimal_action() after {index} steps", view["optimal_reward"]
            require(view["optimal_action"].dtype == np.int32, f"{name} is not int32")
            if indexed:
                means, shape = view["expected_rewards"], (len(most), environment.num_actions)
                require(means.shape == shape, f"expected_rewards() has shape {means.shape}")
                assert_identical(means.max(axis=1), most, f"the largest expected reward at {name}")
            environment.set_state(rollout.states[index])
            if not environment.should_reset(environment.current_time_step()):
                environment.step(view["optimal_action"])
                reward = environment.get_info()["expected_reward"]
                assert_identical(reward, most, f"the expected reward of {name}")

    def test_info_describes_the_last_step(self) -> None:
        _, rollout, indexed = self._rollout_with("optimal_action")
        for index, action in enumerate(rollout.actions):
            name, before = f"get_info() after {index + 1} steps", rollout.views[index]
            info = rollout.views[index + 1]["get_info"]
            if rollout.time_steps[index + 1].is_first().all():
                require(info is None, f"{name} is {info}; expected None after a reset")
                continue
            expected = {key: before[key] for key in ("optimal_action", "optimal_reward")}
            if indexed:
                expected["expected_reward"] = _of_action(before["expected_rewards"], action)
            assert_identical({key: info.get(key) for key in expected}, expected, name)
            reward, most = info["expected_reward"], info["optimal_reward"]
            require((reward - most <= 1e-5 * (1.0 + np.abs(most))).all(), f"{name} is {info}")

    def test_unavailable_actions_are_refused_and_have_no_expected_reward(self) -> None:
        environment, rollout, _ = self._rollout_with("current_time_step")
        for index, action in enumerate(rollout.actions):
            environment.set_state(rollout.states[index])
            available = availability(environment)
            if available is None or environment.should_reset(environment.current_time_step()):
                continue
            means = rollout.views[index].get("expected_rewards", np.where(available, 0, -np.inf))
            agree = np.isneginf(means).reshape(*available.shape, -1) == ~available[..., np.newaxis]
            require(agree.all(), f"available are {available}, but expected_rewards() is {means}")
            for row, unavailable in np.argwhere(~available)[:1]:
                bad = action.copy()
                bad[row] = unavailable
                require_refusal(environment, environment.step, bad, "an unavailable action")

    def test_the_mean_of_many_rewards_is_the_expected_reward(self) -> None:
        """Holds means of reward - expected reward to 6 standard errors.

        The means are over all rewards, over those of each row, action, and row and action; one
        more, weighted by the expected rewards, finds rewards that went to other rows.
        """
        rewards, means, actions = self._many_rewards()
        errors, weights = rewards - means, means - means.mean()
        rounding = 1e-6 * (1.0 + max(np.abs(means).max(), np.abs(rewards).max()))
        rows: list[Any] = [slice(None), *range(errors.shape[1])]
        for row, action in itertools.product(rows, [None, *np.unique(actions)]):
            chosen = np.ones_like(actions, bool) if action is None else actions == action
            values = errors[:, row][chosen[:, row]]
            _require_zero_mean(values, errors.std(), rounding, f"row {row}, action {action}")
        rounding *= max(1.0, np.abs(weights).max())
        weighted = (errors * weights).reshape(-1, 1)
        _require_zero_mean(weighted, 0.0, rounding, "all rows, weighted by expected rewards")

    def _many_rewards(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Returns rewards and means [T, B, R], and actions [T, B]: 0 if they are not indices."""
        environment, _, indexed = self._rollout_with("expected_rewards", "optimal_action")
        rng, found = np.random.default_rng(0), []
        while len(found) * environment.batch_size < self.num_rewards:
            action = self.draw_action(rng, environment)
            means = environment.expected_rewards() if indexed else None
            time_step = environment.step(action)
            if time_step.is_first().all():
                continue
            if means is None:
                mean, action = environment.get_info()["expected_reward"], np.zeros(len(action))
            else:
                mean = _of_action(means, action)
            found.append((time_step.reward, mean, action))
        if not found:
            raise unittest.SkipTest("num_rewards is 0")
        rewards, means, actions = (np.array(column, float) for column in zip(*found))
        require(rewards.shape == means.shape, "expected rewards have another shape than rewards")
        return *(array.reshape(*actions.shape, -1) for array in (rewards, means)), actions

    def _rollout_with(self, *known: str) -> tuple[Any, Rollout, bool]:
        """Returns an environment, its rollout, and whether each action has an expected reward.

        The test is skipped if the environment is not a bandit, or knows none of the methods.
        """
        environment = self.make_environment(1)
        rollout = self.roll_out(environment)
        if not is_bandit(environment) or not any(name in rollout.views[0] for name in known):
            raise unittest.SkipTest(f"{environment.unwrapped.name} has no {' or '.join(known)}")
        indexed = "expected_rewards" in rollout.views[0] and rollout.actions[0].ndim == 1
        return environment, rollout, indexed


def _of_action(means: NDArray[Any], action: NDArray[Any]) -> NDArray[Any]:
    return means[np.arange(len(action)), action]


def _require_zero_mean(values: NDArray[Any], spread: float, rounding: float, name: str) -> None:
    """Requires each component of the values [N, R] to be 0 on average, unless there are few.

    `spread` is that of a larger group: rewards that are rarely other than 0 may all be 0 here.
    """
    if len(values) >= MIN_REWARDS:
        error = np.maximum(values.std(axis=0), spread) / np.sqrt(len(values))
        bound, mean = STANDARD_ERRORS * error + rounding, values.mean(axis=0)
        found = f"{mean} above the expected over {len(values)} rewards; at most {bound} is allowed"
        require((np.abs(mean) <= bound).all(), f"{name}: the mean is {found}")
