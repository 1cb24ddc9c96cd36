"""What a driver's step with metrics costs, beside a loop written for that one experiment."""

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
from tests.benchmarks.test_environments import stepping

STEPS = 200


def figure_2_2(epsilon, runs, steps):
    """Runs one curve of Figure 2.2 with its metrics."""
    env = KArmedTestbed(10, batch_size=runs, seed=0)
    policy = EpsilonGreedyPolicy(epsilon, num_actions=10, batch_size=runs, seed=1)
    metrics = AverageRewardMetric(), OptimalActionMetric(env), RegretMetric(env)
    StepDriver(env, policy, [policy, *metrics], steps).run()
    for metric in metrics:
        metric.result()


def plain_figure_2_2(epsilon, runs, steps):
    """Does the same in plain NumPy: means and standard errors of three quantities."""
    rng = np.random.default_rng(0)
    rows = np.arange(runs)
    means = rng.standard_normal((runs, 10), np.float32)
    best = means.max(axis=1)
    counts = np.zeros((runs, 10))
    values = np.zeros((runs, 10))
    curves = []
    for _ in range(steps):
        is_best = values == values.max(axis=1, keepdims=True)
        greedy = (is_best * rng.random((runs, 10))).argmax(axis=1)  # ties are broken at random
        explores = rng.random(runs) < epsilon
        action = np.where(explores, rng.integers(10, size=runs), greedy)
        mean = means[rows, action]
        reward = mean + rng.standard_normal(runs, np.float32)
        counts[rows, action] += 1
        values[rows, action] += (reward - values[rows, action]) / counts[rows, action]
        for quantity in (reward, mean == best, best - mean):
            curves.append((quantity.mean(), quantity.std()))
    return np.array(curves)


@pytest.mark.parametrize("runs", [1, 100, 2000])
def test_a_step_with_metrics_beside_a_loop_written_for_it(compare, runs):
    compare(
        f"driver step with 3 metrics, batch {runs} / a loop written for it",
        lambda: figure_2_2(0.1, runs, STEPS),
        lambda: plain_figure_2_2(0.1, runs, STEPS),
        goal=2.0,
        rounds=20,
    )


def test_a_step_beside_a_vector_of_scalar_environments(compare, one_round):
    gymnasium = pytest.importorskip("gymnasium")
    river_envs = pytest.importorskip("river.bandit.envs")
    size = 20 if one_round else 2000
    vector = gymnasium.vector.SyncVectorEnv([river_envs.KArmedTestbed] * size)
    vector.reset(seed=0)
    action = np.random.default_rng(0).integers(10, size=size)
    step = stepping(KArmedTestbed(10, batch_size=size, seed=0))

    def hundred_steps():
        for _ in range(100):
            step()

    title = "testbed step, batch 2000 / SyncVectorEnv of river's testbeds"
    compare(title, hundred_steps, lambda: vector.step(action), rounds=40, scale=1 / 100)


def test_figure_2_2_beside_one_run_after_the_other(compare):
    gymnasium = pytest.importorskip("gymnasium")
    bandit = pytest.importorskip("river.bandit")
    env = gymnasium.make("river_bandits/KArmedTestbed-v0", max_episode_steps=1000)

    def all_runs():
        for epsilon in (0.0, 0.01, 0.1):
            figure_2_2(epsilon, runs=2000, steps=1000)

    def one_run():
        policies = [bandit.EpsilonGreedy(epsilon, seed=1) for epsilon in (0.0, 0.01, 0.1)]
        steps = sum(1 for _ in bandit.evaluate(policies, env, n_episodes=1, seed=0))
        assert steps == 3 * 1000

    title = "Figure 2.2 of 2000 runs / river's bandit.evaluate, one run times 2000"
    compare(title, all_runs, one_run, rounds=9, scale=1 / 2000)
