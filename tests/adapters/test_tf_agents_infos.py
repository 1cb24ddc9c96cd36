"""What TF-Agents' policies tell of their choices, in trajectories and logs of this package."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.bandits.agents import (
    lin_ucb_agent,
    linear_thompson_sampling_agent,
    neural_epsilon_greedy_agent,
)
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.networks import q_network
from tf_agents.policies.utils import BanditPolicyType
from tf_agents.trajectories import time_step as ts

from bandit_envs import StepDriver
from bandit_envs.adapters.tf_agents import as_policy, as_tf_agents, log_observer, tensor_specs
from bandit_envs.environments import logistic_context, per_arm
from bandit_envs.logged import LogRecorder, read_log, write_log
from tests.statistical import is_near

B = 50
K = 3
EPSILON = 0.6
PREDICTED = ("predicted_rewards_mean", "predicted_rewards_optimistic")


def items():
    return per_arm(2, 3, K, batch_size=B, seed=0)


def lin_ucb(env, *told):
    specs = tensor_specs(env)
    return lin_ucb_agent.LinearUCBAgent(
        *specs, accepts_per_arm_features=True, emit_policy_info=told
    )


def contexts():
    return logistic_context(K, 4, batch_size=B, seed=0)


def explorer(env):
    time_step_spec, action_spec = tensor_specs(env)
    return neural_epsilon_greedy_agent.NeuralEpsilonGreedyAgent(
        time_step_spec,
        action_spec,
        reward_network=q_network.QNetwork(time_step_spec.observation, action_spec),
        optimizer=tf.compat.v1.train.AdamOptimizer(),
        epsilon=EPSILON,
        emit_policy_info=("predicted_rewards_mean", "bandit_policy_type", "log_probability"),
    )


def record(env, policy):
    """Returns the log of a policy that does not learn, and its trajectories."""
    recorder = LogRecorder(K)
    seen = []
    StepDriver(env, policy, [recorder, seen.append], 20, emit_log_probability=True).run()
    return recorder.log(), seen


def test_what_a_policy_emits_is_in_trajectories_and_logs(tmp_path):
    env = items()
    emitting = lin_ucb(env, *PREDICTED).collect_policy
    log, seen = record(env, as_policy(emitting, B, seed=1))
    last = seen[-1]
    told = last.policy_info
    step = ts.restart(tf.nest.map_structure(tf.constant, last.observation), batch_size=B)
    expected = emitting.action(step).info
    for name in (*PREDICTED, "chosen_arm_features"):
        np.testing.assert_allclose(getattr(told, name), getattr(expected, name), rtol=1e-4)
        np.testing.assert_array_equal(log.info[name][-B:], getattr(told, name))
    assert len(log.info) == 3
    np.testing.assert_array_equal(told.predicted_rewards_optimistic.argmax(axis=1), last.action)
    assert (told.log_probability == 0.0).all()
    write_log(tmp_path / "log.npz", log)
    assert read_log(tmp_path / "log.npz") == log


@pytest.mark.slow
def test_features_of_items_alone_are_not_told():
    env = items()
    log, seen = record(env, as_policy(lin_ucb(env).collect_policy, B))
    assert log.info is None
    assert seen[-1].policy_info._fields == ("log_probability",)


def test_sampled_rewards_are_those_of_the_draw_that_chose_the_action():
    env = items()
    agent = linear_thompson_sampling_agent.LinearThompsonSamplingAgent(
        *tensor_specs(env),
        accepts_per_arm_features=True,
        emit_policy_info=("predicted_rewards_sampled",),
    )
    seen = []
    StepDriver(env, as_policy(agent.collect_policy, B, seed=1), [seen.append], 2).run()
    for trajectory in seen:
        sampled = trajectory.policy_info.predicted_rewards_sampled
        np.testing.assert_array_equal(sampled.argmax(axis=1), trajectory.action)


def test_a_policy_that_explores_says_where_and_predicts_rewards_there_too():
    env = contexts()
    exploring = explorer(env).collect_policy
    policy = as_policy(exploring, B, seed=1)
    first = env.reset()
    assert (
        policy.replicate(B).action(first) == policy.replicate(B).policy_step(first).action
    ).all()

    log, seen = record(env, policy)
    predicted = log.info["predicted_rewards_mean"]
    greedy = exploring.wrapped_policy.distribution(
        ts.restart(tf.constant(seen[-1].observation), batch_size=B)
    )
    np.testing.assert_allclose(predicted[-B:], greedy.info.predicted_rewards_mean, rtol=1e-4)
    kind = log.info["bandit_policy_type"][:, 0]
    has_explored = kind == BanditPolicyType.UNIFORM
    assert (kind[~has_explored] == BanditPolicyType.GREEDY).all()
    assert is_near(has_explored, EPSILON)
    is_best = predicted.argmax(axis=1) == log.action
    assert is_best[~has_explored].all()
    assert is_near(is_best[has_explored], 1 / K)

    now = env.current_time_step()
    scores = policy.scores(now)
    np.testing.assert_array_equal(policy.scores(now), scores)
    np.testing.assert_array_equal(policy.describe(1, now).scores, scores[1])


def linear(env):
    return lin_ucb_agent.LinearUCBAgent(
        *tensor_specs(env), emit_log_probability=True, emit_policy_info=PREDICTED
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "expected"), [(linear, {*PREDICTED}), (explorer, {"bandit_policy_type"})]
)
def test_logs_of_drivers_of_tf_agents_have_what_is_emitted_except_for_noise(make, expected):
    env = contexts()
    policy = make(env).collect_policy
    recorder = LogRecorder(K)
    place = tf_py_environment.TFPyEnvironment(as_tf_agents(env))
    observers = [log_observer(recorder, policy)]
    dynamic_step_driver.DynamicStepDriver(place, policy, observers, num_steps=B).run()
    assert recorder.log().info.keys() == expected
