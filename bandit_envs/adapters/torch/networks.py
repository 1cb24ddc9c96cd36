"""Networks of PyTorch with their optimizer, as a leaf of what a model has learned."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from bandit_envs.adapters.torch.minibatch import Minibatch
from bandit_envs.arrays import Array, Floats, Indices
from bandit_envs.base.saving import ForeignModel
from bandit_envs.nests import Nest, map_structure
from bandit_envs.policies.learned import add_actions

MAX_GRADIENTS = 2**24
"""How many derivatives are in memory at once."""

FEW_PRODUCTS = 2**26
"""Of fewer, a second thread of the processor is slower than none."""

DROPOUT = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)
MAX_SEED = 2**63


class Networks(ForeignModel):
    """Q networks of one kind, from inputs [n, D] to outputs [n, O], and their optimizer.

    Args:
        networks: modules with different parameters, on the `device`.
        optimizer: of the parameters of all of them.
        device: where they are.
        num_inputs: the number of inputs, D.
    """

    def __init__(
        self,
        networks: Sequence[nn.Module],
        optimizer: torch.optim.Optimizer,
        device: str,
        num_inputs: int,
    ) -> None:
        self.modules = nn.ModuleList(networks).eval()
        self._optimizer = optimizer
        self._rates = [float(group["lr"]) for group in optimizer.param_groups]
        self._device = torch.device(device)
        self._dtype = next(networks[0].parameters()).dtype
        self._num_inputs = num_inputs
        self._sizes = [each.numel() for each in self._learned().values()]

    def predict(self, inputs: Array, network: int = 0) -> Floats:
        """Returns the outputs of a network for inputs [..., D]: [..., O]."""
        rows = self._tensor(inputs).reshape(-1, self._num_inputs)
        with torch.no_grad(), self._threads_for(len(rows)):
            found = self.modules[network](rows)
        return _floats(found).reshape(*inputs.shape[:-1], -1)

    def predict_with_dropout(self, rng: np.random.Generator, inputs: Array) -> Floats:
        """Returns outputs [..., O], with other units dropped for each of the inputs [..., D]."""
        layers = self._dropout_layers()
        for layer in layers:
            layer.train()
        try:
            with self._seeded(int(rng.integers(MAX_SEED))):
                return self.predict(inputs)
        finally:
            for layer in layers:
                layer.eval()

    def represent(self, inputs: Array) -> Floats:
        """Returns what the first network's last linear layer gets for inputs [..., D]: [..., H].

        Raises:
            ValueError: the network does not end in a linear layer.
        """
        layers = [each for each in self.modules[0].modules() if isinstance(each, nn.Linear)]
        seen: list[torch.Tensor] = []

        def remember(_: nn.Module, given: tuple[torch.Tensor, ...], found: torch.Tensor) -> None:
            seen.extend((given[0], found))

        if not layers:
            raise ValueError("network has no torch.nn.Linear; expected one that ends in it")
        rows = self._tensor(inputs).reshape(-1, self._num_inputs)
        hook = layers[-1].register_forward_hook(remember)
        with torch.no_grad(), self._threads_for(len(rows)), hook:
            outputs = self.modules[0](rows)
        if len(seen) != 2 or not torch.equal(seen[1], outputs):
            raise ValueError("network does not end in a torch.nn.Linear; expected one that does")
        return _floats(seen[0]).reshape(*inputs.shape[:-1], -1)

    def train(
        self,
        minibatches: Sequence[Minibatch],
        decay: float,
        max_gradient_norm: float,
        seed: int,
    ) -> None:
        """Takes a step of the optimizer for each minibatch: a smaller mean squared error.

        Args:
            minibatches: what to learn from, in order.
            decay: the learning rate of step i = 0, 1, ... is divided by 1 + decay * i.
            max_gradient_norm: gradients of a network that are longer are shortened to it.
            seed: of the units that dropout layers drop.
        """
        self.modules.train()
        size = max(len(minibatch.reward) for minibatch in minibatches)
        with self._seeded(seed), self._threads_for(size):
            for index, minibatch in enumerate(minibatches):
                self._set_rates(1.0 / (1.0 + decay * index))
                self._optimizer.zero_grad()
                self._loss(minibatch).backward()
                for network in self.modules:
                    nn.utils.clip_grad_norm_(network.parameters(), max_gradient_norm)
                self._optimizer.step()
        self._optimizer.zero_grad()
        self._set_rates(1.0)
        self.modules.eval()

    def has_dropout(self) -> bool:
        """Returns whether a network has layers that drop units."""
        return bool(self._dropout_layers())

    def num_parameters(self) -> int:
        """Returns how many numbers the first network learns."""
        return sum(self._sizes)

    def squared_gradients(self, inputs: Array, output: Indices) -> Floats:
        """Returns the sum over rows of squared derivatives by each of P parameters: [P].

        Args:
            inputs: [n, D].
            output: [n], which output of the first network is differentiated in each row.
        """
        one_hot = nn.functional.one_hot(torch.tensor(output), self._num_outputs())

        def chosen(learned: Any, row: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
            return (self._outputs(learned, row) * which).sum()

        gradients = torch.func.vmap(torch.func.grad(chosen), in_dims=(None, 0, 0))
        total = np.zeros(self.num_parameters())
        for part in self._parts(len(inputs), 1):
            which = one_hot[part].to(self._device)
            rows = self._tensor(inputs[part])
            with self._threads_for(len(rows)):
                found = gradients(self._learned(), rows, which)
                sums = [torch.square(each).sum(dim=0).reshape(-1) for each in found.values()]
            total += _floats(torch.cat(sums))
        return total

    def variances(self, inputs: Array, precision: Floats) -> Floats:
        """Returns sum_p g_p^2 / precision_p of every output, g its derivatives: [..., O].

        Args:
            inputs: [..., D].
            precision: [P], of the parameters of the first network.
        """
        learned = self._learned()
        scales = self._tensor(1.0 / precision).split(self._sizes)
        jacobian = torch.func.vmap(torch.func.jacrev(self._outputs), in_dims=(None, 0))
        flat = inputs.reshape(-1, self._num_inputs)
        num_outputs = self._num_outputs()
        variances = np.zeros((len(flat), num_outputs))
        for part in self._parts(len(flat), num_outputs):
            rows = self._tensor(flat[part])
            with self._threads_for(len(rows) * num_outputs):
                found = jacobian(learned, rows)
                terms = [
                    torch.square(each).flatten(start_dim=2) @ scale
                    for each, scale in zip(found.values(), scales)
                ]
            variances[part] = _floats(torch.stack(terms).sum(dim=0))
        return variances.reshape(*inputs.shape[:-1], num_outputs)

    def layout(self) -> str:
        shapes = [list(values.shape) for values in self.modules.state_dict().values()]
        return f"{type(self).__name__} of {self._dtype} with {shapes}"

    def by_parameter(self, values: Floats) -> tuple[Floats, ...]:
        """Returns a number of each parameter of the first network, [P], in their shapes."""
        shapes = [each.shape for each in self._learned().values()]
        parts = np.split(values, np.cumsum(self._sizes)[:-1])
        return tuple(part.reshape(shape) for part, shape in zip(parts, shapes))

    def with_first_outputs(self, other: Networks, known: int, num_outputs: int) -> Networks:
        """Returns a copy whose first outputs are those of other networks, which have fewer.

        The optimizer goes on. What it remembers of the parameters of new outputs is 0.

        Args:
            other: the other networks, of the same kind.
            known: how many outputs they have.
            num_outputs: how many these have.

        Raises:
            ValueError: parameters differ in more than the number of outputs.
        """
        sizes = known, num_outputs
        grown = copy.deepcopy(self)
        parameters = _grow(other.modules.state_dict(), self.modules.state_dict(), *sizes)
        grown.modules.load_state_dict(parameters)
        content = copy.deepcopy(other._optimizer.state_dict())
        like = dict(enumerate(grown.modules.parameters()))
        for index, remembered in content["state"].items():
            zeros = torch.zeros_like(like[index])
            for key, value in remembered.items():
                if isinstance(value, torch.Tensor) and value.ndim == zeros.ndim > 0:
                    remembered[key] = _grow({key: value}, {key: zeros}, *sizes)[key]
        grown._optimizer.load_state_dict(content)
        return grown

    def encode(self) -> Nest:
        content = self._optimizer.state_dict()
        state = {str(index): values for index, values in content["state"].items()}
        written = {
            "networks": dict(self.modules.state_dict()),
            "optimizer": state,
            "groups": [
                {key: value for key, value in group.items() if key != "params"}
                for group in content["param_groups"]
            ],
        }
        return map_structure(_as_array, written)

    def decode(self, content: Any, trusted: Sequence[str] = ()) -> Networks:
        decoded = copy.deepcopy(self)
        read = map_structure(_as_tensor, content)
        try:
            decoded.modules.load_state_dict(read["networks"])
        except RuntimeError as error:  # as torch says of parameters that do not fit
            raise ValueError(str(error)) from error
        groups = decoded._optimizer.state_dict()["param_groups"]
        for group, found in zip(groups, read["groups"], strict=True):
            group.update(found)
        state = {int(index): values for index, values in read["optimizer"].items()}
        decoded._optimizer.load_state_dict({"state": state, "param_groups": groups})
        return decoded

    def _loss(self, minibatch: Minibatch) -> torch.Tensor:
        """Returns the sum of the mean squared errors of all networks."""
        inputs = self._tensor(minibatch.inputs)
        output = torch.tensor(minibatch.output, dtype=torch.int64, device=self._device)
        reward = self._tensor(minibatch.reward)
        weight = self._tensor(minibatch.weight)
        loss = torch.zeros((), dtype=self._dtype, device=self._device)
        for index, network in enumerate(self.modules):
            predicted = network(inputs).gather(1, output[:, None])[:, 0]
            loss = loss + (weight[:, index] * torch.square(predicted - reward)).mean()
        return loss

    def _dropout_layers(self) -> list[nn.Module]:
        return [layer for layer in self.modules.modules() if isinstance(layer, DROPOUT)]

    def _set_rates(self, factor: float) -> None:
        for group, rate in zip(self._optimizer.param_groups, self._rates):
            group["lr"] = rate * factor

    def _learned(self) -> dict[str, torch.Tensor]:
        """Returns what the first network learns, by name."""
        named = self.modules[0].named_parameters()
        return {name: value.detach() for name, value in named if value.requires_grad}

    def _outputs(self, learned: dict[str, torch.Tensor], row: torch.Tensor) -> torch.Tensor:
        """Returns the outputs [O] of the first network for one row [D]."""
        found = torch.func.functional_call(self.modules[0], learned, (row[None],))
        return torch.as_tensor(found)[0]

    def _num_outputs(self) -> int:
        return int(self.predict(np.zeros((1, self._num_inputs))).shape[1])

    def _parts(self, size: int, num_outputs: int) -> Iterator[slice]:
        """Yields slices of `size` rows, of as many as have their derivatives in memory at once."""
        step = max(1, MAX_GRADIENTS // (num_outputs * self.num_parameters()))
        for start in range(0, size, step):
            yield slice(start, start + step)

    def _tensor(self, values: ArrayLike) -> torch.Tensor:
        """Returns a new tensor: one that shares a read-only array makes PyTorch warn."""
        # NumPy rounds to float32 in a tenth of the time that `torch.tensor` takes.
        floats = np.float64 if self._dtype == torch.float64 else np.float32
        copied = torch.from_numpy(np.array(values, floats))
        return copied.to(device=self._device, dtype=self._dtype)

    @contextlib.contextmanager
    def _threads_for(self, num_rows: int) -> Iterator[None]:
        """Lets PyTorch use one thread where more would only wait for each other."""
        before = torch.get_num_threads()
        if before == 1 or num_rows * self.num_parameters() > FEW_PRODUCTS:
            yield
            return
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)

    @contextlib.contextmanager
    def _seeded(self, seed: int) -> Iterator[None]:
        """Draws by a seed what layers such as dropout draw, and leaves PyTorch's generators be."""
        if self._device.type == "cpu":
            with torch.random.fork_rng(devices=[]):
                torch.default_generator.manual_seed(seed)
                yield
            return
        with torch.random.fork_rng(device_type=self._device.type):
            torch.manual_seed(seed)
            yield


def _floats(values: torch.Tensor) -> Floats:
    return np.asarray(values.detach().cpu().numpy(), np.float64)


def _grow(
    found: Mapping[str, torch.Tensor], larger: Mapping[str, torch.Tensor], known: int, outputs: int
) -> dict[str, torch.Tensor]:
    """Returns tensors of more outputs, whose first are as found and the others as in `larger`."""
    names = list(larger)
    arrays = {name: _as_array(found[name]) for name in names}
    initial = {name: _as_array(larger[name]) for name in names}
    grown = add_actions(arrays, initial, known, outputs)
    return {name: torch.from_numpy(grown[name]).to(larger[name]) for name in names}


def _as_array(value: Any) -> Any:
    return value.detach().cpu().numpy().copy() if isinstance(value, torch.Tensor) else value


def _as_tensor(value: Any) -> Any:
    return torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value
