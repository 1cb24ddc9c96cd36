"""What logs cost: estimates beside one mean of a table, recording beside the run itself."""

from functools import partial

import numpy as np
import pytest

from bandit_envs import EpsilonGreedyPolicy, KArmedTestbed, StepDriver, UCBPolicy
from bandit_envs.logged import (
    BanditLog,
    DirectMethodLearner,
    DoublyRobust,
    DoublyRobustLearner,
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
FEW_ROWS = 10_000
"""In place of a million, where nothing is measured."""

POLICIES = {
    "epsilon_greedy": partial(EpsilonGreedyPolicy, 0.1),
    "ucb": partial(UCBPolicy, 2.0),
}


def make_log(rng, size):
    """Returns a log of ten actions, and the probabilities of a policy."""
    log = BanditLog(
        observation=np.ones((size, 1)),
        action=rng.integers(10, size=size),
        reward=rng.random(size),
        propensity=np.full(size, 0.1),
        num_actions=10,
    )
    return log, rng.dirichlet(np.ones(10), size)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimate_beside_a_mean_of_its_table(compare, one_round, name):
    rng = np.random.default_rng(0)
    size = FEW_ROWS if one_round else 1_000_000
    log, probabilities = make_log(rng, size)
    predicted = rng.random((size, 10))
    compare(
        f"{name} of 1,000,000 rows and 10 actions / np.mean of that table",
        lambda: ESTIMATORS[name].estimate(log, probabilities, predicted).normal_interval(),
        lambda: np.mean(probabilities),
        rounds=20,
    )


def obp_value(log, action_dist, position, is_ratio):
    """Returns a value as the Open Bandit Pipeline computes it: it checks the sums of a table."""
    assert np.allclose(action_dist.sum(axis=1), 1.0)
    weight = action_dist[np.arange(len(log)), log.action, position] / log.propensity
    values = log.reward * weight
    if is_ratio:
        values = values / weight.mean()
    return values.mean()


@pytest.mark.parametrize("name", ["IPS", "SNIPS"])
def test_an_estimate_with_its_error_beside_the_value_of_obp(compare, one_round, name):
    size = FEW_ROWS if one_round else 1_000_000
    log, probabilities = make_log(np.random.default_rng(0), size)
    action_dist = probabilities[:, :, np.newaxis].copy()
    position = np.zeros(len(log), int)
    compare(
        f"{name} of 1,000,000 rows and 10 actions / its value as OBP computes it",
        lambda: ESTIMATORS[name].estimate(log, probabilities),
        lambda: obp_value(log, action_dist, position, name == "SNIPS"),
        rounds=20,
        goal=1.0,
    )


@pytest.mark.parametrize("name", POLICIES)
def test_a_recorded_run_beside_the_run_with_its_metrics(compare, name):
    def run(record):
        env = KArmedTestbed(10, batch_size=2000, seed=0)
        policy = POLICIES[name](num_actions=10, batch_size=2000, seed=1)
        metrics = [
            METRICS[quantity](env, policy) for quantity in ("reward", "percent_optimal", "regret")
        ]
        observers = [policy, *metrics]
        if record:
            observers.append(LogRecorder(10))
        StepDriver(env, policy, observers, 300, emit_log_probability=record).run()

    title = f"recorded run of {name}, batch 2000 / the run with its metrics"
    compare(title, lambda: run(True), lambda: run(False), rounds=10)


@pytest.mark.parametrize(
    ("name", "learner"),
    [("direct method", DirectMethodLearner()), ("doubly robust", DoublyRobustLearner())],
    ids=["direct method", "doubly robust"],
)
def test_learning_beside_a_product_of_the_features(compare, name, learner):
    rng = np.random.default_rng(0)
    size = 50_000
    features = rng.normal(size=(size, 10))
    log = BanditLog(features, rng.integers(10, size=size), rng.random(size), np.full(size, 0.1))
    compare(
        f"{name} learned from 50,000 rows of 10 features / x^T x, action by action",
        lambda: learner.fit(log),
        lambda: [
            features[log.action == action].T @ features[log.action == action]
            for action in range(log.num_actions)
        ],
        rounds=7,
    )
