"""Intervals of skewed rows, and what estimates warn of."""

import itertools
import warnings

import numpy as np
import pytest

from bandit_envs.logged import (
    BanditLog,
    DirectMethod,
    DoublyRobust,
    DRWithOptimisticShrinkage,
    InversePropensityScoring,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    SlateIndependentIPS,
    SlateProbabilities,
    SubGaussianDR,
    SwitchDR,
    combine_estimates,
)
from bandit_envs.logged.estimators import estimate_logged, gain_over
from bandit_envs.logged.estimators.gains import logged_terms
from bandit_envs.logged.estimators.terms import Terms
from bandit_envs.logged.intervals.blocks import RowBlocks
from bandit_envs.logged.intervals.influence import InfluenceSums, normal_interval
from bandit_envs.logged.intervals.tails import TailSums
from bandit_envs.metrics.statistics import student_quantile
from tests.cases import for_each
from tests.logged.known_logs import heavy_log, short_log

quiet = pytest.mark.filterwarnings("ignore::UserWarning")

# value, standard error, skewness, kurtosis, degrees of freedom; Student's and Hall's ends, of which
# an interval has the outer ones
KNOWN = {
    "IPS": (
        (0.502716892, 0.338425063, 2.217107189, 6.015013495, 3.190420128),
        (-0.538834732, 1.544268516, -0.132347572, 3.285466489),
    ),
    "SNIPS": (
        (0.432531550, 0.158323251, 0.850847953, 4.062626992, 5.224273163),
        (0.030747951, 0.834315149, 0.109349844, 1.056104578),
    ),
    "DR": (
        (0.381831118, 0.075195916, 0.088853743, 3.274321853, 7.035064091),
        (0.204200531, 0.559461706, 0.208797169, 0.564460738),
    ),
    "SNDR": (
        (0.404053014, 0.067839577, 0.025384692, 1.860008172, 18.604474380),
        (0.261858559, 0.546247470, 0.262841215, 0.547251311),
    ),
}
MADE = {
    "IPS": InversePropensityScoring(),
    "SNIPS": SelfNormalizedIPS(),
    "DR": DoublyRobust(),
    "SNDR": SelfNormalizedDR(),
}


def check_known(sums, numbers):
    found = (sums.value, sums.standard_error, sums.skewness, sums.kurtosis, sums.freedom)
    assert found == pytest.approx(numbers, rel=2e-9, abs=1e-9)


def with_blocks(sums, low, high):
    """Returns the ends of an interval into which the range of eight means of blocks fades."""
    share = sums.freedom / 40
    means = sums.blocks.means(8)
    least = means.min()
    most = means.max()
    return (
        min(low, share * low + (1.0 - share) * least),
        max(high, share * high + (1.0 - share) * most),
    )


@quiet
@for_each("name", KNOWN)
def test_an_interval_has_known_ends(name):
    estimate = MADE[name].estimate(*short_log())
    numbers, ends = KNOWN[name]
    check_known(estimate.sums.influence_sums(), numbers)
    low, high = ends[::2], ends[1::2]
    assert estimate.interval() == pytest.approx((min(low), max(high)), abs=2e-9)


@quiet
def test_an_interval_of_heavy_weights_has_known_ends_and_the_means_of_blocks():
    log, policy = heavy_log()
    ips = InversePropensityScoring().estimate(log, policy).sums.influence_sums()
    numbers = (0.467494060, 0.119427650, 4.206603586, 22.388515223, 3.740325084)
    check_known(ips, numbers)
    assert ips.interval() == pytest.approx(with_blocks(ips, 0.126630582, 1.539778742), abs=2e-9)
    snips = SelfNormalizedIPS().estimate(log, policy).sums.influence_sums()
    numbers = (0.510004116, 0.077037374, 1.478940718, 12.614322078, 6.888047315)
    check_known(snips, numbers)
    assert snips.interval() == pytest.approx(with_blocks(snips, 0.327237754, 0.748839783), abs=2e-9)


@quiet
@for_each(
    ("estimator", "value", "error", "left_out", "interval"),
    [
        (
            DRWithOptimisticShrinkage(2.0),
            0.444492090,
            0.055961836,
            -0.062660971,
            (0.204200531, 0.564460738),
        ),
        (SwitchDR(1.0), 0.503772242, 0.069981148, -0.121941123, (0.204200531, 0.640932772)),
        (SubGaussianDR(0.1), 0.388384415, 0.073427334, -0.006553296, (0.204200531, 0.564460738)),
        (DirectMethod(), 0.541000000, 0.054638013, -0.159168882, (0.204200531, 0.648088538)),
    ],
)
def test_an_interval_of_changed_weights_has_that_of_unchanged_ones(
    estimator, value, error, left_out, interval
):
    estimate = estimator.estimate(*short_log())
    found = (estimate.value, estimate.standard_error, -estimate.bias)
    assert found == pytest.approx((value, error, left_out), abs=1e-9)
    assert estimate.interval() == pytest.approx(interval, abs=2e-9)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.999])
def test_quantiles_of_student_are_those_of_scipy(confidence):
    stats = pytest.importorskip("scipy.stats")
    for freedom in (1.0, 1.3, 3.190420128, 18.6, 400.0, 9e3, 2e4, 1e7):
        expected = stats.t.ppf((1.0 + confidence) / 2.0, freedom)
        assert student_quantile(confidence, freedom) == pytest.approx(expected, rel=1e-8)


def drawn_influences(size=3000):
    return np.random.default_rng(0).lognormal(sigma=2.0, size=size)


def test_few_degrees_of_freedom_widen_an_interval_by_means_of_blocks():
    values = drawn_influences()
    sums = InfluenceSums.from_values(values)
    block = RowBlocks.of(0, len(values), None).of_rows // 8
    means = [values[block == number].mean() for number in range(8)]
    assert sums.blocks.means(8)[:, 0] == pytest.approx(means, rel=1e-12)
    assert sums.freedom < 40
    low, high = with_blocks(sums, 5.2598306078292865, 6.985162351344183)
    assert sums.interval() == pytest.approx((low, high), rel=1e-12)
    assert low < 5.2598306078292865


@quiet
def test_intervals_of_few_rows_have_known_ends_at_each_confidence():
    log, policy = heavy_log()
    gain = gain_over(SelfNormalizedIPS().estimate(log, policy), estimate_logged(log))
    assert gain.influence_sums().freedom == pytest.approx(5.042632564, abs=1e-9)
    for confidence, ends in (
        (0.5, (-0.040049956, 0.129619237)),
        (0.95, (-0.293256102, 0.312749379)),
        (0.99, (-0.493110413, 0.962130046)),
    ):
        assert gain.interval(confidence) == pytest.approx(ends, abs=1e-9)
    weighted = policy[:, 0] / log.propensity * log.reward
    rows = InfluenceSums.from_values(weighted - 0.75)
    assert rows.interval() == pytest.approx((-0.623369418, 0.789778742), abs=1e-9)


def test_an_interval_is_wider_for_each_higher_confidence():
    sums = InfluenceSums.from_values(drawn_influences())
    ends = [sums.interval(confidence) for confidence in (0.01, 0.2, 0.5, 0.8, 0.9, 0.95, 0.999)]
    lows, highs = zip(*ends)
    assert list(lows) == sorted(set(lows), reverse=True)
    assert list(highs) == sorted(set(highs))


def test_a_row_belongs_to_a_block_by_its_number_alone():
    whole = RowBlocks.of(0, 64_000, None).of_rows
    assert np.array_equal(RowBlocks.of(40_000, 24_000, None).of_rows, whole[40_000:])
    counts = np.bincount(whole, minlength=64)
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)
    assert abs(np.corrcoef(whole[1:], whole[:-1])[0, 1]) < 5 / np.sqrt(64_000)


def test_influences_of_parts_merge_to_those_of_the_whole():
    values = drawn_influences()
    whole = InfluenceSums.from_values(values)
    edges = [0, 1, 1, 700, 2999, 3000]
    parts = [
        InfluenceSums.from_values(values[start:stop], start)
        for start, stop in itertools.pairwise(edges)
    ]
    merged = parts[3].merge(parts[1]).merge(parts[4].merge(parts[0]).merge(parts[2]))
    for name in ("value", "standard_error", "skewness", "kurtosis", "freedom"):
        assert getattr(merged, name) == pytest.approx(getattr(whole, name), rel=1e-12)
    assert merged.interval() == pytest.approx(whole.interval(), rel=1e-12)


def test_a_paired_gain_is_an_estimate_of_terms_less_the_logged_rewards():
    log, policy, predicted = short_log()
    known = {
        "IPS": (0.140216892, 0.294881917, (-0.734153157, 2.654281603)),
        "SNIPS": (0.070031550, 0.103871256, None),
        "DR": (0.019331118, 0.097098392, (-0.228914875, 0.228357209)),
    }
    for name, (value, error, interval) in known.items():
        terms = MADE[name].terms(log, policy, predicted)
        gains = Terms(
            direct=terms.direct - log.reward,
            weighted=terms.weighted,
            weights=terms.weights,
            normaliser=terms.normaliser,
        )
        found = gains.sums().influence_sums()
        assert (found.value, found.standard_error) == pytest.approx((value, error), abs=1e-9)
        if interval is not None:
            assert found.interval() == pytest.approx(interval, abs=2e-9)


@quiet
def test_ratios_of_many_slots_have_the_interval_of_their_influences():
    rng = np.random.default_rng(0)
    reward = rng.random((400, 5))
    old, new = (rng.uniform(0.2, 0.8, (400, 5)) for _ in range(2))
    given = [SlateProbabilities(slot=table) for table in (old, new)]
    estimate = SlateIndependentIPS(self_normalized=True).estimate(reward, *given)
    weights = new / old
    ratios = (weights * reward).mean(axis=0) / weights.mean(axis=0)
    influence = (weights * (reward - ratios) / weights.mean(axis=0)).sum(axis=1)
    expected = InfluenceSums.from_values(ratios.sum() + influence)
    assert estimate.interval() == pytest.approx(expected.interval(), rel=1e-12)
    assert estimate.interval(0.999)[0] < estimate.interval()[0]


def test_intervals_of_even_rows_are_hardly_wider_than_normal_ones():
    values = np.random.default_rng(0).random(5000)
    sums = InfluenceSums.from_values(values)
    normal = normal_interval(sums.value, sums.standard_error, 0.95)
    widths = [np.diff(interval)[0] for interval in (sums.interval(), normal)]
    assert 1.0 <= widths[0] / widths[1] < 1.01


TAILS = {40: (0.487032631, 0.656578807), 100: (0.704044492, 0.841263648)}


@quiet
@pytest.mark.parametrize("size", TAILS)
def test_the_shape_of_a_tail_is_that_of_arviz(size):
    log, policy = heavy_log(size)
    shape, shape_of_rewards = TAILS[size]
    estimate = InversePropensityScoring().estimate(log, policy)
    assert estimate.sums.weights.tail.shape() == pytest.approx(shape, abs=2e-9)
    assert estimate.pareto_k == pytest.approx(shape_of_rewards, abs=2e-9)


@for_each(
    ("values", "shape"),
    [
        (np.zeros(500), -1.0),
        (np.full(500, 3.0), -1.0),
        (np.repeat([0.0, 4.0], [250, 250]), -1.0),
        (np.repeat([0.0, 4.0], [470, 30]), -1.0),
        (np.array([1.0, 2.0, 3.0, 4.0]), np.inf),
        (np.zeros(0), -1.0),
    ],
)
def test_tails_of_equal_values_are_bounded(values, shape):
    assert TailSums.from_values(values).shape() == shape


def test_tails_of_parts_are_those_of_the_whole():
    values = np.random.default_rng(0).pareto(1.5, 60_000)
    whole = TailSums.from_values(values)
    parts = [TailSums.from_values(part) for part in np.split(values, [5, 20_000, 41_000])]
    merged = parts[2].merge(parts[0]).merge(parts[3].merge(parts[1]))
    assert merged.shape() == pytest.approx(whole.shape(), rel=1e-12)
    assert whole.shape() == pytest.approx(1 / 1.5, abs=0.15)
    assert len(merged.largest) == len(whole.largest) == 10_000
    np.testing.assert_array_equal(np.sort(merged.largest), np.sort(whole.largest))


def problems_of(estimator, log, policy, predicted=None):
    return estimator.terms(log, policy, predicted).sums().find_problems()


def test_the_expected_effective_sample_size_is_of_all_actions_of_the_logger():
    estimate = InversePropensityScoring().terms(*short_log(knows_all=True)[:2]).sums()
    assert estimate.weights.effective_sample_size() == pytest.approx(3.560054735, abs=1e-9)
    assert estimate.weights.expected_sample_size() == pytest.approx(3.892395084, abs=1e-9)
    (text,) = [text for text in estimate.find_problems() if "effective" in text]
    assert "there are only 8 rows, and the expected effective sample size is 3.9; the" in text


def biased_log(size, share, knows_all):
    """A log of two actions, of which the policy takes the one that has a share of the rows."""
    action = (np.arange(size) % round(1 / share) == 0).astype(int)
    table = np.tile([1.0 - share, share], (size, 1))
    reward = np.random.default_rng(0).random(size)
    columns = {"action_probabilities": table} if knows_all else {}
    log = BanditLog(
        np.ones((size, 1)), action, reward, table[np.arange(size), action], 2, **columns
    )
    return log, np.tile([0.0, 1.0], (size, 1))


@pytest.mark.parametrize("knows_all", [True, False])
def test_less_than_200_effective_rows_are_warned_of(knows_all):
    few = problems_of(InversePropensityScoring(), *biased_log(1990, 0.1, knows_all))
    assert any("effective sample size is 199.0 of 1990" in text for text in few)
    assert not problems_of(InversePropensityScoring(), *biased_log(2010, 0.1, knows_all))


def test_a_short_log_whose_weights_are_equal_is_said_to_be_short():
    log, _ = biased_log(101, 0.5, knows_all=False)
    same = np.full((101, 2), 0.5)
    text = "there are only 101 rows; the estimate is unreliable"
    assert problems_of(InversePropensityScoring(), log, same) == [text]
    assert logged_terms(log).sums().find_problems() == [text]


def test_a_heavy_tail_of_weights_is_warned_of_if_their_expectation_is_not_known():
    rng = np.random.default_rng(0)
    chance = np.maximum(rng.random(20_000) ** 1.4, 1e-5) * 0.5
    table = np.stack([chance, 1.0 - chance], axis=1)
    action = (rng.random(20_000) > chance).astype(int)
    logged = table[np.arange(20_000), action]
    reward = rng.random(20_000)
    policy = np.full((20_000, 2), 0.5)
    log = BanditLog(np.ones((20_000, 1)), action, reward, logged, 2)
    found = problems_of(InversePropensityScoring(), log, policy)
    assert any("heavy tail (their Pareto k is 0." in text for text in found)
    log = BanditLog(np.ones((20_000, 1)), action, reward, logged, 2, action_probabilities=table)
    assert not problems_of(InversePropensityScoring(), log, policy)


def test_small_weights_of_a_few_kinds_of_users_are_no_heavy_tail():
    rng = np.random.default_rng(0)
    is_rare = rng.random(9000) < 0.03
    chance = np.where(is_rare, rng.uniform(0.15, 0.35, 9000), 0.4) + 0.01 * rng.normal(size=9000)
    table = np.stack([chance, 1.0 - chance], axis=1)
    action = (rng.random(9000) > chance).astype(int)
    logged = table[np.arange(9000), action]
    log = BanditLog(np.ones((9000, 1)), action, rng.random(9000), logged, 2)
    policy = np.tile([1.0, 0.0], (9000, 1))
    sums = InversePropensityScoring().estimate(log, policy).sums
    assert sums.weights.largest < 10.0
    assert sums.weights.tail.shape() > 0.5  # as most of the largest are just above the cutoff
    assert not sums.find_problems()


@for_each("estimator", MADE.values())
def test_a_log_without_a_click_is_warned_of(estimator):
    log, policy = biased_log(4000, 0.5, True)
    log = BanditLog(log.observation, log.action, np.zeros(4000), log.propensity, 2)
    with pytest.warns(UserWarning, match="all rows say the same"):
        estimate = estimator.estimate(log, policy, np.zeros((4000, 2)))
    assert estimate.interval() == (0.0, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.estimate(*biased_log(4000, 0.5, True), np.zeros((4000, 2)))


def test_an_interval_of_combined_estimates_adds_up_what_theirs_reach():
    log, policy = biased_log(6000, 0.5, True)
    parts = [slice(0, 2000), slice(2000, 6000)]
    estimates = [InversePropensityScoring().estimate(log[part], policy[part]) for part in parts]
    combined = combine_estimates(estimates)
    ends = np.array([estimate.interval() for estimate in estimates]).T
    values = np.array([estimate.value for estimate in estimates])
    reach = np.sqrt(((np.array(combined.shares) * (ends - values)) ** 2).sum(axis=1))
    expected = (combined.value - reach[0], combined.value + reach[1])
    assert combined.interval() == pytest.approx(expected, rel=1e-12)
    normal = combined.normal_interval()
    assert combined.interval() == pytest.approx(normal, abs=0.05 * (normal[1] - normal[0]))
