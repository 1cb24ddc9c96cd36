"""What the base class does for every policy, whatever its hooks."""

import pickle

import numpy as np
import pytest

from bandit_envs import (
    EpsilonGreedyPolicy,
    GaussianThompsonSamplingPolicy,
    KArmedTestbed,
    Policy,
    RandomPolicy,
    StepDriver,
    UCBPolicy,
)
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import Trajectory, restart, termination
from tests.cases import for_each

K, B = 4, 7


def ucb(seed=2):
    return UCBPolicy(1.5, num_actions=K, batch_size=B, seed=seed)


def run(policy, env, steps):
    """Returns the actions [steps, B] of a policy that learns."""
    chosen = []
    observers = [policy, lambda trajectory: chosen.append(trajectory.action)]
    StepDriver(env, policy, observers, steps).run()
    return np.array(chosen)


def step(reward, action=None, rows=B):
    """Returns a trajectory of one step of `rows` rows."""
    time_step = restart(np.ones((rows, 1), np.float32), rows)
    action = np.zeros(rows, np.int32) if action is None else action
    after = termination(time_step.observation, np.zeros(rows))
    return Trajectory.from_transition(time_step, action, after)._replace(reward=reward)


def test_actions_are_integers_in_range():
    actions = run(ucb(), KArmedTestbed(K, batch_size=B, seed=0), 50)
    assert actions.shape == (50, B)
    assert actions.dtype == np.int32
    assert set(actions.flat) == set(range(K))


def test_one_seed_repeats_a_run_and_another_does_not():
    runs = [run(ucb(seed), KArmedTestbed(K, batch_size=B, seed=1), 40) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert np.any(runs[0] != runs[2])


class Counts(RandomPolicy):
    """Learns an array, and not a named tuple of them."""

    def _initial(self):
        return np.zeros((self.batch_size, self.num_actions))

    def _learn(self, learned, trajectory):
        return learned + 1.0


def test_a_policy_may_learn_any_array():
    policy = Counts(num_actions=K, batch_size=B, seed=2)
    same = Counts(num_actions=K, batch_size=B, seed=1)
    run(policy, KArmedTestbed(K, batch_size=B, seed=0), 3)
    same.set_state(policy.get_state())
    assert_identical(same.get_state(), policy.get_state(), "what was learned")


def test_what_is_learned_later_does_not_reach_a_saved_state():
    policy = ucb()
    state = policy.get_state()
    kept = pickle.dumps(state)
    run(policy, KArmedTestbed(K, batch_size=B, seed=0), 5)
    assert_identical(state, pickle.loads(kept), "the saved state")


@pytest.mark.parametrize("bounds", [(0.0, 1e100), (-1e100, 0.0)])
def test_rewards_outside_the_range_of_a_policy_are_refused(monkeypatch, bounds):
    monkeypatch.setattr(Counts, "reward_range", bounds)
    policy = Counts(num_actions=K, batch_size=B)
    sign = 1.0 if bounds[1] else -1.0
    policy(step(np.full(B, sign)))
    with pytest.raises(ValueError, match="reward"):
        policy(step(np.full(B, -sign)))


def test_a_reward_out_of_range_says_what_to_do_with_it_and_nan_only_what_it_is(monkeypatch):
    monkeypatch.setattr(Counts, "reward_range", (0.0, 1.0))
    policy = Counts(num_actions=K, batch_size=B)
    with pytest.raises(ValueError, match=r"is 49\.99; expected .* 0 to 1; rescale rewards before"):
        policy(step(np.full(B, 49.99)))
    with pytest.raises(ValueError, match=r"reward\[0\] is nan; expected a number from 0 to 1$"):
        policy(step(np.full(B, np.nan)))


def test_states_of_other_sizes_or_kinds_are_refused_and_nothing_changes():
    policy = ucb()
    state = policy.get_state()
    wrong = [
        None,
        (),
        UCBPolicy(1.5, num_actions=K, batch_size=B + 1).get_state(),
        UCBPolicy(1.5, num_actions=K + 1, batch_size=B).get_state(),
        GaussianThompsonSamplingPolicy(num_actions=K, batch_size=B).get_state(),
    ]
    for bad in wrong:
        with pytest.raises((TypeError, ValueError), match="state "):
            policy.set_state(bad)
        assert_identical(policy.get_state(), state, "the state after a refusal")


@for_each(
    ("trajectory", "error", "name"),
    [
        (step([0, 0, np.nan, 0, 0, 0, 0]), ValueError, r"reward\[2\]"),
        (step([0, 0, 0, 0, 0, 0, -np.inf]), ValueError, r"reward\[6\]"),
        (step([0, 1.7e308, 0, 0, 0, 0, 0]), ValueError, r"reward\[1\]"),
        (step([1.0]), ValueError, "reward"),
        (step(["1"] * B), TypeError, "reward"),
        (step([1j] * B), TypeError, "reward"),
        (step(None), TypeError, "reward"),
        (step(np.ones(B), [0, 1, 2, 3, 4, 0, 0]), ValueError, r"action\[4\]"),
        (step(np.ones(B), [0, 1, -1, 3, 0, 0, 0]), ValueError, r"action\[2\]"),
        (step(np.ones(B), [[0]] * B), ValueError, "action"),
        (step(np.ones(B), [0.0] * B), TypeError, "action"),
        (step(np.ones(3), rows=3), ValueError, "trajectory"),
        (step(np.ones(B))._replace(step_type=None), ValueError, "trajectory"),
        (restart(np.ones((B, 1)), B), TypeError, "trajectory"),
        (None, TypeError, "trajectory"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_and_nothing_changes(trajectory, error, name):
    policy = ucb()
    before = policy.get_state()
    with pytest.raises(error, match=name):
        policy(trajectory)
    assert_identical(policy.get_state(), before, "the state after a refusal")


@for_each("rows", [[True] * (B - 1), np.arange(B), True, [[True]] * B])
def test_rows_that_are_not_a_boolean_for_each_row_are_refused(rows):
    policy = ucb()
    with pytest.raises(ValueError, match=r"rows is .*; expected 7 booleans"):
        policy.learn(step(np.ones(B)), rows)
    assert policy.is_untrained


@for_each(
    ("wrong", "error"),
    [
        (restart(np.ones((3, 1)), 3), ValueError),
        (restart(np.ones((B, 1)), B)._replace(step_type=None), ValueError),
        (np.ones(B), TypeError),
        (None, TypeError),
    ],
)
def test_what_is_not_a_time_step_of_all_rows_is_refused(wrong, error):
    policy = ucb()
    for asked in (policy.action, policy.probabilities):
        with pytest.raises(error, match="time_step"):
            asked(wrong)


@for_each(
    "wrong",
    [
        {"num_actions": np.int32(2)},
        {"num_actions": np.full(B + 1, 2)},
        {"num_actions": np.zeros(B, int)},
        {"mask": np.ones((B, K + 1), bool)},
        {"mask": np.zeros((B, K), bool)},
    ],
)
def test_an_observation_that_makes_nothing_or_something_else_available_is_refused(wrong):
    with pytest.raises(ValueError, match="observation"):
        ucb().action(restart({"observation": np.ones((B, 1)), **wrong}, B))


def test_a_mask_may_be_edited_in_place():
    policy = ucb()
    mask = np.ones((B, K), bool)
    for only in range(K):
        mask[:] = np.arange(K) == only
        np.testing.assert_array_equal(policy.action(restart({"mask": mask}, B)), only)


def test_a_policy_that_only_chooses_tells_no_probabilities(time_step):
    class First(Policy):
        def _select(self, rng, learned, time_step):
            return np.zeros(self.batch_size, int)

    policy = First(K, B, None)
    np.testing.assert_array_equal(run(policy, KArmedTestbed(K, batch_size=B), 3), np.zeros((3, B)))
    assert not policy.knows_probabilities
    with pytest.raises(NotImplementedError, match=r"First .*estimated_probabilities\(\)"):
        policy.probabilities(time_step(B))


def test_a_class_that_chooses_in_another_way_inherits_no_probabilities(time_step):
    class First(EpsilonGreedyPolicy):
        def _select(self, rng, learned, time_step):
            return np.zeros(1, int)

    assert not First.knows_probabilities
    with pytest.raises(NotImplementedError):
        First(0.5, num_actions=3).probabilities(time_step(1))


class OftenTheFirst(UCBPolicy):
    """Tells probabilities of its own."""

    def _probabilities(self, learned, time_step):
        return np.tile([0.7, 0.1, 0.1, 0.1], (self.batch_size, 1))


def test_a_class_that_tells_other_probabilities_chooses_by_them(time_step, chi_square):
    policy = OftenTheFirst(1.0, num_actions=4, batch_size=30_000, seed=0)
    told = policy.probability_of(time_step(30_000), np.zeros(30_000, int))
    np.testing.assert_array_equal(told, 0.7)
    counts = np.bincount(policy.action(time_step(30_000)), minlength=4)
    # Three degrees of freedom: 6 standard deviations above the mean.
    assert chi_square(counts, [0.7, 0.1, 0.1, 0.1]) < 3 + 6 * np.sqrt(6)


def test_a_class_that_defines_both_hooks_keeps_both(time_step):
    class First(EpsilonGreedyPolicy):
        def _select(self, rng, learned, time_step):
            return np.zeros(B, int)

        def _probabilities(self, learned, time_step):
            return np.tile(np.eye(K)[0], (B, 1))

    policy = First(0.3, num_actions=K, batch_size=B)
    told = policy.probability_of(time_step(B), policy.action(time_step(B)))
    assert (told == 1.0).all()
