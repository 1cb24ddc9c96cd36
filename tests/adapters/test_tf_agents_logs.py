"""Logs of TF-Agents' drivers, and its policies on logs."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.bandits.agents import (
    bernoulli_thompson_sampling_agent,
    dropout_thompson_sampling_agent,
    greedy_reward_prediction_agent,
    lin_ucb_agent,
    linear_thompson_sampling_agent,
    neural_boltzmann_agent,
)
from tf_agents.bandits.policies import categorical_policy
from tf_agents.drivers import dynamic_step_driver, py_driver
from tf_agents.environments import tf_py_environment
from tf_agents.networks import q_network
from tf_agents.policies import (
    epsilon_greedy_policy,
    py_tf_eager_policy,
    random_tf_policy,
    tf_policy,
)
from tf_agents.policies.utils import PolicyInfo
from tf_agents.trajectories import policy_step
from tf_agents.utils import common

from bandit_envs import EpsilonGreedyPolicy, KArmedTestbed
from bandit_envs.adapters.tf_agents import (
    as_policy,
    as_tf_agents,
    as_tf_policy,
    log_observer,
    tensor_specs,
)
from bandit_envs.environments import logistic_context
from bandit_envs.logged import BanditLog, InversePropensityScoring, LogRecorder, probabilities_of
from bandit_envs.wrappers import RandomActionMask
from tests.adapters.agents import context_and_mask
from tests.statistical import is_near

K, B = 3, 4


def small_env(horizon=None):
    return as_tf_agents(KArmedTestbed(K, batch_size=B, seed=0, horizon=horizon))


def specs(env):
    return env.time_step_spec(), env.action_spec()


def categorical(env, logits=(0.0, 1.0, 2.0)):
    return categorical_policy.CategoricalPolicy(tf.Variable(logits), *specs(env))


def drawn(size, seed=0):
    """A log of three actions and five features, chosen with unequal probabilities."""
    rng, chances = np.random.default_rng(seed), np.array([0.5, 0.3, 0.2])
    action = rng.choice(K, size, p=chances)
    context = rng.normal(size=(size, 5)).astype(np.float32)
    return BanditLog(context, action, rng.normal(size=size), chances[action], K)


def trained(agent_class, size=60, **options):
    """An agent's policy that has learned from a log."""
    env = tf_py_environment.TFPyEnvironment(as_tf_agents(logistic_context(K, 5, size, seed=0)))
    agent = agent_class(*specs(env), **options)
    time_step = env.reset()
    action = tf.constant(np.arange(size) % K, tf.int32)
    experience = agent.policy.trajectory_spec  # for its structure
    reward = env.step(action).reward
    fields = {
        "step_type": time_step.step_type,
        "observation": time_step.observation,
        "action": action,
        "policy_info": tf.nest.map_structure(
            lambda spec: tf.zeros([size, *spec.shape], spec.dtype), experience.policy_info
        ),
        "next_step_type": time_step.step_type,
        "reward": reward,
        "discount": time_step.discount,
    }
    batch = tf.nest.map_structure(lambda leaf: leaf[:, tf.newaxis], type(experience)(**fields))
    agent.train(batch)
    return agent


@pytest.mark.parametrize("in_graph", [False, True], ids=["eager", "graph"])
def test_a_driver_is_recorded(in_graph):
    environment = tf_py_environment.TFPyEnvironment(small_env())
    policy, recorder, seen = categorical(environment), LogRecorder(K), []
    time_step = environment.reset()
    keep = [log_observer(recorder, policy)]
    if not in_graph:
        keep.append(seen.append)
    driver = dynamic_step_driver.DynamicStepDriver(environment, policy, keep, num_steps=5 * B)
    run = common.function(driver.run) if in_graph else driver.run
    run(time_step)  # else TF-Agents' graph sometimes asks for it while the environment steps
    log = recorder.log()
    assert len(log) == 5 * B
    if not in_graph:
        assert log.action.tolist() == [int(a) for step in seen for a in step.action]
        assert log.reward.tolist() == [float(r) for step in seen for r in step.reward]
    expected = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum()
    np.testing.assert_allclose(log.propensity, expected[log.action], rtol=1e-6)
    table = probabilities_of(as_policy(policy, B), log)
    np.testing.assert_allclose(table, np.tile(expected, (len(log), 1)), rtol=1e-6)


def test_a_python_driver_is_recorded_without_the_steps_that_start_episodes():
    env, recorder = small_env(horizon=3), LogRecorder(K)
    policy = random_tf_policy.RandomTFPolicy(
        *specs(tf_py_environment.TFPyEnvironment(env)), emit_log_probability=True
    )
    observer, seen = log_observer(recorder, policy), []
    driver = py_driver.PyDriver(
        env, py_tf_eager_policy.PyTFEagerPolicy(policy), [observer, seen.append], max_steps=8 * B
    )
    driver.run(env.reset())
    real = [step for step in seen if not step.is_boundary().all()]
    assert len(real) < len(seen)
    log = recorder.log()
    assert log.reward.tolist() == np.concatenate([step.reward for step in real]).tolist()
    np.testing.assert_allclose(log.propensity, 1 / K, rtol=1e-6)


def test_epsilon_greedy_is_recorded_with_the_probability_of_its_action():
    agent = trained(lin_ucb_agent.LinearUCBAgent, emit_log_probability=True)
    policy = epsilon_greedy_policy.EpsilonGreedyPolicy(agent.policy, epsilon=0.3)
    size = 2000
    env = as_tf_agents(logistic_context(K, 5, size, seed=1))
    environment, recorder = tf_py_environment.TFPyEnvironment(env), LogRecorder(K)
    observer = log_observer(recorder, policy)
    dynamic_step_driver.DynamicStepDriver(environment, policy, [observer], num_steps=size).run()
    log = recorder.log()
    assert set(log.propensity.round(6)) == {0.1, 0.8}
    assert is_near(log.propensity > 0.5, 0.8)
    uniform = np.full((size, K), 1 / K)
    assert is_near(uniform[:, 0] / log.propensity, 1.0)
    table = probabilities_of(as_policy(policy), log)
    estimate = InversePropensityScoring().estimate(log, table)
    assert estimate.max_weight == pytest.approx(1.0, abs=1e-6)


TOLD = ("log_probability",)
OPTIMIZER = tf.compat.v1.train.AdamOptimizer(0.1)


def bernoulli_thompson_sampling(time_step_spec, action_spec):
    return bernoulli_thompson_sampling_agent.BernoulliThompsonSamplingAgent(
        time_step_spec, action_spec, emit_policy_info=TOLD
    )


def dropout_thompson_sampling(time_step_spec, action_spec):
    return dropout_thompson_sampling_agent.DropoutThompsonSamplingAgent(
        time_step_spec,
        action_spec,
        optimizer=OPTIMIZER,
        dropout_rate=0.3,
        network_layers=(8,),
        emit_policy_info=TOLD,
    )


def reward_predicting(agent_class, time_step_spec, action_spec, **options):
    network = q_network.QNetwork(time_step_spec.observation, action_spec, fc_layer_params=(4,))
    return agent_class(
        time_step_spec,
        action_spec,
        reward_network=network,
        optimizer=OPTIMIZER,
        emit_policy_info=TOLD,
        **options,
    )


def boltzmann(time_step_spec, action_spec):
    agent_class = neural_boltzmann_agent.NeuralBoltzmannAgent
    return reward_predicting(agent_class, time_step_spec, action_spec)


def boltzmann_gumbel(time_step_spec, action_spec):
    return reward_predicting(
        neural_boltzmann_agent.NeuralBoltzmannAgent,
        time_step_spec,
        action_spec,
        boltzmann_gumbel_exploration_constant=1.0,
        num_samples_list=[tf.Variable(1, dtype=tf.int64) for _ in range(K)],
    )


def greedy(time_step_spec, action_spec):
    agent_class = greedy_reward_prediction_agent.GreedyRewardPredictionAgent
    return reward_predicting(agent_class, time_step_spec, action_spec)


@pytest.mark.parametrize(
    "make", [bernoulli_thompson_sampling, dropout_thompson_sampling, boltzmann_gumbel]
)
def test_a_policy_that_draws_a_model_is_not_recorded(make):
    policy = make(*tensor_specs(KArmedTestbed(K, batch_size=B))).collect_policy
    with pytest.raises(ValueError, match="draws a model"):
        log_observer(LogRecorder(K), policy)


def test_a_mixture_of_exploring_and_drawing_a_model_is_not_recorded():
    agent = trained(linear_thompson_sampling_agent.LinearThompsonSamplingAgent)
    policy = epsilon_greedy_policy.EpsilonGreedyPolicy(agent.policy, epsilon=0.5)
    with pytest.raises(ValueError, match="draws a model"):
        log_observer(LogRecorder(K), policy)


@pytest.mark.parametrize("make", [boltzmann, greedy])
def test_a_policy_that_draws_only_its_action_is_recorded_with_its_probability(make):
    environment = tf_py_environment.TFPyEnvironment(small_env())
    policy, recorder = make(*specs(environment)).collect_policy, LogRecorder(K)
    observer = log_observer(recorder, policy)
    dynamic_step_driver.DynamicStepDriver(environment, policy, [observer], num_steps=20 * B).run()
    log = recorder.log()
    table = probabilities_of(as_policy(policy, B), log)
    np.testing.assert_allclose(log.propensity, table[np.arange(len(log)), log.action], rtol=1e-5)


def test_a_random_policy_is_recorded_with_masks_too():
    env = RandomActionMask(KArmedTestbed(K, batch_size=B, seed=0), 0.5)
    environment, recorder = tf_py_environment.TFPyEnvironment(as_tf_agents(env)), LogRecorder(K)
    policy = random_tf_policy.RandomTFPolicy(
        *specs(environment),
        emit_log_probability=True,
        observation_and_action_constraint_splitter=context_and_mask,
    )
    observer = log_observer(recorder, policy)
    dynamic_step_driver.DynamicStepDriver(environment, policy, [observer], num_steps=20 * B).run()
    log = recorder.log()
    np.testing.assert_allclose(log.propensity, 1 / log.observation["mask"].sum(axis=1), rtol=1e-6)


class ThompsonWithoutDistribution(tf_policy.TFPolicy):
    """A user's policy that draws values, and tells the probability given the values."""

    def _action(self, time_step, policy_state, seed):
        values = tf.random.normal([tf.shape(time_step.step_type)[0], K])
        action = tf.argmax(values, axis=1, output_type=tf.int32)
        told = tf.math.log(tf.gather(tf.nn.softmax(100.0 * values), action, batch_dims=1))
        return policy_step.PolicyStep(action, (), PolicyInfo(log_probability=told))

    def _distribution(self, time_step, policy_state):
        raise NotImplementedError


def test_a_users_policy_that_draws_a_model_is_not_recorded():
    policy = ThompsonWithoutDistribution(
        *tensor_specs(KArmedTestbed(K)), info_spec=PolicyInfo(), emit_log_probability=True
    )
    with pytest.raises(ValueError, match="draws a model"):
        log_observer(LogRecorder(K), policy)


def test_a_sampling_policy_is_estimated_from_samples():
    policy = trained(linear_thompson_sampling_agent.LinearThompsonSamplingAgent).policy
    table = probabilities_of(as_policy(policy), drawn(50), samples=30)
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert ((table > 0.05) & (table < 0.95)).any()


def test_a_policy_without_log_probabilities_is_refused_at_once():
    policy = random_tf_policy.RandomTFPolicy(*specs(tf_py_environment.TFPyEnvironment(small_env())))
    with pytest.raises(ValueError, match="tells no probabilities"):
        log_observer(LogRecorder(K), policy)


def test_a_policy_of_this_package_is_recorded_in_a_driver_of_tf_agents_as_a_tf_policy():
    env = RandomActionMask(KArmedTestbed(K, batch_size=B, seed=0), 0.5)
    ours = EpsilonGreedyPolicy(0.3, num_actions=K, batch_size=B, seed=1)
    with pytest.raises(TypeError, match=r"policy is .*; expected a TFPolicy"):
        log_observer(LogRecorder(K), ours)
    environment, recorder = tf_py_environment.TFPyEnvironment(as_tf_agents(env)), LogRecorder(K)
    policy = as_tf_policy(ours, *specs(environment), emit_log_probability=True)
    observer = log_observer(recorder, policy)
    dynamic_step_driver.DynamicStepDriver(environment, policy, [observer], num_steps=20 * B).run()
    log = recorder.log()
    assert log.observation["mask"].dtype == np.bool_
    assert log.observation["mask"][np.arange(len(log)), log.action].all()
    table = probabilities_of(ours, log)
    np.testing.assert_allclose(log.propensity, table[np.arange(len(log)), log.action], rtol=1e-6)


def test_a_greedy_policy_of_tf_agents_is_estimated_from_a_log():
    policy, log = trained(lin_ucb_agent.LinearUCBAgent).policy, drawn(5000)
    table = probabilities_of(as_policy(policy), log)
    assert set(np.unique(table)) == {0.0, 1.0}
    few = probabilities_of(as_policy(policy), log[:7])
    assert np.array_equal(few, table[:7])
    with pytest.raises(ValueError, match="actions"):
        probabilities_of(
            as_policy(policy), BanditLog(np.ones((2, 5)), [0, 1], [0.0, 1.0], [0.5, 0.5])
        )
