"""Makes networks of PyTorch from the modules or functions that users pass."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable

import torch
from torch import nn

from bandit_envs.adapters.torch.networks import Networks
from bandit_envs.arrays import Floats
from bandit_envs.base.checks import short_repr
from bandit_envs.rounding import is_constant


def make_networks(
    *,
    network: nn.Module | Callable[[int, int], nn.Module],
    num_networks: int,
    num_inputs: int,
    num_outputs: int,
    optimizer: Callable[..., torch.optim.Optimizer] | None,
    learning_rate: float,
    device: str,
    seed: int,
) -> Networks:
    """Returns new networks, whose first parameters are drawn by a seed.

    Args:
        network: a module, which is copied, or a function of the numbers of inputs and outputs that
            returns a new one. Its parameters are drawn with PyTorch's global generator, which gets
            the seed, and then returns to where it was.
        num_networks: how many.
        num_inputs: D.
        num_outputs: O.
        optimizer: called with parameters and `lr`; None for RMSProp with a decay of 0.9.
        learning_rate: of the optimizer.
        device: for the networks.
        seed: of the first parameters.

    Raises:
        TypeError, ValueError: a network is not a module, or does not map [n, D] to [n, O].
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        made = [_make_network(network, num_inputs, num_outputs) for _ in range(num_networks)]
    if num_networks > 1 and isinstance(network, nn.Module):
        expected = "a function that makes modules, as several networks must differ"
        raise TypeError(f"network is a {type(network).__name__}; expected {expected}")
    networks = [_check_network(each.to(device), num_inputs, num_outputs, device) for each in made]
    parameters = list(itertools.chain.from_iterable(each.parameters() for each in networks))
    if optimizer is None:
        steps = torch.optim.RMSprop(parameters, lr=learning_rate, alpha=0.9)
        return Networks(networks, steps, device, num_inputs)
    return Networks(networks, optimizer(parameters, lr=learning_rate), device, num_inputs)


def make_scaled(
    network: nn.Module | Callable[[int, int], nn.Module], num_inputs: int, num_outputs: int
) -> nn.Sequential:
    """Returns a network of scaled features, whose parameters are drawn, or those of a module.

    `scale_features` says how they are scaled.
    """
    inner = _make_network(network, num_inputs, num_outputs)
    parameters = list(inner.parameters())
    dtype = parameters[0].dtype if parameters else None
    scale = nn.BatchNorm1d(num_inputs, eps=0.0, affine=False, dtype=dtype)
    return nn.Sequential(scale, inner)


def scale_features(network: nn.Sequential, features: Floats) -> torch.Tensor:
    """Scales features from now on so that those of [n, D] have mean 0 and standard deviation 1.

    Args:
        network: of `make_scaled`, in evaluation mode.
        features: [n, D].

    Returns:
        The features as inputs of the network: [n, D].
    """
    first = next(network.parameters())
    inputs = torch.tensor(features, dtype=first.dtype, device=first.device)
    variance = inputs.var(dim=0, unbiased=False)
    network[0].running_mean = inputs.mean(dim=0)
    variance[torch.from_numpy(is_constant(inputs.cpu().numpy())).to(variance.device)] = 1.0
    network[0].running_var = variance
    return inputs


def make_perceptron(
    num_inputs: int, num_outputs: int, width: int, depth: int, dropout: float = 0.0
) -> nn.Module:
    """Returns a network with `depth` hidden layers of `width` rectified linear units."""
    layers: list[nn.Module] = []
    size = num_inputs
    for _ in range(depth):
        layers.append(nn.Linear(size, width))
        layers.append(nn.ReLU())
        if dropout > 0.0:
            layers.append(nn.Dropout(dropout))
        size = width
    layers.append(nn.Linear(size, num_outputs))
    return nn.Sequential(*layers)


def _make_network(
    network: nn.Module | Callable[[int, int], nn.Module], num_inputs: int, num_outputs: int
) -> nn.Module:
    """Returns a copy of a module, or a new module that a function makes."""
    made = copy.deepcopy(network) if isinstance(network, nn.Module) else None
    if made is None and callable(network):
        made = network(num_inputs, num_outputs)
    if isinstance(made, nn.Module):
        return made
    expected = (
        "a torch.nn.Module, a function of the numbers of inputs and outputs that makes one, "
        "or the module:name of such a function"
    )
    raise TypeError(f"network is {short_repr(network)}; expected {expected}")


def _check_network(network: nn.Module, num_inputs: int, num_outputs: int, device: str) -> nn.Module:
    """Returns a network in evaluation mode; ValueError if it does not map [n, D] to [n, O]."""
    network.eval()
    parameters = [each for each in network.parameters() if each.requires_grad]
    if not parameters:
        raise ValueError("network has no parameters to learn; expected some")
    inputs = torch.zeros((2, num_inputs), dtype=parameters[0].dtype, device=device)
    expected = f"{(2, num_outputs)} for inputs of shape {(2, num_inputs)}"
    try:
        with torch.no_grad():
            found = tuple(network(inputs).shape)
    except RuntimeError as error:
        raise ValueError(
            f"network failed: {error}; expected outputs of shape {expected}"
        ) from error
    if found != (2, num_outputs):
        raise ValueError(f"network returned shape {found}; expected {expected}")
    return network
