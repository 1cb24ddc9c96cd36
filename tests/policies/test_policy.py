"""What holds for every policy that learns each row by itself, and the breaking of ties."""

import pickle
from functools import partial

import numpy as np
import pytest

from bandit_envs import (
    BoltzmannPolicy,
    DecayingEpsilonGreedyPolicy,
    DiscountedUCBPolicy,
    EpsilonGreedyPolicy,
    ExploreThenCommitPolicy,
    GaussianThompsonSamplingPolicy,
    GradientBanditPolicy,
    KArmedTestbed,
    MOSSPolicy,
    Policy,
    RandomPolicy,
    SlidingWindowUCBPolicy,
    StepDriver,
    SuccessiveEliminationPolicy,
    UCB1TunedPolicy,
    UCBPolicy,
)
from bandit_envs.policies import argmax_random_ties
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import Trajectory, restart, termination

K, B = 4, 7

POLICIES = {
    "random": RandomPolicy,
    "greedy": partial(EpsilonGreedyPolicy, 0.0),
    "epsilon_greedy": partial(EpsilonGreedyPolicy, 0.3, 1.0, 0.2),
    "ucb": partial(UCBPolicy, 1.5),
    "gradient": partial(GradientBanditPolicy, 0.2),
    "gradient_without_baseline": partial(GradientBanditPolicy, 0.2, False),
    "ucb1_tuned": UCB1TunedPolicy,
    "moss": partial(MOSSPolicy, 100),
    "discounted_ucb": partial(DiscountedUCBPolicy, 0.98),
    "sliding_window_ucb": partial(SlidingWindowUCBPolicy, 100),
    "boltzmann": partial(BoltzmannPolicy, 0.5),
    "successive_elimination": partial(SuccessiveEliminationPolicy, 0.9),
    "explore_then_commit": partial(ExploreThenCommitPolicy, 3),
    "decaying_epsilon_greedy": partial(DecayingEpsilonGreedyPolicy, 1.0, 0.5),
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


def arrays(policy):
    """Returns the arrays of what a policy has learned, rows first."""
    learned = policy.get_state().content.learned
    found = [np.asarray(array) for array in learned or ()]
    return [array if array.shape[:1] in ((), (B,)) else array.T for array in found]


def generator_state(policy):
    return policy.get_state().content.rng.bit_generator.state


def test_actions_are_integers_in_range(make):
    actions = run(make(), KArmedTestbed(K, batch_size=B, seed=0), 50)
    assert actions.shape == (50, B)
    assert actions.dtype == np.int32
    assert set(actions.flat) <= set(range(K))


def test_one_seed_repeats_a_run_and_another_does_not(make):
    runs = [run(make(seed), KArmedTestbed(K, batch_size=B, seed=1), 40) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert np.any(runs[0] != runs[2])


def test_global_randomness_is_untouched(make):
    before = np.random.get_state()[1].copy()
    run(make(), KArmedTestbed(K, batch_size=B, seed=0), 10)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize("steps_before", [0, 1, 25])
def test_a_policy_saved_within_a_run_replays_it_exactly(make, steps_before):
    env, policy = KArmedTestbed(K, batch_size=B, seed=0), make(1)
    env.reset()
    if steps_before:
        run(policy, env, steps_before)
    env_state, state = env.get_state(), pickle.loads(pickle.dumps(policy.get_state()))
    expected = run(policy, env, 25)
    learned = policy.get_state()

    for again in (policy, make(2)):  # the second in a policy that has drawn from another seed
        run(again, KArmedTestbed(K, batch_size=B, seed=9), 3)
        again.set_state(state)
        env.set_state(env_state)
        np.testing.assert_array_equal(run(again, env, 25), expected)
        assert_identical(again.get_state(), learned, "what was learned")


class Counts(RandomPolicy):
    """Learns an array, and not a named tuple of them."""

    def _initial(self):
        return np.zeros((self.batch_size, self.num_actions))

    def _learn(self, learned, trajectory):
        return learned + 1.0


def test_a_policy_may_learn_any_array():
    policy, same = (Counts(num_actions=K, batch_size=B, seed=seed) for seed in (0, 1))
    run(policy, KArmedTestbed(K, batch_size=B, seed=0), 3)
    same.set_state(policy.get_state())
    assert_identical(same.get_state(), policy.get_state(), "what was learned")


@pytest.mark.parametrize("bounds", [(0.0, 1e100), (-1e100, 0.0)])
def test_rewards_outside_the_range_of_a_policy_are_refused(monkeypatch, bounds):
    monkeypatch.setattr(Counts, "reward_range", bounds)
    policy, sign = Counts(num_actions=K, batch_size=B), 1.0 if bounds[1] else -1.0
    policy(step(np.full(B, sign)))
    with pytest.raises(ValueError, match="reward"):
        policy(step(np.full(B, -sign)))


@pytest.mark.parametrize("name", [*POLICIES, "counts"])
def test_a_state_of_another_size_or_kind_is_refused_and_nothing_changes(name):
    make = Counts if name == "counts" else POLICIES[name]
    policy = make(num_actions=K, batch_size=B, seed=0)
    state = policy.get_state()
    other_kind = POLICIES["ucb" if name == "thompson" else "thompson"]
    wrong = [
        None,
        (),
        make(num_actions=K, batch_size=B + 1).get_state(),
        make(num_actions=K + 1, batch_size=B).get_state(),
        other_kind(num_actions=K, batch_size=B).get_state(),
    ]
    for bad in wrong:
        with pytest.raises((TypeError, ValueError), match="state "):
            policy.set_state(bad)
        assert_identical(policy.get_state(), state, "the state after a refusal")


def step(reward, action=None, rows=B):
    """Returns a trajectory of one step of `rows` rows."""
    time_step = restart(np.ones((rows, 1), np.float32), rows)
    action = np.zeros(rows, np.int32) if action is None else action
    trajectory = Trajectory.from_transition(
        time_step, action, termination(time_step.observation, np.zeros(rows))
    )
    return trajectory._replace(reward=reward)


@pytest.mark.parametrize(
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
def test_what_cannot_be_learned_from_is_refused_and_nothing_changes(make, trajectory, error, name):
    policy = make()
    before = policy.get_state()
    with pytest.raises(error, match=name):
        policy(trajectory)
    assert_identical(policy.get_state(), before, "the state after a refusal")


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (restart(np.ones((3, 1)), 3), ValueError),
        (restart(np.ones((B, 1)), B)._replace(step_type=None), ValueError),
        (np.ones(B), TypeError),
        (None, TypeError),
    ],
)
def test_what_is_not_a_time_step_of_all_rows_is_refused(make, wrong, error):
    policy = make()
    for asked in (policy.action, policy.probabilities):
        with pytest.raises(error, match="time_step"):
            asked(wrong)


@pytest.mark.parametrize("scale", [1e37, 1e99])
@pytest.mark.parametrize("name", LEARNERS)
def test_large_rewards_spoil_nothing(name, scale, teach, lesson, time_step):
    actions, rewards = lesson
    policy = POLICIES[name](num_actions=K, batch_size=B, seed=0)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        teach(policy, actions, rewards.astype(np.float64) * scale)
        policy.action(time_step(B))
    assert all(np.isfinite(array).all() for array in arrays(policy)[:1])


def test_what_is_learned_later_does_not_reach_a_saved_state(make, teach, lesson):
    policy = make()
    teach(policy, *lesson)
    state = policy.get_state()
    kept = pickle.dumps(state)
    run(policy, KArmedTestbed(K, batch_size=B, seed=0), 5)
    assert_identical(state, pickle.loads(kept), "the saved state")


def test_learning_does_not_draw_and_choosing_does_not_learn(make, teach, lesson, time_step):
    policy = make()
    before = generator_state(policy)
    teach(policy, *lesson)
    assert generator_state(policy) == before
    taught = arrays(policy)
    policy.action(time_step(B))
    for one, other in zip(taught, arrays(policy), strict=True):
        np.testing.assert_array_equal(one, other)


def test_reset_forgets_and_goes_on_drawing(make, teach, lesson, time_step):
    policy = make()
    teach(policy, *lesson)
    policy.action(time_step(B))
    rng = generator_state(policy)
    policy.reset()
    assert generator_state(policy) == rng
    for one, other in zip(arrays(policy), arrays(make()), strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_learn_by_themselves(make, teach, lesson):
    actions, rewards = lesson
    order = np.random.default_rng(1).permutation(B)
    straight, permuted, changed = make(), make(), make()
    teach(straight, actions, rewards)
    teach(permuted, actions[:, order], rewards[:, order])
    teach(changed, actions, rewards + 100.0 * (np.arange(B) == 2))
    # Some processors round exp, which gradient bandits need, by a number's place in memory.
    tolerance = 1e-12 if isinstance(straight, GradientBanditPolicy) else 0.0
    for one, other, third in zip(*map(arrays, (straight, permuted, changed)), strict=True):
        np.testing.assert_allclose(one[order] if one.ndim else one, other, tolerance, tolerance)
        if one.ndim:
            np.testing.assert_array_equal(np.delete(one, 2, 0), np.delete(third, 2, 0))


@pytest.mark.parametrize(
    ("sizes", "error"),
    [
        ({"num_actions": 0}, ValueError),
        ({"batch_size": -1}, ValueError),
        ({"num_actions": 2.0}, TypeError),
        ({"num_actions": 2**70}, ValueError),
        ({"seed": 1.5}, TypeError),
        ({"seed": -1}, ValueError),
    ],
)
def test_wrong_sizes_and_seeds_are_refused(make, sizes, error):
    with pytest.raises(error, match=next(iter(sizes))):
        make(**sizes)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_beats_chance(name):
    env = KArmedTestbed(K, batch_size=200, seed=0)
    policy = POLICIES[name](num_actions=K, batch_size=200, seed=1)
    run(policy, env, 200)
    last = run(policy, env, 50)
    # The optimal share by chance has a standard error of 0.004.
    assert np.mean(last == env.optimal_action()) > 1 / K + 0.1


def test_a_policy_of_ones_own_needs_no_probabilities(time_step):
    class First(Policy):
        def _select(self, rng, learned, time_step):
            return np.zeros(self.batch_size, int)

    policy = First(K, B, None)
    np.testing.assert_array_equal(run(policy, KArmedTestbed(K, batch_size=B), 3), np.zeros((3, B)))
    with pytest.raises(NotImplementedError, match="First"):
        policy.probabilities(time_step(B))


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


ONE_NAN = np.tile(np.arange(float(K)), (B, 1))
ONE_NAN[0, 0] = np.nan
ONE_NAN[1, -2:] = K  # a tie, so that there are as many largest scores as rows


@pytest.mark.parametrize(
    ("hook", "returned"),
    [
        ("_probabilities", np.full((B, K), np.nan)),
        ("_probabilities", np.ones(K)),
        ("_scores", np.ones(K)),
        ("_scores", np.full((B, K), np.nan)),
        ("_scores", ONE_NAN),
    ],
)
def test_a_choice_from_nan_or_a_wrong_shape_is_refused(time_step, hook, returned):
    mine = type("Mine", (UCBPolicy,), {hook: lambda self, learned, time_step: returned})
    with pytest.raises(ValueError, match=r"NaN|shape"):
        mine(1.0, num_actions=K, batch_size=B).action(time_step(B))


class Always(RandomPolicy):
    """Chooses one action, as the class attribute says."""

    chosen = None

    def _select(self, rng, learned, time_step):
        return self.chosen


@pytest.mark.parametrize(
    ("chosen", "error"),
    [
        ([1, 0, 1], None),
        (np.array([1, 0, 1], np.uint8), None),
        ([1.0, 0.0, 1.0], TypeError),
        (np.array([True, False, True]), TypeError),
        (None, TypeError),
        ([1, 0], ValueError),
        (1, ValueError),
    ],
)
def test_choices_are_integers_one_for_each_row(time_step, monkeypatch, chosen, error):
    monkeypatch.setattr(Always, "chosen", chosen)
    policy, rng = Always(K, 3), np.random.default_rng(0)
    if error is None:
        assert policy.action(time_step(3)).dtype == np.int32
        np.testing.assert_array_equal(policy.action(time_step(3)), [1, 0, 1])
        np.testing.assert_array_equal(
            policy.estimated_probabilities(time_step(3), 2, rng), np.eye(K)[[1, 0, 1]]
        )
        return
    with pytest.raises(error, match="_select returned"):
        policy.action(time_step(3))
    with pytest.raises(error, match="_select returned"):
        policy.estimated_probabilities(time_step(3), 2, rng)


class Observation(dict):
    """Counts how often its mask is read."""

    reads = 0

    def __getitem__(self, key):
        self.reads += key == "mask"
        return super().__getitem__(key)


def test_a_read_only_mask_is_read_once_in_a_time_step(make):
    mask = np.ones((B, K), bool)
    mask.setflags(write=False)
    policy, start = make(), restart(Observation(mask=mask), B)
    action = policy.action(start)
    if policy.knows_probabilities:
        policy.probabilities(start)
    policy(step(np.zeros(B), action)._replace(observation=start.observation))
    assert start.observation.reads == 1


def test_a_mask_may_be_edited_in_place(make):
    policy, mask = make(), np.ones((B, K), bool)
    for only in range(K):
        mask[:] = np.arange(K) == only
        np.testing.assert_array_equal(policy.action(restart({"mask": mask}, B)), only)


def test_ties_are_broken_uniformly_at_random(chi_square):
    values = np.tile([1.0, 3.0, 3.0, -2.0, 3.0], (30_000, 1))
    best = argmax_random_ties(np.random.default_rng(0), values)
    counts = np.bincount(best, minlength=5)
    assert counts[0] == counts[3] == 0
    # Two degrees of freedom: 6 standard deviations above the mean.
    assert chi_square(counts[[1, 2, 4]], np.full(3, 1 / 3)) < 14


def test_each_row_has_ties_and_available_values_of_its_own():
    values = np.array([[0.0, 0.0, -1.0], [2.0, 1.0, 2.0], [0.0, 7.0, 1.0], [np.inf, np.inf, 0.0]])
    available = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1], [1, 1, 1]], bool)
    rng = np.random.default_rng(0)
    found = np.array([argmax_random_ties(rng, values) for _ in range(200)])
    assert [set(column) for column in found.T] == [{0, 1}, {0, 2}, {1}, {0, 1}]
    found = np.array([argmax_random_ties(rng, values, available) for _ in range(200)])
    assert [set(column) for column in found.T] == [{0, 1}, {0}, {2}, {0, 1}]


def test_without_ties_nothing_is_drawn():
    rng = np.random.default_rng(0)
    values = np.random.default_rng(1).normal(size=(50, 6))
    before = rng.bit_generator.state
    np.testing.assert_array_equal(argmax_random_ties(rng, values), values.argmax(axis=1))
    assert rng.bit_generator.state == before
