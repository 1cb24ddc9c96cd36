"""Rows that belong to units, such as users: errors and intervals are by units."""

import dataclasses
import functools
import math

import numpy as np
import pytest

from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    InversePropensityScoring,
    IPSConfidenceSequence,
    SelfNormalizedIPS,
    SwitchDR,
    estimate_batches,
    read_log,
    write_log,
)
from bandit_envs.logged.estimators import estimate_logged, gain_over
from bandit_envs.logged.estimators.gains import p_value_of
from bandit_envs.logged.estimators.kernel_estimators import KernelDR, KernelIPS, find_moved
from bandit_envs.logged.intervals import KnownRange
from bandit_envs.logged.intervals.blocks import RowBlocks
from bandit_envs.logged.reward_models.regression import RewardRegression
from bandit_envs.logged.reward_models.reward_sums import RewardSums, folds_of
from bandit_envs.logged.rows.likely_units import describe_unused
from bandit_envs.logged.rows.units import as_units
from tests.cases import for_each
from tests.logged.known_logs import heavy_log

quiet = pytest.mark.filterwarnings("ignore::UserWarning")

BUCKETS_OF_13 = [3618, 1767, 108, 3976, 435, 1340, 712, 3160, 1006, 3899, 1623, 3117, 2146]


def fixture_log():
    """The log of heavy weights, in which every thirteenth row is of one unit."""
    log, policy = heavy_log()
    return dataclasses.replace(log, unit=np.arange(40) % 13), policy


@for_each(
    ("unit", "bucket"),
    [
        *((unit, bucket) for unit, bucket in enumerate(BUCKETS_OF_13)),
        (10**6, 3297),
        ("user-1", 1187),
        ("42", 2611),
        ("é", 85),
    ],
)
def test_units_have_the_same_blocks_on_all_machines(unit, bucket):
    assert RowBlocks.of(0, 1, as_units([unit])).of_rows.tolist() == [bucket]


FIXTURE = {
    "IPS": (
        0.467494060, 0.178007208, 2.764061857, 3.087671874,
        (-0.090012381, 1.025000501), (0.126675359, 1.961309614),
    ),
    "SNIPS": (
        0.510004116, 0.123454496, 1.888885318, 4.409524177,
        (0.179436248, 0.840571985), (0.276122544, 1.758116329),
    ),
    "DR": (
        0.509170250, 0.098417179, 1.625399235, 5.104755147,
        (0.257734411, 0.760606088), (0.323038035, 1.537694519),
    ),
    "gain of SNIPS": (
        0.060004116, 0.087169505, 2.275779113, 3.735901576,
        (-0.188916319, 0.308924552), (-0.105157375, 0.869654874),
    ),
}  # fmt: skip
"""Value, standard error, skewness, degrees of freedom, and the intervals of Student and Hall."""


def estimates_of_fixture(log, policy):
    half = np.full((len(log), 2), 0.5)
    snips = SelfNormalizedIPS().estimate(log, policy)
    return {
        "IPS": InversePropensityScoring().estimate(log, policy),
        "SNIPS": snips,
        "DR": DoublyRobust().estimate(log, policy, half),
        "gain of SNIPS": gain_over(snips, estimate_logged(log)),
    }


@quiet
@pytest.mark.parametrize("name", FIXTURE)
def test_errors_of_units_are_those_of_the_jackknife(name):
    value, error, skewness, freedom, student, hall = FIXTURE[name]
    estimate = estimates_of_fixture(*fixture_log())[name]
    sums = estimate.influence_sums()
    found = [estimate.value, estimate.standard_error, sums.skewness, sums.freedom, sums.size]
    assert found == pytest.approx([value, error, skewness, freedom, 13], abs=1e-9)
    low, high = estimate.interval()
    ends = [min(student[0], hall[0]), max(student[1], hall[1])]
    assert [low, high] == pytest.approx(ends, abs=1e-9)  # a block has no unit, so none counts


@quiet
def test_the_effective_sample_size_is_of_units():
    log, policy = fixture_log()
    estimate = SelfNormalizedIPS().estimate(log, policy)
    assert estimate.effective_sample_size == pytest.approx(8.450143963, abs=1e-9)
    (text,) = [each for each in estimate.sums.find_problems() if "effective" in each]
    assert (
        "only 40 rows, and the effective sample size is 8.5, as the rows of a unit belong" in text
    )
    units = estimate.sums.weights.units
    counts = units.counts
    found = (np.sum(counts**2.0) - 40**2 / 4096) / (1 - 1 / 4096)
    assert found == pytest.approx(123.639560440, abs=1e-9)
    known = BanditLog(
        log.observation, log.action, log.reward, log.propensity, 2, unit=log.unit,
        action_probabilities=np.stack([log.propensity, 1 - log.propensity], axis=1),
    )  # fmt: skip
    weights = SelfNormalizedIPS().estimate(known, policy).sums.weights
    squares = float((policy**2 / known.action_probabilities).sum())
    expected = 40**2 / (123.639560440 + squares - 40)
    assert weights.expected_sample_size() == pytest.approx(expected, rel=1e-9)


@quiet
@pytest.mark.parametrize("name", FIXTURE)
def test_sums_of_units_merge_in_any_order(name):
    whole = estimates_of_fixture(*fixture_log())[name]
    log, policy = fixture_log()
    parts = [slice(25, 40), slice(0, 7), slice(7, 25)]
    (terms,) = whole.terms
    made = []
    for rows in parts:
        estimate = estimates_of_fixture(log[rows], policy[rows])[name]
        made.append(estimate.sums)
    merged = functools.reduce(lambda left, right: left.merge(right), made).estimate()
    assert merged.standard_error == pytest.approx(whole.standard_error, rel=1e-12)
    assert merged.interval() == pytest.approx(whole.interval(), rel=1e-9)
    assert len(terms) == 40


@quiet
def test_rows_that_are_units_of_their_own_have_the_errors_of_rows():
    log, policy = drawn_log(20_000, np.arange(20_000))
    by_units = InversePropensityScoring().estimate(log, policy)
    by_rows = InversePropensityScoring().estimate(log.drop("unit"), policy)
    assert by_units.standard_error == pytest.approx(by_rows.standard_error, rel=0.04)
    assert by_units.effective_sample_size == pytest.approx(by_rows.effective_sample_size, rel=0.04)


def drawn_log(size, unit, seed=0, chances=(0.5, 0.5)):
    rng = np.random.default_rng(seed)
    action = (rng.random(size) < chances[1]).astype(int)
    reward = (rng.random(size) < 0.2 + 0.3 * action).astype(float)
    table = np.tile(chances, (size, 1))
    log = BanditLog(
        np.ones((size, 1)), action, reward, np.array(chances)[action], 2, unit=unit,
        action_probabilities=table,
    )  # fmt: skip
    return log, np.tile([0.2, 0.8], (size, 1))


def copied_log(copies, size=600, seed=0):
    """Each row stands there several times, as one unit: it says no more than once."""
    log, policy = drawn_log(size, np.arange(size), seed)
    rows = np.repeat(np.arange(size), copies)
    return log[rows], policy[rows]


@quiet
@pytest.mark.parametrize("estimator", [InversePropensityScoring(), SelfNormalizedIPS()])
def test_copies_of_rows_in_one_unit_add_nothing(estimator):
    once = estimator.estimate(*copied_log(1))
    often = estimator.estimate(*copied_log(20))
    assert often.standard_error == pytest.approx(once.standard_error, rel=1e-9)
    assert often.effective_sample_size == pytest.approx(once.effective_sample_size, rel=0.02)
    assert often.interval() == pytest.approx(once.interval(), rel=1e-6)
    gains = [gain_over(each, estimate_logged(log)) for each, log in (
        (once, copied_log(1)[0]), (often, copied_log(20)[0])
    )]  # fmt: skip
    assert p_value_of(gains[1]) == pytest.approx(p_value_of(gains[0]), rel=1e-5)
    low, high = often.bootstrap_interval(seed=1)
    assert (high - low) / (2 * 1.96 * once.standard_error) == pytest.approx(1.0, rel=0.15)


@quiet
def test_changed_weights_have_errors_of_units():
    predicted = np.full((600, 2), 0.3)
    once = SwitchDR(threshold=0.5).estimate(*copied_log(1), predicted)
    often = SwitchDR(threshold=0.5).estimate(*copied_log(20), np.repeat(predicted, 20, axis=0))
    assert often.standard_error == pytest.approx(once.standard_error, rel=1e-9)
    assert often.interval() == pytest.approx(once.interval(), rel=1e-6)
    assert often.sums.noise_of_bias() == pytest.approx(once.sums.noise_of_bias(), rel=1e-9)
    assert often.bias == pytest.approx(once.bias, rel=1e-9)


@quiet
@pytest.mark.parametrize(
    "kernel", [KernelIPS(0.3), KernelIPS(0.3, self_normalized=True), KernelDR(0.3)]
)
def test_kernels_have_errors_of_units(kernel):
    rng = np.random.default_rng(0)
    action = rng.uniform(0.0, 2.0, 400)
    columns = [1.0 - (action - 1.0) ** 2, np.full(400, 0.5), action, np.full(400, 0.8)]
    if isinstance(kernel, KernelDR):
        columns.append(np.full(400, 0.5))
    unit = np.arange(400)
    once = kernel.estimate(*columns, unit=unit)
    copies = [np.repeat(column, 20) for column in columns]
    often = kernel.estimate(*copies, unit=np.repeat(unit, 20))
    assert often.standard_error == pytest.approx(once.standard_error, rel=1e-9)
    assert often.interval() == pytest.approx(once.interval(), rel=1e-6)
    assert find_moved(often.sums, 0.3) == find_moved(once.sums, 0.3)


@quiet
def test_gains_are_of_estimates_that_both_have_units():
    log, policy = drawn_log(300, np.arange(300) // 3)
    estimate = InversePropensityScoring().estimate(log, policy)
    with pytest.raises(ValueError, match="one of two estimates is by units; expected both"):
        gain_over(estimate, estimate_logged(log.drop("unit")))


@quiet
def test_the_mean_weight_is_compared_with_1_by_units():
    once = InversePropensityScoring().estimate(*copied_log(1)).sums.weights
    often = InversePropensityScoring().estimate(*copied_log(20)).sums.weights
    assert often.mean_weight() == pytest.approx(once.mean_weight(), rel=1e-9)


@quiet
def test_one_unit_tells_no_error():
    log, policy = drawn_log(300, np.zeros(300, int))
    estimate = SelfNormalizedIPS().estimate(log, policy)
    assert math.isinf(estimate.standard_error)
    assert estimate.interval() == (-math.inf, math.inf)
    gain = gain_over(estimate, estimate_logged(log))
    assert p_value_of(gain) == 1.0
    with pytest.raises(ValueError, match="all units of log are in one fold; expected more units"):
        RewardRegression().predict(log)


@quiet
def test_two_units_leave_one_degree_of_freedom():
    log, policy = drawn_log(400, np.arange(400) // 200)
    estimate = SelfNormalizedIPS().estimate(log, policy)
    assert estimate.sums.influence_sums().freedom == 1.0
    low, high = estimate.interval()
    assert high - low > 20.0 * estimate.standard_error


def test_folds_keep_a_unit_together():
    unit = np.random.default_rng(0).integers(0, 2500, 5000)
    folds = folds_of(0, 5000, 3, unit)
    pairs = {*zip(unit.tolist(), folds.tolist(), strict=True)}
    assert len(pairs) == len(np.unique(unit))
    assert np.bincount(folds) / 5000 == pytest.approx([1 / 3] * 3, abs=0.05)
    log, _ = drawn_log(5000, unit)
    whole = RewardSums.from_log(log).fit().predict(log)
    parts = RewardSums.from_log(log[:300]).merge(RewardSums.from_log(log[300:], 300))
    np.testing.assert_allclose(parts.fit().predict(log), whole, rtol=1e-9)
    np.testing.assert_allclose(RewardRegression().predict(log), whole, rtol=1e-9)


@quiet
def test_batches_have_the_estimate_of_the_whole_log():
    log, policy = drawn_log(3000, np.arange(3000) // 6)
    whole = DoublyRobust().estimate(log, policy, RewardRegression().predict(log))
    batches = [log[:1234], log[1234:]]
    found = estimate_batches(
        DoublyRobust(), batches, lambda batch: np.tile([0.2, 0.8], (len(batch), 1))
    )
    assert found.value == pytest.approx(whole.value, rel=1e-9)
    assert found.interval() == pytest.approx(whole.interval(), rel=1e-9)


@quiet
def test_what_is_for_independent_rows_alone_is_refused():
    log, policy = drawn_log(300, np.arange(300) // 3)
    with pytest.raises(ValueError, match="log has units, whose rows are not independent"):
        IPSConfidenceSequence().update(log, policy)
    estimate = InversePropensityScoring().estimate(log, policy)
    with pytest.raises(ValueError, match="a Bernstein bound is for independent rows"):
        estimate.bernstein_interval()
    with pytest.raises(ValueError, match="rows are of units; the bound is for independent rows"):
        KnownRange(0.0, 2.0).hoeffding_interval(estimate.influence_sums())


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
def test_logs_in_files_keep_units(tmp_path, suffix):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    log, _ = drawn_log(50, [f"user-{place % 7}" for place in range(50)])
    write_log(tmp_path / f"log{suffix}", log)
    assert read_log(tmp_path / f"log{suffix}") == log
    assert len(set(log.unit.tolist())) == 7


@for_each(
    ("unit", "error", "text"),
    [
        ([0.5, 1.0], TypeError, "unit is float64; expected integers or texts"),
        (["a", None], ValueError, "unit is None in row 1; expected a text, as of the other units"),
        ([[1], [2]], ValueError, r"unit has shape \(2, 1\); expected one dimension"),
        ([1], ValueError, "unit has"),
    ],
)
def test_wrong_units_are_refused(unit, error, text):
    with pytest.raises(error, match=text):
        BanditLog(np.ones((2, 1)), [0, 1], [1.0, 0.0], [0.5, 0.5], unit=np.array(unit))


def test_sums_with_and_without_units_do_not_merge():
    log, policy = drawn_log(40, np.arange(40))
    left = InversePropensityScoring().terms(log, policy).sums()
    right = InversePropensityScoring().terms(log.drop("unit"), policy).sums()
    with pytest.raises(ValueError, match="sums are of rows with and without units"):
        left.merge(right)


def test_the_advice_to_name_a_column_of_units_has_no_raw_text_of_a_file():
    assert describe_unused("user") == (
        "column 'user' is not used; --unit user, or unit='user', makes intervals right if its "
        "values repeat"
    )
    assert "\x1b" not in describe_unused("\x1b[31m user")
