"""What TF-Agents' tutorials on bandits call, with the import of the environment changed."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.bandits.agents import lin_ucb_agent, ranking_agent
from tf_agents.bandits.metrics import tf_metrics as bandit_metrics
from tf_agents.bandits.networks import global_and_arm_feature_network
from tf_agents.bandits.policies import ranking_policy
from tf_agents.bandits.replay_buffers import bandit_replay_buffer
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.metrics import tf_metrics
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.specs import bandit_spec_utils, tensor_spec
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters import tf_agents as adapter

GLOBAL = bandit_spec_utils.GLOBAL_FEATURE_KEY
PER_ARM = bandit_spec_utils.PER_ARM_FEATURE_KEY


def train(environment, agent, regret, num_iterations):
    """Trains as the tutorials do; returns the regret of each iteration."""
    buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(
        data_spec=agent.policy.trajectory_spec, batch_size=environment.batch_size, max_length=1
    )
    driver = dynamic_step_driver.DynamicStepDriver(
        env=environment,
        policy=agent.collect_policy,
        num_steps=environment.batch_size,
        observers=[buffer.add_batch, regret],
    )
    found = []
    for _ in range(num_iterations):
        driver.run()
        agent.train(buffer.gather_all())
        buffer.clear()
        found.append(regret.result().numpy())
    return np.array(found)


def test_the_tutorial_on_bandits():
    rng = np.random.default_rng(0)
    parameters = np.array([[-3, 0, 1, -2], [1, -2, 3, 0], [0, 0, 1, 1]], np.float32)
    functions = [lambda x, p=p: rng.normal(x @ p, 1.0) for p in parameters]
    environment = tf_py_environment.TFPyEnvironment(
        adapter.StationaryStochasticPyEnvironment(
            lambda: rng.integers(-10, 10, (2, 4)).astype(np.float32), functions, batch_size=2
        )
    )
    agent = lin_ucb_agent.LinearUCBAgent(
        time_step_spec=ts.time_step_spec(tensor_spec.TensorSpec([4], tf.float32)),
        action_spec=tensor_spec.BoundedTensorSpec((), tf.int32, 0, 2),
    )
    regret = bandit_metrics.RegretMetric(
        lambda observation: tf.reduce_max(observation @ parameters.T, axis=1)
    )
    regrets = train(environment, agent, regret, 60)
    assert regrets[-20:].mean() < 0.2 * regrets[:5].mean() + 1.0


def test_the_tutorial_on_arms_with_features():
    rng = np.random.default_rng(0)
    parameters = rng.integers(-10, 10, 9).astype(np.float32)
    environment = tf_py_environment.TFPyEnvironment(
        adapter.StationaryStochasticPerArmPyEnvironment(
            lambda: rng.integers(-10, 10, 4).astype(np.float32),
            lambda: rng.integers(-6, 6, 5).astype(np.float32),
            7,
            lambda x: rng.normal(x @ parameters, 10.0),
            batch_size=20,
        )
    )
    agent = lin_ucb_agent.LinearUCBAgent(
        time_step_spec=ts.time_step_spec(environment.observation_spec()),
        action_spec=tensor_spec.BoundedTensorSpec((), tf.int32, 0, 6),
        accepts_per_arm_features=True,
    )
    assert agent.training_data_spec.policy_info.chosen_arm_features.shape == (5,)

    def optimal_reward(observation):
        of_user = tf.linalg.matvec(observation[GLOBAL], parameters[:4])
        of_arms = tf.linalg.matvec(observation[PER_ARM], parameters[4:])
        return of_user + tf.reduce_max(of_arms, axis=1)

    regrets = train(environment, agent, bandit_metrics.RegretMetric(optimal_reward), 30)
    assert regrets[-10:].mean() < 0.3 * regrets[:2].mean() + 10.0


@pytest.mark.slow
@pytest.mark.parametrize("feedback", ["CASCADING", "SCORE_VECTOR"])
@pytest.mark.parametrize("click", ["GHOST_ACTIONS", "DISTANCE_BASED"])
def test_the_tutorial_on_ranking(feedback, click):
    rng = np.random.default_rng(0)
    num_slots = 3
    environment = tf_py_environment.TFPyEnvironment(
        adapter.RankingPyEnvironment(
            lambda: rng.integers(-1, 1, 9).astype(np.float32),
            lambda: rng.integers(-2, 3, 11).astype(np.float32),
            num_items=20,
            num_slots=num_slots,
            scores_weight_matrix=np.eye(11, 9, dtype=np.float32),
            feedback_model=getattr(adapter.FeedbackModel, feedback),
            click_model=getattr(adapter.ClickModel, click),
            distance_threshold=5.0,
            batch_size=16,
        )
    )
    network = global_and_arm_feature_network.create_feed_forward_common_tower_network(
        environment.observation_spec(), (20, 10), (20, 10), (20, 10)
    )
    agent = ranking_agent.RankingAgent(
        time_step_spec=environment.time_step_spec(),
        action_spec=environment.action_spec(),
        scoring_network=network,
        optimizer=tf.compat.v1.train.AdamOptimizer(learning_rate=0.005),
        feedback_model=getattr(ranking_agent.FeedbackModel, feedback),
        policy_type=ranking_agent.RankingPolicyType.COSINE_DISTANCE,
        logits_temperature=1.0,
        penalty_mixture_coefficient=1.0,
    )
    assert isinstance(agent.policy, ranking_policy.PenalizeCosineDistanceRankingPolicy)

    def with_chosen_items(trajectory):
        items = trajectory.observation[PER_ARM]
        if isinstance(items, tensor_spec.TensorSpec):
            chosen = tensor_spec.TensorSpec([num_slots, items.shape[-1]], items.dtype)
        else:
            chosen = tf.gather(items, trajectory.action, batch_dims=1)
        observation = {GLOBAL: trajectory.observation[GLOBAL], PER_ARM: chosen}
        return trajectory._replace(observation=observation, action=(), policy_info=())

    buffer = bandit_replay_buffer.BanditReplayBuffer(
        data_spec=with_chosen_items(agent.policy.trajectory_spec), batch_size=16, max_length=2
    )
    if feedback == "SCORE_VECTOR":
        reward = tf_metrics.AverageReturnMetric(batch_size=16, buffer_size=200)
    else:
        reward = tf_metrics.AverageReturnMultiMetric(
            reward_spec=environment.reward_spec(), batch_size=16, buffer_size=200
        )
    driver = dynamic_step_driver.DynamicStepDriver(
        env=environment,
        policy=agent.collect_policy,
        num_steps=2 * 16,
        observers=[lambda trajectory: buffer.add_batch(with_chosen_items(trajectory)), reward],
    )
    for _ in range(3):
        driver.run()
        loss = agent.train(buffer.gather_all()).loss
        buffer.clear()
        assert np.isfinite(loss.numpy())
