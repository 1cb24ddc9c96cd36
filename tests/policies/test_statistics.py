"""What a policy has learned says itself what pending choices and more actions change."""

from typing import NamedTuple

import numpy as np
import pytest

from bandit_envs import Policy
from bandit_envs.trajectories import restart
from tests.policies.contextual_parts import teach


class Shares(NamedTuple):
    """A user's statistics, of which the shares follow from the counts."""

    counts: np.ndarray
    shares: np.ndarray

    def make_consistent(self, known):
        self.shares[:] = self.counts / self.counts.sum(axis=1, keepdims=True)

    def start_warm(self, known, warm):
        if warm != "mean":
            raise NotImplementedError("shares have no law")
        self.counts[:, known:] = self.counts[:, :known].mean(axis=1, keepdims=True)
        self.make_consistent(known)

    def with_pending(self, pending, reward_range):
        waiting = Shares(self.counts + pending, self.shares.copy())
        waiting.make_consistent(self.counts.shape[1])
        return waiting


class ByShares(Policy):
    """A user's, whose statistics know what pending choices and more actions change."""

    can_count_pending = True

    def _initial(self):
        shares = np.full((self.batch_size, self.num_actions), 1.0 / self.num_actions)
        return Shares(np.ones_like(shares), shares)

    def _learn(self, learned, trajectory):
        learned.counts[np.arange(self.batch_size), trajectory.action] += 1.0
        learned.make_consistent(self.num_actions)
        return learned

    def _probabilities(self, learned, time_step):
        return learned.shares


def test_statistics_say_themselves_what_more_actions_and_pending_choices_change():
    observation = np.ones((1, 1))
    asked = restart(observation, 1)
    policy = ByShares(num_actions=2)
    teach(policy, observation, [1], [0.0])
    teach(policy, observation, [1], [0.0])
    np.testing.assert_allclose(policy.with_actions(3).probabilities(asked), [[0.2, 0.6, 0.2]])
    warm = policy.with_actions(4, warm="mean")
    np.testing.assert_allclose(warm.probabilities(asked), [[0.125, 0.375, 0.25, 0.25]])
    with pytest.raises(ValueError, match="'empirical_bayes', which ByShares does not support"):
        policy.with_actions(3, warm="empirical_bayes")
    policy.expect_rewards([0])
    np.testing.assert_allclose(policy.probabilities(asked), [[0.4, 0.6]])
