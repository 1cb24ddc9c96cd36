"""Models of rewards with networks of PyTorch, for a `ContextualPolicy` with any rule."""

from bandit_envs.adapters.torch.dropout import Dropout as Dropout
from bandit_envs.adapters.torch.ensemble import Ensemble as Ensemble
from bandit_envs.adapters.torch.gradient_network import GradientNetwork as GradientNetwork
from bandit_envs.adapters.torch.network import LearnedNetworks as LearnedNetworks
from bandit_envs.adapters.torch.network import Network as Network
from bandit_envs.adapters.torch.neural_linear import NeuralLinear as NeuralLinear
