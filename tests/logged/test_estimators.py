import warnings

import numpy as np
import pytest

from bandit_envs import RandomPolicy
from bandit_envs.environments.logistic_context import LogisticContextBandit
from bandit_envs.logged import (
    BanditLog,
    DirectMethod,
    DoublyRobust,
    DRWithOptimisticShrinkage,
    InversePropensityScoring,
    ReplayMethod,
    RewardRegression,
    RidgeRegression,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    SubGaussianDR,
    SubGaussianIPS,
    SwitchDR,
    tuned,
)
from tests.logged.logs import PREDICTED, PROBABILITIES, drawn, small_log

pytestmark = pytest.mark.filterwarnings("ignore:the effective sample size")

REFERENCE = [
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


@pytest.mark.parametrize(("estimator", "value"), REFERENCE, ids=name)
def test_estimates_are_those_of_the_reference(estimator, value):
    estimate = estimator.estimate(small_log(), PROBABILITIES, PREDICTED)
    assert estimate.value == pytest.approx(value, abs=1e-9)


def test_replay_takes_the_mean_of_the_rows_that_match():
    probabilities = np.eye(3)[[0, 2, 2, 1, 1, 2]]
    assert ReplayMethod().estimate(small_log(), probabilities).value == 0.75
    with pytest.raises(ValueError, match="deterministic"):
        ReplayMethod().estimate(small_log(), PROBABILITIES)


@pytest.mark.parametrize(
    ("estimator", "same"),
    [
        (SwitchDR(), DoublyRobust()),
        (SwitchDR(0.1), DirectMethod()),
        (DRWithOptimisticShrinkage(), DoublyRobust()),
        (DRWithOptimisticShrinkage(0.0), DirectMethod()),
        (SubGaussianIPS(), InversePropensityScoring()),
        (SubGaussianDR(), DoublyRobust()),
    ],
    ids=name,
)
def test_estimators_have_others_as_limits(estimator, same):
    values = [e.estimate(small_log(), PROBABILITIES, PREDICTED).value for e in (estimator, same)]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_changed_weights_follow_their_formulas():
    log, weights = small_log(), np.array([0.4, 3.2, 4, 2, 1.5, 5])
    residual = log.reward - np.array(PREDICTED)[np.arange(6), log.action]
    direct = DirectMethod().estimate(log, PROBABILITIES, PREDICTED).value
    for estimator, changed in (
        (SwitchDR(3), np.where(weights <= 3, weights, 0)),
        (DRWithOptimisticShrinkage(2.0), 2 * weights / (weights**2 + 2)),
        (SubGaussianDR(0.3), weights / (0.7 + 0.3 * weights)),
    ):
        value = estimator.estimate(log, PROBABILITIES, PREDICTED).value
        assert value == pytest.approx(direct + np.mean(changed * residual), abs=1e-12)


@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_rows_in_several_blocks_count_as_in_one(estimator):
    rng = np.random.default_rng(0)
    log, probabilities = drawn(rng, 5000), rng.dirichlet(np.ones(3), 5000)
    predicted = rng.normal(size=(5000, 3))
    whole = estimator.estimate(log, probabilities, predicted)
    twice = np.arange(5000).repeat(2)
    doubled = estimator.estimate(log[twice], probabilities[twice], predicted[twice])
    assert doubled.value == pytest.approx(whole.value, abs=1e-12)
    assert doubled.standard_error == pytest.approx(whole.standard_error / np.sqrt(2), rel=1e-3)
    assert doubled.effective_sample_size == pytest.approx(2 * whole.effective_sample_size)
    assert doubled.max_weight == whole.max_weight


@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_normal_and_bootstrap_intervals_agree_and_bernstein_is_wider(estimator):
    rng = np.random.default_rng(1)
    log, probabilities = drawn(rng, 3000), rng.dirichlet(np.ones(3), 3000)
    estimate = estimator.estimate(log, probabilities, rng.normal(size=(3000, 3)))
    normal = estimate.normal_interval()
    bootstrap = estimate.bootstrap_interval()
    bernstein = estimate.bernstein_interval()
    width = np.diff(normal)[0]
    assert np.allclose(normal, bootstrap, atol=0.1 * width)
    assert bernstein[0] < normal[0] < estimate.value < normal[1] < bernstein[1]
    assert np.diff(estimate.normal_interval(0.5))[0] < width


def test_intervals_of_ratios_follow_the_delta_method_and_resample_both_parts():
    rng = np.random.default_rng(2)
    log, probabilities = drawn(rng, 500), rng.dirichlet(np.ones(3), 500)
    predicted = rng.normal(size=(500, 3))
    rows = np.arange(500)
    weights = probabilities[rows, log.action] / log.propensity
    direct = (probabilities * predicted).sum(axis=1)
    for estimator, c, y in (
        (SelfNormalizedIPS(), np.zeros(500), log.reward),
        (SelfNormalizedDR(), direct, log.reward - predicted[rows, log.action]),
    ):
        estimate = estimator.estimate(log, probabilities, predicted)
        ratio = (weights * y).mean() / weights.mean()
        error = np.std(c + weights * (y - ratio) / weights.mean(), ddof=1) / np.sqrt(500)
        assert estimate.value == pytest.approx(c.mean() + ratio, abs=1e-12)
        assert estimate.standard_error == pytest.approx(error, rel=1e-9)
        resampled, same = [], np.random.default_rng(7)
        for _ in range(200):
            of = same.integers(500, size=500, dtype=np.int32)
            resampled.append(c[of].mean() + (weights * y)[of].mean() / weights[of].mean())
        bootstrap = estimate.bootstrap_interval(0.9, resamples=200, seed=7)
        assert bootstrap == pytest.approx(tuple(np.quantile(resampled, [0.05, 0.95])), rel=1e-9)


@pytest.mark.parametrize("estimator", [SelfNormalizedIPS(), SelfNormalizedDR()], ids=name)
def test_a_ratio_without_spread_has_no_error(estimator):
    rng = np.random.default_rng(0)
    log, probabilities = drawn(rng, 500), rng.dirichlet(np.ones(3), 500)
    same = BanditLog(log.observation, log.action, np.full(500, 0.1), log.propensity, 3)
    estimate = estimator.estimate(same, probabilities, np.zeros((500, 3)))
    assert estimate.value == pytest.approx(0.1, abs=1e-12)
    assert estimate.standard_error < 1e-15


def test_the_bernstein_interval_is_that_of_maurer_and_pontil():
    log, probabilities = drawn(np.random.default_rng(3), 400), np.tile([0.5, 0.3, 0.2], (400, 1))
    estimate = InversePropensityScoring().estimate(log, probabilities)
    values = probabilities[0, log.action] / log.propensity * log.reward
    term = np.log(2 / 0.025)  # 2.5 % on each side
    radius = np.sqrt(2 * values.var(ddof=1) * term / 400) + 7 * np.ptp(values) * term / (3 * 399)
    expected = values.mean() - radius, values.mean() + radius
    assert estimate.bernstein_interval() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["normal_interval", "bernstein_interval", "bootstrap_interval"])
def test_a_confidence_is_between_0_and_1(name):
    estimate = InversePropensityScoring().estimate(small_log(), PROBABILITIES)
    for confidence in (0.0, 1.0):
        with pytest.raises(ValueError, match="confidence"):
            getattr(estimate, name)(confidence)


@pytest.mark.parametrize(
    ("probabilities", "predicted", "match"),
    [
        (np.full((6, 2), 0.5), PREDICTED, "probabilities"),
        (np.full((6, 3), 0.5), PREDICTED, "probabilities.*row 0"),
        (np.full((6, 3), np.nan), PREDICTED, "probabilities"),
        ([[1.5, -0.5, 0.0]] * 6, PREDICTED, "probabilities.*row 0"),
        (PROBABILITIES, None, "predicted_rewards"),
        (PROBABILITIES, np.full((6, 3), np.nan), "predicted_rewards"),
        (PROBABILITIES, np.ones((6, 2)), "predicted_rewards"),
    ],
)
def test_tables_that_do_not_fit_are_refused(probabilities, predicted, match):
    with pytest.raises(ValueError, match=match):
        DoublyRobust().estimate(small_log(), probabilities, predicted)


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.filterwarnings("ignore:the policy takes actions")
def test_an_estimate_needs_two_rows(size):
    with pytest.raises(ValueError, match=f"log has {size} rows"):
        InversePropensityScoring().estimate(small_log()[:size], np.array(PROBABILITIES)[:size])


@pytest.mark.filterwarnings("default")
def test_small_samples_and_actions_never_logged_are_warned_of():
    with pytest.warns(UserWarning, match="effective sample size"):
        InversePropensityScoring().estimate(small_log(), PROBABILITIES)
    log = drawn(np.random.default_rng(0), 1000)
    wider = BanditLog(log.observation, log.action, log.reward, log.propensity, 4)
    with pytest.warns(UserWarning, match="never logged"):
        InversePropensityScoring().estimate(wider, np.full((1000, 4), 0.25))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        InversePropensityScoring().estimate(log, np.full((1000, 3), 1 / 3))


def test_tuning_takes_the_smallest_estimated_error():
    estimators = [InversePropensityScoring(limit) for limit in (0.5, 2.0, 1e9)]
    best, estimate = tuned(estimators, small_log(), PROBABILITIES)
    errors = []
    for each in estimators:
        found = each.estimate(small_log(), PROBABILITIES)
        errors.append(found.standard_error**2 + found.bias**2)
    assert best is estimators[int(np.argmin(errors))]
    assert estimate == best.estimate(small_log(), PROBABILITIES)


def test_the_bias_is_estimated_from_what_changed_weights_leave_out():
    weights = np.array([0.4, 3.2, 4, 2, 1.5, 5])
    log = small_log()
    residual = log.reward - np.array(PREDICTED)[np.arange(6), log.action]
    found = SwitchDR(3).estimate(log, PROBABILITIES, PREDICTED).bias
    assert found == pytest.approx(np.mean(weights * (weights > 3) * residual), abs=1e-12)
    for unchanged in (DoublyRobust(), SelfNormalizedIPS()):
        assert unchanged.estimate(log, PROBABILITIES, PREDICTED).bias == 0.0


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (InversePropensityScoring, "max_weight", -1.0),
        (SwitchDR, "threshold", float("nan")),
        (SubGaussianIPS, "shrinkage", 1.5),
        (DRWithOptimisticShrinkage, "shrinkage", "1"),
    ],
)
def test_bad_parameters_are_refused(kind, name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        kind(value)


def test_estimates_are_unbiased_and_their_intervals_cover_the_truth():
    env = LogisticContextBandit(5, 3, 2000, seed=0)
    time_step, policy = env.reset(), RandomPolicy(5, 2000, seed=1)
    rng = np.random.default_rng(2)
    tables = {type(e): [] for e in (InversePropensityScoring(), DoublyRobust())}
    slope = rng.normal(size=(3, 5))
    for _ in range(500):
        context, means = time_step.observation, env.expected_rewards()
        target = np.exp(context @ slope)
        target /= target.sum(axis=1, keepdims=True)
        action = policy.action(time_step)
        time_step = env.step(action)
        log = BanditLog(context, action, time_step.reward, np.full(2000, 0.2), 5)
        truth = (target * means).sum(axis=1).mean()
        for kind, found in tables.items():
            estimate = kind().estimate(log, target, means + 0.1 * context[:, :1])
            low, high = estimate.normal_interval()
            found.append((estimate.value - truth, low, high))
    contexts = np.random.default_rng(3).normal(size=(400_000, 3))
    target = np.exp(contexts @ slope)
    target /= target.sum(axis=1, keepdims=True)
    mean = (target * env.expected_rewards_for(contexts)).sum(axis=1).mean()
    for found in tables.values():
        errors, lows, highs = np.array(found).T
        assert abs(errors.mean()) < 4 * errors.std() / np.sqrt(500)
        covered = np.mean((lows <= mean) & (mean <= highs))
        assert 0.92 <= covered <= 0.975


def test_cross_fitted_predictions_make_doubly_robust_more_precise():
    env = LogisticContextBandit(4, 3, 3000, seed=0)
    context, policy = env.reset().observation, RandomPolicy(4, 3000, seed=1)
    action = policy.action(env.current_time_step())
    log = BanditLog(context, action, env.step(action).reward, np.full(3000, 0.25), 4)
    target = np.tile([0.7, 0.1, 0.1, 0.1], (3000, 1))
    plain = InversePropensityScoring().estimate(log, target).standard_error
    for predicted in (
        RewardRegression().predict(log),
        RewardRegression().predict(log, probabilities=target),
    ):
        truth = env.expected_rewards_for(context)
        assert np.sqrt(np.mean((predicted - truth) ** 2)) < 0.12
        assert DoublyRobust().estimate(log, target, predicted).standard_error < 0.9 * plain


@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_regression_minimises_its_penalised_error(weighted):
    rng = np.random.default_rng(0)
    features, targets = rng.normal(size=(50, 3)) + 2.0, rng.normal(size=50)
    weights = rng.random(50) if weighted else np.ones(50)
    design = np.column_stack([np.ones(50), features])
    penalty = np.diag([0.0, 1.0, 1.0, 1.0])
    scaled = design.T * weights
    solution = np.linalg.solve(scaled @ design + penalty, scaled @ targets)
    model = RidgeRegression().fit(features, targets, weights if weighted else None)
    assert np.allclose(model.predict(features), design @ solution, atol=1e-10)


class Mean:
    """A model that predicts the weighted mean of what it has learned from."""

    def __init__(self, lessons):
        self.lessons = lessons

    def __deepcopy__(self, memo):
        return Mean(self.lessons)

    def fit(self, features, targets, sample_weight=None):
        self.lessons.append((features, targets, sample_weight))
        self.mean = np.average(targets, weights=sample_weight)

    def predict(self, features):
        return np.full(len(features), self.mean)


def test_no_row_is_predicted_by_a_model_that_has_learned_from_it():
    log, lessons = drawn(np.random.default_rng(0), 30), []
    predicted = RewardRegression(Mean(lessons), folds=3).predict(log)
    assert [len(targets) for _, targets, _ in lessons] == [20, 20, 20]
    for row in range(30):
        without = [targets for _, targets, _ in lessons if log.reward[row] not in targets]
        assert len(without) == 1
        assert np.allclose(predicted[row], without[0].mean())


def test_the_model_of_mrdr_learns_with_the_weights_of_its_source():
    log, lessons = small_log(), []
    RewardRegression(Mean(lessons), folds=2).predict(log, PROBABILITIES)
    chosen = np.array([0.2, 0.8, 1.0, 1.0, 0.3, 0.5])
    expected = dict(
        zip(log.observation[:, 0], chosen**2 * (1 - log.propensity) / log.propensity**2)
    )
    for features, _, weights in lessons:
        contexts = [key for row in features for key in expected if key in row[3:4]]
        assert np.allclose(weights, [expected[key] for key in contexts])


@pytest.mark.parametrize("model", ["LogisticRegression", "Ridge"])
def test_models_of_scikit_learn_predict_rewards(model):
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    context, action = rng.normal(size=(2000, 2)), rng.integers(3, size=2000)
    reward = (rng.random(2000) < np.array([0.1, 0.5, 0.9])[action]).astype(float)
    log = BanditLog(context, action, reward, np.full(2000, 1 / 3), 3)
    predicted = RewardRegression(getattr(linear_model, model)()).predict(log)
    assert np.allclose(predicted.mean(axis=0), [0.1, 0.5, 0.9], atol=0.05)


def test_an_ensemble_of_scikit_learn_predicts_rewards():
    ensemble = pytest.importorskip("sklearn.ensemble")
    log = drawn(np.random.default_rng(0), 60)
    forest = ensemble.RandomForestRegressor(5, random_state=0)
    predicted = RewardRegression(forest).predict(log)
    assert (log.reward.min() <= predicted).all()
    assert (predicted <= log.reward.max()).all()


def test_features_of_items_predict_rewards():
    rng = np.random.default_rng(0)
    observation = {"global": rng.normal(size=(500, 1)), "per_arm": rng.normal(size=(500, 4, 2))}
    means = observation["global"] + observation["per_arm"] @ [1.0, -2.0]
    action = rng.integers(4, size=500)
    log = BanditLog(observation, action, means[np.arange(500), action], np.full(500, 0.25), 4)
    predicted = RewardRegression().predict(log)
    assert np.allclose(predicted, means, atol=0.1)
    users, items = observation["global"][:, 0], observation["per_arm"][..., np.newaxis]
    same = BanditLog({"global": users, "per_arm": items}, action, log.reward, log.propensity, 4)
    np.testing.assert_array_equal(RewardRegression().predict(same), predicted)


def test_an_action_that_was_logged_once_is_predicted():
    rng = np.random.default_rng(0)
    action = np.r_[2, rng.integers(2, size=99)]
    log = BanditLog(rng.normal(size=(100, 2)), action, action, np.full(100, 0.5), 3)
    assert np.isfinite(RewardRegression().predict(log)).all()


def test_a_mean_weight_far_from_one_is_warned_of():
    rng = np.random.default_rng(8)
    log, probabilities = drawn(rng, 2000), np.tile([0.5, 0.3, 0.2], (2000, 1))
    wrong = BanditLog(log.observation, log.action, log.reward, 0.8 * log.propensity)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        InversePropensityScoring().estimate(log, probabilities)
    with pytest.warns(UserWarning, match="mean weight"):
        InversePropensityScoring().estimate(wrong, probabilities)
