"""Clusters of actions, and predictions that marginal weights correct."""

import warnings

import numpy as np
import pytest

from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    MarginalizedIPS,
    RewardRegression,
    merge_sums,
    slope,
)
from bandit_envs.logged.estimators import MarginalizedDR, cluster_actions
from bandit_envs.logged.reward_models import ClusterRegression
from tests.logged.test_more_estimators import (
    CATEGORIES,
    EMBEDDING,
    POLICY,
    PREDICTED,
    table_log,
)

CLUSTERS = [0, 1, 1]


def value_of(estimator, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.estimate(*arguments).value


def test_values_with_clusters_are_those_of_the_formula():
    likelihoods = MarginalizedIPS.likelihoods_of_clusters(table_log(), CLUSTERS)

    weights = MarginalizedIPS.weigh(table_log(), POLICY, likelihoods)

    expected = [0.839506173, 0.626506024, 0.111111111, 0.835164835]
    expected += [1.574074074, 0.424242424, 0.661538462, 0.827160494]
    assert weights == pytest.approx(expected, abs=1e-9)
    arguments = (table_log(), POLICY, likelihoods)
    assert value_of(MarginalizedIPS(), *arguments) == pytest.approx(0.249905260, abs=1e-9)
    found = value_of(MarginalizedDR(), *arguments, PREDICTED)
    assert found == pytest.approx(0.337266049, abs=1e-9)


def test_the_value_with_embeddings_is_that_of_the_formula():
    likelihoods = MarginalizedIPS.likelihoods_of_embeddings(EMBEDDING, CATEGORIES)
    found = value_of(MarginalizedDR(), table_log(), POLICY, likelihoods, PREDICTED)
    assert found == pytest.approx(0.151155686, abs=1e-9)


def test_clusters_of_one_action_are_doubly_robust():
    likelihoods = MarginalizedIPS.likelihoods_of_clusters(table_log(), [0, 1, 2])
    found = value_of(MarginalizedDR(), table_log(), POLICY, likelihoods, PREDICTED)
    assert found == pytest.approx(value_of(DoublyRobust(), table_log(), POLICY, PREDICTED))


NUM_ACTIONS = 60
KINDS = np.arange(NUM_ACTIONS) % 3


def make_log(size, seed):
    """Returns a log of 60 actions of three kinds, and the rewards that a policy earns."""
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(size, 2))
    effects = np.array([[0.5, 0.0], [-0.5, 0.5], [0.0, -0.5]])[KINDS]
    means = context @ effects.T + 0.05 * (np.arange(NUM_ACTIONS) % 5)
    preference = np.exp(rng.normal(size=NUM_ACTIONS) - means)
    propensity = 0.8 * preference / preference.sum(axis=1, keepdims=True) + 0.2 / NUM_ACTIONS
    action = (propensity.cumsum(axis=1) > rng.random((size, 1))).argmax(axis=1)
    rows = np.arange(size)
    reward = means[rows, action] + 0.5 * rng.normal(size=size)
    log = BanditLog(
        context, action, reward, propensity[rows, action], action_probabilities=propensity
    )
    policy = np.exp(4.0 * means)
    policy /= policy.sum(axis=1, keepdims=True)
    return log, policy, float((policy * means).sum(axis=1).mean())


def estimate_both(seed):
    """Returns the errors of estimates by clusters and by single actions."""
    log, policy, truth = make_log(600, seed)
    likelihoods = MarginalizedIPS.likelihoods_of_clusters(log, KINDS)
    by_clusters = ClusterRegression(KINDS).predict(log)
    by_actions = RewardRegression().predict(log)
    return (
        value_of(MarginalizedDR(), log, policy, likelihoods, by_clusters) - truth,
        value_of(MarginalizedDR(), log, policy, likelihoods, by_actions) - truth,
        value_of(DoublyRobust(), log, policy, by_actions) - truth,
    )


def test_known_clusters_make_estimates_of_many_actions_more_precise():
    errors = np.array([estimate_both(seed) for seed in range(30)])
    of_clusters, by_actions, doubly_robust = np.sqrt((errors**2).mean(axis=0))
    assert of_clusters < 0.9 * doubly_robust
    assert of_clusters < 0.9 * by_actions


def test_k_means_finds_actions_of_one_kind():
    log, _, _ = make_log(20_000, seed=0)
    found = cluster_actions(np.random.default_rng(1), RewardRegression().predict(log), 3)
    pairs = found[:, np.newaxis] == found
    same = KINDS[:, np.newaxis] == KINDS
    assert (pairs == same).mean() > 0.9
    assert cluster_actions(np.random.default_rng(0), np.ones((5, 4)), 3).shape == (4,)


def test_slope_chooses_a_number_of_clusters():
    log, policy, truth = make_log(3000, seed=5)
    predicted = RewardRegression().predict(log)

    def estimate(count):
        clusters = cluster_actions(np.random.default_rng(0), predicted, count)
        likelihoods = MarginalizedIPS.likelihoods_of_clusters(log, clusters)
        return MarginalizedDR().estimate(log, policy, likelihoods, predicted)

    best, found = slope([1, 3, 10, NUM_ACTIONS], estimate=estimate)

    assert best in {1, 3, 10, NUM_ACTIONS}
    assert abs(found.value - truth) < 0.15


def test_cluster_predictions_are_of_other_rows_and_of_actions_never_logged():
    log, _, _ = make_log(600, seed=2)
    predicted = ClusterRegression(KINDS).predict(log)
    changed = log.reward.copy()
    changed[0] += 100.0
    again = ClusterRegression(KINDS).predict(
        BanditLog(log.observation, log.action, changed, log.propensity, NUM_ACTIONS)
    )
    np.testing.assert_array_equal(again[0], predicted[0])
    assert np.isfinite(predicted).all()
    assert (again != predicted).any()


@pytest.mark.parametrize("self_normalized", [False, True])
def test_sums_of_parts_merge_to_those_of_the_whole(self_normalized):
    log, policy, _ = make_log(900, seed=3)
    predicted = RewardRegression().predict(log)
    estimator = MarginalizedDR(self_normalized=self_normalized)
    likelihoods = MarginalizedIPS.likelihoods_of_clusters(log, KINDS)
    parts = [
        estimator.terms(log[rows], policy[rows], likelihoods[rows], predicted[rows]).sums()
        for rows in (slice(400, None), slice(400))
    ]
    found = merge_sums(parts).estimate()
    whole = estimator.estimate(log, policy, likelihoods, predicted)
    assert found.value == pytest.approx(whole.value, abs=1e-12)
    assert found.standard_error == pytest.approx(whole.standard_error, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MarginalizedIPS.likelihoods_of_clusters(table_log(), [0, 1]), "clusters has"),
        (lambda: ClusterRegression([0, 1]).predict(make_log(9, 0)[0]), "clusters has shape"),
        (lambda: ClusterRegression(KINDS).predict(make_log(2, 0)[0]), "log has 2 rows"),
        (lambda: cluster_actions(np.random.default_rng(0), PREDICTED, 4), "num_clusters is 4"),
    ],
    ids=["likelihoods", "regression", "rows", "number"],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
