import warnings

import numpy as np
import pytest

from bandit_envs import EpsilonGreedyPolicy, KArmedTestbed, RandomPolicy, StepDriver
from bandit_envs.environments.logistic_context import LogisticContextBandit
from bandit_envs.logged import (
    BanditLog,
    DirectMethod,
    DoublyRobust,
    DRWithOptimisticShrinkage,
    InversePropensityScoring,
    LogRecorder,
    ReplayMethod,
    RewardRegression,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    SubGaussianDR,
    SubGaussianIPS,
    SwitchDR,
    probabilities_of,
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
    normal, bootstrap, bernstein = (
        estimate.interval(method=method) for method in ("normal", "bootstrap", "bernstein")
    )
    width = np.diff(normal)[0]
    assert np.allclose(normal, bootstrap, atol=0.1 * width)
    assert bernstein[0] < normal[0] < estimate.value < normal[1] < bernstein[1]
    assert np.diff(estimate.interval(0.5))[0] < width


@pytest.mark.parametrize(("confidence", "method"), [(0.0, "normal"), (1.0, "normal"), (0.9, "t")])
def test_other_intervals_are_refused(confidence, method):
    estimate = InversePropensityScoring().estimate(small_log(), PROBABILITIES)
    with pytest.raises(ValueError, match=r"confidence|method"):
        estimate.interval(confidence, method)


@pytest.mark.parametrize(
    ("probabilities", "predicted", "match"),
    [
        (np.full((6, 2), 0.5), PREDICTED, "probabilities"),
        (np.full((6, 3), 0.5), PREDICTED, "probabilities of row 0"),
        (np.full((6, 3), np.nan), PREDICTED, "probabilities"),
        ([[1.5, -0.5, 0.0]] * 6, PREDICTED, "probabilities of row 0"),
        (PROBABILITIES, None, "predicted_rewards"),
        (PROBABILITIES, np.full((6, 3), np.nan), "predicted_rewards"),
        (PROBABILITIES, np.ones((6, 2)), "predicted_rewards"),
    ],
)
def test_tables_that_do_not_fit_are_refused(probabilities, predicted, match):
    with pytest.raises(ValueError, match=match):
        DoublyRobust().estimate(small_log(), probabilities, predicted)


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


def test_the_policy_that_made_a_log_has_weights_of_exactly_1():
    env = KArmedTestbed(5, batch_size=40, seed=0)
    policy = EpsilonGreedyPolicy(0.3, num_actions=5, batch_size=40, seed=1)
    StepDriver(env, policy, [policy], 20).run()
    recorder = LogRecorder(5)
    StepDriver(env, policy, [recorder], 50, emit_log_probability=True).run()
    log = recorder.log()
    estimate = InversePropensityScoring().estimate(log, probabilities_of(policy, log))
    assert (estimate.max_weight, estimate.effective_sample_size) == (1.0, len(log))
    assert estimate.value == pytest.approx(log.reward.mean(), abs=1e-12)


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
            low, high = estimate.interval()
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


@pytest.mark.parametrize("model", ["LogisticRegression", "Ridge"])
def test_models_of_scikit_learn_predict_rewards(model):
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    context, action = rng.normal(size=(2000, 2)), rng.integers(3, size=2000)
    reward = (rng.random(2000) < np.array([0.1, 0.5, 0.9])[action]).astype(float)
    log = BanditLog(context, action, reward, np.full(2000, 1 / 3), 3)
    predicted = RewardRegression(getattr(linear_model, model)()).predict(log)
    assert np.allclose(predicted.mean(axis=0), [0.1, 0.5, 0.9], atol=0.05)


def test_features_of_items_predict_rewards():
    rng = np.random.default_rng(0)
    observation = {"global": rng.normal(size=(500, 1)), "per_arm": rng.normal(size=(500, 4, 2))}
    means = observation["global"] + observation["per_arm"] @ [1.0, -2.0]
    action = rng.integers(4, size=500)
    log = BanditLog(observation, action, means[np.arange(500), action], np.full(500, 0.25), 4)
    assert np.allclose(RewardRegression().predict(log), means, atol=0.1)


def test_a_policy_is_asked_for_available_actions_only():
    available = np.array([[True, False, True]] * 7)
    columns = np.ones((7, 1)), np.zeros(7, int), np.ones(7), np.full(7, 0.5)
    log = BanditLog(*columns, available=available)
    assert np.allclose(probabilities_of(RandomPolicy(3, 4, seed=0), log), [0.5, 0.0, 0.5])
    counted = probabilities_of(RandomPolicy(3, 4, seed=0), log, samples=50)
    assert np.allclose(counted.sum(axis=1), 1.0)
    assert not counted[:, 1].any()
