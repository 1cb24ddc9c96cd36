import pickle

import numpy as np
import pytest

from bandit_envs import (
    AffineReward,
    AverageRewardMetric,
    CascadeBandit,
    DelayedLearning,
    DelayedRewards,
    EpsilonGreedyPolicy,
    GaussianThompsonSamplingPolicy,
    KArmedTestbed,
    OptimalActionMetric,
    RandomActionMask,
    RandomPolicy,
    RandomSlatePolicy,
    RegretMetric,
    StepDriver,
    UCBPolicy,
)
from bandit_envs.base.saving import load_state, save_state
from bandit_envs.base.state import Stateful
from bandit_envs.environments import logistic_context
from bandit_envs.logged import LogRecorder
from bandit_envs.policies import LUCBPolicy
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import PolicyInfo
from tests.policies.shared import SharedAverages, Unsaid

pytestmark = pytest.mark.filterwarnings("ignore:policy is not among the observers")

B, K = 6, 4


class Run:
    """A policy that learns on a drifting testbed, with metrics, its trajectories kept."""

    def __init__(self, num_steps, seed=0, horizon=None):
        testbed = KArmedTestbed(K, batch_size=B, seed=seed, drift_std=0.1, horizon=horizon)
        self.env = AffineReward(testbed, 2.0)
        self.policy = GaussianThompsonSamplingPolicy(num_actions=K, batch_size=B, seed=seed + 1)
        self.metrics = AverageRewardMetric(), OptimalActionMetric(self.env), RegretMetric(self.env)
        self.trajectories = []
        observers = [self.policy, *self.metrics, self.trajectories.append]
        self.driver = StepDriver(self.env, self.policy, observers, num_steps)

    def results(self):
        """Returns the arrays of all metrics."""
        return [
            array
            for metric in self.metrics
            for statistics in metric.result()[:2]
            for array in (statistics.mean, statistics.squared_deviation)
        ]


def assert_same_runs(left, right):
    assert_identical(left.trajectories, right.trajectories, "the trajectories")
    assert_identical(left.results(), right.results(), "the results")


@pytest.fixture(params=[None, 5], ids=["episodes of one step", "horizon"])
def horizon(request):
    return request.param


def epsilon_greedy(num_actions=K, batch_size=B):
    return EpsilonGreedyPolicy(0.5, num_actions=num_actions, batch_size=batch_size, seed=1)


@pytest.mark.parametrize(
    ("seed", "other", "warns"),
    [
        (7, 7, True),
        ([7, 8], [7, 8], True),
        (np.array([7, 8]), np.array([7, 8]), True),
        (7, 8, False),
        (None, None, False),
        (np.random.SeedSequence(7), 7, True),
        (np.random.SeedSequence(7).spawn(1)[0], 7, False),
        (np.random.RandomState(7), np.random.RandomState(8), False),
    ],
)
def test_a_policy_that_draws_the_numbers_of_its_environment_is_warned_about(
    seed, other, warns, recwarn
):
    env = AffineReward(KArmedTestbed(K, seed=seed))
    policy = RandomPolicy(num_actions=K, seed=other)
    StepDriver(env, policy)
    assert ["have the same seed" in str(each.message) for each in recwarn] == [True] * warns


def test_a_policy_and_its_environment_may_share_a_generator(recwarn):
    rng = np.random.default_rng(7)
    env = KArmedTestbed(K, seed=rng)
    StepDriver(env, RandomPolicy(num_actions=K, seed=rng))
    assert not recwarn


@pytest.mark.parametrize("rng", [None, np.random.RandomState(7)])
def test_policies_and_environments_may_have_random_numbers_of_their_own(rng, recwarn):
    class OwnPolicy(RandomPolicy):
        def __init__(self):
            super().__init__(num_actions=K, seed=7)
            self.np_random = rng

    class OwnEnvironment(KArmedTestbed):
        np_random = rng

    StepDriver(OwnEnvironment(K, seed=7), OwnPolicy())
    assert not recwarn


def test_a_policy_that_could_learn_and_is_no_observer_is_warned_about(recwarn):
    env, policy = KArmedTestbed(K, batch_size=B, seed=0), epsilon_greedy()
    StepDriver(env, RandomPolicy(num_actions=K, batch_size=B)).run()
    StepDriver(env, policy, [policy]).run()
    StepDriver(env, policy).run()  # has learned
    assert not recwarn.list
    with pytest.warns(UserWarning, match="not among the observers"):
        StepDriver(env, epsilon_greedy(), [policy]).run()


def test_two_runs_of_n_steps_equal_one_of_2n(horizon):
    twice, once = Run(13, horizon=horizon), Run(26, horizon=horizon)
    twice.driver.run()
    twice.driver.run()
    once.driver.run()
    assert_same_runs(twice, once)
    assert twice.env.np_random.bit_generator.state == once.env.np_random.bit_generator.state


def test_another_driver_continues_where_one_stopped():
    parted, whole = Run(7), Run(20)
    parted.driver.run()
    observers = [parted.policy, *parted.metrics, parted.trajectories.append]
    StepDriver(parted.env, parted.policy, observers, 13).run()
    whole.driver.run()
    assert_same_runs(parted, whole)


@pytest.mark.parametrize("steps_before", [0, 1, 12])
def test_a_whole_run_is_saved_and_replayed_exactly(horizon, steps_before):
    run = Run(1, horizon=horizon)
    for _ in range(steps_before):
        run.driver.run()
    state = pickle.loads(pickle.dumps(run.driver.get_state()))
    run.trajectories.clear()
    for _ in range(17):
        run.driver.run()

    again = Run(1, seed=50, horizon=horizon)  # which has never run
    again.driver.set_state(state)
    for _ in range(17):
        again.driver.run()
    assert_same_runs(again, run)


def test_observers_see_every_step_once_and_no_reset():
    run = Run(23, horizon=5)
    run.driver.run()
    assert len(run.trajectories) == 23
    assert not any(trajectory.is_boundary().any() for trajectory in run.trajectories)
    first = [bool(trajectory.is_first().all()) for trajectory in run.trajectories]
    last = [bool(trajectory.is_last().all()) for trajectory in run.trajectories]
    assert first == [step % 5 == 0 for step in range(23)]
    assert last == [step % 5 == 4 for step in range(23)]


def test_with_a_horizon_no_action_is_lost_to_a_reset():
    run = Run(23, horizon=5)
    run.driver.run()
    learned = run.policy.get_state().content.learned
    precision = learned.std**-2.0 - 1.0  # each reward of variance 1 adds 1
    np.testing.assert_allclose(precision.sum(axis=1), 23.0)


def test_without_a_horizon_every_step_is_a_whole_episode():
    run = Run(9)
    run.driver.run()
    assert all(trajectory.is_last().all() for trajectory in run.trajectories)
    assert len(run.trajectories) == 9


def test_the_first_run_resets_and_a_started_episode_is_not_reset():
    fresh, started = Run(5), Run(5)
    started.env.reset()
    fresh.driver.run()
    started.driver.run()
    assert_same_runs(fresh, started)


def test_run_returns_the_last_time_step():
    run = Run(3)
    assert_identical(run.driver.run(), run.env.current_time_step(), "the time step")


def test_observers_are_called_in_their_order():
    calls = []
    observers = [lambda trajectory, name=name: calls.append(name) for name in "abc"]
    StepDriver(KArmedTestbed(K, batch_size=B, seed=0), epsilon_greedy(), observers, 2).run()
    assert "".join(calls) == "abcabc"


def test_a_policy_that_is_not_an_observer_does_not_learn():
    env, policy, metric = KArmedTestbed(K, batch_size=B), epsilon_greedy(), AverageRewardMetric()
    StepDriver(env, policy, [policy], 50).run()
    before = policy.get_state().content.learned
    StepDriver(env, policy, [metric], 50).run()
    assert_identical(policy.get_state().content.learned, before, "what was learned")
    assert metric.result().per_step.mean.shape == (50,)


def test_trajectories_tell_the_logarithm_of_the_probability_of_the_action_if_asked():
    class Watched(EpsilonGreedyPolicy):
        def action(self, time_step):
            probabilities.append(self.probabilities(time_step))
            return super().action(time_step)

    probabilities, seen = [], []
    policy = Watched(0.5, num_actions=K, batch_size=B, seed=1)
    env = KArmedTestbed(K, batch_size=B, seed=0, horizon=5)
    StepDriver(env, policy, [policy, seen.append], 30, emit_log_probability=True).run()
    for expected, trajectory in zip(probabilities, seen, strict=True):
        assert isinstance(trajectory.policy_info, PolicyInfo)
        chosen = expected[np.arange(B), trajectory.action]
        np.testing.assert_allclose(np.exp(trajectory.policy_info.log_probability), chosen)
    assert len({float(p) for item in seen for p in item.policy_info.log_probability}) > 2


def test_the_probabilities_cost_nothing_and_change_nothing_where_nobody_asks():
    class Silent(EpsilonGreedyPolicy):
        def probabilities(self, time_step):
            raise AssertionError("nobody asked")

    runs = []
    for policy_class, asked in ((Silent, False), (EpsilonGreedyPolicy, True)):
        policy, seen = policy_class(0.5, num_actions=K, batch_size=B, seed=1), []
        env = KArmedTestbed(K, batch_size=B, seed=0)
        StepDriver(env, policy, [policy, seen.append], 20, asked).run()
        runs.append(seen)
    assert all(trajectory.policy_info == () for trajectory in runs[0])
    without = [trajectory._replace(policy_info=()) for trajectory in runs[1]]
    assert_identical(runs[0], without, "the trajectories")


def test_a_policy_without_known_probabilities_is_refused_if_they_are_asked_for():
    policy = GaussianThompsonSamplingPolicy(num_actions=K, batch_size=B)
    with pytest.raises(NotImplementedError, match="GaussianThompsonSamplingPolicy"):
        StepDriver(KArmedTestbed(K, batch_size=B), policy, emit_log_probability=True)


class Stubborn(Stateful):
    """An observer that takes no state."""

    _state = 0

    def __call__(self, trajectory):
        self._state += 1

    def _check_content(self, content):
        raise ValueError("never")


def test_a_state_that_one_part_refuses_changes_no_part():
    policy = epsilon_greedy()
    driver = StepDriver(KArmedTestbed(K, batch_size=B), policy, [policy, Stubborn()], 10)
    driver.run()
    state = driver.get_state()
    driver.run()
    before = driver.get_state()
    with pytest.raises(ValueError, match="never"):
        driver.set_state(state)
    assert_identical(driver.get_state(), before, "the state after a refusal")


def test_a_state_of_another_run_is_refused_and_nothing_changes():
    run = Run(2)
    run.driver.run()
    state = run.driver.get_state()
    swapped = state.content[:2] + state.content[:1:-1]  # the metrics in another order
    wrong = [
        None,
        (),
        [1, 2, 3, 4, 5],
        Run(2, horizon=5).driver.get_state(),
        StepDriver(run.env, run.policy).get_state(),
        run.policy.get_state(),
        state._replace(content=None),
        state._replace(content=state.content[:-1]),
        state._replace(content=swapped),
    ]
    for bad in wrong:
        with pytest.raises((TypeError, ValueError), match="state "):
            run.driver.set_state(bad)
        assert_identical(run.driver.get_state(), state, "the state after a refusal")


ENV, POLICY = KArmedTestbed(K, batch_size=B), epsilon_greedy()


@pytest.mark.parametrize(
    ("arguments", "error", "name"),
    [
        ((5, POLICY), TypeError, "env"),
        ((None, POLICY), TypeError, "env"),
        ((ENV, None), TypeError, "policy"),
        ((ENV, lambda time_step: [0] * B), TypeError, "policy"),
        ((ENV, POLICY, 3), TypeError, "observers"),
        ((ENV, POLICY, None), TypeError, "observers"),
        ((ENV, POLICY, [POLICY, None]), TypeError, "observer"),
        ((ENV, POLICY, [], 0), ValueError, "num_steps"),
        ((ENV, POLICY, [], 2.0), TypeError, "num_steps"),
        ((ENV, epsilon_greedy(batch_size=B + 1)), ValueError, "policy has batch_size 7"),
        ((ENV, epsilon_greedy(num_actions=K - 1)), ValueError, "policy has num_actions 3"),
        ((ENV, epsilon_greedy(num_actions=K + 1)), ValueError, "policy has num_actions 5"),
        ((AffineReward(ENV), epsilon_greedy(K - 1)), ValueError, "policy has num_actions 3"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, name):
    with pytest.raises(error, match=name):
        StepDriver(*arguments)


class Adapted:
    """An environment in another interface."""

    def wrapped_env(self):
        return ENV


@pytest.mark.parametrize("env", [Adapted, 5, None])
def test_what_is_no_environment_is_refused_as_it_is(env):
    with pytest.raises(TypeError, match=r"env is .*; expected a PyEnvironment$"):
        StepDriver(env, UCBPolicy(1.0, num_actions=K, batch_size=B))


@pytest.mark.parametrize(
    "take",
    [
        lambda env: StepDriver(env, UCBPolicy(1.0, num_actions=K, batch_size=B)),
        lambda env: AffineReward(env, scale=2.0),
        lambda env: LogRecorder(K, env),
    ],
)
def test_an_environment_that_is_adapted_already_is_refused_with_what_it_wraps(take):
    with pytest.raises(TypeError, match=r"env is a Adapted, .*; .* such as its wrapped_env\(\)"):
        take(Adapted())


def shared(env):
    return SharedAverages(**SharedAverages.arguments_for(env), seed=1)


IN_WRAPPERS = [
    lambda env: env,
    AffineReward,
    lambda env: AffineReward(RandomActionMask(env, 0.5)),
]


@pytest.mark.parametrize("wrap", IN_WRAPPERS)
def test_one_model_cannot_learn_from_several_problems(wrap):
    env = wrap(KArmedTestbed(K, batch_size=B, seed=0))
    policy = shared(env)
    message = (
        r"SharedAverages.learns_by_row is False.*independent_rows is True.*wrappers.OneProblem"
    )
    with pytest.raises(ValueError, match=message):
        StepDriver(env, policy, [policy])
    with pytest.raises(ValueError, match=message):  # nor while another policy acts
        StepDriver(env, epsilon_greedy(), [policy])
    delayed = DelayedRewards(env, delay=2)
    with pytest.raises(ValueError, match=message):
        DelayedLearning(delayed, shared(delayed))


def test_arrays_without_rows_cannot_learn_from_several_problems():
    env = KArmedTestbed(K, batch_size=B, seed=0)
    policy = Unsaid(num_actions=K, batch_size=B)
    with pytest.raises(
        ValueError, match=rf"Unsaid knows .* \({K},\).*Unsaid.learns_by_row is True"
    ):
        StepDriver(env, policy, [policy])
    users = logistic_context(K, 3, batch_size=B, seed=0)
    StepDriver(users, policy, [policy]).run()
    one = KArmedTestbed(K, seed=0)
    alone = Unsaid(num_actions=K)
    StepDriver(one, alone, [alone]).run()


def test_a_method_of_a_policy_is_an_observer_as_the_policy_is(recwarn):
    env = KArmedTestbed(K, batch_size=B, seed=0)
    with pytest.raises(ValueError, match=r"learns_by_row is False"):
        StepDriver(env, epsilon_greedy(), [shared(env).learn])
    delayed = DelayedRewards(env, delay=2)
    with pytest.raises(ValueError, match="DelayedLearning"):
        StepDriver(delayed, epsilon_greedy(), [epsilon_greedy().learn])
    other = epsilon_greedy()
    driver = StepDriver(env, epsilon_greedy(), [other.learn], 5)
    before = driver.get_state()
    driver.run()
    driver.set_state(before)
    assert other.is_untrained
    recwarn.clear()
    policy = LUCBPolicy(0.5, num_actions=K, batch_size=B, seed=1)
    StepDriver(env, policy, [policy.learn], 2000).run_until_stopped()
    assert not recwarn


@pytest.mark.parametrize("wrap", IN_WRAPPERS)
def test_one_model_learns_from_one_problem_and_is_evaluated_on_many(wrap):
    env = wrap(KArmedTestbed(K, batch_size=1, seed=0))
    policy = shared(env)
    StepDriver(env, policy, [policy], 20).run()
    many = wrap(KArmedTestbed(K, batch_size=B, seed=0))
    StepDriver(many, policy.replicate(B), [RegretMetric(many)], 20).run()


def test_one_model_learns_from_many_users_of_one_problem():
    env = logistic_context(K, 3, batch_size=B, seed=0)
    policy = shared(env)
    StepDriver(env, policy, [policy], 20).run()


def test_a_policy_of_slates_with_another_number_of_items_is_refused():
    env = CascadeBandit(num_slots=2, seed=0)
    for num_items in (env.num_actions - 1, env.num_actions + 1):
        with pytest.raises(ValueError, match="policy has num_actions"):
            StepDriver(env, RandomSlatePolicy(2, num_actions=num_items))


def test_observers_may_be_any_iterable():
    seen = []
    observers = (observer for observer in [seen.append])
    StepDriver(ENV, UCBPolicy(1.0, num_actions=K, batch_size=B), observers, 3).run()
    assert len(seen) == 3


def run_to_the_end(checkpoint, stop_at=None):
    """Runs the script of a user, which may be stopped; returns the totals of the regret."""
    env = KArmedTestbed(k=4, batch_size=3, seed=0)
    policy = EpsilonGreedyPolicy(0.1, num_actions=4, batch_size=3, seed=1)
    regret = RegretMetric(env)
    seen = []

    def watch(trajectory):
        seen.append(trajectory)
        if len(seen) == stop_at:
            raise KeyboardInterrupt

    StepDriver(env, policy, [policy, regret, watch], 50).run(checkpoint, every=8)
    return regret.totals, len(seen)


@pytest.mark.parametrize("stop_at", [1, 8, 9, 30])
def test_a_script_that_was_stopped_goes_on_from_its_checkpoint(tmp_path, stop_at):
    expected, _ = run_to_the_end(tmp_path / "whole.npz")
    with pytest.raises(KeyboardInterrupt):
        run_to_the_end(tmp_path / "run.npz", stop_at)
    found, steps = run_to_the_end(tmp_path / "run.npz")
    assert (found == expected).all()
    assert steps == 50 - (stop_at - 1) // 8 * 8
    again, steps = run_to_the_end(tmp_path / "run.npz")
    assert (again == expected).all()
    assert steps == 0


def test_a_script_may_take_more_steps_and_has_its_other_arguments(tmp_path):
    def run(epsilon, num_steps, path):
        env = KArmedTestbed(k=4, seed=0)
        policy = EpsilonGreedyPolicy(epsilon, num_actions=4, seed=1)
        regret = RegretMetric(env)
        StepDriver(env, policy, [policy, regret], num_steps).run(tmp_path / path)
        return regret.totals

    run(0.1, 20, "run.npz")
    assert (run(0.1, 50, "run.npz") == run(0.1, 50, "whole.npz")).all()
    with pytest.raises(ValueError, match=r"run\.npz: .* belongs to another EpsilonGreedyPolicy"):
        run(0.5, 60, "run.npz")


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    run_to_the_end(tmp_path / "run.npz")
    env = KArmedTestbed(k=4, batch_size=2)
    policy = EpsilonGreedyPolicy(0.1, num_actions=4, batch_size=2)
    with pytest.raises(ValueError, match="batch_size"):
        StepDriver(env, policy, [policy, RegretMetric(env)], 50).run(tmp_path / "run.npz")


@pytest.mark.parametrize("done", [-1, 51, 10**30])
def test_a_checkpoint_of_a_longer_run_is_not_taken_for_a_shorter_one(done, tmp_path):
    run_to_the_end(tmp_path / "run.npz")
    _, state = load_state(tmp_path / "run.npz")
    save_state(tmp_path / "run.npz", (done, state))
    with pytest.raises(ValueError, match=rf"has taken {done} steps; expected at most num_steps"):
        run_to_the_end(tmp_path / "run.npz")


@pytest.mark.parametrize("content", [None, 3, [1, 2], (1,), (1, {}), ("1", 2), np.zeros(2), {}])
def test_a_file_that_holds_no_checkpoint_is_refused_by_name(content, tmp_path):
    save_state(tmp_path / "run.npz", content)
    env = KArmedTestbed(k=4)
    policy = EpsilonGreedyPolicy(0.1, num_actions=4)
    with pytest.raises(ValueError, match=r"run\.npz"):
        StepDriver(env, policy, [policy], 3).run(tmp_path / "run.npz")
