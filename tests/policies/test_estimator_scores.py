"""Policies that choose by fitted estimators."""

import numpy as np
import pytest

from bandit_envs import ArraySpec
from bandit_envs.policies.estimator_scores import RegressionGreedyPolicy
from bandit_envs.trajectories import restart


@pytest.mark.parametrize("constant", [2, 2.0, np.float32(2.0), np.int64(2)])
def test_any_real_number_may_be_the_prediction_of_an_action(constant):
    spec = ArraySpec((1,), np.float64)
    policy = RegressionGreedyPolicy([1.0, constant], observation_spec=spec)
    assert policy.action(restart(np.zeros((1, 1)), 1)).tolist() == [1]
