"""The neural policies of the Deep Bayesian Bandits Showdown, with the settings of its code.

Each function stands in a study where a policy's id does:
`bandit_envs.adapters.torch_showdown:neural_linear`. The network has one hidden layer of 50
rectified linear units. After every 50 steps, RMSProp takes 100 steps with minibatches of 512 rows,
whose learning rates fall from 0.1. Each action is chosen twice at first.

Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018), and its code in the
repository tensorflow/models.
"""

from __future__ import annotations

from typing import Any

from bandit_envs.adapters.torch import (
    DropoutPolicy,
    EnsemblePolicy,
    NeuralEpsilonGreedyPolicy,
    NeuralLinearPolicy,
    NeuralUCBPolicy,
)
from bandit_envs.adapters.torch_policy import NeuralPolicy
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.policies import Policy
from bandit_envs.seeding import Seed


def neural_linear(env: PyEnvironment, seed: Seed) -> Policy:
    """Returns a policy that draws linear models of the last hidden layer."""
    return NeuralLinearPolicy(**_settings(env, seed))


def neural_greedy(env: PyEnvironment, seed: Seed) -> Policy:
    """Returns a policy that chooses what the network predicts best, there called RMS."""
    return NeuralEpsilonGreedyPolicy(0.0, **_settings(env, seed))


def neural_epsilon_greedy(env: PyEnvironment, seed: Seed) -> Policy:
    """Returns a policy that chooses any action with probability 0.05; the paper has none."""
    return NeuralEpsilonGreedyPolicy(0.05, **_settings(env, seed))


def bootstrap(env: PyEnvironment, seed: Seed) -> Policy:
    """Returns a policy that draws one of three networks, there called BootRMS."""
    return EnsemblePolicy(num_networks=3, row_probability=0.95, **_settings(env, seed))


def dropout(env: PyEnvironment, seed: Seed) -> Policy:
    """Returns a policy that drops a fifth of the hidden units, also when it chooses."""
    return DropoutPolicy(dropout=0.2, **_settings(env, seed))


def neural_ucb(env: PyEnvironment, seed: Seed) -> Policy:
    """Returns NeuralUCB with this network and training; the paper does not have it."""
    return NeuralUCBPolicy(**_settings(env, seed))


def _settings(env: PyEnvironment, seed: Seed) -> dict[str, Any]:
    """Returns the arguments that the policies share."""
    return {
        **NeuralPolicy.arguments_for(env),
        "width": 50,
        "depth": 1,
        "learning_rate": 0.1,
        "learning_rate_decay": 0.5,
        "max_gradient_norm": 5.0,
        "minibatch_size": 512,
        "train_every": 50,
        "train_steps": 100,
        "initial_pulls": 2,
        "seed": seed,
    }
