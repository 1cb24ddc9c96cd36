import math

import numpy as np
import pytest

from bandit_envs import GaussianThompsonSamplingPolicy
from tests.cases import for_each


@for_each("parameters", [(0.0, 1.0, 1.0), (4.0, 2.0, 0.5), (-1.0, 0.1, 3.0)])
def test_the_posterior_is_that_of_bayes(teach, learned, lesson, parameters):
    prior_mean, prior_std, reward_std = parameters
    policy = GaussianThompsonSamplingPolicy(
        prior_mean, prior_std, reward_std, num_actions=4, batch_size=7
    )
    teach(policy, *lesson)
    actions, rewards = lesson
    mean, std = learned(policy)
    for row in range(7):
        for action in range(4):
            seen = rewards[actions[:, row] == action, row].astype(np.float64)
            precision = 1 / prior_std**2 + len(seen) / reward_std**2
            centre = (prior_mean / prior_std**2 + seen.sum() / reward_std**2) / precision
            assert mean[row, action] == pytest.approx(centre, rel=1e-12, abs=1e-14)
            assert std[row, action] == pytest.approx(precision**-0.5, rel=1e-12)


def test_an_action_is_as_likely_as_it_is_to_be_best(teach, learned, time_step):
    size = 40_000
    policy = GaussianThompsonSamplingPolicy(num_actions=2, batch_size=size, seed=0)
    teach(policy, np.ones((3, size), np.int32), np.ones((3, size)))
    mean, std = (values[0] for values in learned(policy))
    z = (mean[1] - mean[0]) / math.hypot(*std)
    expected = 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))
    share = np.mean(policy.action(time_step(size)) == 1)
    assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / size)


def test_where_rounding_leaves_draws_equal_the_tie_is_broken_at_random(time_step):
    policy = GaussianThompsonSamplingPolicy(1.0, 1e-30, num_actions=3, batch_size=100, seed=0)
    assert set(policy.action(time_step(100))) == {0, 1, 2}
