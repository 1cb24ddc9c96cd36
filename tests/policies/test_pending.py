"""Choices whose rewards come later count in bounds and shares, and not in means."""

import functools

import numpy as np
import pytest

from bandit_envs import (
    BernoulliPyEnvironment,
    DelayedLearning,
    DelayedRewards,
    KArmedTestbed,
    KLUCBPolicy,
    RegretMetric,
    StepDriver,
    Trajectory,
    UCBPolicy,
    load_state,
    save_state,
)
from bandit_envs.policies import (
    BayesUCBPolicy,
    CTrackingPolicy,
    DiscountedUCBPolicy,
    IMEDPolicy,
    KLLUCBPolicy,
    LikelihoodRatioTestPolicy,
    LUCBPolicy,
    MOSSPolicy,
    Policy,
    RandomPolicy,
    RowByRowPolicy,
    SlidingWindowUCBPolicy,
    TopTwoThompsonSamplingPolicy,
    TrackAndStopPolicy,
    UCB1TunedPolicy,
)
from bandit_envs.specs import SlateSpec
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import restart, termination

MEANS = (0.5, 0.46, 0.42, 0.38, 0.34, 0.3)
BEST_ARM_MEANS = (0.5, 0.4, 0.35, 0.3)
K = 3
START = restart(np.ones((1, 1), np.float32), 1)

INDEX_POLICIES = {
    "UCB": functools.partial(UCBPolicy, 2.0),
    "UCB1-tuned": UCB1TunedPolicy,
    "MOSS": MOSSPolicy,
    "KL-UCB": KLUCBPolicy,
    "Bayes-UCB": BayesUCBPolicy,
    "IMED": IMEDPolicy,
    "discounted UCB": functools.partial(DiscountedUCBPolicy, 1.0),
    "sliding UCB": functools.partial(SlidingWindowUCBPolicy, 10_000),
}
SEARCHES = {
    "Track-and-Stop": functools.partial(TrackAndStopPolicy, 0.1),
    "C-tracking": functools.partial(CTrackingPolicy, 0.1),
    "likelihood ratio test": functools.partial(LikelihoodRatioTestPolicy, 0.1),
    "KL-LUCB": functools.partial(KLLUCBPolicy, 0.1),
    "LUCB": functools.partial(LUCBPolicy, 0.1),
}
COUNTING = {**INDEX_POLICIES, **SEARCHES}


@pytest.fixture(autouse=True)
def scipy_for_bayes_ucb(request):
    if "Bayes-UCB" in request.node.name:
        pytest.importorskip("scipy.special")


def teach(policy, action, reward):
    after = termination(START.observation, np.array([reward]))
    policy(Trajectory.from_transition(START, np.array([action], np.int32), after))


def choose_pending(policy, steps):
    """Lets a policy of one row choose without rewards, and returns its actions."""
    actions = []
    for _ in range(steps):
        action = policy.action(START)
        policy.expect_rewards(action)
        actions.append(int(action[0]))
    return actions


def longest_run(actions, is_counted):
    """Returns the longest run of one action among those that count, in each column of [T, B]."""
    longest = np.zeros(actions.shape[1])
    current = np.zeros(actions.shape[1])
    for before, now in zip(np.vstack([actions[:1] - 1, actions[:-1]]), actions):
        current = np.where(now == before, current + 1, 1)
        longest = np.maximum(longest, np.where(is_counted(now), current, 0))
    return longest


def regret_of(make, delay, runs, steps=10_000, **options):
    """Returns the regrets of runs on `MEANS`, and their longest runs of actions but the best."""
    env = DelayedRewards(BernoulliPyEnvironment(MEANS, runs, seed=0), delay)
    policy = make(num_actions=len(MEANS), batch_size=runs, seed=1, **options)
    regret = RegretMetric(env)
    actions = []
    observers = [DelayedLearning(env, policy), regret, lambda step: actions.append(step.action)]
    StepDriver(env, policy, observers, steps).run()
    return regret.totals, longest_run(np.array(actions), lambda action: action != 0)


def users_until_stop(make, delay, runs, **options):
    """Returns how many users tests see until they stop, and how long one action was chosen."""
    env = DelayedRewards(BernoulliPyEnvironment(BEST_ARM_MEANS, runs, seed=0), delay)
    policy = make(num_actions=4, batch_size=runs, seed=1, **options)
    users = np.zeros(runs)
    actions = []

    def count(step):
        users[~policy.stopped] += 1
        actions.append(np.where(policy.stopped, -len(actions), step.action))

    observers = [DelayedLearning(env, policy), count]
    StepDriver(env, policy, observers, 20_000).run_until_stopped()
    return users, longest_run(np.array(actions), lambda action: action >= 0)


def is_near(values, expected, error):
    """Whether the mean of values is within three standard errors of a number that has one, too."""
    own = values.std(ddof=1) / np.sqrt(len(values))
    return abs(values.mean() - expected) < 3.0 * np.hypot(own, error)


@pytest.mark.parametrize("name", COUNTING)
def test_actions_without_any_reward_are_chosen_equally_often(name):
    policy = COUNTING[name](num_actions=K, seed=0)
    actions = choose_pending(policy, 30)
    assert (np.bincount(actions, minlength=K) >= 4).all()
    assert policy.pending.sum() == 30


@pytest.mark.parametrize("name", COUNTING)
def test_a_leader_is_not_chosen_for_all_steps_until_the_next_reward(name):
    def make(**options):
        policy = COUNTING[name](num_actions=2, seed=0, **options)
        for reward in [1.0, 0.0, 1.0, 0.0, 1.0]:
            teach(policy, 0, reward)
            teach(policy, 1, 1.0 - reward)
        return policy

    assert set(choose_pending(make(), 200)) == {0, 1}
    deaf = make(count_pending=False)
    assert not deaf.can_count_pending
    assert_identical(make().get_state().content, deaf.get_state().content)


def test_the_width_is_that_of_all_choices_and_the_mean_that_of_the_rewards():
    policy = UCBPolicy(2.0, num_actions=2)
    for action, reward in [(0, 1.0), (0, 0.5), (1, 0.0)]:
        teach(policy, action, reward)
    policy.expect_rewards([1])
    policy.expect_rewards([1])
    known = policy._with_pending(policy.get_state().content.learned, policy.pending)
    assert policy._bounds(known) == pytest.approx(
        np.array([[0.75, 0.0]]) + 2.0 * np.sqrt(np.log(6.0) / np.array([[2.0, 3.0]]))
    )
    assert policy.describe().values.tolist() == [0.75, 0.0]


@pytest.mark.parametrize("name", INDEX_POLICIES)
def test_pending_choices_with_the_mean_of_the_rewards_change_no_mean(name):
    policy = INDEX_POLICIES[name](num_actions=2)
    for _ in range(20):
        for action in (0, 1):
            teach(policy, action, 0.5)
    for _ in range(2):
        policy.expect_rewards([0])
    assert policy.action(START) == [1]  # the mean is equal, and the bound is wider


def test_an_action_waiting_for_its_first_reward_has_the_largest_one():
    policy = KLUCBPolicy(num_actions=2, seed=0)
    for _ in range(3):
        teach(policy, 0, 0.5)
    policy.expect_rewards([1])
    assert policy.action(START) == [1]
    unbounded = UCBPolicy(0.001, num_actions=2, seed=0)
    for _ in range(3):
        teach(unbounded, 0, 7.0)
    unbounded.expect_rewards([1])
    assert unbounded.action(START) == [1]  # 7, as the best, and a wider bound


def test_a_reward_ends_one_wait_and_no_wait_ends_twice():
    policy = UCBPolicy(1.0, num_actions=K, batch_size=2)
    before = policy.get_state()
    policy.expect_rewards([0, 1])
    policy.expect_rewards([0, 2], rows=np.array([True, False]))
    assert policy.pending.tolist() == [[2, 0, 0], [0, 1, 0]]
    policy.stop_expecting([0, 1])
    policy.stop_expecting([1, 1])
    assert policy.pending.tolist() == [[1, 0, 0], [0, 0, 0]]
    policy.stop_expecting([0, 0], rows=np.array([True, False]))
    assert_identical(policy.get_state(), before)


def test_bad_arguments_are_refused_and_nothing_is_expected():
    policy = UCBPolicy(1.0, num_actions=K, batch_size=2)
    for action, rows in [([0, K], None), ([0], None), ([0, 1], [1, 0]), (None, None)]:
        with pytest.raises((TypeError, ValueError)):
            policy.expect_rewards(action, rows)
    assert not policy.pending.any()
    with pytest.raises(TypeError, match="count_pending is 'no'; expected a bool"):
        UCBPolicy(1.0, num_actions=K, count_pending="no")
    for each in (
        RandomPolicy(num_actions=K),
        TopTwoThompsonSamplingPolicy(0.1, num_actions=K),
        UCBPolicy(1.0, num_actions=K, count_pending=False),
    ):
        with pytest.raises(TypeError, match="does not count pending choices"):
            each.expect_rewards([0])


def test_a_class_counts_pending_choices_if_it_says_how():
    class Fewest(Policy):
        def _initial(self):
            return np.zeros(self._table_shape)

        def _learn(self, learned, trajectory):
            learned.reshape(-1)[self._row_offsets + trajectory.action] += 1.0
            return learned

        def _select(self, rng, learned, time_step):
            return learned.argmin(axis=1)

        def _with_pending(self, learned, pending):
            return learned + pending

    assert Fewest.can_count_pending
    assert choose_pending(Fewest(num_actions=K), 6) == [0, 1, 2, 0, 1, 2]
    slates = Fewest(action_spec=SlateSpec.of(2, K), batch_size=2)
    with pytest.raises(TypeError, match="does not count pending choices"):
        slates.expect_rewards([[0, 1], [1, 2]])


def test_stopped_rows_recommend_from_rewards_alone():
    policy = TrackAndStopPolicy(0.1, num_actions=2)
    for _ in range(200):
        teach(policy, 0, 0.0)
        teach(policy, 1, 1.0)
    assert policy.has_stopped
    assert set(choose_pending(policy, 50)) == {1}


def test_waits_end_when_rewards_are_lost():
    delays = [2, 9, 0]
    env = DelayedRewards(BernoulliPyEnvironment([0.5] * K, 4, seed=0), delays, max_delay=3)
    policy = UCBPolicy(2.0, num_actions=K, batch_size=4, seed=1)
    learner = DelayedLearning(env, policy)
    actions = []
    observers = [learner, lambda step: actions.append(step.action)]
    for _ in range(40):
        StepDriver(env, policy, observers, 1).run()
        expected = np.zeros((4, K))
        for age, action in enumerate(reversed(actions[-3:])):
            waits = np.array(delays)[action] > age
            expected[np.arange(4)[waits], action[waits]] += 1
        assert_identical(policy.pending, expected.astype(np.intp))
    env.reset()
    StepDriver(env, policy, observers, 1).run()
    assert policy.pending.sum() <= 4


def test_a_run_with_pending_choices_replays_from_a_file(tmp_path):
    def make():
        env = DelayedRewards(KArmedTestbed(K, batch_size=5, seed=0), 7)
        policy = UCBPolicy(1.0, num_actions=K, batch_size=5, seed=1)
        return StepDriver(env, policy, [DelayedLearning(env, policy)], 30)

    driver = make()
    driver.run()
    save_state(tmp_path / "run.npz", driver.get_state())
    other = make()
    other.set_state(load_state(tmp_path / "run.npz"))
    driver.run()
    other.run()
    assert_identical(other.get_state(), driver.get_state())


def test_rows_with_policies_of_their_own_count_as_those_of_one():
    def run(policy):
        env = DelayedRewards(BernoulliPyEnvironment(MEANS, 4, seed=0), 20)
        actions = []
        observers = [DelayedLearning(env, policy), lambda step: actions.append(step.action)]
        StepDriver(env, policy, observers, 60).run()
        return np.array(actions), policy.pending

    policies = [UCBPolicy(1.0, num_actions=len(MEANS), seed=row) for row in range(4)]
    found, pending = run(RowByRowPolicy(policies, seed=1))
    assert (pending.sum(axis=1) == 20).all()
    assert (longest_run(found, lambda action: action >= 0) < 12).all()
    assert_identical(RowByRowPolicy(policies).replicate(6).pending, np.zeros((6, 6), np.intp))


@pytest.mark.parametrize("with_it", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_kl_ucb_chooses_no_bad_action_for_the_whole_delay(with_it):
    _, runs = regret_of(KLUCBPolicy, 100, runs=40, steps=800, count_pending=with_it)
    assert (np.median(runs) < 100) == with_it


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "delay", "expected", "error", "longest"),
    [
        (KLUCBPolicy, 500, 159.2, 3.9, 168),
        (functools.partial(UCBPolicy, np.sqrt(2.0)), 100, 363.0, 3.7, 85),
    ],
    ids=["kl_ucb-500", "ucb-100"],
)
def test_regrets_with_pending_choices_are_those_of_the_reference(
    make, delay, expected, error, longest
):
    totals, runs = regret_of(make, delay, runs=40)
    assert is_near(totals, expected, error)
    assert 0.6 < np.median(runs) / longest < 1.6


@pytest.mark.slow
def test_kl_ucb_without_them_has_twice_the_regret():
    class FirstOfTies(KLUCBPolicy):
        """Breaks ties as the reference does."""

        def _select(self, rng, learned, time_step):
            return self._bounds(learned).argmax(axis=1)

    totals, runs = regret_of(FirstOfTies, 500, runs=40, count_pending=False)
    assert is_near(totals, 355.8, 3.4)
    assert 400 < np.median(runs) < 700


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "delay", "expected", "error", "longest"),
    [
        ("Track-and-Stop", 500, 1609, 65, 49),
        ("KL-LUCB", 100, 2257, 89, 40),
    ],
)
def test_searches_with_late_rewards_take_the_users_of_the_reference(
    name, delay, expected, error, longest
):
    users, runs = users_until_stop(SEARCHES[name], delay, runs=50)
    assert is_near(users, expected, error)
    assert np.median(runs) < 1.6 * longest


@pytest.mark.parametrize("by_row", [False, True])
def test_choices_of_known_actions_stay_pending_with_more_actions(by_row):
    policy = UCBPolicy(1.0, num_actions=2, batch_size=3, seed=0)
    if by_row:
        policy = RowByRowPolicy([UCBPolicy(1.0, num_actions=2, seed=row) for row in range(3)])
    policy.expect_rewards([0, 1, 1])
    assert policy.with_actions(4).pending.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]]
