"""The neural policies of the Deep Bayesian Bandits Showdown, with the settings of its code.

Each function stands in a study where a policy's id does:
`bandit_envs.adapters.torch.showdown:neural_linear`. The network has one hidden layer of 50
rectified linear units. After every 50 steps, RMSProp takes 100 steps with minibatches of 512 rows,
whose learning rates fall from 0.1. Each action is chosen twice at first.

Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018), and its code in the
repository tensorflow/models.
"""

from __future__ import annotations

from typing import Any

from bandit_envs.adapters.torch import presets
from bandit_envs.adapters.torch.dropout import Dropout
from bandit_envs.adapters.torch.ensemble import Ensemble
from bandit_envs.adapters.torch.gradient_network import GradientNetwork
from bandit_envs.adapters.torch.network import Network
from bandit_envs.adapters.torch.neural_linear import NeuralLinear
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.rules import Rule
from bandit_envs.seeding import Seed

SETTINGS: dict[str, Any] = {
    "width": 50,
    "depth": 1,
    "learning_rate": 0.1,
    "learning_rate_decay": 0.5,
    "max_gradient_norm": 5.0,
    "minibatch_size": 512,
    "train_every": 50,
    "train_steps": 100,
}
"""The parameters that all models share."""


def neural_linear(env: PyEnvironment, seed: Seed) -> ContextualPolicy:
    """Returns a policy that draws linear models of the last hidden layer."""
    return _policy(NeuralLinear(**SETTINGS), presets.first_draws(), env, seed)


def neural_greedy(env: PyEnvironment, seed: Seed) -> ContextualPolicy:
    """Returns a policy that chooses what the network predicts best, there called RMS."""
    return _policy(Network(**SETTINGS), presets.first_greedy(0.0), env, seed)


def neural_epsilon_greedy(env: PyEnvironment, seed: Seed) -> ContextualPolicy:
    """Returns a policy that chooses any action with probability 0.05; the paper has none."""
    return _policy(Network(**SETTINGS), presets.first_greedy(0.05), env, seed)


def bootstrap(env: PyEnvironment, seed: Seed) -> ContextualPolicy:
    """Returns a policy that draws one of three networks, there called BootRMS."""
    model = Ensemble(num_networks=3, row_probability=0.95, **SETTINGS)
    return _policy(model, presets.first_draws(), env, seed)


def dropout(env: PyEnvironment, seed: Seed) -> ContextualPolicy:
    """Returns a policy that drops a fifth of the hidden units, also when it chooses."""
    return _policy(Dropout(dropout=0.2, **SETTINGS), presets.first_draws(), env, seed)


def neural_ucb(env: PyEnvironment, seed: Seed) -> ContextualPolicy:
    """Returns NeuralUCB with this network and training; the paper does not have it."""
    return _policy(GradientNetwork(**SETTINGS), presets.first_upper_bound(), env, seed)


def _policy(model: Network, rule: Rule, env: PyEnvironment, seed: Seed) -> ContextualPolicy:
    """Returns a policy of the two parts for an environment."""
    return ContextualPolicy(model, rule, **ContextualPolicy.arguments_for(env), seed=seed)
