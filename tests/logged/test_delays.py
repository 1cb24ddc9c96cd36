"""Rewards that arrive late."""

import dataclasses
import functools
import warnings

import numpy as np
import pytest

from bandit_envs.logged import BanditLog, DoublyRobust, InversePropensityScoring, estimate_batches
from bandit_envs.logged.estimators import ArrivalTimes, correct_delays
from tests.logged.test_more_estimators import POLICY, PREDICTED, table_log

AGE = [5, 1, 3, 2, 4, 0.5, 6, 1.5]
ARRIVED = np.array([1, 0, 1, 1, 0, 1, 1, 0], bool)


def exponential(rate, age):
    return 1.0 - np.exp(-rate * age)


def estimate(estimator, log):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.estimate(log, POLICY, PREDICTED).value


def test_values_are_those_of_the_formula():
    law = functools.partial(exponential, 0.7)
    corrected = correct_delays(table_log(), ARRIVED, AGE, law)

    uncorrected = dataclasses.replace(table_log(), reward=table_log().reward * ARRIVED)
    found = [
        estimate(InversePropensityScoring(), uncorrected),
        estimate(InversePropensityScoring(), corrected),
        estimate(DoublyRobust(), corrected),
    ]
    assert found == pytest.approx([0.442808696, 0.489554279, 0.368668505], abs=1e-9)


def make_late(size, seed):
    """Returns a log, the ages of its rows, the delays of all, and which have arrived."""
    rng = np.random.default_rng(seed)
    action = rng.integers(2, size=size)
    reward = (rng.random(size) < np.array([0.2, 0.6])[action]).astype(float)
    log = BanditLog(np.ones((size, 1)), action, reward, np.full(size, 0.5))
    age = rng.uniform(0.0, 10.0, size)
    delay = rng.exponential(2.0, size)
    return log, age, delay, delay <= age


def test_an_estimate_of_a_log_with_late_rewards_is_near_the_truth():
    log, age, delay, arrived = make_late(50_000, seed=0)
    times = ArrivalTimes.from_rows(delay[arrived], age[arrived])
    corrected = correct_delays(log, arrived, age, times.arrived_by)
    table = np.tile([0.1, 0.9], (len(log), 1))

    found = InversePropensityScoring().estimate(corrected, table)

    known = dataclasses.replace(log, reward=log.reward * arrived)
    late = InversePropensityScoring().estimate(known, table)
    of_all = 0.56 * exponential(0.5, 10.0)  # of the rewards that come within 10
    assert abs(found.value - 0.56) < 5.0 * found.standard_error + (0.56 - of_all)
    assert 0.56 - late.value > 10.0 * late.standard_error


def test_arrival_times_are_those_of_all_rewards_and_not_of_the_early_ones():
    _, age, delay, arrived = make_late(100_000, seed=1)
    times = ArrivalTimes.from_rows(delay[arrived], age[arrived])

    at = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
    truth = exponential(0.5, at) / exponential(0.5, 10.0)
    np.testing.assert_allclose(times.arrived_by(at), truth, atol=0.02)
    naive = (delay[arrived][:, np.newaxis] <= at).mean(axis=0)
    assert (naive > truth + 0.02).sum() >= 3


def test_times_of_parts_merge_to_those_of_the_whole():
    _, age, delay, arrived = make_late(3000, seed=2)
    known = np.flatnonzero(arrived)
    whole = ArrivalTimes.from_rows(delay[known], age[known], unit=0.1)
    parts = [
        ArrivalTimes.from_rows(delay[rows], age[rows], unit=0.1)
        for rows in (known[700:], known[:700])
    ]

    merged = parts[0].merge(parts[1])

    at = np.linspace(0.0, 10.0, 50)
    np.testing.assert_array_equal(merged.arrived_by(at), whole.arrived_by(at))
    assert len(whole.delays[0]) <= 101


def test_coarse_times_bias_estimates_little():
    _, age, delay, arrived = make_late(100_000, seed=4)
    at = np.array([0.5, 1.0, 1.5, 3.25, 6.0])
    truth = exponential(0.5, at) / exponential(0.5, 10.0)

    times = ArrivalTimes.from_rows(delay[arrived], age[arrived], unit=1.0)

    on_grid = at == np.floor(at)
    np.testing.assert_allclose(times.arrived_by(at)[on_grid], truth[on_grid], atol=0.02)
    np.testing.assert_allclose(times.arrived_by(at), truth, atol=0.05)


def test_batches_are_corrected_as_the_whole_log():
    log, age, _, arrived = make_late(2000, seed=3)
    law = functools.partial(exponential, 0.5)
    whole = correct_delays(log, arrived, age, law)
    batches = [
        correct_delays(log[rows], arrived[rows], age[rows], law)
        for rows in (slice(900), slice(900, None))
    ]

    def policy(batch):
        return np.tile([0.3, 0.7], (len(batch), 1))

    for estimator in (InversePropensityScoring(), DoublyRobust()):
        found = estimate_batches(estimator, batches, policy)
        of_whole = estimate_batches(estimator, [whole], policy)
        assert found.value == pytest.approx(of_whole.value, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: correct_delays(table_log(), ARRIVED, AGE, np.zeros_like),
            "above 0 where the reward has arrived",
        ),
        (lambda: correct_delays(table_log(), ARRIVED, AGE[:7], np.ones_like), "age has shape"),
        (lambda: correct_delays(table_log(), ARRIVED[:7], AGE, np.ones_like), "arrived has shape"),
        (lambda: ArrivalTimes.from_rows([2.0], [1.0]), "delay is 2.0 in row 0; expected at most"),
        (lambda: ArrivalTimes.from_rows([], []).arrived_by(np.ones(1)), "no reward has arrived"),
        (
            lambda: ArrivalTimes.from_rows([1], [1]).merge(ArrivalTimes.from_rows([1], [1], 1.0)),
            "units are 0 and 1",
        ),
    ],
    ids=["no share", "age", "arrived", "delay", "empty", "units"],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
