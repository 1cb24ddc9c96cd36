"""What holds for every policy, and the breaking of ties."""

import pickle
from functools import partial

import numpy as np
import pytest

from bandit_envs import (
    EpsilonGreedyPolicy,
    GaussianThompsonSamplingPolicy,
    GradientBanditPolicy,
    KArmedTestbed,
    RandomPolicy,
    StepDriver,
    UCBPolicy,
)
from bandit_envs.policies import argmax_random_ties
from bandit_envs.trajectories import Trajectory, restart, termination

K, B = 4, 7

POLICIES = {
    "random": RandomPolicy,
    "greedy": partial(EpsilonGreedyPolicy, 0.0),
    "epsilon_greedy": partial(EpsilonGreedyPolicy, 0.3, 1.0, 0.2),
    "ucb": partial(UCBPolicy, 1.5),
    "gradient": partial(GradientBanditPolicy, 0.2),
    "gradient_without_baseline": partial(GradientBanditPolicy, 0.2, False),
    "thompson": partial(GaussianThompsonSamplingPolicy, 0.5, 2.0, 1.5),
}
LEARNERS = sorted(set(POLICIES) - {"random"})


@pytest.fixture(params=sorted(POLICIES))
def make(request):
    """Makes the policy in question, for `K` actions and `B` rows."""

    def make(seed=0, num_actions=K, batch_size=B):
        return POLICIES[request.param](num_actions=num_actions, batch_size=batch_size, seed=seed)

    return make


def run(policy, env, steps):
    """Returns the actions [steps, B] of a policy that learns."""
    chosen = []
    observers = [policy, lambda trajectory: chosen.append(trajectory.action)]
    StepDriver(env, policy, observers, steps).run()
    return np.array(chosen)


def arrays(state):
    """Returns the arrays of a policy's token, the generator apart."""
    learned = state.learned
    return [learned] if isinstance(learned, np.ndarray) else [np.asarray(x) for x in learned or ()]


def assert_equal_states(left, right):
    assert left.rng.bit_generator.state == right.rng.bit_generator.state
    for one, other in zip(arrays(left), arrays(right), strict=True):
        np.testing.assert_array_equal(one, other)


def test_actions_are_integers_in_range(make):
    actions = run(make(), KArmedTestbed(K, batch_size=B, seed=0), 50)
    assert actions.shape == (50, B)
    assert actions.dtype == np.int32
    assert set(actions.flat) <= set(range(K))


def test_sizes_are_known(make):
    policy = make()
    assert (policy.num_actions, policy.batch_size) == (K, B)


def test_equal_seeds_choose_equal_actions(make):
    left, right = (run(make(3), KArmedTestbed(K, batch_size=B, seed=1), 40) for _ in range(2))
    np.testing.assert_array_equal(left, right)


def test_other_seeds_choose_other_actions(make):
    left, right = (run(make(seed), KArmedTestbed(K, batch_size=B, seed=1), 40) for seed in (3, 4))
    assert np.any(left != right)


def test_global_randomness_is_untouched(make):
    before = np.random.get_state()[1].copy()
    run(make(), KArmedTestbed(K, batch_size=B, seed=0), 10)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize("travel", [lambda token: token, lambda t: pickle.loads(pickle.dumps(t))])
@pytest.mark.parametrize("steps_before", [0, 1, 25])
def test_a_policy_saved_within_a_run_replays_it_exactly(make, travel, steps_before):
    env, policy = KArmedTestbed(K, batch_size=B, seed=0), make(1)
    env.reset()
    if steps_before:
        run(policy, env, steps_before)
    env_token, token = env.get_state(), travel(policy.get_state())
    expected = run(policy, env, 25)
    learned = policy.get_state()

    for again in (policy, make(2)):  # the second in a policy that has drawn from another seed
        run(again, KArmedTestbed(K, batch_size=B, seed=9), 3)
        again.set_state(token)
        env.set_state(env_token)
        np.testing.assert_array_equal(run(again, env, 25), expected)
        assert_equal_states(again.get_state(), learned)


@pytest.mark.parametrize("token", [None, (), "token", np.zeros(3)])
def test_what_is_no_token_is_refused_and_nothing_changes(make, token):
    policy = make()
    before = policy.get_state()
    with pytest.raises(TypeError, match="; expected what get_state"):
        policy.set_state(token)
    assert_equal_states(policy.get_state(), before)


class Counts(RandomPolicy):
    """Learns an array, and not a named tuple of them."""

    def _initial(self):
        return np.zeros((self.batch_size, self.num_actions))

    def _learn(self, learned, trajectory):
        return learned + 1.0


@pytest.mark.parametrize("name", [*POLICIES, "counts"])
def test_a_token_of_another_size_or_kind_is_refused(name):
    make = Counts if name == "counts" else POLICIES[name]
    policy = make(num_actions=K, batch_size=B, seed=0)
    others = [
        make(num_actions=K, batch_size=B + 1, seed=0),
        make(num_actions=K + 1, batch_size=B, seed=0),
        POLICIES["ucb" if name == "thompson" else "thompson"](num_actions=K, batch_size=B, seed=0),
    ]
    before = policy.get_state()
    for other in others:
        with pytest.raises(
            ValueError,
            match=rf"state is of .*; expected one of {type(policy).__name__}\(num_actions=4, batch",
        ):
            policy.set_state(other.get_state())
        assert_equal_states(policy.get_state(), before)


def test_a_policy_may_learn_any_array():
    policy, same = (Counts(num_actions=K, batch_size=B, seed=seed) for seed in (0, 1))
    run(policy, KArmedTestbed(K, batch_size=B, seed=0), 3)
    same.set_state(policy.get_state())
    assert_equal_states(same.get_state(), policy.get_state())


@pytest.mark.parametrize(
    ("reward", "error", "message"),
    [
        ([0, 0, np.nan, 0, 0, 0, 0], ValueError, r"reward\[2\] is nan; expected a finite number"),
        ([0, 0, 0, 0, 0, 0, -np.inf], ValueError, r"reward\[6\] is -inf; expected a finite number"),
        ([1.0], ValueError, r"reward has shape \(1,\); expected \(7,\)"),
        (["1"] * 7, TypeError, "reward is <U1: .*; expected real numbers"),
    ],
)
def test_rewards_that_would_spoil_what_is_learned_are_refused(make, reward, error, message):
    policy = make()
    before = policy.get_state()
    time_step = restart(np.ones((B, 1), np.float32), B)
    lesson = Trajectory.from_transition(
        time_step, np.zeros(B, np.int32), termination(time_step.observation, np.zeros(B))
    )
    with pytest.raises(error, match=message):
        policy(lesson._replace(reward=reward))
    assert_equal_states(policy.get_state(), before)


def test_what_is_learned_later_does_not_reach_a_token(make, teach, lesson):
    policy = make()
    teach(policy, *lesson)
    token = policy.get_state()
    kept = pickle.dumps(token)
    run(policy, KArmedTestbed(K, batch_size=B, seed=0), 5)
    assert_equal_states(token, pickle.loads(kept))


def test_learning_does_not_draw(make, teach, lesson):
    policy = make()
    before = policy.get_state().rng.bit_generator.state
    teach(policy, *lesson)
    assert policy.get_state().rng.bit_generator.state == before


def test_choosing_does_not_learn(make, time_step):
    policy = make()
    before = policy.get_state()
    policy.action(time_step(B))
    for one, other in zip(arrays(before), arrays(policy.get_state()), strict=True):
        np.testing.assert_array_equal(one, other)


def test_reset_forgets_and_goes_on_drawing(make, teach, lesson, time_step):
    policy = make()
    teach(policy, *lesson)
    policy.action(time_step(B))
    rng = policy.get_state().rng.bit_generator.state
    policy.reset()
    assert policy.get_state().rng.bit_generator.state == rng
    for one, other in zip(arrays(policy.get_state()), arrays(make().get_state()), strict=True):
        np.testing.assert_array_equal(one, other)


def test_permuting_the_rows_permutes_what_is_learned(make, teach, lesson):
    actions, rewards = lesson
    order = np.random.default_rng(1).permutation(B)
    straight, permuted = make(), make()
    teach(straight, actions, rewards)
    teach(permuted, actions[:, order], rewards[:, order])
    # Some processors round exp, which gradient bandits need, by a number's place in memory.
    tolerance = 1e-12 if isinstance(straight, GradientBanditPolicy) else 0.0
    for one, other in zip(arrays(straight.get_state()), arrays(permuted.get_state()), strict=True):
        np.testing.assert_allclose(one[order] if one.ndim else one, other, tolerance, tolerance)


def test_what_one_row_sees_teaches_no_other(make, teach, lesson):
    actions, rewards = lesson
    changed = rewards.copy()
    changed[:, 2] += 100.0
    left, right = make(), make()
    teach(left, actions, rewards)
    teach(right, actions, changed)
    for one, other in zip(arrays(left.get_state()), arrays(right.get_state()), strict=True):
        if one.ndim:
            np.testing.assert_array_equal(np.delete(one, 2, 0), np.delete(other, 2, 0))


def test_another_batch_size_is_refused_and_nothing_changes(make, teach, time_step):
    policy = make()
    before = policy.get_state()
    with pytest.raises(ValueError, match=r"time_step has 3 rows; expected 7, the batch_size"):
        policy.action(time_step(3))
    with pytest.raises(ValueError, match=r"trajectory has 3 rows; expected 7, the batch_size"):
        teach(policy, np.zeros((1, 3), np.int32), np.zeros((1, 3)))
    assert_equal_states(policy.get_state(), before)


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        ([0, 1, 2, 3, 4, 0, 0], ValueError, r"action\[4\] is 4; expected 0 <= action < 4"),
        ([0, 1, -1, 3, 0, 0, 0], ValueError, r"action\[2\] is -1; expected 0 <= action < 4"),
        ([[0]] * 7, ValueError, r"action has shape \(7, 1\); expected \(7,\)"),
        ([0.0] * 7, TypeError, "action is float64: .*; expected integers"),
    ],
)
def test_actions_that_the_policy_does_not_have_are_refused(make, teach, action, error, message):
    policy = make()
    before = policy.get_state()
    with pytest.raises(error, match=message):
        teach(policy, [np.array(action)], np.ones((1, 7)))
    assert_equal_states(policy.get_state(), before)


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        ({"num_actions": 0}, ValueError, "num_actions is 0; expected at least 1"),
        ({"batch_size": -1}, ValueError, "batch_size is -1; expected at least 1"),
        ({"num_actions": 2.0}, TypeError, "num_actions is 2.0; expected an integer"),
        ({"seed": 1.5}, TypeError, "seed is 1.5; expected a non-negative integer"),
        ({"seed": -1}, ValueError, "seed is -1; expected a non-negative integer"),
    ],
)
def test_wrong_sizes_and_seeds_are_refused(make, sizes, error, message):
    with pytest.raises(error, match=message):
        make(**sizes)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_beats_chance(name):
    env = KArmedTestbed(K, batch_size=200, seed=0)
    policy = POLICIES[name](num_actions=K, batch_size=200, seed=1)
    run(policy, env, 200)
    last = run(policy, env, 50)
    # The optimal share by chance has a standard error of 0.004.
    assert np.mean(last == env.optimal_action()) > 1 / K + 0.1


def test_ties_are_broken_uniformly_at_random(chi_square):
    values = np.tile([1.0, 3.0, 3.0, -2.0, 3.0], (30_000, 1))
    counts = np.bincount(argmax_random_ties(np.random.default_rng(0), values), minlength=5)
    assert counts[0] == counts[3] == 0
    # Two degrees of freedom: 6 standard deviations above the mean.
    assert chi_square(counts[[1, 2, 4]], np.full(3, 1 / 3)) < 14


def test_each_row_has_ties_of_its_own():
    values = np.array([[0.0, 0.0, -1.0], [2.0, 1.0, 2.0], [0.0, 7.0, 1.0], [np.inf, np.inf, 0.0]])
    rng = np.random.default_rng(0)
    found = np.array([argmax_random_ties(rng, values) for _ in range(200)])
    assert [set(column) for column in found.T] == [{0, 1}, {0, 2}, {1}, {0, 1}]


def test_without_ties_nothing_is_drawn():
    rng = np.random.default_rng(0)
    values = np.random.default_rng(1).normal(size=(50, 6))
    before = rng.bit_generator.state
    np.testing.assert_array_equal(argmax_random_ties(rng, values), values.argmax(axis=1))
    assert rng.bit_generator.state == before
