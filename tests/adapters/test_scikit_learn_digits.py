"""Policies around scikit-learn on images of digits, beside contextualbandits 0.3.30.

The numbers of contextualbandits are means and standard errors of 20 seeds, of its policies with
the same estimators and its own defaults, but epsilon 0.1 without decay. Its first batch is random.
"""

from typing import NamedTuple

import numpy as np
import pytest

from bandit_envs import ArraySpec, datasets
from bandit_envs.trajectories import Trajectory, restart, termination

pytest.importorskip("sklearn")

from sklearn.linear_model import LogisticRegression, SGDClassifier

from bandit_envs.adapters.scikit_learn import (
    SklearnAdaptiveGreedyPolicy,
    SklearnEpsilonGreedyPolicy,
    SklearnSoftmaxPolicy,
    SklearnThompsonSamplingPolicy,
    SklearnUCBPolicy,
)

pytestmark = pytest.mark.slow

NUM_SEEDS = 10
NUM_STEPS = 35
B = 50
K = 10


class Peer(NamedTuple):
    """The mean reward of a policy of contextualbandits, and its standard error."""

    mean: float
    error: float


FITTED_ANEW = {
    SklearnSoftmaxPolicy: Peer(0.7258, 0.0061),
    SklearnAdaptiveGreedyPolicy: Peer(0.7240, 0.0058),
    SklearnEpsilonGreedyPolicy: Peer(0.6773, 0.0077),
    SklearnThompsonSamplingPolicy: Peer(0.6327, 0.0096),
    SklearnUCBPolicy: Peer(0.7141, 0.0089),
}
ONLINE = {
    SklearnSoftmaxPolicy: Peer(0.5121, 0.0060),
    SklearnAdaptiveGreedyPolicy: Peer(0.4446, 0.0054),
    SklearnEpsilonGreedyPolicy: Peer(0.5067, 0.0045),
    SklearnThompsonSamplingPolicy: Peer(0.4122, 0.0064),
    SklearnUCBPolicy: Peer(0.4208, 0.0066),
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


def assert_no_worse(kind, estimator, peer, **options):
    """The mean reward is no worse than the peer's by two standard errors of their difference."""
    spec = ArraySpec((64,), np.float64)
    shape = {"observation_spec": spec, "num_actions": K, "batch_size": B}
    if kind is SklearnEpsilonGreedyPolicy:
        options["epsilon"] = 0.1
    found = [
        mean_reward(kind(estimator, **options, **shape, seed=seed), seed)
        for seed in range(NUM_SEEDS)
    ]
    error = np.hypot(np.std(found, ddof=1) / np.sqrt(NUM_SEEDS), peer.error)
    assert np.mean(found) > peer.mean - 2.0 * error


@pytest.mark.parametrize("kind", FITTED_ANEW)
def test_fitted_anew_it_earns_what_contextualbandits_does(kind):
    assert_no_worse(kind, LogisticRegression(C=0.1, max_iter=50), FITTED_ANEW[kind])


@pytest.mark.parametrize("kind", ONLINE)
def test_online_it_earns_more_than_contextualbandits(kind):
    estimator = SGDClassifier(loss="log_loss", alpha=1e-3)
    assert_no_worse(kind, estimator, ONLINE[kind], memory_size=0)
