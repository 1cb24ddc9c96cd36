"""Rewards that arrive late."""

import dataclasses
import functools
import warnings

import numpy as np
import pytest

from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    InversePropensityScoring,
    MarginalizedIPS,
    SelfNormalizedIPS,
    estimate_batches,
)
from bandit_envs.logged.estimators import (
    ArrivalTimes,
    LateRewards,
    correct_delays,
    estimate_logged,
    gain_over,
)
from tests.cases import for_each
from tests.logged.known_logs import short_log
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
    with pytest.warns(UserWarning, match="rows are so young"):
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


NAN = np.nan
EIGHT = np.array([5, 4, 4.5, 3, 6, 2, 5.5, 2.5])  # ages
DELAYS = np.array([3, 0.5, NAN, 2, 1, 0.5, NAN, 2])
quiet = pytest.mark.filterwarnings("ignore::UserWarning")


@quiet
@pytest.mark.parametrize(
    ("estimator", "value", "naive", "error"),
    [
        (InversePropensityScoring(), 0.467925416, 0.343862166, 0.359110893),
        (SelfNormalizedIPS(), 0.402597383, 0.163073827, 0.174521941),
        (DoublyRobust(), 0.347039642, 0.085234786, 0.082845413),
    ],
)
def test_standard_errors_allow_for_the_curve_as_those_of_other_programs(
    estimator, value, naive, error
):
    log, policy, predicted = short_log()
    late = LateRewards.from_rows(log, DELAYS, EIGHT)
    found = late.estimate(estimator, policy, predicted)
    assert found.value == pytest.approx(value, abs=1e-9)
    assert found.standard_error == pytest.approx(error, abs=1e-9)
    known = estimator.estimate(late.log, policy, predicted)
    assert known.standard_error == pytest.approx(naive, abs=1e-9)


def test_rows_move_a_value_through_the_curve_by_its_derivative():
    rng = np.random.default_rng(0)
    age = rng.integers(1, 9, 60).astype(float)
    delay = rng.integers(1, 9, 60).astype(float)
    delay[delay > age] = NAN
    moved = rng.normal(size=60)
    known = ~np.isnan(delay)

    def value(counts):
        """The sum of moved log(1 / G) where row i counts as often as counts[i]."""
        times = np.arange(1.0, 9.0)
        deaths = np.array([counts[known & (delay == u)].sum() for u in times])
        at_risk = np.array([counts[known & (delay <= u) & (age >= u)].sum() for u in times])
        factors = np.log(np.where(at_risk > deaths, 1.0 - deaths / at_risk, 1.0))
        return -sum(moved[row] * factors[times > age[row]].sum() for row in range(60))

    found = ArrivalTimes.from_rows(delay[known], age[known]).influence(moved, delay, age)
    for row in range(60):
        step = 1e-5 * (np.arange(60) == row)
        slope = (value(1.0 + step) - value(1.0 - step)) / 2e-5
        assert found[row] == pytest.approx(slope, abs=1e-8)
    assert found.sum() == pytest.approx(0.0, abs=1e-12)


@quiet
@pytest.mark.parametrize("estimator", [InversePropensityScoring(2.0), SelfNormalizedIPS()])
def test_gains_allow_for_the_curve_once(estimator):
    log, policy, _ = short_log()
    late = LateRewards.from_rows(log, DELAYS, EIGHT)
    found = gain_over(late.estimate(estimator, policy), late.estimate_logged())
    naive = gain_over(estimator.estimate(late.log, policy), estimate_logged(late.log))
    assert found.value == pytest.approx(naive.value, abs=1e-12)
    assert found.standard_error != pytest.approx(naive.standard_error, rel=1e-3)
    itself = late.estimate_logged()
    assert gain_over(itself, late.estimate_logged()).standard_error == 0.0


@quiet
def test_changed_and_marginal_weights_allow_for_the_curve_in_all_parts_of_an_interval():
    log, policy, _ = short_log(knows_all=True)
    late = LateRewards.from_rows(log, DELAYS, EIGHT)
    own = InversePropensityScoring()
    clipped = late.estimate(InversePropensityScoring(1.0), policy)
    unbiased = late.estimate(own, policy)
    assert clipped.influence_sums().interval() == pytest.approx(unbiased.interval())
    likelihoods = np.ones((8, 3))  # one embedding: all weights are 1
    found = late.estimate(MarginalizedIPS(), policy, likelihoods)
    weighted = late.estimate(SelfNormalizedIPS(), policy)
    assert found.sums.free.influences.interval() == pytest.approx(weighted.interval())


def spread(size, num_logs):
    """The deviation of estimates, over their mean standard error."""
    values = []
    errors = []
    for seed in range(num_logs):
        log, age, delay, _ = make_late(size, seed)
        late = LateRewards.from_rows(log, np.where(delay <= 0.6 * age, delay, NAN), 0.6 * age)
        policy = np.tile([0.1, 0.9], (len(late.log), 1))
        found = late.estimate(InversePropensityScoring(), policy)
        values.append(found.value)
        errors.append(found.standard_error)
    return np.std(values) / np.mean(errors)


@pytest.mark.slow
@quiet
def test_standard_errors_are_those_of_many_logs():
    assert spread(2000, 300) == pytest.approx(1.0, abs=0.08)


def test_rows_too_young_to_tell_are_left_out_by_age():
    log, age, delay, arrived = make_late(5000, seed=5)
    with pytest.warns(UserWarning, match="rows are so young"):
        correct_delays(log, arrived, age, functools.partial(exponential, 0.5))
    late = LateRewards.from_rows(log, np.where(arrived, delay, NAN), age)
    assert 0.9 < late.is_kept.mean() < 1.0
    assert age[~late.is_kept].max() < age[late.is_kept].min()
    assert arrived[~late.is_kept].any()
    assert len(late.log) == late.is_kept.sum()
    assert late.times.delays[0].min() < age[late.is_kept].min()  # they count in the curve


@quiet
def test_the_oldest_rows_do_not_decide_what_all_others_say():
    log, age, delay, arrived = make_late(1000, seed=7)
    age[0] = 10.1
    delay[0] = 10.05  # older rows: none, so that it alone tells of such delays
    arrived[0] = True
    delays = np.where(arrived, delay, NAN)
    times = ArrivalTimes.from_rows(delay[arrived], age[arrived])
    assert times.arrived_by(age).max() == 1.0
    assert times.arrived_by(np.array([9.0]))[0] == 0.0
    late = LateRewards.from_rows(log, delays, age)
    assert late.is_kept.mean() > 0.9


def test_rewards_that_come_after_the_oldest_age_are_warned_of():
    log, age, delay, arrived = make_late(20_000, seed=6)
    delays = np.where(arrived, delay, NAN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LateRewards.from_rows(log, delays, age)  # 0.3 % arrive between 9 and 10
    rows = age < 5.0
    with pytest.warns(UserWarning, match="of the rewards take longer than 90% of 4.9"):
        LateRewards.from_rows(log[rows], delays[rows], age[rows])


@quiet
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


@quiet
@for_each(
    ("call", "message"),
    [
        (
            lambda: correct_delays(table_log(), ARRIVED, AGE, np.zeros_like),
            "above 0 where the reward has arrived",
        ),
        (lambda: correct_delays(table_log(), ARRIVED, AGE[:7], np.ones_like), "age has shape"),
        (lambda: correct_delays(table_log(), ARRIVED[:7], AGE, np.ones_like), "arrived has shape"),
        (lambda: ArrivalTimes.from_rows([2.0], [1.0]), "delay is 2.0 in row 0; expected at most"),
        (
            lambda: LateRewards.from_rows(table_log(), [9.0] * 8, AGE),
            "delay is 9.0 in row 0; expected at most the age of the row",
        ),
        (lambda: LateRewards.from_rows(table_log(), [-1.0] * 8, AGE), "a number of at least 0"),
        (
            lambda: LateRewards.from_rows(table_log(), [5.0] + [NAN] * 7, [5.0] + [1.0] * 7),
            "1 of 8 rows are old enough to tell; expected at least two",
        ),
        (lambda: ArrivalTimes.from_rows([], []).arrived_by(np.ones(1)), "no reward has arrived"),
        (
            lambda: ArrivalTimes.from_rows([1], [1]).merge(ArrivalTimes.from_rows([1], [1], 1.0)),
            "units are 0 and 1",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
