"""The part of the contract on choices whose rewards come later, for policies that count them."""

from __future__ import annotations

import copy
import functools
import pickle

import numpy as np

from bandit_envs.arrays import Array, Indices
from bandit_envs.base.state import content_of
from bandit_envs.nests import map_structure
from bandit_envs.policies import Policy
from bandit_envs.policies.learned import check_layout
from bandit_envs.policies.policy import chosen_by
from bandit_envs.testing.comparison import assert_identical, require
from bandit_envs.testing.policy_contract_part import PolicyContractPart
from bandit_envs.testing.policy_run import learned_of, put_learned, require_close
from bandit_envs.testing.rollout import frozen, require_refusal
from bandit_envs.trajectories import TimeStep

ACTIONS_EXPECTED = (0, 0, 1)


class PendingContract(PolicyContractPart):
    """Choices that are pending change what is chosen, and nothing of what was learned."""

    def test_pending_choices_leave_no_trace_once_their_rewards_are_lost(self) -> None:
        policy, _ = self._policy_after(self.num_steps)
        before = policy.get_state()
        actions = self._expect(policy)
        assert_identical(learned_of(policy), before.content.learned, "expect_rewards: learned")
        for action in actions:
            policy.stop_expecting(action)
        assert_identical(policy.get_state(), before, "the state after stop_expecting()")

    def test_a_reward_ends_the_wait_of_one_choice_of_its_action_in_its_rows(self) -> None:
        policy, _ = self._policy_after(self.num_steps)
        actions = self._expect(policy)
        if not actions:
            return
        expected = policy.pending
        trajectory = self._trajectory()._replace(action=actions[0].astype(np.int32))
        rows = np.arange(self.num_rows) % 2 == 0
        policy.learn(trajectory, rows)
        expected[rows, 0] -= 1
        assert_identical(policy.pending, expected, "pending after learn(trajectory, rows)")

    def test_what_is_chosen_by_with_pending_choices_is_new_and_of_one_layout(self) -> None:
        policy, time_step = self._policy_after(self.num_steps)
        if not self._expect(policy):
            return
        before = copy.deepcopy(content_of(policy))
        put_learned(policy, frozen(learned_of(policy)))
        initial = learned_of(self._fresh(self.num_rows))
        check_layout("_with_pending returned", chosen_by(policy), initial)
        for name, ask in self._questions(policy, time_step):
            ask()
            found = content_of(policy)._replace(rng=before.rng)
            assert_identical(found, before, f"the state after {name}() with pending choices")

    def test_a_row_with_pending_choices_chooses_as_it_does_alone(self) -> None:
        policy, time_step = self._policy_after(self.num_steps)
        if not self._expect(policy) or not policy.knows_probabilities:
            return
        expected = policy.probabilities(time_step)
        for row in range(self.num_rows):
            rows = np.array([row])
            alone = self._policy_of_rows(policy, rows)
            self._expect(alone)
            asked: TimeStep = map_structure(functools.partial(_take, rows), time_step)
            name = f"probabilities() of row {row} with pending choices, alone in a batch of one,"
            require_close(alone.probabilities(asked), expected[rows], name, rounding=self.rounding)

    def test_pending_choices_are_saved_and_reset(self) -> None:
        policy, time_step = self._policy_after(self.num_steps)
        if not self._expect(policy):
            return
        other = self._fresh(self.num_rows, seed=2)
        other.set_state(pickle.loads(pickle.dumps(policy.get_state())))
        assert_identical(other.pending, policy.pending, "pending of a restored state")
        assert_identical(other.action(time_step), policy.action(time_step), "its action()")
        wide = policy.replicate(2 * self.num_rows)
        expected = np.concatenate([policy.pending, policy.pending])
        assert_identical(wide.pending, expected, "pending after replicate()")
        policy.reset()
        require(not policy.pending.any(), "reset() keeps pending choices; expected none")

    def test_policies_that_do_not_count_pending_choices_say_so(self) -> None:
        policy = self._fresh(self.num_rows)
        if not policy.can_count_pending:
            action = np.zeros(self.num_rows, np.intp)
            require_refusal(policy, policy.expect_rewards, action, "an expected reward")

    def _expect(self, policy: Policy) -> list[Indices]:
        """Lets a policy expect rewards if it can, and returns the actions, [B] each."""
        if not policy.can_count_pending:
            return []
        actions = [np.full(policy.batch_size, action) for action in ACTIONS_EXPECTED]
        for action in actions:
            policy.expect_rewards(action)
        return actions


def _take(rows: Indices, leaf: Array) -> Array:
    return leaf[rows]
