"""Learners with models of scikit-learn, beside the numbers of others and the truth."""

import numpy as np
import pytest

from bandit_envs import ContextualPolicy, load_state, save_state
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.logged import (
    BanditLog,
    DirectMethodLearner,
    DoublyRobustLearner,
    IPSLearner,
    probabilities_of,
)
from bandit_envs.logged.learners.policy_files import read_policy, write_policy
from bandit_envs.policies.rules import EpsilonGreedy, Greedy, Softmax
from bandit_envs.policies.scikit_learn import FittedClassifier, FittedRegressions
from bandit_envs.specs import ArraySpec
from bandit_envs.testing import PolicyContract, assert_identical
from bandit_envs.trajectories import restart
from tests.logged.test_learners import bad_logger_log, means, small_log

pytest.importorskip("skops")
ensemble = pytest.importorskip("sklearn.ensemble")
linear_model = pytest.importorskip("sklearn.linear_model")
pipeline = pytest.importorskip("sklearn.pipeline")
preprocessing = pytest.importorskip("sklearn.preprocessing")
tree = pytest.importorskip("sklearn.tree")

pytestmark = pytest.mark.filterwarnings("ignore:the policy has learned from rows of this log")


def logistic(**options):
    return linear_model.LogisticRegression(max_iter=1000, **options)


def scaled_logistic():
    return pipeline.make_pipeline(preprocessing.StandardScaler(), logistic())


class Nearest:
    """A regressor of one's own: the reward of the nearest context."""

    def fit(self, features, rewards):
        self.features = features
        self.rewards = rewards
        return self

    def predict(self, features):
        distance = np.square(features[:, None] - self.features).sum(axis=2)
        return self.rewards[distance.argmin(axis=1)]


LEARNERS = {
    "classifier": IPSLearner(logistic()),
    "pipeline": IPSLearner(scaled_logistic()),
    "decision values": IPSLearner(linear_model.RidgeClassifier()),
    "forest": IPSLearner(ensemble.RandomForestClassifier(10, max_depth=4, random_state=0)),
    "classifier of rewards": DirectMethodLearner(logistic()),
    "regressor": DirectMethodLearner(tree.DecisionTreeRegressor(max_depth=3, random_state=0)),
    "own regressor": DirectMethodLearner(Nearest()),
    "doubly robust": DoublyRobustLearner(logistic(), linear_model.Ridge()),
}


# By the Open Bandit Pipeline's IPWLearner with LogisticRegression(C=1).
SCORES = [
    [0.057467, 0.896853, 0.04568],
    [0.490758, 0.34357, 0.165672],
    [0.531208, 0.238975, 0.229817],
    [0.416007, 0.306047, 0.277946],
    [0.055221, 0.892209, 0.052571],
    [0.286281, 0.546668, 0.167051],
    [0.505646, 0.204009, 0.290346],
    [0.344897, 0.391631, 0.263472],
]


def test_the_classifier_learns_with_the_weights_of_its_source():
    policy = IPSLearner(logistic(C=1.0, tol=1e-10)).fit(small_log(), batch_size=8)

    inputs = policy._reader.read(small_log().observation, 8)
    scores = policy.model.scores(policy.get_state().content.learned.model, inputs)

    np.testing.assert_allclose(scores, SCORES, atol=1e-5)
    chosen = policy.action(restart(small_log().observation, 8))
    assert chosen.tolist() == [1, 0, 0, 0, 1, 1, 0, 1]


def test_a_baseline_makes_the_policy_independent_of_what_all_rewards_have_in_common():
    log = bad_logger_log(500, 0)
    shifted = BanditLog(log.observation, log.action, log.reward - 3.0, log.propensity, 4)

    expected = IPSLearner(logistic()).fit(log)
    found = IPSLearner(logistic(), baseline=-3.0).fit(shifted)

    np.testing.assert_array_equal(probabilities_of(found, log), probabilities_of(expected, log))


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
class TestWhatTheyReturn:
    def test_it_earns_more_than_random_choice(self, learner):
        policy = learner.fit(bad_logger_log(1000, 0), batch_size=2000)
        context = np.random.default_rng(1).normal(size=(2000, 3))

        table = policy.probabilities(restart(context, 2000))

        assert (table * means(context)).sum(axis=1).mean() > 0.6  # random: 0.504

    def test_a_saved_state_and_a_policy_file_choose_as_it_does(self, learner, tmp_path):
        log = bad_logger_log(500, 0)
        policy = learner.fit(log, batch_size=20, seed=1)
        time_step = restart(log.observation[:20], 20)
        expected = policy.probabilities(time_step)
        save_state(tmp_path / "state.npz", policy.get_state())
        write_policy(tmp_path / "policy.npz", policy)

        other = learner.fit(bad_logger_log(500, 1), batch_size=20, seed=2)
        other.set_state(load_state(tmp_path / "state.npz"))
        read = read_policy(tmp_path / "policy.npz", Nearest())
        made = read.make(ArraySpec((3,), np.float64), 20)

        np.testing.assert_array_equal(other.probabilities(time_step), expected)
        np.testing.assert_array_equal(made.probabilities(time_step), expected)


@pytest.mark.parametrize(
    "learner",
    [
        IPSLearner(ensemble.RandomForestClassifier(3)),
        DirectMethodLearner(ensemble.RandomForestRegressor(3)),
        DoublyRobustLearner(ensemble.RandomForestClassifier(3), ensemble.RandomForestRegressor(3)),
    ],
)
def test_an_estimator_draws_by_the_seed_and_not_by_the_global_generator(learner):
    log = bad_logger_log(200, 0)
    before = np.random.get_state()[1].tolist()

    states = [learner.fit(log, seed=seed).get_state() for seed in (1, 1, 2)]

    assert np.random.get_state()[1].tolist() == before
    assert_identical(states[1], states[0])
    with pytest.raises(AssertionError):
        assert_identical(states[2].content.learned, states[0].content.learned)


def costs_log(never):
    """A log of rewards -1 and 0 without one of four actions, and the contexts of 10 rows."""
    log = bad_logger_log(500, 0)
    log = log[np.flatnonzero(log.action != never)]
    return BanditLog(log.observation, log.action, log.reward - 1.0, log.propensity, 4)


@pytest.mark.parametrize(
    "learner",
    [
        IPSLearner(logistic(), baseline=-1.0),
        DirectMethodLearner(),
        DirectMethodLearner(logistic()),
        DoublyRobustLearner(),
        DoublyRobustLearner(regressor=linear_model.Ridge()),
    ],
    ids=["IPS", "ridge", "classifier of rewards", "DR by ridge", "DR by regressors"],
)
def test_an_action_that_was_never_logged_is_the_last_choice(learner):
    log = costs_log(never=2)
    policy = learner.fit(log, batch_size=10)
    observation = log.observation[:10]
    only_that = {"observation": observation, "mask": np.tile(np.arange(4) == 2, (10, 1))}

    assert (policy.probabilities(restart(observation, 10))[:, 2] == 0.0).all()
    assert (policy.action(restart(only_that, 10)) == 2).all()


@pytest.mark.parametrize("reward", [[0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
def test_a_log_with_one_good_action_or_one_reward_is_learned(reward):
    log = BanditLog(np.eye(4), [0, 0, 1, 1], reward, [0.5] * 4, 3)

    for learner in (DirectMethodLearner(logistic()), IPSLearner(logistic())):
        table = probabilities_of(learner.fit(log), log)
        assert (table[:, 2] == 0.0).all()
        assert reward[0] == 1.0 or (table[:, 1] == 1.0).all()


class TestContract(PolicyContract):
    def make_environment(self, batch_size, seed):
        return ENVIRONMENTS["logistic_context"].make(
            num_actions=4, batch_size=batch_size, seed=seed
        )

    def make_policy(self, env, seed):
        spec = env.observation_spec()
        context = spec["observation"] if isinstance(spec, dict) else spec
        features = np.random.default_rng(0).normal(size=(50, *context.shape))
        classifier = logistic().fit(features, np.arange(50) % 4)
        model = FittedClassifier(classifier)
        return ContextualPolicy(model, Greedy(), **ContextualPolicy.arguments_for(env), seed=seed)


def log_with_items():
    observation = {"global": np.ones((2, 1)), "per_arm": np.ones((2, 2, 1))}
    return BanditLog(observation, [0, 1], [0.0, 1.0], [0.5, 0.5])


def policy_of(model, rule=None, dim=2):
    """A policy of four actions for one row."""
    spec = ArraySpec((dim,), np.float64)
    return ContextualPolicy(model, rule or Greedy(), observation_spec=spec, num_actions=4)


@pytest.mark.parametrize("constant", [2, 2.0, np.float32(2.0), np.int64(2)])
def test_any_real_number_may_be_the_prediction_of_an_action(constant):
    policy = policy_of(FittedRegressions([1.0, constant, 0.0, -1]))
    assert policy.action(restart(np.zeros((1, 2)), 1)).tolist() == [1]


def test_what_was_learned_is_the_model_of_an_exploring_policy():
    log = costs_log(never=2)
    learned = IPSLearner(logistic(), baseline=-1.0).fit(log)
    time_step = restart(log.observation[:1], 1)
    best = learned.probabilities(time_step)
    inputs = learned._reader.read(log.observation[:1], 1)
    scores = learned.model.scores(learned.get_state().content.learned.model, inputs)

    explores = policy_of(learned.model, EpsilonGreedy(0.2), dim=3)
    draws = policy_of(learned.model, Softmax(temperature=0.5, cooling=1.0), dim=3)

    np.testing.assert_allclose(explores.probabilities(time_step), 0.05 + 0.8 * best)
    weights = np.exp(2.0 * scores)
    np.testing.assert_allclose(draws.probabilities(time_step), weights / weights.sum())
    assert draws.probabilities(time_step)[0, 2] == 0.0


CLICKS = bad_logger_log(100, 0)


def no_clicks():
    return BanditLog(CLICKS.observation, CLICKS.action, np.zeros(100), CLICKS.propensity, 4)


@pytest.mark.parametrize(
    ("call", "argument", "error", "message"),
    [
        (IPSLearner, linear_model.Ridge(), TypeError, "expected a classifier"),
        (IPSLearner, linear_model.LogisticRegression, TypeError, "such as LogisticRegression()"),
        (DirectMethodLearner, "Ridge", TypeError, "regressor is 'Ridge'; expected an estimator"),
        (
            IPSLearner(logistic()).fit,
            log_with_items(),
            ValueError,
            "items, which are no classes; expected no classifier",
        ),
        (IPSLearner(logistic()).fit, costs_log(0), ValueError, "a baseline of at most -1"),
        (IPSLearner(logistic()).fit, no_clicks(), ValueError, "expected rewards above"),
        (
            DirectMethodLearner(logistic()).fit,
            BanditLog(CLICKS.observation, CLICKS.action, CLICKS.observation[:, 0], [0.5] * 100, 4),
            ValueError,
            "LogisticRegression.* cannot learn from .* rows of action 0: Unknown label type",
        ),
        (
            lambda classifier: policy_of(FittedClassifier(classifier)),
            logistic().fit(CLICKS.observation, CLICKS.action),
            ValueError,
            "classifier was fitted to 3 features; observation_spec has 2",
        ),
        (
            lambda classifier: policy_of(FittedClassifier(classifier)),
            logistic().fit(CLICKS.observation[:, :2], CLICKS.action + 1),
            ValueError,
            "expected actions from 0 to 3",
        ),
        (FittedClassifier, logistic(), ValueError, "expected one that was fitted"),
        (
            FittedClassifier,
            logistic().fit(CLICKS.observation, CLICKS.action - 1),
            ValueError,
            "expected actions, which are integers from 0",
        ),
        (
            lambda models: policy_of(FittedRegressions(models)),
            [0.0, 1.0],
            ValueError,
            "there are 2 models; expected 4",
        ),
        (FittedRegressions, [0.0, "Ridge"], TypeError, r"models\[1\] is 'Ridge'"),
    ],
)
def test_what_cannot_be_learned_is_refused(call, argument, error, message):
    with pytest.raises(error, match=message):
        call(argument)


def forest():
    return ensemble.RandomForestClassifier(50, max_depth=5, min_samples_leaf=10, random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "size", "published", "error", "shown"),
    [  # means over 20 logs, with their standard errors; the optimum is 0.849
        (IPSLearner(logistic(C=100)), 1000, 0.8247, 0.0028, 100_000),
        (IPSLearner(logistic(C=100)), 5000, 0.8434, 0.0008, 100_000),
        (IPSLearner(forest()), 1000, 0.7628, 0.0060, 20_000),
        (IPSLearner(forest()), 5000, 0.7986, 0.0028, 20_000),
        (DirectMethodLearner(logistic(C=100)), 1000, 0.8445, 0.0005, 100_000),
        (DirectMethodLearner(logistic(C=100)), 5000, 0.8486, 0.0002, 100_000),
    ],
)
def test_learned_policies_earn_what_others_learn_from_the_same_law(
    learner, size, published, error, shown
):
    context = np.random.default_rng(99).normal(size=(shown, 3))
    values = []
    for seed in range(10):
        policy = learner.fit(bad_logger_log(size, seed), batch_size=len(context))
        chosen = policy.probabilities(restart(context, len(context)))
        values.append((chosen * means(context)).sum(axis=1).mean())

    spread = np.hypot(error, np.std(values, ddof=1) / np.sqrt(len(values)))
    assert np.mean(values) > published - 3.0 * spread
