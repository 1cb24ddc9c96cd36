import dataclasses
import warnings

import numpy as np
import pytest

from bandit_envs import RandomPolicy
from bandit_envs.environments import logistic_context
from bandit_envs.logged import (
    BanditLog,
    DirectMethod,
    DoublyRobust,
    DRWithOptimisticShrinkage,
    InversePropensityScoring,
    ReplayMethod,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    SubGaussianDR,
    SubGaussianIPS,
    SwitchDR,
    tuned,
)
from tests.cases import for_each
from tests.logged.logs import PREDICTED, PROBABILITIES, drawn, small_log
from tests.statistical import is_near

pytestmark = pytest.mark.filterwarnings("ignore:.*the estimate is unreliable")

WEIGHTS = np.array([0.4, 3.2, 4, 2, 1.5, 5])  # of the small log
REFERENCE = [  # by another program
    (InversePropensityScoring(), 1.9),
    (InversePropensityScoring(2), 1.066666666666667),
    (SelfNormalizedIPS(), 0.7080745341614907),
    (DirectMethod(), 0.4983333333333333),
    (DoublyRobust(), 0.7966666666666667),
    (DoublyRobust(2), 0.6166666666666667),
    (SelfNormalizedDR(), 0.6095134575569358),
]
ALL = [estimator for estimator, _ in REFERENCE]
ALL += [SwitchDR(3), DRWithOptimisticShrinkage(2.0), SubGaussianIPS(0.3), SubGaussianDR(0.3)]


def name(value):
    return type(value).__name__ if not isinstance(value, float) else ""


def estimate_small(estimator):
    return estimator.estimate(small_log(), PROBABILITIES, PREDICTED)


def draw_tables(seed, size):
    """A log, the probabilities of a policy, and predicted rewards."""
    rng = np.random.default_rng(seed)
    log = drawn(rng, size)
    return log, rng.dirichlet(np.ones(3), size), rng.normal(size=(size, 3))


@for_each(("estimator", "value"), REFERENCE)
def test_estimates_are_those_of_the_reference(estimator, value):
    assert estimate_small(estimator).value == pytest.approx(value, abs=1e-9)


def test_replay_takes_the_mean_of_the_rows_that_match():
    probabilities = np.eye(3)[[0, 2, 2, 1, 1, 2]]
    log = dataclasses.replace(small_log(), propensity=np.full(6, 1 / 3))
    assert ReplayMethod().estimate(log, probabilities).value == 0.75


@for_each(
    ("estimator", "same"),
    [
        (SwitchDR(), DoublyRobust()),
        (SwitchDR(0.1), DirectMethod()),
        (DRWithOptimisticShrinkage(), DoublyRobust()),
        (DRWithOptimisticShrinkage(0.0), DirectMethod()),
        (SubGaussianIPS(), InversePropensityScoring()),
        (SubGaussianDR(), DoublyRobust()),
    ],
)
def test_estimators_have_others_as_limits(estimator, same):
    limit = estimate_small(same).value
    assert estimate_small(estimator).value == pytest.approx(limit, abs=1e-12)


@pytest.mark.parametrize(
    ("estimator", "changed"),
    [
        (SwitchDR(3), np.where(WEIGHTS <= 3, WEIGHTS, 0)),
        (DRWithOptimisticShrinkage(2.0), 2 * WEIGHTS / (WEIGHTS**2 + 2)),
        (SubGaussianDR(0.3), WEIGHTS / (0.7 + 0.3 * WEIGHTS)),
    ],
    ids=name,
)
def test_changed_weights_follow_their_formulas_and_their_bias_is_estimated(estimator, changed):
    log = small_log()
    residual = log.reward - np.array(PREDICTED)[np.arange(6), log.action]
    direct = estimate_small(DirectMethod()).value
    found = estimate_small(estimator)
    assert found.value == pytest.approx(direct + np.mean(changed * residual), abs=1e-12)
    assert found.bias == pytest.approx(np.mean((changed - WEIGHTS) * residual), abs=1e-12)


@pytest.mark.parametrize("estimator", ALL, ids=name)
@pytest.mark.filterwarnings("ignore:the estimate is about")
def test_a_log_that_is_doubled_has_the_same_value_and_a_smaller_error(estimator):
    log, probabilities, predicted = draw_tables(0, 5000)
    whole = estimator.estimate(log, probabilities, predicted)
    twice = np.arange(5000).repeat(2)
    doubled = estimator.estimate(log[twice], probabilities[twice], predicted[twice])
    assert doubled.value == pytest.approx(whole.value, abs=1e-12)
    assert doubled.standard_error == pytest.approx(whole.standard_error / np.sqrt(2), rel=1e-3)
    assert doubled.effective_sample_size == pytest.approx(2 * whole.effective_sample_size)
    assert doubled.max_weight == whole.max_weight


@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_normal_and_bootstrap_intervals_agree_and_bernstein_is_wider(estimator):
    estimate = estimator.estimate(*draw_tables(1, 3000))
    normal = estimate.normal_interval()
    bootstrap = estimate.bootstrap_interval()
    bernstein = estimate.bernstein_interval()
    width = normal[1] - normal[0]
    assert np.allclose(normal, bootstrap, atol=0.1 * width)
    assert bernstein[0] < normal[0] < estimate.value < normal[1] < bernstein[1]
    assert np.diff(estimate.normal_interval(0.5))[0] < width


@pytest.mark.parametrize("estimator", [SelfNormalizedIPS(), SelfNormalizedDR()], ids=name)
def test_intervals_of_ratios_follow_the_delta_method(estimator):
    log, probabilities, predicted = draw_tables(2, 500)
    rows = np.arange(500)
    weights = probabilities[rows, log.action] / log.propensity
    direct = np.zeros(500)
    residual = log.reward
    if estimator.needs_predictions:
        direct = (probabilities * predicted).sum(axis=1)
        residual = log.reward - predicted[rows, log.action]
    ratio = (weights * residual).mean() / weights.mean()
    influence = direct + weights * (residual - ratio) / weights.mean()
    estimate = estimator.estimate(log, probabilities, predicted)
    assert estimate.value == pytest.approx(direct.mean() + ratio, abs=1e-12)
    expected = np.std(influence, ddof=1) / np.sqrt(500)
    assert estimate.standard_error == pytest.approx(expected, rel=1e-9)


@pytest.mark.filterwarnings("ignore:all rows say the same")
@pytest.mark.parametrize("estimator", [SelfNormalizedIPS(), SelfNormalizedDR()], ids=name)
def test_a_ratio_without_spread_has_no_error(estimator):
    log, probabilities, _ = draw_tables(0, 500)
    same = BanditLog(log.observation, log.action, np.full(500, 0.1), log.propensity, 3)
    estimate = estimator.estimate(same, probabilities, np.zeros((500, 3)))
    assert estimate.value == pytest.approx(0.1, abs=1e-12)
    assert estimate.standard_error < 1e-15


def test_the_bernstein_interval_is_that_of_maurer_and_pontil():
    log = drawn(np.random.default_rng(3), 400)
    probabilities = np.tile([0.5, 0.3, 0.2], (400, 1))
    estimate = InversePropensityScoring().estimate(log, probabilities)
    values = probabilities[0, log.action] / log.propensity * log.reward
    term = np.log(2 / 0.025)  # 2.5 % on each side
    radius = np.sqrt(2 * values.var(ddof=1) * term / 400) + 7 * np.ptp(values) * term / (3 * 399)
    expected = values.mean() - radius, values.mean() + radius
    assert estimate.bernstein_interval() == pytest.approx(expected, rel=1e-9)


@for_each("estimator", ALL)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_largest_rewards_and_weights_of_a_log_give_finite_numbers(estimator):
    log = BanditLog(np.ones((3, 1)), [0, 1, 0], [1e100, -1e100, 1e100], [1e-40, 0.5, 1.0])
    found = estimator.estimate(log, np.full((3, 2), 0.5), np.full((3, 2), -1e100))
    intervals = (
        found.normal_interval(),
        found.bernstein_interval(),
        found.bootstrap_interval(resamples=10),
    )
    assert np.isfinite([found.value, found.standard_error, *np.ravel(intervals)]).all()


def shrink_always(log):
    """The probabilities of a policy with weights of about 6 in a tenth of the rows."""
    table = np.full((len(log), 3), [0.05, 0.05, 0.9])
    rare = np.array([0.45, 0.4, 0.15])
    action = np.random.default_rng(1).choice(3, len(log), p=rare)
    return BanditLog(log.observation, action, action / 2, rare[action], 3), table


@pytest.mark.filterwarnings("default")
def test_estimates_are_warned_of_by_their_reasons():
    log = drawn(np.random.default_rng(0), 1000)
    uniform = np.full((1000, 3), 1 / 3)
    ips = InversePropensityScoring()
    with pytest.warns(UserWarning, match="effective sample size"):
        estimate_small(ips)
    wider = BanditLog(log.observation, log.action, log.reward, log.propensity, 4)
    with pytest.warns(UserWarning, match="never logged"):
        ips.estimate(wider, np.full((1000, 4), 0.25))
    wrong = BanditLog(log.observation, log.action, log.reward, 0.8 * log.propensity)
    with pytest.warns(UserWarning, match="mean weight"):
        ips.estimate(wrong, uniform)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ips.estimate(log, uniform)


@for_each(
    "estimator",
    [
        DirectMethod(),
        SwitchDR(5.0),
        DRWithOptimisticShrinkage(5.0),
        SubGaussianDR(0.5),
        DoublyRobust(2.0),
        InversePropensityScoring(2.0),
    ],
)
def test_weights_that_are_made_smaller_are_warned_of_where_predictions_are_wrong(estimator):
    log, probabilities = shrink_always(drawn(np.random.default_rng(0), 5000))
    with pytest.warns(UserWarning, match="too low: its weights leave out that much"):
        found = estimator.estimate(log, probabilities, np.zeros((5000, 3)))
    truth = 0.05 * 0.5 + 0.9
    assert found.bias < 0.0
    assert found.value - truth == pytest.approx(found.bias, abs=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "all rows say the same")  # as predictions are perfect
        if estimator.needs_predictions:
            estimator.estimate(log, probabilities, np.tile([0.0, 0.5, 1.0], (5000, 1)))


@pytest.mark.filterwarnings("ignore")  # of weights so small
@pytest.mark.parametrize("estimator", [SelfNormalizedIPS(), SelfNormalizedDR()], ids=name)
def test_the_error_of_a_ratio_of_tiny_weights_is_infinite_rather_than_0(estimator):
    rng = np.random.default_rng(0)
    log = drawn(rng, 500)
    for tiny, is_known in ((1e-140, True), (1e-150, False), (1e-200, False)):
        table = np.tile([tiny, tiny, 1.0], (500, 1))
        rows = np.flatnonzero(log.action < 2)
        found = estimator.estimate(log[rows], table[rows], np.zeros((len(rows), 3)))
        mean = log.reward[rows].mean()
        assert found.value == pytest.approx(mean)
        assert np.isfinite(found.standard_error) == is_known
        assert np.isfinite(found.sums.estimate().interval()).all() == is_known
        if is_known:
            expected = log.reward[rows].std() / np.sqrt(len(rows))
            assert found.standard_error == pytest.approx(expected, rel=0.01)


def test_tuning_takes_the_smallest_estimated_error():
    estimators = [InversePropensityScoring(limit) for limit in (0.5, 2.0, 1e9)]
    best, estimate = tuned(estimators, small_log(), PROBABILITIES)
    found = [estimate_small(each) for each in estimators]
    errors = [each.standard_error**2 + each.bias**2 for each in found]
    assert best is estimators[int(np.argmin(errors))]
    assert estimate == estimate_small(best)


@pytest.mark.slow
def test_estimates_are_unbiased_and_their_intervals_cover_the_truth():
    size = 600
    env = logistic_context(5, 3, size, seed=0)
    policy = RandomPolicy(5, size, seed=1)
    slope = np.random.default_rng(2).normal(size=(3, 5))

    def target_of(context):
        table = np.exp(context @ slope)
        return table / table.sum(axis=1, keepdims=True)

    estimators = (InversePropensityScoring(), DoublyRobust())
    errors = np.empty((500, 2))
    intervals = np.empty((500, 2, 2))
    time_step = env.reset()
    for run in range(500):
        context = time_step.observation
        means = env.expected_rewards()
        action = policy.action(time_step)
        time_step = env.step(action)
        log = BanditLog(context, action, time_step.reward, np.full(size, 0.2), 5)
        target = target_of(context)
        truth = (target * means).sum(axis=1).mean()
        for place, estimator in enumerate(estimators):
            estimate = estimator.estimate(log, target, means + 0.1 * context[:, :1])
            errors[run, place] = estimate.value - truth
            intervals[run, place] = estimate.normal_interval()
    assert is_near(errors, [0.0, 0.0], number=4.0)
    contexts = np.random.default_rng(3).normal(size=(400_000, 3))
    mean = (target_of(contexts) * env.expected_rewards_for(contexts)).sum(axis=1).mean()
    covered = (intervals[:, :, 0] <= mean) & (mean <= intervals[:, :, 1])
    shares = covered.mean(axis=0)
    assert ((shares >= 0.92) & (shares <= 0.975)).all()
