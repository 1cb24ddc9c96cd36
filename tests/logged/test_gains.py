"""Gains of policies over others, from the same rows."""

import itertools
import warnings

import numpy as np
import pytest

from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    DRWithOptimisticShrinkage,
    InversePropensityScoring,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    SlateIndependentIPS,
    SlateProbabilities,
    SwitchDR,
    estimate_batches,
    merge_sums,
)
from bandit_envs.logged.estimators import (
    estimate_logged,
    gain_over,
)
from bandit_envs.logged.estimators.gains import (
    invert_interval,
    logged_terms,
    mean_terms,
    p_value_of,
    subtract_terms,
)
from bandit_envs.logged.estimators.terms import sum_terms
from bandit_envs.logged.intervals.influence import InfluenceSums
from bandit_envs.metrics.holm import holm
from tests.cases import for_each
from tests.logged.known_logs import POLICY, PREDICTED, heavy_log, short_log

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*the estimate is unreliable", "ignore:the estimate is about"
)

NEW = np.array(POLICY)
UNIFORM = np.full((8, 3), 1 / 3)
GREEDY = np.eye(3)[np.argmax(PREDICTED, axis=1)]

THIRDS = np.arange(600) // 3

ESTIMATORS = [
    InversePropensityScoring(),
    SelfNormalizedIPS(),
    DoublyRobust(),
    SelfNormalizedDR(),
    SwitchDR(1.5),
    DRWithOptimisticShrinkage(2.0),
]


@pytest.fixture
def log():
    """Eight rows, of which other programs have computed the gains below."""
    return short_log()[0]


def make_log(size, seed=0):
    """A longer log, with the probabilities of two policies and predicted rewards."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(size, 2))
    logging = rng.dirichlet([2.0, 2.0, 2.0], size)
    action = (rng.random(size)[:, np.newaxis] > logging.cumsum(axis=1)).sum(axis=1).clip(max=2)
    reward = rng.normal(features[:, 0] * (action == 1) + 0.5, 1.0)
    propensity = logging[np.arange(size), action]
    made = BanditLog(features, action, reward, propensity, 3)
    tables = [rng.dirichlet([2.0, 2.0, 2.0], size) for _ in range(2)]
    return made, *tables, rng.normal(size=(size, 3))


@for_each(
    ("estimator", "policy", "gain", "error"),
    [
        (InversePropensityScoring(), NEW, 0.140216892, 0.294881917),
        (SelfNormalizedIPS(), NEW, 0.070031550, 0.103871256),
        (DoublyRobust(), NEW, 0.019331118, 0.097098392),
        (InversePropensityScoring(), UNIFORM, 0.052604131, 0.173415529),
        (SelfNormalizedIPS(), UNIFORM, 0.065261825, 0.070656993),
        (DoublyRobust(), UNIFORM, 0.027258768, 0.090308703),
        (InversePropensityScoring(), GREEDY, -0.088105413, 0.140902549),
        (SelfNormalizedIPS(), GREEDY, 0.010172310, 0.092971897),
        (DoublyRobust(), GREEDY, 0.156328348, 0.231112225),
    ],
)
def test_gains_over_the_logged_policy_are_those_of_other_programs(
    log, estimator, policy, gain, error
):
    found = gain_over(estimator.estimate(log, policy, PREDICTED), estimate_logged(log))
    assert found.value == pytest.approx(gain, abs=1e-9)
    assert found.standard_error == pytest.approx(error, abs=1e-9)


@pytest.mark.parametrize(
    ("estimator", "p_value"),
    [
        (InversePropensityScoring(), 0.634429327),
        (SelfNormalizedIPS(), 0.500174685),
        (DoublyRobust(), 0.842193957),
    ],
)
def test_p_values_are_those_of_other_programs(log, estimator, p_value):
    found = gain_over(estimator.estimate(log, NEW, PREDICTED), estimate_logged(log))
    assert invert_interval(found.normal_interval) == pytest.approx(p_value, abs=1e-9)


@pytest.mark.parametrize(
    ("estimator", "low", "high"),
    [
        (InversePropensityScoring(), -0.734153157, 2.654281603),
        (DoublyRobust(), -0.228914875, 0.228357209),
    ],
)
def test_intervals_of_gains_are_those_of_other_programs(log, estimator, low, high):
    found = gain_over(estimator.estimate(log, NEW, PREDICTED), estimate_logged(log))
    assert found.interval() == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS[:5])
def test_a_p_value_is_small_exactly_if_the_interval_leaves_out_0(estimator):
    log, first, second, predicted = make_log(2000)
    one = estimator.estimate(log, first, predicted)
    found = gain_over(one, estimator.estimate(log, second, predicted))
    p_value = p_value_of(found)
    assert 1e-9 < p_value < 1.0
    inside = found.interval(1.0 - 0.999 * p_value)
    outside = found.interval(1.0 - 1.001 * p_value)
    assert inside[0] <= 0.0 <= inside[1]
    assert not outside[0] <= 0.0 <= outside[1]


@pytest.mark.filterwarnings("ignore:the policy takes actions")
def test_p_values_where_few_rows_decide_are_those_of_other_programs():
    log, policy = heavy_log()
    gain = gain_over(SelfNormalizedIPS().estimate(log, policy), estimate_logged(log))
    assert p_value_of(gain) == pytest.approx(0.681192811, abs=1e-9)
    rows = InfluenceSums.from_values(policy[:, 0] / log.propensity * log.reward - 0.75)
    assert invert_interval(rows.interval) == pytest.approx(0.290089087, abs=1e-9)


def rare_clicks(seed):
    """A log of a rare action, which is clicked less often, and the policy that always takes it."""
    rng = np.random.default_rng(seed)
    rare = np.where(rng.random(30_000) < 0.5, 0.005, 0.1)
    action = (rng.random(30_000) < rare).astype(int)
    reward = rng.random(30_000) < np.where(action == 1, 0.17, 0.30)
    chances = np.where(action == 1, rare, 1.0 - rare)
    log = BanditLog(np.ones((30_000, 1)), action, reward, chances, 2)
    return log, np.tile([0.0, 1.0], (30_000, 1))


def test_a_clear_loss_that_few_rows_decide_has_a_small_p_value_but_none_below_a_thousandth():
    for seed in range(4):
        log, policy = rare_clicks(seed)
        estimate = InversePropensityScoring().estimate(log, policy)
        gain = gain_over(estimate, estimate_logged(log))
        assert gain.influence_sums().few_rows_decide
        assert 0.001 <= p_value_of(gain) < 0.2
    clear = InfluenceSums.from_values(np.append(np.full(999, 1.0), 1.2))
    assert invert_interval(clear.interval) < 1e-6
    terms = mean_terms(np.append(np.full(999, 1.0), 1.2))
    assert p_value_of(terms.sums().estimate()) == 0.001


def test_a_p_value_of_ratios_of_many_slots_takes_one_pass_over_the_rows():
    rng = np.random.default_rng(0)
    table = rng.uniform(0.2, 0.8, (100, 3))
    given = [SlateProbabilities(slot=each) for each in (np.full((100, 3), 0.5), table)]
    terms = SlateIndependentIPS(self_normalized=True).terms(rng.random((100, 3)), *given)
    passes = []

    class Rows:
        def __iter__(self):
            passes.append("rows")
            yield terms

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimate = terms.sums().estimate(Rows())
    assert p_value_of(estimate) < 0.05
    assert passes == ["rows"]


def test_p_values_without_a_gain_or_an_error_are_1_and_0():
    assert invert_interval(lambda confidence: (0.0, 0.0)) == 1.0
    assert invert_interval(lambda confidence: (0.3, 0.3)) == pytest.approx(1e-9)
    assert holm([0.012, 0.02, 0.04]) == pytest.approx([0.036, 0.04, 0.04])


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("other", [InversePropensityScoring(), SelfNormalizedDR()])
def test_a_gain_is_the_difference_whose_error_is_that_of_the_differences_of_rows(estimator, other):
    log, first, second, predicted = make_log(2000)
    estimate = estimator.estimate(log, first, predicted)
    baseline = other.estimate(log, second, predicted)
    found = gain_over(estimate, baseline)
    assert found.value == pytest.approx(estimate.value - baseline.value, abs=1e-12)
    influences = [_influence(each) for each in (estimate, baseline)]
    difference = influences[0] - influences[1]
    error = np.sqrt((difference**2).sum() / 2000 / 1999)
    assert found.standard_error == pytest.approx(error, rel=1e-9)
    low, high = found.bootstrap_interval(seed=1)
    assert (high - low) / (2 * 1.96 * error) == pytest.approx(1.0, rel=0.15)


def _influence(estimate):
    """How far each row moves an estimate, by the delta method."""
    (terms,) = estimate.terms
    if terms.normaliser is None:
        rows = terms.direct + terms.weighted
        return rows - rows.mean()
    ratio = terms.weighted.sum() / terms.normaliser.sum()
    change = (terms.weighted - ratio * terms.normaliser) / terms.normaliser.mean()
    return terms.direct - terms.direct.mean() + change


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_sums_of_gains_merge_over_parts(estimator):
    log, first, second, predicted = make_log(900)
    whole = gain_over(
        estimator.estimate(log, first, predicted), estimator.estimate(log, second, predicted)
    )
    parts = []
    for rows in (slice(0, 100), slice(100, 650), slice(650, 900)):
        one = estimator.terms(log[rows], first[rows], predicted[rows])
        two = estimator.terms(log[rows], second[rows], predicted[rows])
        parts.append(subtract_terms(one, two))
    merged = merge_sums(sum_terms(parts)).estimate()
    assert merged.value == pytest.approx(whole.value, rel=1e-11)
    assert merged.standard_error == pytest.approx(whole.standard_error, rel=1e-12)
    assert merged.interval() == pytest.approx(whole.interval(), rel=1e-11)


@for_each("estimator", ESTIMATORS)
def test_a_policy_gains_nothing_over_itself(estimator):
    log, first, _, predicted = make_log(500)
    estimate = estimator.estimate(log, first, predicted)
    check_no_gain(gain_over(estimate, estimate))


@for_each(
    ("columns", "estimator"),
    itertools.product([{}, {"unit": THIRDS}, {"weight": 1.0 + THIRDS}], ESTIMATORS[:5]),
)
def test_a_policy_with_the_logged_probabilities_but_for_rounding_gains_nothing(estimator, columns):
    """The propensities 0.9 / 8 + 0.1 / 8 are 1 / 8, but for the last digit."""
    rng = np.random.default_rng(0)
    clicks = (rng.random(600) < 0.3).astype(float)
    logged = np.full(600, np.nextafter(0.9 / 8 + 0.1 / 8, 1.0))
    log = BanditLog(np.ones((600, 1)), rng.integers(8, size=600), clicks, logged, 8, **columns)
    same = np.full((600, 8), 1 / 8)
    predicted = np.full((600, 8), 0.3)
    check_no_gain(gain_over(estimator.estimate(log, same, predicted), estimate_logged(log)))


def check_no_gain(gain):
    assert (gain.value, gain.standard_error) == (0.0, 0.0)
    assert gain.interval() == (0.0, 0.0)
    assert p_value_of(gain) == 1.0


def test_the_logged_policy_earns_the_mean_reward_and_gains_nothing_over_itself():
    log, *_ = make_log(500)
    found = estimate_logged(log)
    assert found.value == pytest.approx(log.reward.mean())
    assert found.standard_error == pytest.approx(log.reward.std(ddof=1) / np.sqrt(500))
    assert found.effective_sample_size == pytest.approx(500.0)
    assert estimate_logged([log[:200], log[200:]]).value == pytest.approx(found.value)
    assert gain_over(found, found).value == 0.0


def test_gains_of_batches_are_those_of_the_whole_log():
    log, first, _, _ = make_log(900)
    batches = [log[:300], log[300:]]
    tables = {id(batch): table for batch, table in zip(batches, (first[:300], first[300:]))}
    estimate = estimate_batches(SelfNormalizedIPS(), batches, lambda batch: tables[id(batch)])
    whole = SelfNormalizedIPS().estimate(log, first)
    found = gain_over(estimate, estimate_logged(batches))
    expected = gain_over(whole, estimate_logged(log))
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-12)


def test_estimates_of_other_rows_are_refused():
    log, first, _, _ = make_log(500)
    estimate = InversePropensityScoring().estimate(log, first)
    with pytest.raises(ValueError, match="terms are of 500 and 400 rows; expected the same"):
        gain_over(estimate, estimate_logged(log[:400]))
    with pytest.raises(ValueError, match=r"estimates are of .* expected the same rows"):
        gain_over(estimate, estimate_logged([log, log]))
    with pytest.raises(ValueError, match=r"estimates are of .* expected the same rows"):
        gain_over(logged_terms(log).sums().estimate(), estimate_logged(log))


def test_changed_weights_have_intervals_of_gains_that_allow_for_their_bias():
    log, first, second, _ = make_log(900)
    baseline = SelfNormalizedIPS().estimate(log, second)
    unbiased = gain_over(InversePropensityScoring().estimate(log, first), baseline).interval()
    found = gain_over(InversePropensityScoring(1.0).estimate(log, first), baseline)
    low, high = found.interval()
    assert low == pytest.approx(min(unbiased[0], found.normal_interval()[0]))
    assert high == pytest.approx(max(unbiased[1], found.normal_interval()[1]))


def test_a_gain_warns_of_nothing_that_its_estimate_has_not_warned_of(log):
    estimate = InversePropensityScoring().estimate(log, NEW)
    baseline = estimate_logged(log)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gain_over(estimate, baseline)


@for_each("estimator", [*ESTIMATORS, SwitchDR(), DRWithOptimisticShrinkage()])
def test_two_policies_that_do_the_same_have_no_gain_over_each_other(estimator):
    log, policy, _, predicted = make_log(301, seed=3)
    found = estimator.estimate(log, policy, predicted)
    gain = gain_over(found, found)
    low, high = gain.interval()
    assert (gain.value, p_value_of(gain)) == (0.0, 1.0)
    assert -1e-12 < low <= 0.0 <= high < 1e-12
