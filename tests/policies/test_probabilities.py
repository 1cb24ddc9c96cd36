"""What policies say of their probabilities, and how probabilities are estimated.

The contract holds that actions are as frequent as their probabilities.
"""

import numpy as np
import pytest

from bandit_envs import (
    BernoulliPyEnvironment,
    EpsilonGreedyPolicy,
    GaussianThompsonSamplingPolicy,
    RandomActionMask,
    StepDriver,
    UCBPolicy,
)
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import Trajectory, restart, termination
from tests.cases import for_each

K, B, CHOICES = 4, 25, 1000  # 25,000 choices


def taught(policy_class, *arguments):
    """Returns a policy that has seen a few rewards of 0 and 1, and a time step with a mask."""
    env = RandomActionMask(BernoulliPyEnvironment([0.2, 0.4, 0.6, 0.8], B, seed=5), 0.4)
    policy = policy_class(*arguments, num_actions=K, batch_size=B, seed=0)
    return policy, StepDriver(env, policy, [policy], 5).run()


def test_the_probability_of_one_action_is_exactly_that_of_the_table():
    policy, asked = taught(EpsilonGreedyPolicy, 0.3)
    found = [policy.probability_of(asked, np.full(B, action)) for action in range(K)]
    np.testing.assert_array_equal(np.transpose(found), policy.probabilities(asked))


@pytest.mark.parametrize(
    ("policy_class", "arguments"),
    [(GaussianThompsonSamplingPolicy, ()), (EpsilonGreedyPolicy, (0.3,))],
)
def test_estimates_are_frequencies_and_move_nothing(policy_class, arguments):
    policy, asked = taught(policy_class, *arguments)
    before = policy.get_state()
    one, other = (
        policy.estimated_probabilities(asked, CHOICES, np.random.default_rng(seed))
        for seed in (1, 2)
    )
    assert_identical(policy.get_state(), before, "the policy's state")
    np.testing.assert_allclose(one.sum(axis=1), 1.0, rtol=1e-12)
    assert (one[~asked.observation["mask"]] == 0.0).all()
    mean = (one + other) / 2
    standard_error = np.sqrt(2 * mean * (1 - mean) / CHOICES)
    assert (np.abs(one - other) <= 5 * standard_error + 1e-12).all()
    if policy.knows_probabilities:
        exact = policy.probabilities(asked)
        standard_error = np.sqrt(exact * (1 - exact) / (2 * CHOICES))
        assert (np.abs(mean - exact) <= 5 * standard_error + 1e-12).all()


def test_nobody_changes_a_policy_through_its_probabilities():
    policy, asked = taught(EpsilonGreedyPolicy, 0.3)
    before = policy.get_state()
    probabilities = policy.probabilities(asked)
    kept = probabilities.copy()
    probabilities[...] = -1.0
    np.testing.assert_array_equal(policy.probabilities(asked), kept)
    assert_identical(policy.get_state(), before, "the policy's state")


@for_each(
    ("samples", "rng", "error", "name"),
    [
        (0, np.random.default_rng(0), ValueError, "samples"),
        (1.0, np.random.default_rng(0), TypeError, "samples"),
        (1, 0, TypeError, "rng"),
    ],
)
def test_wrong_samples_or_generators_are_refused(samples, rng, error, name):
    policy, asked = taught(GaussianThompsonSamplingPolicy)
    with pytest.raises(error, match=f"{name} is "):
        policy.estimated_probabilities(asked, samples, rng)


def test_probabilities_follow_what_was_learned_and_restored():
    policy = UCBPolicy(1.0, num_actions=2, batch_size=1, seed=0)
    time_step = restart(np.ones((1, 1)), 1)
    for action, reward in ((0, 1.0), (1, 0.0)):
        assert policy.probability_of(time_step, policy.action(time_step)) > 0.0
        after = termination(time_step.observation, [reward])
        policy(Trajectory.from_transition(time_step, [action], after))
    assert policy.probabilities(time_step).tolist() == [[1.0, 0.0]]
    state = policy.get_state()
    policy.set_state(UCBPolicy(1.0, num_actions=2).get_state())
    assert policy.probabilities(time_step).tolist() == [[0.5, 0.5]]
    policy.set_state(state)
    assert policy.probabilities(time_step).tolist() == [[1.0, 0.0]]
