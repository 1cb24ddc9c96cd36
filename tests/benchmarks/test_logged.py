"""What logs cost: estimates against one mean of a table, recording against the run itself."""

from functools import partial

import numpy as np
import pytest

from bandit_envs import EpsilonGreedyPolicy, KArmedTestbed, RandomPolicy, StepDriver, UCBPolicy
from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    InversePropensityScoring,
    LogRecorder,
    SelfNormalizedIPS,
)
from bandit_envs.metrics import METRICS
from tests.benchmarks.pairing import paired_ratio


def table(size):
    """A log with 10 actions, a policy's probabilities and predicted rewards."""
    rng = np.random.default_rng(0)
    action, reward = rng.integers(10, size=size), rng.random(size)
    log = BanditLog(np.ones((size, 1)), action, reward, np.full(size, 0.1), 10)
    return log, rng.dirichlet(np.ones(10), size), rng.random((size, 10))


@pytest.mark.parametrize(
    "estimator",
    [InversePropensityScoring(), SelfNormalizedIPS(), DoublyRobust()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_an_estimate_costs_ten_means_of_its_table(expect, estimator):
    log, probabilities, predicted = table(1_000_000)
    ratio = paired_ratio(
        lambda: estimator.estimate(log, probabilities, predicted).normal_interval(),
        lambda: np.mean(probabilities),
        rounds=30,
        number=1,
    )
    expect(f"{type(estimator).__name__} of 1,000,000 x 10 / np.mean", ratio, 10.0)


@pytest.mark.parametrize(
    "estimator",
    [InversePropensityScoring(), SelfNormalizedIPS()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_bootstrap_is_cheaper_than_resampling_values_with_random_state(expect, estimator):
    log, probabilities, _ = table(100_000)
    estimate = estimator.estimate(log, probabilities)
    source, values = np.random.RandomState(0), estimate.terms.weighted
    ratio = paired_ratio(
        lambda: estimate.bootstrap_interval(resamples=1000),
        lambda: [source.choice(values, size=len(values)).mean() for _ in range(1000)],
        rounds=4,
        number=1,
    )
    name = type(estimator).__name__
    expect(f"bootstrap of {name}, 100,000 rows / means of RandomState.choice", ratio, 1.0)


@pytest.mark.parametrize(
    ("policy", "bound"),
    [
        (partial(EpsilonGreedyPolicy, 0.1), 1.25),
        (RandomPolicy, 1.25),
        (partial(UCBPolicy, 2.0), 1.25),
    ],
    ids=["epsilon_greedy", "random", "ucb"],
)
def test_recording_costs_little_beside_a_run_with_its_metrics(expect, policy, bound, request):
    def run(record):
        env = KArmedTestbed(10, batch_size=2000, seed=0)
        chooses = policy(num_actions=10, batch_size=2000, seed=1)
        observers = [
            chooses,
            *(METRICS[name](env) for name in ("reward", "percent_optimal", "regret")),
        ]
        recorder = LogRecorder(10) if record else None
        observers += [recorder] if record else []
        StepDriver(env, chooses, observers, 300, emit_log_probability=record).run()

    ratio = paired_ratio(lambda: run(True), lambda: run(False), rounds=20, number=1)
    name = request.node.callspec.id
    expect(f"recorded run of {name}, batch 2000 / the run with its metrics", ratio, bound)
