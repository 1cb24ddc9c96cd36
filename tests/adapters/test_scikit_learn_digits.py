"""Policies around scikit-learn on images of digits, beside contextualbandits 0.3.30.

The numbers of contextualbandits are means and standard errors of 20 seeds, of its policies with
the same estimators and its own defaults, but epsilon 0.1 without decay. Its first batch is random.
Shorter runs have other numbers. The two rules that fit replicas take ten times as long, so one is
fitted anew and the other learns online, with two seeds: losses of .05 and .08 are seen there.
"""

from typing import NamedTuple

import numpy as np
import pytest

from bandit_envs import ArraySpec, ContextualPolicy, datasets
from bandit_envs.policies.rules import (
    AdaptiveGreedy,
    EpsilonGreedy,
    Softmax,
    ThompsonSampling,
    UpperQuantile,
)
from bandit_envs.trajectories import Trajectory, restart, termination

pytest.importorskip("sklearn")

from sklearn.linear_model import LogisticRegression, SGDClassifier

from bandit_envs.policies.scikit_learn import Estimators

pytestmark = pytest.mark.slow

NUM_STEPS = 35
B = 50
K = 10


class Peer(NamedTuple):
    """The mean reward of a policy of contextualbandits, and its standard error."""

    mean: float
    error: float


FITTED_ANEW = {
    Softmax(): Peer(0.7258, 0.0061),
    AdaptiveGreedy(): Peer(0.7240, 0.0058),
    EpsilonGreedy(0.1): Peer(0.6773, 0.0077),
    UpperQuantile(): Peer(0.7141, 0.0089),
}
ONLINE = {
    Softmax(): Peer(0.5121, 0.0060),
    AdaptiveGreedy(): Peer(0.4446, 0.0054),
    EpsilonGreedy(0.1): Peer(0.5067, 0.0045),
    ThompsonSampling(): Peer(0.4122, 0.0064),
}


def mean_reward(policy, seed):
    """The share of right labels in a pass over standardised images, in batches of 50."""
    digits = datasets.load_digits()
    spread = digits.contexts.std(axis=0)
    contexts = (digits.contexts - digits.contexts.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    order = np.random.default_rng(seed).permutation(len(contexts))[: NUM_STEPS * B]
    rewards = []
    for rows in order.reshape(NUM_STEPS, B):
        shown = restart(contexts[rows], B)
        action = policy.action(shown)
        reward = (action == digits.labels[rows]).astype(np.float32)
        after = termination(contexts[rows], reward)
        policy(Trajectory.from_transition(shown, action, after))
        rewards.append(reward.mean())
    return np.mean(rewards)


REPLICAS = {
    ThompsonSampling(): {"num_replicas": 10},
    UpperQuantile(): {"num_replicas": 10, "prior": 3.0},
}


def assert_no_worse(rule, estimator, peer, **options):
    """The mean reward is no worse than the peer's by two standard errors of their difference."""
    model = Estimators(estimator, **options, **REPLICAS.get(rule, {}))
    spec = ArraySpec((64,), np.float64)
    shape = {"observation_spec": spec, "num_actions": K, "batch_size": B}
    num_seeds = 2 if rule in REPLICAS else 4
    found = [
        mean_reward(ContextualPolicy(model, rule, **shape, seed=seed), seed)
        for seed in range(num_seeds)
    ]
    error = np.hypot(np.std(found, ddof=1) / np.sqrt(num_seeds), peer.error)
    assert np.mean(found) > peer.mean - 2.0 * error


@pytest.mark.parametrize("rule", FITTED_ANEW, ids=str)
def test_fitted_anew_it_earns_what_contextualbandits_does(rule):
    assert_no_worse(rule, LogisticRegression(C=0.1, max_iter=50), FITTED_ANEW[rule])


@pytest.mark.parametrize("rule", ONLINE, ids=str)
def test_online_it_earns_more_than_contextualbandits(rule):
    estimator = SGDClassifier(loss="log_loss", alpha=1e-3)
    assert_no_worse(rule, estimator, ONLINE[rule], memory_size=0)
