"""A network of PyTorch as a model of rewards. PyTorch is imported when a policy is made."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bandit_envs.adapters.torch.minibatch import Minibatch
from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import check_integer, check_number, check_positive, short_repr
from bandit_envs.base.extras import import_extra
from bandit_envs.names.users_models import ModelEntry, find_users
from bandit_envs.nests import Nest
from bandit_envs.policies.learned import add_actions
from bandit_envs.policies.models.inputs import Inputs, Items, ModelSizes, TrainingRows
from bandit_envs.policies.models.ring_buffer import RingBuffer
from bandit_envs.policies.models.value_model import ValueModel

if typing.TYPE_CHECKING:
    from bandit_envs.adapters.torch.networks import Networks

MAX_SEED = 2**63


class LearnedNetworks(NamedTuple):
    """What a `Network` knows.

    Fields:
        networks: with their optimizer.
        memory: the last rows, as a `Minibatch`.
        steps: trajectories learned.
        rng: of all draws of learning.
        extra: what a subclass keeps.
    """

    networks: Networks
    memory: RingBuffer
    steps: int
    rng: Rng
    extra: Nest


class NetworkEntry(ModelEntry):
    """A class of networks, or a function that makes one."""

    what = "network"


def find_network(network: Any) -> Any:
    """Returns what a `module:name` is; of all else, the network itself."""
    if isinstance(network, str) and ":" in network:
        return find_users(NetworkEntry, network).make
    return network


@dataclasses.dataclass(frozen=True)
class Network(ValueModel):
    """A network that predicts rewards, and learns again and again from what it remembers.

        r ~ f(x)[a]           of a context x [D]: an output for each action
        r ~ f(x_a)            of [global, per_arm] features x_a of each action: one output

    All rows teach the same network. It remembers the last `memory_size` rows. After every
    `train_every` trajectories, it takes `train_steps` steps of the optimizer, each with
    `minibatch_size` rows that are drawn from the memory with replacement:

        loss = mean over rows of (f(x)[a] - r)^2

    A subclass overrides `means`, adds `interval` or `draw`, or keeps more than the network: see
    `_initial_extra`. It is a frozen dataclass, too.

    Args:
        network: a `torch.nn.Module` from inputs [n, D] to outputs [n, O], which is copied; or a
            function of D and O that returns one, such as the class of a module, so that each seed
            has other first parameters; or the "module:name" of one of these, as studies write it.
            None for a perceptron with rectified linear units.
        width: the units of each hidden layer of that perceptron.
        depth: the number of its hidden layers.
        optimizer: called with the parameters and `lr`, such as `torch.optim.Adam`; None for
            RMSProp with a decay of 0.9.
        learning_rate: of the optimizer.
        learning_rate_decay: step i = 0, 1, ... of a training has the learning rate divided by
            1 + learning_rate_decay * i.
        max_gradient_norm: longer gradients are shortened to this length.
        minibatch_size: rows of a step of the optimizer.
        train_every: trajectories from one training to the next.
        train_steps: steps of the optimizer in a training.
        memory_size: the rows to remember.
        device: of PyTorch, such as "cpu" or "cuda".

    Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018), there called RMS.

    >>> Network(width=20).abilities()
    frozenset({'means'})
    """

    network: Any = None
    _: dataclasses.KW_ONLY
    width: int = 50
    depth: int = 1
    optimizer: Callable[..., Any] | None = None
    learning_rate: float = 0.001
    learning_rate_decay: float = 0.0
    max_gradient_norm: float = 5.0
    minibatch_size: int = 128
    train_every: int = 1
    train_steps: int = 1
    memory_size: int = 10_000
    device: str = "cpu"

    is_random: ClassVar[bool] = True
    made_of_text: ClassVar[Mapping[str, Callable[[str], Any]]] = {"network": find_network}
    log_rows = 8  # with more, a log of a thousand decisions would train a network hardly at all
    num_networks = 1

    def __post_init__(self) -> None:
        check_integer("width", self.width, 1)
        check_integer("depth", self.depth, 0)
        check_positive("learning_rate", self.learning_rate)
        check_number("learning_rate_decay", self.learning_rate_decay, 0.0)
        check_positive("max_gradient_norm", self.max_gradient_norm)
        check_integer("minibatch_size", self.minibatch_size, 1)
        check_integer("train_every", self.train_every, 1)
        check_integer("train_steps", self.train_steps, 1)
        check_integer("memory_size", self.memory_size, 1)
        if self.optimizer is not None and not callable(self.optimizer):
            expected = "a function of parameters and lr, such as torch.optim.Adam, or None"
            raise TypeError(f"optimizer is {short_repr(self.optimizer)}; expected {expected}")

    def initial(self, sizes: ModelSizes, rng: Rng) -> LearnedNetworks:
        """Returns new networks, an empty memory, and what a subclass keeps.

        Raises:
            ModuleNotFoundError: PyTorch is not installed.
            TypeError, ValueError: `network` makes no network for inputs of these sizes.
        """
        network = find_network(self.network)
        networks = import_networks().make_networks(
            network=self._make_network if network is None else network,
            num_networks=self.num_networks,
            num_inputs=sizes.num_features,
            num_outputs=sizes.num_outputs,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            device=self.device,
            seed=int(rng.integers(MAX_SEED)),
        )
        nothing = Minibatch.empty(self.memory_size, sizes.num_features, self.num_networks)
        memory = RingBuffer(nothing, seen=0)
        extra = self._initial_extra(networks, sizes)
        return LearnedNetworks(networks, memory, steps=0, rng=rng, extra=extra)

    def learn(self, learned: LearnedNetworks, rows: TrainingRows) -> LearnedNetworks:
        new_rows = Minibatch(
            inputs=rows.features,
            output=rows.output,
            reward=rows.reward,
            weight=self._draw_weights(learned.rng, len(rows.reward)),
        )
        after = learned._replace(
            memory=learned.memory.add(new_rows),
            steps=learned.steps + 1,
            extra=self._extra_after_rows(learned, rows),
        )
        if after.steps % self.train_every != 0:
            return after
        self._train(after)
        return after._replace(extra=self._extra_after_training(after))

    def add_actions(
        self, learned: LearnedNetworks, initial: LearnedNetworks, known: int, num_actions: int
    ) -> LearnedNetworks:
        before = learned.networks
        if before.layout() == initial.networks.layout():  # actions have features
            return learned
        return learned._replace(
            networks=initial.networks.with_first_outputs(before, known, num_actions),
            extra=self._extra_of_more(learned, initial, known, num_actions),
        )

    def means(self, learned: LearnedNetworks, inputs: Inputs) -> Floats:
        return by_action(inputs, learned.networks.predict(inputs.features()))

    def _train(self, learned: LearnedNetworks) -> None:
        """Takes the steps of the optimizer of one training."""
        memory = learned.memory
        minibatches = []
        for _ in range(self.train_steps):
            places = learned.rng.integers(memory.size, size=self.minibatch_size)
            minibatches.append(memory.take(places))
        learned.networks.train(
            minibatches=minibatches,
            decay=self.learning_rate_decay,
            max_gradient_norm=self.max_gradient_norm,
            seed=int(learned.rng.integers(MAX_SEED)),
        )

    def _make_network(self, num_inputs: int, num_outputs: int) -> Any:
        """Returns the network that is used if none is given."""
        networks = import_networks()
        return networks.make_perceptron(num_inputs, num_outputs, self.width, self.depth)

    def _draw_weights(self, rng: Rng, size: int) -> Floats:
        """Returns the weights of new rows for each network: [size, Q]."""
        return np.ones((size, self.num_networks))

    def _initial_extra(self, networks: Networks, sizes: ModelSizes) -> Nest:
        """Returns what a subclass keeps besides, before the first trajectory."""
        return ()

    def _extra_of_more(
        self, learned: LearnedNetworks, initial: LearnedNetworks, known: int, num_actions: int
    ) -> Nest:
        """Returns what a subclass keeps of more actions."""
        return add_actions(learned.extra, initial.extra, known, num_actions)

    def _extra_after_rows(self, learned: LearnedNetworks, rows: TrainingRows) -> Nest:
        """Returns what a subclass keeps after n more rows."""
        return learned.extra

    def _extra_after_training(self, learned: LearnedNetworks) -> Nest:
        """Returns what a subclass keeps after the networks were trained."""
        return learned.extra


def by_action(inputs: Inputs, outputs: Floats) -> Floats:
    """Returns the outputs of a network for inputs, [B, O] or [B, K, 1], by action: [B, K]."""
    return outputs[..., 0] if isinstance(inputs, Items) else outputs


def import_networks() -> ModuleType:
    """Returns the module that makes networks; an error names the extra if PyTorch is missing."""
    import_extra("torch", "torch")
    from bandit_envs.adapters.torch import new_networks  # noqa: PLC0415

    return new_networks
