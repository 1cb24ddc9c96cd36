"""Agents of TF-Agents as policies, beside those of the examples."""

import tensorflow as tf
from tf_agents.bandits.agents import exp3_agent, neural_epsilon_greedy_agent
from tf_agents.networks import q_network

from bandit_envs.adapters.tf_agents import as_policy, tensor_specs


def with_a_shared_agent(make_policy):
    """Returns a function that makes policies of an agent for each kind of environment.

    They do not disturb each other, and compile the agent, which takes seconds, once.

    Args:
        make_policy: takes an environment and a seed, and makes a policy of a new agent.
    """
    known = []

    def make(env, seed):
        specs = tensor_specs(env)
        found = [policy for other, policy in known if other == specs]
        if not found:
            found.append(make_policy(env, seed))
            known.append((specs, found[0]))
        return type(found[0])(found[0]._model, env.batch_size, seed)

    return make


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
        observation_and_action_constraint_splitter=context_and_mask if has_mask else None,
    )
    return as_policy(agent, env.batch_size, seed)


def context_and_mask(observation):
    """The context and the mask, of specs too."""
    return observation["observation"], observation["mask"]
