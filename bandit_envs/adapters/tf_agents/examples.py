"""Agents of TF-Agents as policies for studies, as `module:function`.

Each function takes an environment, and a seed, from which the first weights of networks are drawn.
"""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from tf_agents.bandits.agents.lin_ucb_agent import LinearUCBAgent
from tf_agents.bandits.agents.linear_thompson_sampling_agent import LinearThompsonSamplingAgent
from tf_agents.bandits.agents.neural_epsilon_greedy_agent import NeuralEpsilonGreedyAgent
from tf_agents.bandits.agents.neural_linucb_agent import NeuralLinUCBAgent
from tf_agents.bandits.agents.ranking_agent import FeedbackModel, RankingAgent, RankingPolicyType
from tf_agents.bandits.networks import global_and_arm_feature_network
from tf_agents.networks import network
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents import as_policy, tensor_specs
from bandit_envs.arrays import Rng
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.policies import Policy
from bandit_envs.seeding import Seed

LAYERS = (32, 16)
"""The widths of the layers of networks."""


def linear_ucb_agent(env: PyEnvironment, seed: Seed, *, alpha: float = 1.0) -> Policy:
    """LinUCB, by TF-Agents' `LinearUCBAgent`."""
    agent = LinearUCBAgent(*tensor_specs(env), alpha=alpha, accepts_per_arm_features=True)
    return as_policy(agent, env.batch_size, seed)


def linear_thompson_sampling_agent(env: PyEnvironment, seed: Seed, alpha: float = 1.0) -> Policy:
    """Linear Thompson sampling, by TF-Agents' `LinearThompsonSamplingAgent`."""
    agent = LinearThompsonSamplingAgent(
        *tensor_specs(env), alpha=alpha, accepts_per_arm_features=True
    )
    return as_policy(agent, env.batch_size, seed)


def neural_epsilon_greedy_agent(
    env: PyEnvironment,
    seed: Seed,
    *,
    epsilon: float = 0.1,
    learning_rate: float = 0.01,
    layers: Sequence[int] = LAYERS,
) -> Policy:
    """ε-greedy on a network's predictions, by TF-Agents' `NeuralEpsilonGreedyAgent`."""
    rng = np.random.default_rng(seed)
    time_step_spec, action_spec = tensor_specs(env)
    agent = NeuralEpsilonGreedyAgent(
        time_step_spec,
        action_spec,
        reward_network=_make_network(rng, time_step_spec, layers),
        optimizer=tf.compat.v1.train.AdamOptimizer(learning_rate),
        epsilon=epsilon,
        accepts_per_arm_features=True,
    )
    return as_policy(agent, env.batch_size, rng)


def neural_lin_ucb_agent(
    env: PyEnvironment,
    seed: Seed,
    *,
    alpha: float = 1.0,
    train_steps: int = 100,
    encoding_dim: int = 16,
    learning_rate: float = 0.01,
    layers: Sequence[int] = LAYERS,
) -> Policy:
    """LinUCB on a network's features, by TF-Agents' `NeuralLinUCBAgent`."""
    rng = np.random.default_rng(seed)
    time_step_spec, action_spec = tensor_specs(env)
    agent = NeuralLinUCBAgent(
        time_step_spec,
        action_spec,
        encoding_network=_make_network(rng, time_step_spec, layers, encoding_dim),
        encoding_network_num_train_steps=train_steps,
        encoding_dim=encoding_dim,
        optimizer=tf.compat.v1.train.AdamOptimizer(learning_rate),
        alpha=alpha,
        epsilon_greedy=0.1,
        accepts_per_arm_features=True,
        dtype=tf.float32,
    )
    return as_policy(agent, env.batch_size, rng)


def ranking_agent(
    env: PyEnvironment,
    seed: Seed,
    *,
    temperature: float = 0.1,
    learning_rate: float = 0.01,
    layers: Sequence[int] = LAYERS,
) -> Policy:
    """Slates drawn by a network's scores, by TF-Agents' `RankingAgent`; rewards are vectors."""
    rng = np.random.default_rng(seed)
    time_step_spec, action_spec = tensor_specs(env)
    agent = RankingAgent(
        time_step_spec,
        action_spec,
        scoring_network=_make_network(rng, time_step_spec, layers),
        optimizer=tf.compat.v1.train.AdamOptimizer(learning_rate),
        policy_type=RankingPolicyType.NO_PENALTY,
        feedback_model=FeedbackModel.SCORE_VECTOR,
        logits_temperature=temperature,
    )
    return as_policy(agent, env.batch_size, rng)


def _make_network(
    rng: Rng, time_step_spec: ts.TimeStep, layers: Sequence[int], output_dim: int = 1
) -> network.Network:
    """Returns a network of users and items: towers, and the same layers on top of both."""
    tf.random.set_seed(int(rng.integers(2**31)))
    widths = tuple(layers)
    return global_and_arm_feature_network.create_feed_forward_common_tower_network(
        time_step_spec.observation, widths, widths, widths, output_dim=output_dim
    )
