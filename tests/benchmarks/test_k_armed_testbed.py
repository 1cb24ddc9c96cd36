"""What the testbed costs, beside its floor and beside others."""

import functools

import numpy as np
import pytest

from bandit_envs import (
    AverageRewardMetric,
    EpsilonGreedyPolicy,
    KArmedTestbed,
    OptimalActionMetric,
    RegretMetric,
    StepDriver,
)
from tests.benchmarks.pairing import paired_ratio


def stepping(batch_size):
    """Returns a function that takes a step of a testbed of 10 arms."""
    env = KArmedTestbed(10, batch_size=batch_size, seed=0)
    env.reset()
    action = np.random.default_rng(0).integers(10, size=batch_size, dtype=np.int32)
    return functools.partial(env.step, action)


@pytest.mark.parametrize(("batch_size", "bound"), [(2000, 1.6), (20000, 1.3)])
def test_a_step_costs_little_more_than_its_random_numbers(expect, batch_size, bound):
    rng, out = np.random.default_rng(0), np.empty(batch_size, np.float32)
    ratio = paired_ratio(
        stepping(batch_size),
        lambda: rng.standard_normal(out=out, dtype=np.float32),
        rounds=400,
        number=200_000 // batch_size,
    )
    expect(f"testbed step, batch {batch_size} / standard_normal fill", ratio, bound)


def test_a_step_of_one_row_costs_little_more_than_a_call_of_numpy(expect):
    rng = np.random.default_rng(0)

    def empty_and_normal():
        np.empty(1)
        rng.standard_normal(1)

    ratio = paired_ratio(stepping(1), empty_and_normal, rounds=400, number=200)
    expect("testbed step, batch 1 / np.empty(1) + standard_normal(1)", ratio, 8.0)


def test_a_step_is_far_cheaper_than_that_of_a_vector_of_scalar_environments(expect):
    gymnasium = pytest.importorskip("gymnasium")
    river_envs = pytest.importorskip("river.bandit.envs")
    vector = gymnasium.vector.SyncVectorEnv([river_envs.KArmedTestbed] * 2000)
    vector.reset(seed=0)
    action = np.random.default_rng(0).integers(10, size=2000)
    step = stepping(2000)

    def hundred_steps():
        for _ in range(100):
            step()

    ratio = paired_ratio(hundred_steps, lambda: vector.step(action), rounds=100, number=1)
    title = "testbed step, batch 2000 / SyncVectorEnv of river's testbeds"
    expect(title, ratio.scaled(1 / 100), 1 / 100)


def figure_2_2(runs=2000, steps=1000):
    """Runs what Figure 2.2 shows, with all metrics."""
    for epsilon in (0.0, 0.01, 0.1):
        env = KArmedTestbed(10, batch_size=runs, seed=0)
        policy = EpsilonGreedyPolicy(epsilon, num_actions=10, batch_size=runs, seed=1)
        metrics = AverageRewardMetric(), OptimalActionMetric(env), RegretMetric(env)
        StepDriver(env, policy, [policy, *metrics], steps).run()
        for metric in metrics:
            metric.result()


def test_figure_2_2_costs_little_more_than_its_random_numbers(expect):
    rng, out = np.random.default_rng(0), np.empty(2000, np.float32)

    def fill():
        for _ in range(3 * 1000):
            rng.standard_normal(out=out, dtype=np.float32)

    # Steps take 1.7 fills, choosing 0.9, learning 1.9, the three metrics 2.2, the driver 0.1.
    ratio = paired_ratio(figure_2_2, fill, rounds=15, number=1)
    expect("Figure 2.2 of 2000 runs / standard_normal fills of its rewards", ratio, 8.0)


def test_figure_2_2_is_far_cheaper_than_by_evaluating_one_run_after_the_other(expect):
    gymnasium = pytest.importorskip("gymnasium")
    bandit = pytest.importorskip("river.bandit")
    env = gymnasium.make("river_bandits/KArmedTestbed-v0", max_episode_steps=1000)

    def one_run():
        policies = [bandit.EpsilonGreedy(epsilon, seed=1) for epsilon in (0.0, 0.01, 0.1)]
        steps = sum(1 for _ in bandit.evaluate(policies, env, n_episodes=1, seed=0))
        assert steps == 3 * 1000

    ratio = paired_ratio(figure_2_2, one_run, rounds=9, number=1).scaled(1 / 2000)
    expect("Figure 2.2 of 2000 runs / river's bandit.evaluate, one run times 2000", ratio, 1 / 50)
