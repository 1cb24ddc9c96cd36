import pickle

import numpy as np
import pytest

from bandit_envs import (
    AverageRewardMetric,
    EpsilonGreedyPolicy,
    GaussianThompsonSamplingPolicy,
    KArmedTestbed,
    OptimalActionMetric,
    RegretMetric,
    StepDriver,
)
from bandit_envs.base.state import Stateful

B, K = 6, 4


class Run:
    """A policy that learns on a drifting testbed, with metrics, its trajectories kept."""

    def __init__(self, num_steps, seed=0, horizon=None):
        self.env = KArmedTestbed(K, batch_size=B, seed=seed, drift_std=0.1, horizon=horizon)
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
            for statistics in metric.result()
            for array in (statistics.mean, statistics.squared_deviation)
        ]


def assert_same_trajectories(left, right):
    assert len(left) == len(right)
    for one, other in zip(left, right):
        for name in ("step_type", "observation", "action", "next_step_type", "reward", "discount"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def assert_same_results(left, right):
    for one, other in zip(left.results(), right.results(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture(params=[None, 5], ids=["stream", "horizon"])
def horizon(request):
    return request.param


def test_two_runs_of_n_steps_equal_one_of_2n(horizon):
    twice, once = Run(13, horizon=horizon), Run(26, horizon=horizon)
    twice.driver.run()
    twice.driver.run()
    once.driver.run()
    assert_same_trajectories(twice.trajectories, once.trajectories)
    assert_same_results(twice, once)
    assert twice.env.np_random.bit_generator.state == once.env.np_random.bit_generator.state


def test_another_driver_continues_where_one_stopped():
    parted, whole = Run(7), Run(20)
    parted.driver.run()
    observers = [parted.policy, *parted.metrics, parted.trajectories.append]
    StepDriver(parted.env, parted.policy, observers, 13).run()
    whole.driver.run()
    assert_same_trajectories(parted.trajectories, whole.trajectories)


@pytest.mark.parametrize("steps_before", [0, 1, 12])
def test_a_whole_run_is_saved_and_replayed_exactly(horizon, steps_before):
    run = Run(1, horizon=horizon)
    for _ in range(steps_before):
        run.driver.run()
    token = pickle.loads(pickle.dumps(run.driver.get_state()))
    run.trajectories.clear()
    for _ in range(17):
        run.driver.run()

    for again in (run, Run(1, seed=50, horizon=horizon)):  # the second has never run
        expected = list(run.trajectories)
        again.driver.set_state(token)
        again.trajectories.clear()
        for _ in range(17):
            again.driver.run()
        assert_same_trajectories(again.trajectories, expected)
        assert_same_results(again, run)


def test_observers_see_every_step_once_and_no_reset():
    run = Run(23, horizon=5)
    run.driver.run()
    assert len(run.trajectories) == 23
    assert not any(trajectory.is_boundary().any() for trajectory in run.trajectories)
    first = [bool(trajectory.is_first().all()) for trajectory in run.trajectories]
    last = [bool(trajectory.is_last().all()) for trajectory in run.trajectories]
    assert first == [step % 5 == 0 for step in range(23)]
    assert last == [step % 5 == 4 for step in range(23)]


def test_in_a_horizon_no_action_is_lost_to_a_reset():
    run = Run(23, horizon=5)
    run.driver.run()
    learned = run.policy.get_state().learned
    precision = learned.std**-2.0 - 1.0  # each reward of variance 1 adds 1
    np.testing.assert_allclose(precision.sum(axis=1), 23.0)


def test_in_a_stream_every_step_is_a_whole_episode():
    run = Run(9)
    run.driver.run()
    assert all(trajectory.is_last().all() for trajectory in run.trajectories)
    assert len(run.trajectories) == 9


def test_the_first_run_resets_and_a_started_episode_is_not_reset():
    fresh, started = Run(5), Run(5)
    started.env.reset()
    fresh.driver.run()
    started.driver.run()
    assert_same_trajectories(fresh.trajectories, started.trajectories)


def test_run_returns_the_last_time_step():
    run = Run(3)
    assert run.driver.run() is run.env.current_time_step()


def test_observers_are_called_in_their_order():
    calls = []
    env = KArmedTestbed(K, batch_size=B, seed=0)
    policy = EpsilonGreedyPolicy(0.1, num_actions=K, batch_size=B, seed=0)
    observers = [lambda trajectory, name=name: calls.append(name) for name in "abc"]
    StepDriver(env, policy, observers, 2).run()
    assert "".join(calls) == "abcabc"


def test_a_policy_that_is_no_observer_does_not_learn():
    env = KArmedTestbed(K, batch_size=B, seed=0)
    policy = EpsilonGreedyPolicy(0.0, num_actions=K, batch_size=B, seed=0)
    StepDriver(env, policy, [policy], 50).run()
    before = policy.get_state().learned
    metric = AverageRewardMetric()
    StepDriver(env, policy, [metric], 50).run()
    after = policy.get_state().learned
    np.testing.assert_array_equal(before.values, after.values)
    np.testing.assert_array_equal(before.counts, after.counts)
    assert metric.result().per_step.mean.shape == (50,)


def test_a_policy_among_the_observers_is_saved_once():
    run = Run(1)
    assert len(run.driver.get_state()) == 2 + len(run.metrics)


class Stubborn(Stateful):
    """An observer that takes no token."""

    _state = 0

    def __call__(self, trajectory):
        self._state += 1

    def set_state(self, state):
        if state != self._state:
            raise ValueError("never")


def test_a_token_that_one_part_refuses_changes_no_part():
    env = KArmedTestbed(K, batch_size=B, seed=0)
    policy = EpsilonGreedyPolicy(0.5, num_actions=K, batch_size=B, seed=0)
    driver = StepDriver(env, policy, [policy, Stubborn()], 10)
    driver.run()
    token = driver.get_state()
    driver.run()
    before = pickle.dumps(driver.get_state())
    with pytest.raises(ValueError, match="never"):
        driver.set_state(token)
    assert pickle.dumps(driver.get_state()) == before


@pytest.mark.parametrize("token", [(), None, "token", [1, 2, 3, 4, 5]])
def test_what_is_no_token_is_refused(token):
    run = Run(2)
    run.driver.run()
    with pytest.raises(ValueError, match="state is not of a run with 5 parts"):
        run.driver.set_state(token)


def test_a_token_of_another_environment_is_refused():
    run, other = Run(2), Run(2, horizon=5)
    with pytest.raises(ValueError, match="expected one of KArmedTestbed"):
        run.driver.set_state(other.driver.get_state())


@pytest.mark.parametrize(
    ("num_steps", "error", "message"),
    [
        (0, ValueError, "num_steps is 0; expected at least 1"),
        (2.0, TypeError, "num_steps is 2.0; expected an integer"),
    ],
)
def test_wrong_numbers_of_steps_are_refused(num_steps, error, message):
    with pytest.raises(error, match=message):
        Run(num_steps)


def test_a_policy_of_another_batch_size_is_refused():
    policy = EpsilonGreedyPolicy(0.1, num_actions=K, batch_size=B + 1)
    with pytest.raises(ValueError, match="policy has batch_size 7; expected 6, as k_armed_testbed"):
        StepDriver(KArmedTestbed(K, batch_size=B), policy)
