"""Simulated items: the log of a run says what other policies earn in it."""

import numpy as np
import pytest

from bandit_envs import (
    ContextualPolicy,
    LinUCBPolicy,
    RegretMetric,
    StationaryStochasticPerArmPyEnvironment,
    StepDriver,
)
from bandit_envs.evaluations import evaluate, learn
from bandit_envs.logged import LogRecorder, write_log, write_policy
from bandit_envs.logged.learners import warm_start
from bandit_envs.policies.models import LinearScores
from bandit_envs.policies.rules import Softmax
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Integers, Normal

G, P, K = 2, 3, 8
WEIGHTS = np.array([0.5, 0.0, 1.0, -0.5, 0.2])


def make_env(seed, batch_size, most=K):
    """Users who are offered two items or more."""
    return StationaryStochasticPerArmPyEnvironment(
        Normal(G),
        Normal(P),
        most,
        LinearReward(WEIGHTS, noise_std=1.0),
        Integers(1, 2, most + 1),
        batch_size=batch_size,
        seed=seed,
    )


def record(seed, count):
    """The log of a policy that prefers items of a large first feature."""
    size = 1000
    env = make_env([seed, 1], size)
    scores = LinearScores([[0.0, 0.0, 0.0, 0.7, 0.0, 0.0]])
    spec = env.observation_spec()
    policy = ContextualPolicy(
        scores,
        Softmax(1.0, cooling=1.0),
        observation_spec=spec,
        num_actions=K,
        batch_size=size,
        seed=seed,
    )
    recorder = LogRecorder(K, env)
    StepDriver(env, policy, [recorder], num_steps=count // size, emit_log_probability=True).run()
    return recorder.log().drop("row")


def is_covered(seed, count):
    """Whether the intervals of two policies and of a learned one hold what they earn."""
    log = record(seed, count)
    assert set(log.seen()["num_actions"]) == {*range(2, K + 1)}
    learned = learn(log, "direct_method", train=0.25).policy
    spec = make_env(0, 1).observation_spec()
    policies = {
        "random": "random",
        "first": "first",
        "LinUCB": LinUCBPolicy(0.5, observation_spec=spec, num_actions=K, intercept=True),
        "learned": learned,
    }
    found = evaluate(log, policies, ["snips", "dr"], train=0.25, confidence=0.99)
    best = log.expected_rewards.max(axis=1, where=is_offered(log), initial=-np.inf).mean()
    for row in found.rows:
        if row.policy in ("LinUCB", "learned"):
            assert row.truth == pytest.approx(best, abs=0.05)
    return all(row.low <= row.truth <= row.high for row in found.rows[1:])


def is_offered(log):
    """Which items were offered: [n, K]."""
    return np.arange(K) < log.observation["num_actions"][:, np.newaxis]


def test_estimates_of_a_recorded_run_hold_its_truth():
    assert is_covered(seed=0, count=8000)


@pytest.mark.parametrize("most", [3, 12])
def test_a_log_warms_policies_for_another_number_of_items(tmp_path, most):
    write_log(tmp_path / "log.npz", record(0, 4000))
    env = make_env(1, 20, most)
    policy = warm_start("lin_ucb:intercept=true", str(tmp_path / "log.npz"), env=env)
    assert policy.num_actions == most
    regret = RegretMetric(env)
    StepDriver(env, policy, [policy, regret], num_steps=20).run()
    assert regret.result().cumulative.mean[-1] < 1.0
    write_policy(tmp_path / "policy.npz", policy)
    other = make_env(2, 20)
    again = warm_start(str(tmp_path / "policy.npz"), env=other)
    assert again.num_actions == K
    assert again.action(other.reset()).shape == (20,)


@pytest.mark.slow
def test_estimates_of_long_runs_hold_the_truth_in_nineteen_of_twenty():
    assert sum(is_covered(seed, count=12_000) for seed in range(20)) >= 19
