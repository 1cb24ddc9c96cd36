"""The contract of policies that look for the best action, as a class of tests."""

from __future__ import annotations

import copy
import tempfile
import typing
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.saving import load_state, save_state
from bandit_envs.policies import BestArmPolicy, Policy
from bandit_envs.testing.comparison import assert_identical, require
from bandit_envs.testing.policy_contract import PolicyContract
from bandit_envs.testing.policy_run import learned_of, rows_of
from bandit_envs.trajectories import TimeStep


class BestArmContract(PolicyContract):
    """The tests that every `BestArmPolicy` must pass: those of `PolicyContract`, and more.

    They are about what a policy recommends, and what its rows do once they have stopped.

    >>> from bandit_envs.policies import LUCBPolicy
    >>> class TestLUCB(BestArmContract):
    ...     def make_policy(self, env, seed):
    ...         return LUCBPolicy(0.1, num_actions=4, batch_size=env.batch_size, seed=seed)
    >>> TestLUCB().test_recommended_actions_are_available()
    """

    def test_recommended_actions_are_available(self) -> None:
        after = self._policy_after(self.num_steps)
        for policy, time_step in [after, *self._after_masked_runs()]:
            search = _best_arm_policy(policy)
            recommended = search.recommend(copy.deepcopy(time_step))
            shape = (self.num_rows,)
            _require_array("recommend()", recommended, shape, np.dtype(np.int32))
            available = available_actions(time_step.observation, search.num_actions)
            if available is None:
                available = np.ones((self.num_rows, search.num_actions), np.bool_)
            known = (recommended >= 0) & (recommended < search.num_actions)
            found = f"recommend() is {recommended}"
            require(known.all(), f"{found}; expected actions below {search.num_actions}")
            fits = available[np.arange(self.num_rows), recommended].all()
            require(fits, f"{found}, where these actions are available: {available}")

    def test_a_row_that_has_stopped_plays_what_it_recommends_and_learns_no_more(self) -> None:
        """Stops some rows in the middle of the shared run, and teaches the rest of it."""
        start = self.num_steps // 2
        policy, time_step = self._policy_after(start)
        search = _best_arm_policy(policy)
        learned_of(search).stopped[::2] = True
        for trajectory in self._run().trajectories[start:]:
            stopped = search.stopped
            steps = search.steps
            _require_array("stopped", stopped, (self.num_rows,), np.dtype(np.bool_))
            same = search.has_stopped == stopped.all()
            require(same, f"has_stopped is {search.has_stopped}, where stopped is {stopped}")
            action = search.action(copy.deepcopy(time_step))[stopped]
            recommended = search.recommend(copy.deepcopy(time_step))[stopped]
            assert_identical(action, recommended, "the action of rows that have stopped")
            rows = np.flatnonzero(stopped)
            before = copy.deepcopy(rows_of(learned_of(search), rows, self.num_rows))
            search(copy.deepcopy(trajectory))
            require(search.stopped[rows].all(), "a row that had stopped goes on after learn()")
            after = rows_of(learned_of(search), rows, self.num_rows)
            assert_identical(after, before, "what rows that have stopped know, after learn()")
            counted = "`steps`, which counts the rewards that each row has learned from,"
            assert_identical(search.steps, steps + ~stopped, counted)

    def test_a_restored_state_recommends_the_same(self) -> None:
        """Restores states of the shared run, the last one first, to one and the same policy."""
        states = self._run().states
        policy = _best_arm_policy(self._fresh(self.num_rows, seed=2))
        steps = (self.num_steps, self.num_steps // 2, 0)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "states.npz"
            save_state(path, [states[step] for step in steps])
            restored = load_state(path)
        for step, state in zip(steps, restored):
            new, time_step = self._policy_after(step)
            policy.set_state(state)
            name = f"the answers of a policy with the state after step {step} from a file"
            expected = _answers(_best_arm_policy(new), time_step)
            assert_identical(_answers(policy, time_step), expected, name)


def _best_arm_policy(policy: Policy) -> BestArmPolicy:
    """Returns the policy; fails the test if it does not look for the best action."""
    found = f"make_policy() returns a {type(policy).__name__}"
    require(isinstance(policy, BestArmPolicy), f"{found}; expected a BestArmPolicy")
    return typing.cast(BestArmPolicy, policy)


def _answers(policy: BestArmPolicy, time_step: TimeStep) -> dict[str, Array]:
    """Returns what a policy says of its search."""
    return {
        "recommend": policy.recommend(copy.deepcopy(time_step)),
        "stopped": policy.stopped,
        "steps": policy.steps,
    }


def _require_array(name: str, found: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Requires an array of this shape and dtype."""
    expected = f"expected an array of shape {shape} and dtype {dtype}"
    fits = isinstance(found, np.ndarray) and found.shape == shape and found.dtype == dtype
    require(fits, f"{name} is {found!r}; {expected}")
