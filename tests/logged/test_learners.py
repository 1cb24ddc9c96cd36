"""Learners: policies from logs, beside independent numbers and the truth."""

import dataclasses
import warnings

import numpy as np
import pytest

from bandit_envs import ContextualPolicy, StepDriver
from bandit_envs.arrays import sigmoid
from bandit_envs.base.saving import load_state, save_state
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.logged import (
    BanditLog,
    DirectMethod,
    DirectMethodLearner,
    DoublyRobust,
    DoublyRobustLearner,
    DRWithOptimisticShrinkage,
    InversePropensityScoring,
    IPSLearner,
    LogRecorder,
    PolicyGradientLearner,
    ReplayMethod,
    RidgeRegression,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    SubGaussianDR,
    SubGaussianIPS,
    SwitchDR,
    probabilities_of,
)
from bandit_envs.logged.learners.fits.objectives import Objective
from bandit_envs.metrics import AverageRewardMetric
from bandit_envs.policies import RandomPolicy
from bandit_envs.policies.draws import softmax
from bandit_envs.policies.models import LinearScores
from bandit_envs.policies.rules import Softmax
from bandit_envs.specs import ArraySpec
from bandit_envs.testing import PolicyContract
from bandit_envs.trajectories import restart
from tests.cases import for_each
from tests.logged.known_logs import ACTION, CONTEXT, PREDICTED, REWARD

PROPENSITY = [0.12, 0.74, 0.54, 0.54, 0.4, 0.66, 0.65, 0.23]
WEIGHTS = np.array([[0.3, -1.0, 0.3], [0.0, -0.6, -0.2], [-1.0, -0.3, -0.2]])  # [K, 1 + d]

# By central differences of an independent implementation.
EXPECTED = [
    (
        InversePropensityScoring(),
        0.333865814,
        [
            [-0.0880437, 0.068064, -0.1766295],
            [0.1028599, -0.074901, 0.1906631],
            [-0.0148162, 0.006837, -0.0140337],
        ],
    ),
    (
        DoublyRobust(),
        0.352028780,
        [
            [-0.0347104, -0.028382, 0.0347677],
            [0.0244122, 0.0646285, -0.0317307],
            [0.0102983, -0.0362465, -0.003037],
        ],
    ),
    (
        DirectMethod(),
        0.535254695,
        [
            [-0.0287109, -0.01011, -0.0472627],
            [0.0257606, 0.0055684, 0.0371125],
            [0.0029503, 0.0045416, 0.0101502],
        ],
    ),
    (
        DRWithOptimisticShrinkage(2.0),
        0.391047903,
        [
            [-0.0277495, -0.0178409, -0.0148122],
            [0.0255766, 0.0500703, 0.019459],
            [0.0021729, -0.0322294, -0.0046468],
        ],
    ),
    (
        SubGaussianDR(0.1),
        0.347189073,
        [
            [-0.0348368, -0.0270499, 0.0276197],
            [0.0258095, 0.0652443, -0.0230355],
            [0.0090272, -0.0381944, -0.0045841],
        ],
    ),
    (
        SubGaussianIPS(0.1),
        0.322813959,
        [
            [-0.0589307, 0.0535755, -0.1403094],
            [0.0682928, -0.058291, 0.1515202],
            [-0.0093621, 0.0047155, -0.0112108],
        ],
    ),
]
PENALISED = [
    (
        InversePropensityScoring(),
        0.256457547,
        [
            [-0.0329849, 0.0470181, -0.1071539],
            [0.039688, -0.0515334, 0.1142812],
            [-0.006703, 0.0045153, -0.0071273],
        ],
    ),
    (
        InversePropensityScoring(1.0),
        0.202573791,
        [
            [0.0345125, 0.0089143, -0.0396155],
            [-0.0385228, -0.0083887, 0.0411738],
            [0.0040103, -0.0005256, -0.0015583],
        ],
    ),
]


def small_log():
    return BanditLog(np.array(CONTEXT), ACTION, REWARD, PROPENSITY, 3)


def value_of(objective, weights, baseline=0.0, variance_penalty=0.0):
    features = np.column_stack([np.ones(8), CONTEXT])
    predicted = np.array(PREDICTED) if objective.needs_predictions else None
    log = dataclasses.replace(small_log(), reward=small_log().reward - baseline)
    of_value = Objective(objective, variance_penalty)
    value, by_score = of_value.value_and_gradient(log, features @ weights.T, predicted)
    return value, by_score.T @ features


@for_each(("objective", "value", "gradient"), EXPECTED)
def test_values_and_gradients_are_those_of_the_formulas(objective, value, gradient):
    found = value_of(objective, WEIGHTS)

    assert found[0] == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(found[1], gradient, atol=1e-7)


@pytest.mark.parametrize(("objective", "value", "gradient"), PENALISED)
def test_a_variance_penalty_takes_standard_errors_from_the_value(objective, value, gradient):
    found = value_of(objective, WEIGHTS, variance_penalty=0.5)

    assert found[0] == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(found[1], gradient, atol=1e-7)


def test_a_baseline_is_subtracted_from_the_rewards():
    value, gradient = value_of(InversePropensityScoring(), WEIGHTS, baseline=0.4)

    assert value == pytest.approx(-0.007486647, abs=1e-9)
    np.testing.assert_allclose(gradient[:, 0], [-0.0062217, 0.0093215, -0.0030998], atol=1e-7)


@pytest.mark.parametrize("variance_penalty", [0.0, 0.7])
@pytest.mark.parametrize(
    "objective",
    [
        SelfNormalizedIPS(),
        SelfNormalizedDR(),
        DoublyRobust(1.5),
        DRWithOptimisticShrinkage(2.0),
        SubGaussianIPS(0.3),
    ],
    ids=["SNIPS", "SNDR", "limited DR", "DRos", "sub-Gaussian IPS"],
)
def test_the_gradient_is_the_slope_of_the_value(objective, variance_penalty):
    _, gradient = value_of(objective, WEIGHTS, variance_penalty=variance_penalty)
    step = 1e-6
    for place in np.ndindex(WEIGHTS.shape):
        change = np.zeros_like(WEIGHTS)
        change[place] = step
        higher = value_of(objective, WEIGHTS + change, variance_penalty=variance_penalty)[0]
        lower = value_of(objective, WEIGHTS - change, variance_penalty=variance_penalty)[0]
        assert gradient[place] == pytest.approx((higher - lower) / (2.0 * step), abs=1e-7)


@pytest.mark.parametrize(
    "objective", [SelfNormalizedIPS(), SelfNormalizedDR(), DRWithOptimisticShrinkage(2.0)]
)
def test_the_penalty_is_of_the_standard_error_that_estimates_have(objective):
    predicted = np.array(PREDICTED) if objective.needs_predictions else None
    scores = np.column_stack([np.ones(8), CONTEXT]) @ WEIGHTS.T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimate = objective.estimate(small_log(), softmax(scores), predicted)

    penalised, _ = value_of(objective, WEIGHTS, variance_penalty=2.0)

    assert penalised == pytest.approx(estimate.value - 2.0 * estimate.standard_error, abs=1e-12)


def test_a_baseline_and_a_penalty_change_what_is_learned():
    log = bad_logger_log(300, seed=0)
    plain = PolicyGradientLearner(num_steps=50).fit(log)
    shifted = PolicyGradientLearner(num_steps=50, baseline=0.3).fit(log)
    of_shifted = dataclasses.replace(log, reward=log.reward - 0.3)
    assert shifted.model == PolicyGradientLearner(num_steps=50).fit(of_shifted).model
    assert shifted.model != plain.model
    below = dataclasses.replace(log, reward=log.reward - 1.0)
    cautious = PolicyGradientLearner(num_steps=50, variance_penalty=5.0, baseline=1.0).fit(log)
    bold = PolicyGradientLearner(num_steps=50, baseline=1.0).fit(log)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        errors = [
            InversePropensityScoring().estimate(below, probabilities_of(each, log)).standard_error
            for each in (cautious, bold)
        ]
    assert errors[0] < errors[1]


THETA = np.array([[1.5, -0.5, 0.0], [-1.0, 1.0, 0.5], [0.0, -1.0, 1.5], [-0.5, 0.5, -2.0]])
OFFSET = np.array([0.2, 0.0, -0.2, 0.1])


def means(context):
    return sigmoid(context @ THETA.T + OFFSET)


def bad_logger_log(size, seed):
    """A log of clicks by a logger that prefers the worse actions."""
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(size, 3))
    preference = np.exp(-0.5 * context @ THETA.T)
    propensity = preference / preference.sum(axis=1, keepdims=True)
    action = (propensity.cumsum(axis=1) > rng.random((size, 1))).argmax(axis=1)
    rows = np.arange(size)
    reward = rng.random(size) < means(context)[rows, action]
    return BanditLog(context, action, reward.astype(float), propensity[rows, action], 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "published", "error"),
    [  # means over 20 logs of 1000 rows, with their standard errors; the optimum is 0.849
        (DirectMethodLearner(), 0.8445, 0.0005),
        (DoublyRobustLearner(), 0.8247, 0.0028),  # of weighted classification
        (PolicyGradientLearner(), 0.7578, 0.0076),
        (PolicyGradientLearner(SelfNormalizedIPS()), 0.7808, 0.0042),
        (PolicyGradientLearner(DoublyRobust()), 0.8000, 0.0023),
    ],
    ids=["direct method", "doubly robust", "gradient, IPS", "gradient, SNIPS", "gradient, DR"],
)
def test_learned_policies_earn_what_others_learn_from_the_same_law(learner, published, error):
    context = np.random.default_rng(99).normal(size=(100_000, 3))
    values = []
    for seed in range(10):
        policy = learner.fit(bad_logger_log(1000, seed)).replicate(len(context))
        chosen = policy.probabilities(restart(context, len(context)))
        values.append((chosen * means(context)).sum(axis=1).mean())

    spread = np.hypot(error, np.std(values, ddof=1) / np.sqrt(len(values)))
    assert np.mean(values) > published - 3.0 * spread


LEARNERS = [
    DirectMethodLearner(),
    DoublyRobustLearner(),
    IPSLearner(),
    PolicyGradientLearner(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
class TestWhatAllLearnersReturn:
    def test_it_earns_more_than_the_logging_policy(self, learner):
        make = ENVIRONMENTS["logistic_context"].make
        env = make(num_actions=4, batch_size=200, seed=0)
        recorder = LogRecorder(4, env)
        random = RandomPolicy(num_actions=4, batch_size=200, seed=1)
        StepDriver(env, random, [recorder], num_steps=20, emit_log_probability=True).run()
        earned = AverageRewardMetric()

        policy = learner.fit(recorder.log(), batch_size=200, seed=2)
        StepDriver(env, policy, [earned], num_steps=20).run()

        assert earned.totals.mean() / 20 > recorder.log().reward.mean() + 0.05

    def test_its_saved_state_makes_another_policy_choose_as_it_does(self, learner, tmp_path):
        policy = learner.fit(bad_logger_log(500, 0), batch_size=50, seed=1)
        other = learner.fit(bad_logger_log(500, 1), batch_size=50, seed=2)
        save_state(tmp_path / "policy.npz", policy.get_state())
        time_step = restart(np.random.default_rng(3).normal(size=(50, 3)), 50)

        other.set_state(load_state(tmp_path / "policy.npz"))

        np.testing.assert_array_equal(other.action(time_step), policy.action(time_step))


def test_features_of_any_scale_are_learned_alike():
    log = bad_logger_log(1000, 0)
    scale = np.array([1e-3, 1.0, 1e4])
    scaled = BanditLog(log.observation * scale + 7.0, log.action, log.reward, log.propensity, 4)
    context = np.random.default_rng(1).normal(size=(20, 3))

    expected = PolicyGradientLearner().fit(log, batch_size=20)
    found = PolicyGradientLearner().fit(scaled, batch_size=20)

    np.testing.assert_allclose(
        found.probabilities(restart(context * scale + 7.0, 20)),
        expected.probabilities(restart(context, 20)),
        atol=1e-6,
    )


class TestSoftmaxContract(PolicyContract):
    def make_environment(self, batch_size, seed):
        return ENVIRONMENTS["logistic_context"].make(
            num_actions=4, batch_size=batch_size, seed=seed
        )

    def make_policy(self, env, seed):
        spec = env.observation_spec()
        context = spec["observation"] if isinstance(spec, dict) else spec
        weights = np.random.default_rng(0).normal(size=(4, 1 + context.shape[0]))
        model = LinearScores(weights)
        return ContextualPolicy(model, Softmax(), **ContextualPolicy.arguments_for(env), seed=seed)


def log_with_items():
    observation = {"global": np.ones((2, 1)), "per_arm": np.ones((2, 2, 1))}
    return BanditLog(observation, [0, 1], [0.0, 1.0], [0.5, 0.5])


def softmax_policy(weights):
    spec = ArraySpec((2,), np.float64)
    return ContextualPolicy(LinearScores(weights), Softmax(), observation_spec=spec, num_actions=3)


@for_each(
    ("call", "argument", "message"),
    [
        (PolicyGradientLearner, ReplayMethod(), "objective is ReplayMethod"),
        (PolicyGradientLearner, SwitchDR(2.0), "objective is SwitchDR"),
        (softmax_policy, np.ones((3, 2)), r"weights has shape \(3, 2\); expected \(3, 3\)"),
        (softmax_policy, np.full((3, 3), np.nan), "weights has NaN"),
    ],
)
def test_what_cannot_be_learned_is_refused(call, argument, message):
    with pytest.raises(ValueError, match=message):
        call(argument)


@pytest.mark.parametrize(
    ("learner", "streams"),
    [
        (DirectMethodLearner(), True),
        (DoublyRobustLearner(), True),
        (DirectMethodLearner(RidgeRegression()), False),
        (DoublyRobustLearner(RidgeRegression()), False),
        (PolicyGradientLearner(num_steps=5), False),
    ],
)
def test_what_is_learned_from_batches_is_what_is_learned_from_the_log(learner, streams):
    log = bad_logger_log(1000, 0)
    log = log[np.flatnonzero(log.action != 1)]  # an action that was never logged
    batches = [log[:1], log[1:400], log[400:400], log[400:]]
    weights = learner.fit_batches(batches).get_state().content.learned.model
    expected = learner.fit(log).get_state().content.learned.model
    assert learner.streams == streams
    np.testing.assert_allclose(weights, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("learner", [DirectMethodLearner(), DoublyRobustLearner(), IPSLearner()])
def test_what_is_learned_from_parts_is_what_is_learned_from_the_log(learner):
    log = bad_logger_log(1000, 0)
    cuts = [(0, 0), (0, 300), (300, 301), (301, 1000)]
    parts = [[(start, log[start:stop])] for start, stop in cuts]
    policy = learner.fit_parts(lambda visit: [visit(part) for part in [[], *parts]])
    expected = learner.fit(log).get_state().content.learned.model
    np.testing.assert_allclose(
        policy.get_state().content.learned.model, expected, rtol=1e-9, atol=1e-12
    )
    with pytest.warns(UserWarning, match="has learned from rows of this log"):
        probabilities_of(policy, log)


def test_a_learner_that_keeps_all_rows_takes_no_parts():
    with pytest.raises(ValueError, match="takes no parts; expected a DirectMethodLearner"):
        PolicyGradientLearner().fit_parts(lambda visit: [])


@pytest.mark.parametrize("learner", [DirectMethodLearner(), DoublyRobustLearner(), IPSLearner()])
def test_batches_must_be_complete_and_can_be_passed_over_again(learner):
    log = bad_logger_log(10, 0)
    with pytest.raises(TypeError, match="once only"):
        learner.fit_batches(part for part in (log[:5], log[5:]))
    with pytest.raises(ValueError, match="expected at least"):
        learner.fit_batches([])


def test_ridge_regressions_of_sums_are_those_of_the_rows():
    log = bad_logger_log(1000, 0)
    streamed = DirectMethodLearner().fit(log).get_state().content.learned.model
    in_memory = DirectMethodLearner(RidgeRegression()).fit(log).get_state().content.learned.model
    np.testing.assert_allclose(streamed, in_memory, rtol=1e-9)
