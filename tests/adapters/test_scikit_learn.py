"""Estimators of scikit-learn as models of rewards."""

import threading

import numpy as np
import pytest

from bandit_envs import (
    ArraySpec,
    ContextualPolicy,
    DelayedRewards,
    StepDriver,
    TimeStep,
    Trajectory,
    load_state,
    save_state,
)
from bandit_envs.arrays import sigmoid
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies.delayed import learner
from bandit_envs.policies.rules import (
    AdaptiveGreedy,
    EpsilonGreedy,
    Greedy,
    OptimisticRegCB,
    Softmax,
    SquareCB,
    ThompsonSampling,
    UpperQuantile,
)
from bandit_envs.testing import PolicyContract
from bandit_envs.testing.comparison import assert_identical

pytest.importorskip("sklearn")
pytest.importorskip("skops")

from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from bandit_envs.policies.scikit_learn import Estimators
from bandit_envs.policies.scikit_learn.reward_estimator import RewardEstimator
from tests.adapters.row_by_row import assert_rows_learn_alone_and_go_on_from_a_file

ONLINE = SGDClassifier(loss="log_loss")
SCALED = make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss"))


class EstimatorContract(PolicyContract):
    """The contract of a policy, whose model and rule a subclass names."""

    __test__ = False
    num_steps = 5
    num_choices = 500
    model = Estimators("LogisticRegression(C=0.5)", num_replicas=2)
    rule = ThompsonSampling()

    def make_environment(self, batch_size, seed):
        return ENVIRONMENTS["logistic_context"].make(
            num_actions=4, batch_size=batch_size, seed=seed
        )

    def make_policy(self, env, seed):
        arguments = ContextualPolicy.arguments_for(env)
        return ContextualPolicy(self.model, self.rule, **arguments, seed=seed)


CASES = {
    "SGDClassifier, online": (
        Estimators(ONLINE, num_replicas=2, memory_size=0),
        ThompsonSampling(),
    ),
    "SGDClassifier": (Estimators(ONLINE, num_replicas=2), UpperQuantile()),
    "neighbours": (
        Estimators(KNeighborsClassifier(1, algorithm="brute"), num_replicas=3),
        ThompsonSampling(),
    ),
    "LinearSVC": (Estimators(LinearSVC()), AdaptiveGreedy(window=7)),
    "RandomForestClassifier": (
        Estimators(RandomForestClassifier(3, max_depth=3), memory_size=20),
        Softmax(),
    ),
    "Pipeline": (
        Estimators(make_pipeline(StandardScaler(), LogisticRegression())),
        EpsilonGreedy(0.2),
    ),
    "Pipeline, online": (
        Estimators(SCALED, num_replicas=2, memory_size=0),
        OptimisticRegCB(),
    ),
    "SGDRegressor, online": (Estimators(SGDRegressor(), memory_size=0), SquareCB()),
}

for name, (model, rule) in CASES.items():
    members = {"model": model, "rule": rule, "__test__": True, "__module__": __name__}
    globals()[f"Test {name}"] = type(f"Test {name}", (EstimatorContract,), members)


class TestRegressorOfActions(EstimatorContract):
    """One model for all actions, from their features."""

    __test__ = True
    model = Estimators(RandomForestRegressor(2, max_depth=2), num_replicas=2)

    def make_environment(self, batch_size, seed):
        return ENVIRONMENTS["per_arm"].make(
            global_dim=2, arm_dim=3, max_num_actions=4, batch_size=batch_size, seed=seed
        )


SPEC = ArraySpec((2,), np.float64)


def policy_of(rule, estimator, batch_size=4, **options):
    """A policy of two actions."""
    model = Estimators(estimator, **options)
    return ContextualPolicy(
        model, rule, observation_spec=SPEC, num_actions=2, batch_size=batch_size, seed=0
    )


def learned(policy):
    """What its model has learned."""
    return policy.get_state().content.learned.model


def trajectory(contexts, actions, rewards):
    """A trajectory of one step of each row."""
    size = len(contexts)
    return Trajectory(
        step_type=np.zeros(size, np.int32),
        observation=np.asarray(contexts, np.float64),
        action=np.asarray(actions),
        policy_info=(),
        next_step_type=np.zeros(size, np.int32),
        reward=np.asarray(rewards, np.float32),
        discount=np.ones(size, np.float32),
    )


def time_step(contexts):
    size = len(contexts)
    zeros = np.zeros(size, np.float32)
    return TimeStep(np.zeros(size, np.int32), zeros, zeros, np.asarray(contexts, np.float64))


CONTEXTS = np.array([[1.0, 0.0], [-1.0, 0.5], [2.0, 1.0], [-2.0, 0.1]])
SHOWN = time_step(CONTEXTS)


class Known:
    """A classifier whose probability of a reward is known: logistic in the first feature."""

    def fit(self, features, labels, sample_weight=None):
        self.scale = 1.0 if labels.mean() > 0.5 else -1.0
        return self

    def predict_proba(self, features):
        chance = 1.0 / (1.0 + np.exp(-self.scale * features[:, 0]))
        return np.stack((1.0 - chance, chance), axis=1)


def trained(rule, **options):
    """A policy of two actions, whose chances are sigmoid(-x[0]) and sigmoid(x[0])."""
    policy = policy_of(rule, Known(), **options)
    policy(trajectory(CONTEXTS, [0, 0, 0, 1], [1, 0, 0, 1]))
    policy(trajectory(CONTEXTS, [1, 1, 0, 1], [1, 0, 0, 1]))
    return policy


CHANCES = 1.0 / (1.0 + np.exp(CONTEXTS[:, :1] * [1.0, -1.0]))


def test_softmax_is_that_of_the_logits_of_predictions():
    policy = trained(Softmax(temperature=0.5, cooling=0.9))
    temperature = 0.5 * 0.9**8
    weights = np.exp((np.log(CHANCES) - np.log(1.0 - CHANCES)) / temperature)
    expected = weights / weights.sum(axis=1, keepdims=True)
    assert np.allclose(policy.probabilities(SHOWN), expected)


def test_epsilon_greedy_chooses_the_largest_prediction():
    table = trained(EpsilonGreedy(0.2)).probabilities(SHOWN)
    assert np.allclose(table, np.where(CHANCES > 0.5, 0.9, 0.1))


def test_square_cb_weighs_gaps_of_predictions():
    table = trained(SquareCB(gamma_scale=3.0)).probabilities(SHOWN)
    gaps = CHANCES.max(axis=1) - CHANCES.min(axis=1)
    others = 1.0 / (2.0 + 3.0 * np.sqrt(8.0) * gaps)
    assert np.allclose(table.min(axis=1), others)


def test_adaptive_greedy_explores_below_a_percentile_of_its_largest_predictions():
    policy = trained(AdaptiveGreedy(percentile=50.0, decay=1.0, window=4))
    policy(trajectory(CONTEXTS, [0, 1, 0, 1], [1, 1, 0, 1]))
    # Before that trajectory, its largest chances were those of the contexts: their median.
    largest = CHANCES.max(axis=1)
    assert np.isclose(policy.get_state().content.learned.rule.threshold, np.median(largest))
    is_low = np.abs(CONTEXTS[:, 0]) < 1.5
    assert np.allclose((policy.probabilities(SHOWN) == 0.5).all(axis=1), is_low)


def test_ucb_is_the_percentile_over_replicas_and_predicting_changes_nothing():
    policy = trained(UpperQuantile(), num_replicas=3)
    before = policy.get_state()
    assert np.allclose(policy.probabilities(SHOWN), CHANCES > 0.5)
    assert_identical(policy.get_state(), before)


class Drawn(Known):
    """A classifier whose log-odds in the first feature are its share of good rows by weight."""

    def fit(self, features, labels, sample_weight):
        self.scale = np.average(labels, weights=sample_weight)
        return self


def test_bounds_are_quantiles_of_what_replicas_predict():
    policy = policy_of(ThompsonSampling(), Drawn(), num_replicas=7)
    policy(trajectory(CONTEXTS, [0, 1, 0, 1], [1, 1, 0, 0]))
    inputs = policy._reader.read(CONTEXTS, 4)
    scales = np.reshape([each.estimator.scale for each in learned(policy).estimators], (2, 7))
    scores = CONTEXTS[:, :1, np.newaxis] * scales
    below, above = 0.1586552539314571, 0.8413447460685429  # of a normal distribution
    expected = [sigmoid(np.quantile(scores, level, axis=2)) for level in (below, above)]
    for radius in (1.0, np.ones((4, 1))):
        found = policy.model.interval(learned(policy), inputs, radius)
        assert np.allclose(found, expected)
    means = sigmoid(scores.mean(axis=2))
    assert np.allclose(policy.model.means(learned(policy), inputs), means)
    widest = policy.model.interval(learned(policy), inputs, 1e9)
    extremes = np.stack((scores.min(axis=2), scores.max(axis=2)))
    assert np.allclose(widest, sigmoid(extremes))


def test_rules_that_need_replicas_say_so():
    with pytest.raises(TypeError, match="Estimators has means; use num_replicas of 2 or more"):
        policy_of(ThompsonSampling(), Known())


def test_the_first_parameter_of_the_prior_is_for_a_number_of_actions():
    policies = [
        ContextualPolicy(
            Estimators(Known(), num_replicas=2, prior=prior),
            UpperQuantile(percentile=50.0),
            observation_spec=SPEC,
            num_actions=8,
        )
        for prior in (3.0, (1.0, 4.0))
    ]
    contexts = [policy._reader.read(CONTEXTS, 4) for policy in policies]
    found = [
        policy.model.quantile(learned(policy), context, 0.5)
        for policy, context in zip(policies, contexts)
    ]
    assert np.array_equal(*found)
    assert np.allclose(sigmoid(found[0]), 1.0 - 0.5**0.25)  # the median of Beta(1, 4)


def test_before_a_model_has_seen_both_labels_a_prior_explores():
    policy = policy_of(Greedy(), LogisticRegression())
    assert np.allclose(policy.probabilities(SHOWN), 0.5)
    policy(trajectory(CONTEXTS, [0, 0, 0, 0], [0, 0, 0, 0]))
    assert np.allclose(policy.probabilities(SHOWN), [0.0, 1.0])


def test_a_classifier_learns_rewards_between_0_and_1_as_labels_with_weights():
    policy = policy_of(Greedy(), LogisticRegression())
    policy(trajectory(CONTEXTS, [0, 0, 0, 0], [0.25, 0.5, 1.0, 0.75]))
    expected = LogisticRegression().fit(
        np.concatenate((CONTEXTS, CONTEXTS[[0, 1, 3]])),
        [1, 1, 1, 1, 0, 0, 0],
        sample_weight=[0.25, 0.5, 1.0, 0.75, 0.75, 0.5, 0.25],
    )
    found = learned(policy).estimators[0].estimator
    assert np.allclose(found.coef_, expected.coef_)


def test_a_memory_keeps_the_last_rows():
    policy = policy_of(Greedy(), Known(), memory_size=6)
    for step in range(3):
        policy(trajectory(CONTEXTS + step, [step % 2] * 4, [1, 0, 1, 0]))
    kept = learned(policy).memory.last.rows
    assert sorted(kept.features[:, 0]) == sorted([3.0, -1.0, *(CONTEXTS[:, 0] + 2.0)])
    assert sorted(kept.model) == [0, 0, 0, 0, 1, 1]


def test_models_are_fitted_anew_when_enough_rows_are_new():
    policy = policy_of(Greedy(), Known(), refit_after=0.5)
    fitted = []
    for _ in range(5):
        policy(trajectory(CONTEXTS, [0, 0, 0, 0], [1, 0, 1, 0]))
        fitted.append(int(learned(policy).memory.fitted_rows[0]))
    assert fitted == [4, 8, 12, 12, 20]


def test_it_learns_which_action_fits_a_context():
    rng = np.random.default_rng(0)
    for estimator in (LogisticRegression(), make_pipeline(StandardScaler(), GaussianNB())):
        policy = policy_of(ThompsonSampling(), estimator, batch_size=50, num_replicas=10)
        for _ in range(10):
            contexts = rng.normal(size=(50, 2))
            action = policy.action(time_step(contexts))
            policy(trajectory(contexts, action, action == (contexts[:, 0] > 0.0)))
        contexts = rng.normal(size=(50, 2))
        assert np.mean(policy.action(time_step(contexts)) == (contexts[:, 0] > 0.0)) > 0.8


def test_it_learns_from_delayed_rewards_and_its_files_go_on(tmp_path):
    env = DelayedRewards(EstimatorContract().make_environment(5, 0), delay=2)
    made = [EstimatorContract().make_policy(env, 1) for _ in range(2)]
    StepDriver(env, made[0], [learner(env, made[0])], num_steps=8).run()
    save_state(tmp_path / "state.npz", made[0].get_state())
    made[1].set_state(load_state(tmp_path / "state.npz"))
    shown = env.reset()
    assert np.array_equal(made[0].action(shown), made[1].action(shown))


def test_each_row_of_independent_problems_has_estimators_of_its_own(tmp_path):
    def make_policy(env, seed):
        arguments = ContextualPolicy.arguments_for(env)
        return ContextualPolicy(Estimators("Ridge"), EpsilonGreedy(0.2), **arguments, seed=seed)

    assert_rows_learn_alone_and_go_on_from_a_file(make_policy, tmp_path)


class NotCopied(Known):
    """A classifier that holds what cannot be copied."""

    def __init__(self):
        self.lock = threading.Lock()


class NotWritten(Known):
    """A classifier that holds what skops does not write, but a deep copy keeps."""

    def __init__(self):
        self.unused = lambda features: features


def test_an_estimator_that_cannot_be_copied_is_refused_at_once():
    with pytest.raises(TypeError, match="a NotCopied cannot be copied"):
        Estimators(NotCopied())


def test_an_estimator_that_cannot_be_written_runs_but_a_checkpoint_is_refused_at_once(tmp_path):
    env = EstimatorContract().make_environment(5, 0)
    arguments = ContextualPolicy.arguments_for(env)
    policy = ContextualPolicy(Estimators(NotWritten()), Softmax(), **arguments)
    policy.set_state(policy.get_state())
    seen = []
    driver = StepDriver(env, policy, [policy, seen.append], num_steps=3)
    with pytest.raises(TypeError, match="a NotWritten cannot be written without pickle"):
        driver.run(tmp_path / "run.npz")
    assert seen == []
    driver.run()
    assert len(seen) == 3


def test_probabilities_that_round_to_1_are_still_ranked():
    contexts = np.repeat([[1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    policy = policy_of(UpperQuantile(), ONLINE, batch_size=40, memory_size=0, num_replicas=3)
    for action in (0, 1):
        policy(trajectory(contexts, [action] * 40, contexts[:, 0]))
    far = np.array([[1e4, 0.0]])
    models = [each.estimator for each in learned(policy).estimators]
    assert [model.predict_proba(far)[0, 1] for model in models] == [1.0] * 6
    slopes = np.reshape([model.coef_[0, 0] for model in models], (2, 3))
    best = np.percentile(slopes, 80.0, axis=1).argmax()
    assert (policy.action(time_step(np.tile(far, (40, 1)))) == best).all()


CLASSIFIERS = [
    LogisticRegression(),
    SGDClassifier(loss="log_loss"),
    SGDClassifier(loss="modified_huber"),
    SCALED,
    GaussianNB(),
    RandomForestClassifier(3),
]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_scores_of_a_classifier_are_log_odds_of_its_probabilities(classifier):
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(50, 2))
    labels = (contexts[:, 0] + 0.5 * rng.normal(size=50) > 0.0).astype(int)
    estimator = RewardEstimator(classifier, is_online=False)
    fitted = estimator.new(rng).fit(contexts, labels)
    means = estimator.means_of(estimator.predict(fitted, contexts))
    assert np.allclose(means, fitted.predict_proba(contexts)[:, 1])


REFUSED = [
    ("NoSuch", {}, ValueError, "estimator is 'NoSuch'"),
    ("LogisticRegression(c=1)", {}, ValueError, "cannot be made"),
    (LogisticRegression, {}, TypeError, "expected an estimator"),
    (LogisticRegression(), {"memory_size": 0}, TypeError, "LogisticRegression has no partial_fit"),
    (LogisticRegression(), {"memory_size": -1}, ValueError, "memory_size is -1"),
    (LogisticRegression(), {"min_rewards": 0}, ValueError, "min_rewards is 0"),
    (LogisticRegression(), {"prior": [1.0]}, ValueError, "expected one or two numbers above 0"),
    (LogisticRegression(), {"prior": 0.0}, ValueError, "prior is 0"),
    (LogisticRegression(), {"num_replicas": 0}, ValueError, "num_replicas is 0"),
    (LogisticRegression(), {"refit_after": -0.1}, ValueError, "refit_after is -0.1"),
]


@pytest.mark.parametrize(("estimator", "options", "error", "message"), REFUSED)
def test_bad_arguments_are_refused(estimator, options, error, message):
    with pytest.raises(error, match=message):
        Estimators(estimator, **options)


def test_rewards_that_a_classifier_cannot_learn_are_refused():
    policy = policy_of(Softmax(), LogisticRegression())
    with pytest.raises(ValueError, match="reward"):
        policy(trajectory(CONTEXTS, [0, 0, 0, 0], [0, 1, 2, 0]))
    policy = policy_of(AdaptiveGreedy(window=2), KNeighborsClassifier())
    before = policy.get_state()
    with pytest.raises(ValueError, match="expected 0 or 1, as KNeighborsClassifier takes no"):
        policy(trajectory(CONTEXTS, [0, 0, 0, 0], [0, 1, 0.5, 0]))
    assert_identical(policy.get_state(), before)


def test_an_estimator_that_has_seen_too_few_rewards_is_told_to_wait():
    env = ENVIRONMENTS["logistic_context"].make(num_actions=2, seed=0)
    arguments = {**ContextualPolicy.arguments_for(env), "seed": 1}
    hasty = ContextualPolicy(Estimators(KNeighborsRegressor(30)), EpsilonGreedy(0.1), **arguments)
    with pytest.raises(ValueError, match=r"cannot predict .* rewards .* a larger min_rewards"):
        StepDriver(env, hasty, [hasty], num_steps=20).run()
    waits = Estimators(KNeighborsRegressor(30), min_rewards=30)
    patient = ContextualPolicy(waits, EpsilonGreedy(0.1), **arguments)
    StepDriver(env, patient, [patient], num_steps=200).run()
    assert np.ptp(patient.probabilities(env.current_time_step())) > 0.5
