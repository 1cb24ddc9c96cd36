"""What policies with networks of PyTorch are made from, and what they earn."""

import numpy as np
import pytest

pytest.importorskip("torch")

from bandit_envs import AverageRewardMetric, RandomPolicy, StepDriver
from bandit_envs.adapters.torch import GradientNetwork, Network
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.logged import LogRecorder, learn_from_log
from bandit_envs.policies.rules import EpsilonGreedy, Greedy, UpperBound
from bandit_envs.testing import assert_identical
from tests.adapters.test_torch import Squares, policy_for

AGENT = (1.0953, 1.2924, 1.1284, 1.3391, 1.0007, 0.8969, 1.5252, 0.9597, 1.0109, 0.8994)
"""Mean rewards of TF-Agents' agent in steps 401 to 500: `neural_epsilon_greedy_agent` of
`adapters.tf_agents.examples` with TF-Agents 0.19 and TensorFlow 2.15, in environments and with
seeds 0 to 9 as in the test."""


def test_a_network_is_found_by_the_text_of_its_module_and_name():
    env = ENVIRONMENTS["logistic_context"].make(batch_size=5, seed=0)
    text = f"{Squares.__module__}:{Squares.__name__}"
    named = policy_for(env, GradientNetwork(text), UpperBound(), seed=1)
    given = policy_for(env, GradientNetwork(Squares), UpperBound(), seed=1)
    time_step = env.reset()
    assert np.array_equal(named.action(time_step), given.action(time_step))
    assert_identical(named.get_state(), given.get_state())


def test_a_short_log_trains_a_network():
    env = ENVIRONMENTS["logistic_context"].make(num_actions=4, batch_size=50, seed=0)
    recorder = LogRecorder(4)
    random = RandomPolicy(**RandomPolicy.arguments_for(env), seed=0)
    StepDriver(env, random, [recorder], 20, emit_log_probability=True).run()
    policy = policy_for(env, Network(), Greedy(), seed=1)
    learned = learn_from_log(policy, recorder.log())
    means = env.expected_rewards()
    chosen = means[np.arange(50), learned.action(env.current_time_step())]
    random_mean = means.mean()
    assert chosen.mean() - random_mean > 0.5 * (means.max(axis=1).mean() - random_mean)


@pytest.mark.slow
def test_epsilon_greedy_earns_what_that_of_tf_agents_does():
    differences = []
    for seed, of_agent in enumerate(AGENT):
        env = ENVIRONMENTS["per_arm"].make(
            global_dim=20, arm_dim=20, max_num_actions=20, batch_size=20, seed=seed
        )
        policy = policy_for(env, Network(), EpsilonGreedy(0.1), seed)
        reward = AverageRewardMetric()
        StepDriver(env, policy, [policy], 400).run()
        StepDriver(env, policy, [policy, reward], 100).run()
        differences.append(reward.result().mean.mean - of_agent)
    error = np.std(differences, ddof=1) / np.sqrt(len(differences))
    assert np.mean(differences) > -2.0 * error
