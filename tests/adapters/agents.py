"""Agents of TF-Agents as policies, made as users make them for studies."""

import tensorflow as tf
from tf_agents.bandits.agents import (
    exp3_agent,
    lin_ucb_agent,
    linear_thompson_sampling_agent,
    neural_epsilon_greedy_agent,
    neural_linucb_agent,
    ranking_agent,
)
from tf_agents.bandits.networks import global_and_arm_feature_network
from tf_agents.networks import q_network

from bandit_envs.adapters.tf_agents import as_policy, tensor_specs


def linear_ucb(env, seed, alpha=1.0):
    agent = lin_ucb_agent.LinearUCBAgent(
        *tensor_specs(env), alpha=alpha, accepts_per_arm_features=True
    )
    return as_policy(agent, env.batch_size, seed)


def linear_thompson(env, seed):
    agent = linear_thompson_sampling_agent.LinearThompsonSamplingAgent(
        *tensor_specs(env), accepts_per_arm_features=True
    )
    return as_policy(agent, env.batch_size, seed)


def network(time_step_spec, **options):
    """A network of users and items, which starts from the same weights each time."""
    tf.random.set_seed(0)
    return global_and_arm_feature_network.create_feed_forward_common_tower_network(
        time_step_spec.observation, (5,), (5,), (5,), **options
    )


def neural_epsilon_greedy(env, seed):
    time_step_spec, action_spec = tensor_specs(env)
    agent = neural_epsilon_greedy_agent.NeuralEpsilonGreedyAgent(
        time_step_spec,
        action_spec,
        reward_network=network(time_step_spec),
        optimizer=tf.compat.v1.train.AdamOptimizer(0.05),
        epsilon=0.2,
        accepts_per_arm_features=True,
    )
    return as_policy(agent, env.batch_size, seed)


def neural_linear_ucb(env, seed):
    time_step_spec, action_spec = tensor_specs(env)
    agent = neural_linucb_agent.NeuralLinUCBAgent(
        time_step_spec,
        action_spec,
        encoding_network=network(time_step_spec, output_dim=4),
        encoding_network_num_train_steps=10,
        encoding_dim=4,
        optimizer=tf.keras.optimizers.Adam(0.05),
        accepts_per_arm_features=True,
    )
    return as_policy(agent, env.batch_size, seed)


def ranking(env, seed):
    time_step_spec, action_spec = tensor_specs(env)
    agent = ranking_agent.RankingAgent(
        time_step_spec,
        action_spec,
        scoring_network=network(time_step_spec),
        optimizer=tf.compat.v1.train.AdamOptimizer(0.05),
        policy_type=ranking_agent.RankingPolicyType.NO_PENALTY,
        feedback_model=ranking_agent.FeedbackModel.SCORE_VECTOR,
    )
    return as_policy(agent, env.batch_size, seed)


def exp3(env, seed):
    agent = exp3_agent.Exp3Agent(*tensor_specs(env), learning_rate=0.1)
    return as_policy(agent, env.batch_size, seed)


def neural_with_masks(env, seed):
    """An agent without features of actions, for observations with masks or without."""
    time_step_spec, action_spec = tensor_specs(env)
    spec = time_step_spec.observation
    has_mask = isinstance(spec, dict) and "mask" in spec
    tf.random.set_seed(0)
    agent = neural_epsilon_greedy_agent.NeuralEpsilonGreedyAgent(
        time_step_spec,
        action_spec,
        reward_network=q_network.QNetwork(
            spec["observation"] if has_mask else spec, action_spec, fc_layer_params=(4,)
        ),
        optimizer=tf.compat.v1.train.AdamOptimizer(0.05),
        epsilon=0.2,
        observation_and_action_constraint_splitter=_split if has_mask else None,
    )
    return as_policy(agent, env.batch_size, seed)


def _split(observation):
    return observation["observation"], observation["mask"]
