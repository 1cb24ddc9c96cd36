"""The part of the contract on choices: available actions, as often as their probabilities say."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.policies import Policy
from bandit_envs.testing.comparison import require
from bandit_envs.testing.policy_contract_part import PolicyContractPart
from bandit_envs.testing.policy_run import require_close
from bandit_envs.trajectories import TimeStep

STANDARD_ERRORS = 6.0
MANY = 3  # choices that may always differ from what is expected: rare actions are not normal


class ChoiceContract(PolicyContractPart):
    """What a policy chooses is available, and agrees with its probabilities."""

    def test_only_available_actions_are_chosen(self) -> None:
        """Makes the runs with masks that tests share; each of their actions must be available."""
        self._masked_runs()

    def test_probabilities_sum_to_one_over_the_available_actions(self) -> None:
        policy, last = self._policy_after(self.num_steps)
        if not _knows_table(policy):
            return
        for asked, time_step in [(policy, last), *self._after_masked_runs()]:
            table = asked.probabilities(time_step)
            _require_distributions(asked, time_step, table)
            action = asked.action(time_step)
            told = asked.info_of(time_step, action).log_probability
            expected = np.log(table[np.arange(self.num_rows), action])
            require_close(told, expected, "info_of(...).log_probability of actions chosen")

    def test_actions_are_as_frequent_as_their_probabilities(self) -> None:
        """Holds frequencies to 6 standard errors.

        They are those of each action over all rows, and those weighted by the probabilities, which
        finds choices that went to other rows.
        """
        policy, time_step = self._policy_after(self.num_steps)
        rounds = self.num_choices // self.num_rows
        if rounds == 0 or not _knows_table(policy):
            return
        table = policy.probabilities(time_step)
        counts = np.zeros(table.shape)
        for _ in range(rounds):
            counts[np.arange(self.num_rows), policy.action(time_step)] += 1.0
        _require_frequencies(counts, table, rounds)


def _knows_table(policy: Policy) -> bool:
    """Returns whether a policy knows the probabilities of all actions, one by one."""
    return policy.knows_probabilities and policy.action_kind.is_single


def _require_distributions(policy: Policy, time_step: TimeStep, table: Floats) -> None:
    """Requires probabilities [B, K] that sum to one, and are 0 for unavailable actions."""
    shape = (policy.batch_size, policy.num_actions)
    require(table.shape == shape, f"probabilities() has shape {table.shape}; expected {shape}")
    fits = (table >= 0.0).all() and np.allclose(table.sum(axis=1), 1.0)
    require(fits, f"probabilities() is {table}; expected rows that sum to 1")
    available = available_actions(time_step.observation, policy.num_actions)
    if available is not None:
        found = f"probabilities() is {table}, where these actions are available: {available}"
        require((table[~available] == 0.0).all(), f"{found}; expected 0 for all others")


def _require_frequencies(counts: Floats, table: Floats, rounds: int) -> None:
    """Requires counts [B, K] of actions in a number of rounds to fit their probabilities."""
    name = "`_probabilities` and `_select` disagree"
    never = np.argwhere((counts > 0.0) & (table == 0.0)).tolist()
    require(not never, f"{name}: probability 0 was chosen, at [row, action] {never}")
    num_actions = table.shape[1]
    weights = {f"action {action}": np.eye(num_actions)[action] for action in range(num_actions)}
    weights["actions, weighted by their probabilities,"] = table - table.mean()
    variance = rounds * table * (1.0 - table)
    for what, weight in weights.items():
        surplus = np.sum(weight * (counts - rounds * table))
        standard_error = np.sqrt(np.sum(np.square(weight) * variance))
        bound = STANDARD_ERRORS * standard_error + MANY
        found = f"of {counts.sum():.0f} choices, {what} got {surplus:.1f} more than expected"
        require(abs(surplus) <= bound, f"{name}: {found}; expected at most {bound:.1f}")
