"""All agents of bandits that TF-Agents has, each with an environment in which it learns."""

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.bandits.agents.bernoulli_thompson_sampling_agent import (
    BernoulliThompsonSamplingAgent,
)
from tf_agents.bandits.agents.dropout_thompson_sampling_agent import DropoutThompsonSamplingAgent
from tf_agents.bandits.agents.exp3_agent import Exp3Agent
from tf_agents.bandits.agents.exp3_mixture_agent import Exp3MixtureAgent
from tf_agents.bandits.agents.greedy_multi_objective_neural_agent import (
    GreedyMultiObjectiveNeuralAgent,
)
from tf_agents.bandits.agents.greedy_reward_prediction_agent import GreedyRewardPredictionAgent
from tf_agents.bandits.agents.lin_ucb_agent import LinearUCBAgent
from tf_agents.bandits.agents.linear_thompson_sampling_agent import LinearThompsonSamplingAgent
from tf_agents.bandits.agents.neural_boltzmann_agent import NeuralBoltzmannAgent
from tf_agents.bandits.agents.neural_epsilon_greedy_agent import NeuralEpsilonGreedyAgent
from tf_agents.bandits.agents.neural_falcon_agent import NeuralFalconAgent
from tf_agents.bandits.agents.neural_linucb_agent import NeuralLinUCBAgent
from tf_agents.bandits.agents.ranking_agent import FeedbackModel, RankingAgent, RankingPolicyType
from tf_agents.bandits.agents.static_mixture_agent import StaticMixtureAgent
from tf_agents.bandits.multi_objective import multi_objective_scalarizer
from tf_agents.bandits.networks import global_and_arm_feature_network
from tf_agents.bandits.policies import constraints
from tf_agents.networks import encoding_network, q_network

from bandit_envs import ArraySpec, BanditPyEnvironment
from bandit_envs.environments import logistic_context, per_arm
from bandit_envs.environments.slates.ranking import ranking
from tests.adapters.examples import TwoRewards

LAYERS = (4,)


def contexts(batch_size, seed):
    return logistic_context(4, 3, batch_size, seed=seed)


def items(batch_size, seed):
    return per_arm(global_dim=2, arm_dim=3, max_num_actions=4, batch_size=batch_size, seed=seed)


def slates(batch_size, seed):
    return ranking(num_items=6, num_slots=3, dim=2, batch_size=batch_size, seed=seed)


class Constrained(BanditPyEnvironment):
    """Pays a reward, and tells what a constraint is about."""

    def __init__(self, **keywords):
        constraint = ArraySpec((1,), np.float32)
        spec = {"constraint": constraint, "reward": ArraySpec((), np.float32)}
        super().__init__(num_actions=4, reward_spec=spec, **keywords)

    def _initial_state(self, rng):
        return np.zeros(self.batch_size)

    def _draw_rewards(self, rng, state, action):
        paid = action.astype(np.float32)
        return {"constraint": -paid[:, np.newaxis], "reward": paid}


def constrained(batch_size, seed):
    return Constrained(batch_size=batch_size, seed=seed)


def two_rewards(batch_size, seed):
    return TwoRewards(batch_size=batch_size, seed=seed)


def adam():
    return tf.compat.v1.train.AdamOptimizer(0.05)


def network_of_contexts(specs):
    return q_network.QNetwork(specs[0].observation, specs[1], fc_layer_params=LAYERS)


def network_of_items(specs, output_dim=1):
    return global_and_arm_feature_network.create_feed_forward_common_tower_network(
        specs[0].observation, LAYERS, LAYERS, LAYERS, output_dim=output_dim
    )


def linear_ucb(specs):
    return LinearUCBAgent(*specs)


def linear_ucb_of_items(specs):
    return LinearUCBAgent(*specs, accepts_per_arm_features=True)


def linear_thompson_sampling(specs):
    return LinearThompsonSamplingAgent(*specs)


def linear_thompson_sampling_of_items(specs):
    return LinearThompsonSamplingAgent(*specs, accepts_per_arm_features=True)


def neural_linucb(specs):
    network = encoding_network.EncodingNetwork(specs[0].observation, fc_layer_params=LAYERS)
    return NeuralLinUCBAgent(*specs, network, **neural_linucb_options())


def neural_linucb_of_items(specs):
    network = network_of_items(specs, output_dim=LAYERS[-1])
    options = neural_linucb_options()
    return NeuralLinUCBAgent(*specs, network, accepts_per_arm_features=True, **options)


def neural_linucb_options():
    return {
        "encoding_network_num_train_steps": 2,
        "encoding_dim": LAYERS[-1],
        "optimizer": adam(),
        "epsilon_greedy": 0.1,
        "dtype": tf.float32,
    }


def epsilon_greedy(specs):
    return NeuralEpsilonGreedyAgent(*specs, network_of_contexts(specs), adam(), epsilon=0.2)


def epsilon_greedy_of_items(specs):
    network = network_of_items(specs)
    options = {"epsilon": 0.2, "accepts_per_arm_features": True}
    return NeuralEpsilonGreedyAgent(*specs, network, adam(), **options)


def boltzmann(specs):
    return NeuralBoltzmannAgent(*specs, network_of_contexts(specs), adam(), temperature=0.5)


def boltzmann_of_items(specs):
    network = network_of_items(specs)
    options = {"temperature": 0.5, "accepts_per_arm_features": True}
    return NeuralBoltzmannAgent(*specs, network, adam(), **options)


def counts(specs):
    return [tf.Variable(0, dtype=tf.int64) for _ in range(int(specs[1].maximum) + 1)]


def boltzmann_gumbel(specs):
    return NeuralBoltzmannAgent(
        *specs,
        network_of_contexts(specs),
        adam(),
        boltzmann_gumbel_exploration_constant=0.5,
        num_samples_list=counts(specs),
    )


def falcon(specs):
    return NeuralFalconAgent(*specs, network_of_contexts(specs), adam(), counts(specs))


def greedy(specs):
    return GreedyRewardPredictionAgent(*specs, network_of_contexts(specs), adam())


def constraint(specs):
    network = network_of_contexts(specs)
    return constraints.AbsoluteConstraint(*specs, network, absolute_value=-100.0)


def greedy_with_constraint(specs):
    network = network_of_contexts(specs)
    return GreedyRewardPredictionAgent(*specs, network, adam(), constraints=[constraint(specs)])


def epsilon_greedy_with_constraint(specs):
    network = network_of_contexts(specs)
    options = {"epsilon": 0.2, "constraints": [constraint(specs)]}
    return NeuralEpsilonGreedyAgent(*specs, network, adam(), **options)


def dropout_thompson_sampling(specs):
    return DropoutThompsonSamplingAgent(
        *specs, adam(), dropout_rate=0.3, network_layers=LAYERS, dropout_only_top_layer=False
    )


def bernoulli_thompson_sampling(specs):
    return BernoulliThompsonSamplingAgent(*specs)


def exp3(specs):
    return Exp3Agent(*specs, learning_rate=0.1)


def ranking_agent(specs, policy_type):
    return RankingAgent(
        *specs,
        scoring_network=network_of_items(specs),
        optimizer=adam(),
        policy_type=policy_type,
        feedback_model=FeedbackModel.SCORE_VECTOR,
        logits_temperature=0.1,
    )


def ranking_without_penalty(specs):
    return ranking_agent(specs, RankingPolicyType.NO_PENALTY)


def ranking_by_distance(specs):
    return ranking_agent(specs, RankingPolicyType.COSINE_DISTANCE)


def multi_objective(specs):
    loss = tf.compat.v1.losses.mean_squared_error
    return GreedyMultiObjectiveNeuralAgent(
        *specs,
        scalarizer=multi_objective_scalarizer.LinearScalarizer([1.0, 0.5]),
        objective_network_and_loss_fn_sequence=[
            (network_of_contexts(specs), loss) for _ in range(2)
        ],
        optimizer=adam(),
    )


def static_mixture(specs):
    """A mixture whose probabilities are known."""
    weights = tfp.distributions.Categorical(probs=[0.75, 0.25])
    return StaticMixtureAgent(weights, [linear_ucb(specs), epsilon_greedy(specs)])


def exp3_mixture(specs):
    """A mixture with an agent that draws by itself."""
    return Exp3MixtureAgent([epsilon_greedy(specs), boltzmann_gumbel(specs)])


EVERY_AGENT = {
    linear_ucb: contexts,
    linear_ucb_of_items: items,
    linear_thompson_sampling: contexts,
    linear_thompson_sampling_of_items: items,
    neural_linucb: contexts,
    neural_linucb_of_items: items,
    epsilon_greedy: contexts,
    epsilon_greedy_of_items: items,
    epsilon_greedy_with_constraint: constrained,
    boltzmann: contexts,
    boltzmann_of_items: items,
    boltzmann_gumbel: contexts,
    falcon: contexts,
    greedy: contexts,
    greedy_with_constraint: constrained,
    dropout_thompson_sampling: contexts,
    bernoulli_thompson_sampling: contexts,
    exp3: contexts,
    ranking_without_penalty: slates,
    ranking_by_distance: slates,
    multi_objective: two_rewards,
    static_mixture: contexts,
    exp3_mixture: contexts,
}
"""By what makes an agent of specs: what makes its environment, of a batch size and a seed."""

KNOW_THEIR_PROBABILITIES = {
    linear_ucb,
    linear_ucb_of_items,
    epsilon_greedy,
    epsilon_greedy_of_items,
    boltzmann,
    boltzmann_of_items,
    falcon,
    greedy,
    exp3,
    multi_objective,
    static_mixture,
}
"""Those whose policies tell the probabilities of their actions."""
