"""What policies cost for a step of 2000 rows and 10 actions, beside UCB."""

import itertools
from functools import partial

import numpy as np
import pytest

from bandit_envs import (
    BayesUCBPolicy,
    BetaThompsonSamplingPolicy,
    BoltzmannPolicy,
    DecayingEpsilonGreedyPolicy,
    DiscountedThompsonSamplingPolicy,
    DiscountedUCBPolicy,
    Exp3Policy,
    Exp3SPolicy,
    ExploreThenCommitPolicy,
    IMEDPolicy,
    KLUCBPolicy,
    MOSSPolicy,
    ReducedVarianceTsallisINFPolicy,
    SlidingWindowUCBPolicy,
    SuccessiveEliminationPolicy,
    TsallisINFPolicy,
    UCB1TunedPolicy,
    UCBPolicy,
)
from bandit_envs.trajectories import Trajectory, restart, termination
from tests.benchmarks.pairing import paired_ratio

K, B = 10, 2000

# NumPy's own Beta draws would cost Thompson sampling about 5.
POLICIES = {
    "KL-UCB": (KLUCBPolicy, 12.0),
    "UCB1-tuned": (UCB1TunedPolicy, 3.0),
    "MOSS": (MOSSPolicy, 3.0),
    "Beta Thompson sampling": (BetaThompsonSamplingPolicy, 3.0),
    "discounted UCB": (partial(DiscountedUCBPolicy, 0.99), 3.0),
    "sliding-window UCB": (partial(SlidingWindowUCBPolicy, 1000), 3.0),
    "Exp3": (partial(Exp3Policy, 0.1), 3.0),
    "Exp3.S": (partial(Exp3SPolicy, 0.1, 0.001), 3.0),
    "Tsallis-INF": (TsallisINFPolicy, 8.0),
    "Tsallis-INF, reduced variance": (ReducedVarianceTsallisINFPolicy, 8.0),
    "discounted Thompson sampling": (partial(DiscountedThompsonSamplingPolicy, 0.99), 3.0),
    "Bayes-UCB": (BayesUCBPolicy, 3.0),
    "IMED": (IMEDPolicy, 3.0),
    "Boltzmann": (partial(BoltzmannPolicy, 0.1), 3.0),
    "successive elimination": (partial(SuccessiveEliminationPolicy, 0.1), 3.0),
    "explore-then-commit": (partial(ExploreThenCommitPolicy, 100), 3.0),
    "decaying epsilon-greedy": (partial(DecayingEpsilonGreedyPolicy, 1.0, 0.5), 3.0),
}
"""A policy and the most that it may cost."""


def stepping(make):
    """Returns a function that lets a policy choose and learn, after 200 steps of it."""
    policy = make(num_actions=K, batch_size=B, seed=0)
    rng = np.random.default_rng(1)
    means = np.linspace(0.1, 0.9, K)
    before = restart(np.ones((B, 1), np.float32), B)
    after = termination(before.observation, np.zeros(B, np.float32))
    drawn = itertools.cycle(rng.random((64, B), np.float32))

    def step():
        action = policy.action(before)
        reward = (next(drawn) < means[action]).astype(np.float32)
        policy(Trajectory.from_transition(before, action, after)._replace(reward=reward))

    for _ in range(200):
        step()
    return step


@pytest.mark.parametrize("name", POLICIES)
def test_choosing_and_learning_costs_a_few_times_what_ucb_costs(expect, name):
    make, bound = POLICIES[name]
    ratio = paired_ratio(stepping(make), stepping(partial(UCBPolicy, 2.0)), rounds=100, number=5)
    expect(f"{name} step, [{B}, {K}] / UCB's", ratio, bound)
