"""What logs cost: estimates beside one mean of a table, recording beside the run itself."""

from functools import partial

import numpy as np
import pytest

from bandit_envs import EpsilonGreedyPolicy, KArmedTestbed, StepDriver, UCBPolicy
from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    InversePropensityScoring,
    LogRecorder,
    SelfNormalizedIPS,
)
from bandit_envs.metrics import METRICS

ESTIMATORS = {
    "IPS": InversePropensityScoring(),
    "SNIPS": SelfNormalizedIPS(),
    "DR": DoublyRobust(),
}
POLICIES = {
    "epsilon_greedy": partial(EpsilonGreedyPolicy, 0.1),
    "ucb": partial(UCBPolicy, 2.0),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimate_beside_a_mean_of_its_table(compare, name):
    rng = np.random.default_rng(0)
    size = 1_000_000
    log = BanditLog(
        observation=np.ones((size, 1)),
        action=rng.integers(10, size=size),
        reward=rng.random(size),
        propensity=np.full(size, 0.1),
        num_actions=10,
    )
    probabilities = rng.dirichlet(np.ones(10), size)
    predicted = rng.random((size, 10))
    compare(
        f"{name} of 1,000,000 rows and 10 actions / np.mean of that table",
        lambda: ESTIMATORS[name].estimate(log, probabilities, predicted).normal_interval(),
        lambda: np.mean(probabilities),
        rounds=20,
    )


@pytest.mark.parametrize("name", POLICIES)
def test_a_recorded_run_beside_the_run_with_its_metrics(compare, name):
    def run(record):
        env = KArmedTestbed(10, batch_size=2000, seed=0)
        policy = POLICIES[name](num_actions=10, batch_size=2000, seed=1)
        metrics = [METRICS[quantity](env) for quantity in ("reward", "percent_optimal", "regret")]
        observers = [policy, *metrics]
        if record:
            observers.append(LogRecorder(10))
        StepDriver(env, policy, observers, 300, emit_log_probability=record).run()

    title = f"recorded run of {name}, batch 2000 / the run with its metrics"
    compare(title, lambda: run(True), lambda: run(False), rounds=10)
