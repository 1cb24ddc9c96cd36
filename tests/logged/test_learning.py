"""Policies that learn from logs."""

import itertools

import numpy as np
import pytest

from bandit_envs import (
    ArraySpec,
    EpsilonGreedyPolicy,
    LinUCBPolicy,
    Policy,
    UCBPolicy,
)
from bandit_envs.logged import learn_from_log, probabilities_of
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import Trajectory, restart, termination
from tests.logged.logs import drawn

pytestmark = pytest.mark.filterwarnings("ignore:the policy has learned from rows of this log")

FEATURES = {"observation_spec": ArraySpec((2,), np.float64)}


def draw_log(size=100):
    return drawn(np.random.default_rng(0), size)


def teach_one_by_one(policy, log):
    """Lets a policy of one row learn event by event."""
    for row in range(len(log)):
        event = log[row : row + 1]
        after = termination((), event.reward)
        policy.learn(Trajectory.from_transition(restart(event.seen()), event.action, after))
    return policy


@pytest.mark.parametrize("cuts", [[], [1, 50], [10, 10, 99]])
@pytest.mark.parametrize(
    "policy",
    [UCBPolicy(1.0, num_actions=3), LinUCBPolicy(num_actions=3, **FEATURES)],
    ids=lambda policy: type(policy).__name__,
)
def test_a_policy_of_one_row_learns_all_decisions_in_any_batches(policy, cuts):
    log = draw_log()
    edges = [0, *cuts, 100]
    batches = [log[start:end] for start, end in itertools.pairwise(edges)]
    learned = learn_from_log(policy, batches, batch_rows=32)
    expected = teach_one_by_one(learn_from_log(policy, log[:0]), log)
    assert learned.batch_size == 1
    assert policy.is_untrained
    found = probabilities_of(learned, log)
    np.testing.assert_allclose(found, probabilities_of(expected, log), atol=1e-9)


def test_rows_of_a_log_teach_the_rows_of_the_policy_that_made_them():
    log = draw_log()
    policy = EpsilonGreedyPolicy(0.5, num_actions=3, batch_size=4)
    batches = [log[:6], log[6:7], log[7:]]
    learned = learn_from_log(policy, batches)
    assert_identical(learned.get_state(), learn_from_log(policy, log).get_state())
    values = learned.get_state().content.learned.values
    for row, action in np.ndindex(4, 3):
        is_own = (np.arange(100) % 4 == row) & (log.action == action)
        assert values[row, action] == pytest.approx(log.reward[is_own].mean())


class CountingPolicy(Policy):
    """Counts how often it has learned."""

    learns_by_row = False

    def _initial(self):
        return np.zeros(1)

    def _learn(self, learned, trajectory):
        return learned + 1.0

    def _probabilities(self, learned, time_step):
        return np.full((self.batch_size, self.num_actions), 1 / self.num_actions)


@pytest.mark.parametrize(("batch_rows", "calls"), [(1, 100), (30, 4), (1000, 1), (None, 1)])
def test_rows_that_share_a_model_learn_as_many_decisions_at_a_time_as_asked_for(batch_rows, calls):
    policy = CountingPolicy(num_actions=3, batch_size=7)
    learned = learn_from_log(policy, draw_log(), batch_rows)
    assert learned.batch_size == 7
    assert learned.get_state().content.learned[0] == calls


def test_a_policy_with_other_actions_is_refused():
    with pytest.raises(ValueError, match="policy has 4 actions; expected 3"):
        learn_from_log(UCBPolicy(1.0, num_actions=4), draw_log())
