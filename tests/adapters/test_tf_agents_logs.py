"""Logs of TF-Agents' drivers, and its policies on logs."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.bandits.agents import lin_ucb_agent, linear_thompson_sampling_agent
from tf_agents.bandits.policies import categorical_policy
from tf_agents.drivers import dynamic_step_driver, py_driver
from tf_agents.environments import tf_py_environment
from tf_agents.policies import epsilon_greedy_policy, py_tf_eager_policy, random_tf_policy

from bandit_envs import KArmedTestbed
from bandit_envs.adapters.tf_agents import as_tf_agents
from bandit_envs.adapters.tf_agents_logs import log_observer, probabilities_of
from bandit_envs.environments.logistic_context import LogisticContextBandit
from bandit_envs.logged import BanditLog, InversePropensityScoring, LogRecorder
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
    env = tf_py_environment.TFPyEnvironment(as_tf_agents(LogisticContextBandit(K, 5, size, seed=0)))
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
    run = tf.function(driver.run) if in_graph else driver.run
    run(time_step)  # else TF-Agents' graph sometimes asks for it while the environment steps
    log = recorder.log()
    assert len(log) == 5 * B
    if not in_graph:
        assert log.action.tolist() == [int(a) for step in seen for a in step.action]
        assert log.reward.tolist() == [float(r) for step in seen for r in step.reward]
    expected = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum()
    np.testing.assert_allclose(log.propensity, expected[log.action], rtol=1e-6)
    table = probabilities_of(policy, log)
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
    env = as_tf_agents(LogisticContextBandit(K, 5, size, seed=1))
    environment, recorder = tf_py_environment.TFPyEnvironment(env), LogRecorder(K)
    observer = log_observer(recorder, policy)
    dynamic_step_driver.DynamicStepDriver(environment, policy, [observer], num_steps=size).run()
    log = recorder.log()
    assert set(log.propensity.round(6)) == {0.1, 0.8}
    assert is_near(log.propensity > 0.5, 0.8)
    uniform = np.full((size, K), 1 / K)
    assert is_near(uniform[:, 0] / log.propensity, 1.0)
    estimate = InversePropensityScoring().estimate(log, probabilities_of(policy, log))
    assert estimate.max_weight == pytest.approx(1.0, abs=1e-6)


def test_a_sampling_policy_is_refused_by_recorders_and_sampled_once_by_estimates():
    agent = trained(linear_thompson_sampling_agent.LinearThompsonSamplingAgent)
    with pytest.raises(ValueError, match="policy"):
        log_observer(LogRecorder(K), agent.policy)
    log = drawn(50)
    tf.random.set_seed(1)  # which must not make all samples alike
    samples = [probabilities_of(agent.policy, log) for _ in range(30)]
    assert set(np.unique(samples)) == {0.0, 1.0}
    many = np.mean(samples, axis=0)
    np.testing.assert_allclose(many.sum(axis=1), 1.0)
    assert ((many > 0.05) & (many < 0.95)).any()


def test_a_policy_without_log_probabilities_is_refused_at_once():
    policy = random_tf_policy.RandomTFPolicy(*specs(tf_py_environment.TFPyEnvironment(small_env())))
    with pytest.raises(ValueError, match="policy"):
        log_observer(LogRecorder(K), policy)


def test_a_greedy_policy_of_tf_agents_is_estimated_from_a_log():
    policy, log = trained(lin_ucb_agent.LinearUCBAgent).policy, drawn(5000)
    table = probabilities_of(policy, log)
    assert set(np.unique(table)) == {0.0, 1.0}
    few = probabilities_of(policy, log[:7])
    assert np.array_equal(few, table[:7])
    with pytest.raises(ValueError, match="actions"):
        probabilities_of(policy, BanditLog(np.ones((2, 5)), [0, 1], [0.0, 1.0], [0.5, 0.5]))
