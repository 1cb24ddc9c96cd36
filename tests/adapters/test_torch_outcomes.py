"""What policies with networks of PyTorch are made from, and what they earn."""

import numpy as np
import pytest

pytest.importorskip("torch")

from bandit_envs import RandomPolicy, StepDriver
from bandit_envs.adapters.torch import (
    NeuralEpsilonGreedyPolicy,
    NeuralUCBPolicy,
)
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.logged import LogRecorder, learn_from_log
from bandit_envs.testing import assert_identical
from tests.adapters.test_torch import Squares


def test_a_network_is_found_by_the_text_of_its_module_and_name():
    env = ENVIRONMENTS["logistic_context"].make(batch_size=5, seed=0)
    arguments = NeuralUCBPolicy.arguments_for(env)
    text = f"{Squares.__module__}:{Squares.__name__}"
    named = NeuralUCBPolicy(network=text, **arguments, seed=1)
    given = NeuralUCBPolicy(network=Squares, **arguments, seed=1)
    time_step = env.reset()
    assert np.array_equal(named.action(time_step), given.action(time_step))
    assert_identical(named.get_state(), given.get_state())


def test_a_short_log_trains_a_network():
    env = ENVIRONMENTS["logistic_context"].make(num_actions=4, batch_size=50, seed=0)
    recorder = LogRecorder(4)
    random = RandomPolicy(**RandomPolicy.arguments_for(env), seed=0)
    StepDriver(env, random, [recorder], 20, emit_log_probability=True).run()
    policy = NeuralEpsilonGreedyPolicy(0.0, **NeuralEpsilonGreedyPolicy.arguments_for(env), seed=1)
    learned = learn_from_log(policy, recorder.log())
    means = env.expected_rewards()
    chosen = means[np.arange(50), learned.action(env.current_time_step())]
    random_mean = means.mean()
    assert chosen.mean() - random_mean > 0.5 * (means.max(axis=1).mean() - random_mean)
