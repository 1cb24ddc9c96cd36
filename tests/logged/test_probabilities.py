"""What a policy would have done in the rows of a log."""

import dataclasses
import itertools
import operator

import numpy as np
import pytest

from bandit_envs import (
    ArraySpec,
    BetaThompsonSamplingPolicy,
    EpsilonGreedyPolicy,
    KArmedTestbed,
    LinUCBPolicy,
    Policy,
    RandomPolicy,
    StepDriver,
    UCBPolicy,
)
from bandit_envs.logged import (
    BanditLog,
    InversePropensityScoring,
    LogRecorder,
    learn_from_log,
    probabilities_of,
)
from bandit_envs.logged.learners.saved_policy import SavedPolicy
from bandit_envs.nests import map_structure
from bandit_envs.trajectories import Trajectory, restart, termination
from tests.cases import for_each
from tests.logged.logs import drawn

pytestmark = pytest.mark.filterwarnings("ignore:the policy has learned from rows of this log")

FEATURES = {"observation_spec": ArraySpec((2,), np.float64)}


def drawn_log(size):
    return drawn(np.random.default_rng(0), size)


@pytest.mark.parametrize(
    "policy",
    [
        RandomPolicy(3),
        EpsilonGreedyPolicy(0.3, num_actions=3),
        UCBPolicy(1.0, num_actions=3),
        LinUCBPolicy(num_actions=3, **FEATURES),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_a_policy_of_one_row_is_shown_many_rows_as_if_one_by_one(policy):
    log = drawn_log(60)
    learned = learn_from_log(policy, log[:30])
    rest = log[30:]
    table = probabilities_of(learned, rest)
    for row in range(len(rest)):
        observation = map_structure(operator.itemgetter([row]), rest.seen())
        alone = learned.probabilities(restart(observation))
        np.testing.assert_allclose(table[row], alone[0], rtol=1e-12)


def test_choices_of_a_policy_of_one_row_are_counted_in_every_row():
    policy = BetaThompsonSamplingPolicy(num_actions=3)
    log = drawn(np.random.default_rng(1), 2000)
    table = probabilities_of(policy, log, samples=20, seed=2)
    assert table.shape == (2000, 3)
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert len(np.unique(table, axis=0)) > 1


class Counting(Policy):
    """Prefers the action that it has met most."""

    def _initial(self):
        return np.zeros((self.batch_size, self.num_actions))

    def _learn(self, learned, trajectory):
        learned[np.arange(self.batch_size), trajectory.action] += 1.0
        return learned

    def _probabilities(self, learned, time_step):
        return (learned + 1.0) / (learned + 1.0).sum(axis=1, keepdims=True)


@for_each(("batch_size", "first_row"), itertools.product([1, 3, 100], [0, 2]))
def test_rows_without_features_have_the_probabilities_of_their_rows_of_the_policy(
    batch_size, first_row
):
    policy = learn_from_log(Counting(num_actions=3, batch_size=batch_size), drawn_log(33))
    log = drawn_log(50)
    blank = dataclasses.replace(log, observation=np.ones((50, 0)))
    table = probabilities_of(policy, blank, first_row=first_row)
    np.testing.assert_array_equal(table, probabilities_of(policy, log, first_row=first_row))
    table[0] = 0.0  # it is the caller's own
    assert table[1:].all()


def test_a_replica_has_what_the_rows_know_and_learns_for_itself():
    policy = learn_from_log(Counting(num_actions=3, batch_size=2), drawn_log(30))
    wide = policy.replicate(5)
    observation = np.zeros((5, 2))
    expected = policy.probabilities(restart(observation[:2], 2))
    found = wide.probabilities(restart(observation, 5))
    np.testing.assert_array_equal(found, expected[[0, 1, 0, 1, 0]])
    assert not np.array_equal(expected[0], expected[1])
    wide.learn(
        Trajectory.from_transition(restart(observation, 5), [0] * 5, termination((), np.ones(5)))
    )
    after = policy.probabilities(restart(observation[:2], 2))
    np.testing.assert_array_equal(after, expected)


@pytest.mark.parametrize(
    "policy",
    [
        UCBPolicy(1.0, num_actions=3, batch_size=4),
        LinUCBPolicy(num_actions=3, batch_size=4, **FEATURES),
        Counting(num_actions=3, batch_size=4),
    ],
    ids=lambda policy: type(policy).__name__,
)
@pytest.mark.parametrize("first_row", [0, 1, 2007])
def test_rows_of_any_policy_are_shown_many_at_a_time(policy, first_row):
    log = drawn_log(2100)
    learned = learn_from_log(policy, log[:50])
    part = log[first_row:]
    table = probabilities_of(learned, part, first_row=first_row)
    for row in range(first_row, len(log), 67):
        time_step = restart(np.tile(log.observation[row], (4, 1)), 4)
        expected = learned.probabilities(time_step)[row % 4]
        np.testing.assert_allclose(table[row - first_row], expected, rtol=1e-12)


def test_the_policy_that_made_a_log_has_weights_of_exactly_1():
    env = KArmedTestbed(5, batch_size=40, seed=0)
    policy = EpsilonGreedyPolicy(0.3, num_actions=5, batch_size=40, seed=1)
    StepDriver(env, policy, [policy], 20).run()
    recorder = LogRecorder(5)
    StepDriver(env, policy, [recorder], 50, emit_log_probability=True).run()
    log = recorder.log()
    estimate = InversePropensityScoring().estimate(log, probabilities_of(policy, log))
    assert (estimate.max_weight, estimate.effective_sample_size) == (1.0, len(log))
    assert estimate.value == pytest.approx(log.reward.mean(), abs=1e-12)


def test_rows_of_a_log_are_shown_to_the_rows_of_the_policy_that_made_them():
    env = KArmedTestbed(5, batch_size=40, seed=0)
    policy = EpsilonGreedyPolicy(0.3, num_actions=5, batch_size=40, seed=1)
    recorder = LogRecorder(5)
    StepDriver(env, policy, [policy], 20).run()
    StepDriver(env, policy, [recorder], 2, emit_log_probability=True).run()
    log = recorder.log()
    whole = probabilities_of(policy, log)
    part = probabilities_of(policy, log[:70])
    assert np.array_equal(whole[:70], part)
    assert np.array_equal(whole[:40], whole[40:])


def test_a_policy_is_asked_for_available_actions_only():
    available = np.array([[True, False, True]] * 7)
    log = BanditLog(
        np.ones((7, 1)), np.zeros(7, int), np.ones(7), np.full(7, 0.5), available=available
    )
    for batch_size in (1, 4):
        policy = RandomPolicy(3, batch_size, seed=0)
        assert np.allclose(probabilities_of(policy, log), [0.5, 0.0, 0.5])
        counted = probabilities_of(policy, log, samples=50)
        assert np.allclose(counted.sum(axis=1), 1.0)
        assert not counted[:, 1].any()


def test_what_is_read_from_a_file_is_no_policy_until_it_is_made():
    log = BanditLog(np.zeros((4, 2)), np.array([0, 1, 0, 1]), np.ones(4), np.full(4, 0.5))
    saved = SavedPolicy.__new__(SavedPolicy)
    with pytest.raises(TypeError, match="policy is a SavedPolicy; expected a Policy"):
        probabilities_of(saved, log)
