import numpy as np
import pytest

from bandit_envs import RegretMetric, StepDriver
from bandit_envs.logged import BanditLog, InversePropensityScoring
from bandit_envs.logged.estimation import IPS, EstimationBandit
from bandit_envs.testing import EnvironmentContract


@pytest.mark.slow
class TestEstimation(EnvironmentContract):
    def make_environment(self, seed):
        return EstimationBandit(20, 2, seed=seed)


def test_the_mean_squared_error_of_inverse_propensity_scoring_is_its_variance():
    env = EstimationBandit(100, 400, seed=0)
    policy = IPS(num_actions=1, batch_size=400)
    metric = RegretMetric(env)
    StepDriver(env, policy, [policy, metric]).run()
    error = metric.result().per_step.at(0)
    assert abs(error.mean - 208.65) < 4 * error.standard_error


def test_logs_are_those_of_the_policy_that_is_said_to_make_them():
    observation = EstimationBandit(50_000, seed=1).reset().observation
    log = {key: leaf[0] for key, leaf in observation.items()}
    new = log.pop("probabilities")
    context = log.pop("context")
    weights = new[np.arange(len(new)), log["action"]] / log["propensity"]
    assert abs(weights.mean() - 1) < 4 * weights.std() / np.sqrt(len(new))
    estimate = InversePropensityScoring().estimate(BanditLog(context, **log), new)
    assert abs(estimate.value - 0.61235) < 4 * estimate.standard_error
