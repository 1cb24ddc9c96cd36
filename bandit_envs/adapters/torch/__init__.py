"""Models of rewards with networks of PyTorch, for a `ContextualPolicy` with any rule.

Experimental: these names may change in any minor version.
"""

from bandit_envs.adapters.torch.dropout import Dropout
from bandit_envs.adapters.torch.ensemble import Ensemble
from bandit_envs.adapters.torch.gradient_network import GradientNetwork
from bandit_envs.adapters.torch.network import LearnedNetworks, Network
from bandit_envs.adapters.torch.network_scores import NetworkGradientLearner, NetworkScores
from bandit_envs.adapters.torch.neural_linear import NeuralLinear

__all__ = [
    "Dropout",
    "Ensemble",
    "GradientNetwork",
    "LearnedNetworks",
    "Network",
    "NetworkGradientLearner",
    "NetworkScores",
    "NeuralLinear",
]
