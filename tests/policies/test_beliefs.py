"""What policies tell of single actions."""

import numpy as np
import pytest

from bandit_envs import BernoulliPyEnvironment, KArmedTestbed, RandomPolicy, StepDriver
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.policies.registry import POLICIES
from bandit_envs.trajectories import Trajectory

COUNTING = (
    *("greedy", "epsilon_greedy:epsilon=0.1", "ucb:c=2", "ucb1_tuned", "moss", "kl_ucb", "imed"),
    *("boltzmann:temperature=0.5", "beta_thompson", "beta_greedy", "bayes_ucb"),
    *("successive_rejects:budget=200", "lucb:delta=0.1"),
)
NEED_SCIPY = ("beta_thompson", "beta_greedy", "bayes_ucb")


class History:
    """The actions and rewards of a run."""

    def __init__(self):
        self.actions, self.rewards = [], []

    def __call__(self, trajectory: Trajectory):
        self.actions.append(trajectory.action)
        self.rewards.append(trajectory.reward)


def run(spec, steps=60):
    """Returns a policy after a run of three rows, and for row 1 the counts and sums of rewards."""
    (choice,) = PolicyChoice.expand(spec)
    if choice.name in NEED_SCIPY:
        pytest.importorskip("scipy")
    env = BernoulliPyEnvironment([0.2, 0.5, 0.8], batch_size=3, seed=1)
    policy = choice.make(env, 2)
    history = History()
    env.reset()
    StepDriver(env, policy, [policy, history], steps).run()
    actions, rewards = np.array(history.actions)[:, 1], np.array(history.rewards)[:, 1]
    counts = np.bincount(actions, minlength=3)
    return policy, counts, np.bincount(actions, rewards, minlength=3)


@pytest.mark.parametrize("spec", COUNTING)
def test_counts_and_estimates_are_those_of_the_run(spec):
    policy, counts, sums = run(spec)
    known = policy.describe(1)
    assert known.title == type(policy).__name__
    np.testing.assert_array_equal(known.counts, counts)
    values = sums / np.maximum(counts, 1)
    if spec in NEED_SCIPY:
        values = (sums + 1.0) / (counts + 2.0)
    np.testing.assert_allclose(known.values, values)
    low, high = known.ends()
    assert (low <= known.values).all()
    assert (known.values <= high).all()


def test_bounds_are_those_that_the_policy_chooses_by():
    policy, counts, sums = run("ucb:c=2")
    known = policy.describe(1)
    np.testing.assert_allclose(known.high, sums / counts + 2.0 * np.sqrt(np.log(61) / counts))
    assert known.low is None
    new = PolicyChoice.expand("ucb:c=2")
    fresh = next(new).make(KArmedTestbed(4), 0).describe()
    assert np.isinf(fresh.high).all()


def test_intervals_of_posteriors_hold_95_percent_of_them():
    special = pytest.importorskip("scipy.special")
    policy, counts, sums = run("beta_thompson")
    known = policy.describe(1)
    a, b = sums + 1.0, counts - sums + 1.0
    np.testing.assert_allclose(special.betainc(a, b, known.low), 0.025)
    np.testing.assert_allclose(special.betainc(a, b, known.high), 0.975)
    normal = next(PolicyChoice.expand("thompson:prior_std=2")).make(KArmedTestbed(4), 0).describe()
    np.testing.assert_allclose(normal.high, 2.0 * 1.959964)
    assert normal.interval == "95% of the posterior"


def test_what_is_told_does_not_change_with_the_policy():
    policy, _, _ = run("ucb:c=2")
    known = policy.describe(1)
    before = known.values.copy()
    env = BernoulliPyEnvironment([0.2, 0.5, 0.8], batch_size=3, seed=5)
    env.reset()
    StepDriver(env, policy, [policy], 20).run()
    np.testing.assert_array_equal(known.values, before)
    known.values[:] = 7.0
    assert not (policy.describe(1).values == 7.0).any()


def test_a_wrong_row_and_a_policy_that_tells_nothing_are_refused():
    policy, _, _ = run("greedy")
    with pytest.raises(ValueError, match="row is 3"):
        policy.describe(3)
    with pytest.raises(NotImplementedError, match="RandomPolicy does not tell"):
        RandomPolicy(num_actions=2).describe()
    assert {each.partition(":")[0] for each in COUNTING} <= POLICIES.keys()
