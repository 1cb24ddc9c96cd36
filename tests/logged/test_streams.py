"""Logs in batches of any size: every estimator of single actions says what it does of the whole."""

import dataclasses
import warnings

import numpy as np
import pytest

from bandit_envs.logged import BanditLog, RewardRegression, estimate_batches
from bandit_envs.logged.estimators import estimate_logged, gain_over
from bandit_envs.logged.registry import ESTIMATORS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

SIZE = 121
FEW = 31
"""The size of a log in batches of one row, which take long."""

PARAMETERS = {
    "ips": {"max_weight": 1.5},
    "dr": {"max_weight": 1.5},
    "switch_dr": {"threshold": 1.5},
    "dr_os": {"shrinkage": 2.0},
    "sg_ips": {"shrinkage": 0.3},
    "sg_dr": {"shrinkage": 0.3},
}
"""Parameters that change weights; defaults hardly do."""

SINGLE = [name for name, entry in ESTIMATORS.items() if entry.actions == "single action"]
KINDS = [(name, {}) for name in SINGLE] + list(PARAMETERS.items())
SINGLE_ROWS = pytest.param(1, marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def log():
    """A log whose rewards are far from 0."""
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.full(3, 3.0), SIZE)
    action = (rng.random((SIZE, 1)) > table.cumsum(axis=1)[:, :2]).sum(axis=1)
    return BanditLog(
        rng.normal(size=(SIZE, 2)), action, 50.0 + rng.normal(size=SIZE),
        table[np.arange(SIZE), action], 3, action_probabilities=table,
    )  # fmt: skip


def softmax(batch):
    """The probabilities of a policy that explores."""
    scores = np.exp(batch.observation @ [[1.0, 0.0, -1.0], [0.0, 1.0, 0.5]])
    return scores / scores.sum(axis=1, keepdims=True)


def greedy(batch):
    """The probabilities of a deterministic policy."""
    return np.eye(3)[softmax(batch).argmax(axis=1)]


def numbers_of(estimate):
    """All that an estimate says."""
    return [
        estimate.value,
        estimate.standard_error,
        estimate.effective_sample_size,
        estimate.bias,
        estimate.pareto_k,
        estimate.max_weight,
        estimate.share_of_large_weights,
        *estimate.interval(),
        *estimate.bernstein_interval(),
        *estimate.bootstrap_interval(resamples=20),
    ]


def make(name, parameters):
    """An estimator, and a policy that it takes."""
    return ESTIMATORS[name].make(**parameters), greedy if name == "replay" else softmax


def uniform(log):
    """The log, as if a uniform policy had made it: replay takes no other."""
    third = np.full((len(log), 3), 1 / 3)
    return dataclasses.replace(log, propensity=third[:, 0], action_probabilities=third)


def estimate_whole(estimator, policy, log):
    """The estimate of the log in memory."""
    predicted = RewardRegression().predict(log) if estimator.needs_predictions else None
    return estimator.estimate(log, policy(log), predicted)


@pytest.mark.parametrize("rows", [SINGLE_ROWS, 20, 120])  # of 120, the last has one row
@pytest.mark.parametrize(("name", "parameters"), KINDS)
def test_batches_give_the_estimate_of_the_whole_log(name, parameters, rows, log):
    estimator, policy = make(name, parameters)
    log = log[:FEW] if rows == 1 else log
    log = uniform(log) if name == "replay" else log
    whole = estimate_whole(estimator, policy, log)
    batches = [log[start : start + rows] for start in range(0, len(log), rows)]

    found = estimate_batches(estimator, batches, policy)

    assert numbers_of(found) == pytest.approx(numbers_of(whole), rel=1e-12, abs=1e-12)
    others = [estimate_logged(each) for each in (batches, log)]
    gains = [gain_over(each, other) for each, other in zip((found, whole), others)]
    assert numbers_of(gains[0]) == pytest.approx(numbers_of(gains[1]), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("rows", [SINGLE_ROWS, 50])
def test_gains_over_an_estimate_are_those_of_the_whole_log_too(rows, log):
    given = log[:FEW] if rows == 1 else log
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, parameters in KINDS:
            estimator, policy = make(name, parameters)
            log = uniform(given) if name == "replay" else given
            batches = [log[start : start + rows] for start in range(0, len(log), rows)]
            own = estimate_whole(estimator, policy, log)
            baseline = estimate_whole(estimator, greedy, log)
            whole = gain_over(own, baseline)
            of_batches = [estimate_batches(estimator, batches, each) for each in (policy, greedy)]
            found = numbers_of(gain_over(*of_batches))
            assert found == pytest.approx(numbers_of(whole), rel=1e-12, abs=1e-11)
